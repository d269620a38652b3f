"""Read tables that lie in files of their own, a policy or accepted findings, and name what is wrong in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from secmix._base.toml_text import read_toml
from secmix.errors import ScenarioError, expected, first_fault, nearest, shown
from secmix.scenario.settings import Strict


@contextmanager
def faults_named(what: str, table: str, kind: type[Strict]) -> Iterator[None]:
    """Turn the first fault of a table into an error that names its key, and the keys that there are."""
    try:
        yield
    except ValidationError as error:
        first = first_fault(error.errors())
        key = ".".join(str(step) for step in first["loc"]) or table
        if first["type"] == "extra_forbidden":
            raise ScenarioError(f"{what}: unknown key {shown(key)}; {nearest(key, kind.model_fields)}") from None
        if first["type"] == "missing":
            raise ScenarioError(f"{what}: {shown(key)} is missing") from None
        raise ScenarioError(f"{what}: {shown(key)}: {expected(first)}; given {shown(first['input'])}") from None


def read_table(path: str | Path, what: str) -> dict[str, Any]:
    """Read a TOML file; ``what`` it holds is named where it cannot be read."""
    try:
        return read_toml(Path(path).read_text(encoding="utf-8-sig"), f"the {what} '{path}'")
    except OSError as error:
        raise ScenarioError(f"the {what} '{path}' cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"the {what} '{path}' cannot be read: it is not UTF-8 text") from None
