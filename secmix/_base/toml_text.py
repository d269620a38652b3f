"""The text of a TOML file and its plain values, with limits on size and nesting."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from secmix._base.locations import line_of
from secmix.errors import ScenarioError, shown

_DEEPEST = 12
_MOST_VALUES = 1_000_000


def read_text(path: str | Path) -> str:
    """Read the text of a scenario's file."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"the scenario '{path}' cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise ScenarioError(f"the scenario '{path}' cannot be read: it is not UTF-8 text; save it as UTF-8") from None


def read_toml(text: str, source: str) -> dict[str, Any]:
    """Parse a TOML ``text``; numbers and nesting beyond its limits are errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = re.sub(r"\('([^()]*?)',?\)", r"'\1'", str(error))  # keys as Python writes tuples
        raise ScenarioError(f"{source} is not valid TOML: {message}") from None
    except RecursionError:
        raise ScenarioError(f"{source} is nested too deeply; expected at most tables of tables") from None
    except ValueError:  # Python limits the digits it reads
        raise ScenarioError(
            f"{source} has a number with thousands of digits; write one that fits into 64 bits"
        ) from None


def check_size(content: Any, source: str, text: str) -> None:
    """Check that integers fit 64 bits, and limit values and nesting, before anything is built."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    count = 0
    while waiting:
        path, value = waiting.pop()
        count += 1
        fault = ""
        if isinstance(value, int) and value.bit_length() > 63:
            fault = f"an integer beyond 64 bits; given {shown(value)}"
        elif len(path) > _DEEPEST:
            fault = f"nested more than {_DEEPEST} deep"
        elif count > _MOST_VALUES:
            fault = f"more than {_MOST_VALUES} values in all"
        if fault:
            line = line_of(text, path)
            where = f"{source}, line {line}" if line else source
            raise ScenarioError(f"{where}: {shown('.'.join(map(str, path[:4])))}: {fault}")
        if isinstance(value, Mapping):
            waiting += (((*path, str(key)), item) for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            waiting += (((*path, k), item) for k, item in enumerate(value))
