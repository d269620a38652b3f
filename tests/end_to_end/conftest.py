"""What the tests of the studies share: the script that a test module names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "analysis"


@pytest.fixture(scope="module")
def study(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The module's STUDY with the scripts' folder first on the path, as where Python runs it; neither stays behind."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module(request.module.STUDY)
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == FOLDER:
            del sys.modules[name]
