"""What all tests share: Hypothesis profiles, data files, and where the shared helpers are.

The profile is chosen by the environment variable SECMIX_HYPOTHESIS. ``fast`` (12 examples, where it is not set) draws
the same examples in every run and in every order of tests; ``explore`` (30) and ``thorough`` (1000) draw fresh ones. A
counterexample that they find becomes an ``@example`` or a test of its own.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.constants_ast import Constants

HERE = Path(__file__).parent
if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes that each start a thread a core wait for one another: on many cores the suite hardly moves.
    for _library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
gc.set_threshold(100_000)  # ten thousand tests and all their modules are scanned at each full collection
# Under --import-mode=importlib no test folder is importable; the shared modules beside this file must be.
sys.path.insert(0, str(HERE))

PARTS = 8  # of what takes long: a build runs one of them, SECMIX_PART, another for each commit

collect_ignore = ["flower_projects"]  # apps that tests run; they need flwr, and hold no tests
for _name, _examples in {"fast": 12, "explore": 30, "thorough": 1000}.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize=_name == "fast",
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("SECMIX_HYPOTHESIS") or "fast")
SAME_IN_EVERY_RUN = settings().derandomize


@pytest.hookimpl(trylast=True)  # of what marks have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what other parts run of the tests that take long, where a part is asked for."""
    asked = os.environ.get("SECMIX_PART")
    if asked is None:
        return
    marks = {"build", "soundness"} | ({"delicate"} if "OPENBLAS_CORETYPE" in os.environ else set())  # which run again
    long = [item for item in items if marks & {mark.name for mark in item.iter_markers()}]
    # In turns: parts are of one size, and none of as many tests is empty, with which pytest fails.
    others = {item for turn, item in enumerate(long) if turn % PARTS != int(asked) % PARTS}
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def pytest_collection_finish() -> None:
    """Leave the tests and their modules out of later collections."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _same_in_every_run() -> Iterator[None]:
    """Fix what ``derandomize`` leaves open.

    Hypothesis also tries constants of the project's modules imported so far, and these depend on the tests run before.
    """
    with pytest.MonkeyPatch.context() as patch:
        if SAME_IN_EVERY_RUN:
            patch.setattr("hypothesis.internal.conjecture.providers._get_local_constants", Constants)
        yield


@pytest.fixture(autouse=True)
def _global_generators() -> None:
    """Seed the generators of the process: libraries under test, such as NVFlare's filters, draw from them."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(scope="session")
def data_file():
    """A function from a data file's name to its path, which skips the test where the file is not at hand."""
    folder = Path(os.environ.get("SECMIX_DATA") or HERE.parent.parent / "shared" / "data")

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"{name} is not in {folder}; set SECMIX_DATA to the folder that holds it")
        return path

    return find
