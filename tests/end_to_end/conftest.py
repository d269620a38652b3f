"""What the tests of the studies share: the study that a test module names, imported from the root."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def study(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The module's STUDY, with the repository's root first on the path, as where it is run from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        yield importlib.import_module(request.module.STUDY)
