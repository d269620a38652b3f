"""What all tests share: Hypothesis profiles, data files, and where the shared helpers are.

The profile is chosen by the environment variable SECMIX_HYPOTHESIS (or HYPOTHESIS_PROFILE): ``fast`` (20
examples, where neither is set), ``build`` (30), ``default`` (100) or ``thorough`` (1000).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes that each start a thread a core wait for one another: on many cores the suite hardly moves.
    for _library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Under --import-mode=importlib no test folder is importable; the shared modules beside this file must be.
sys.path.insert(0, str(HERE))

collect_ignore = ["flower_projects"]  # apps that tests run; they need flwr, and hold no tests
IN_CI = bool(os.environ.get("CI"))
for _name, _examples in {"fast": 20, "build": 30, "default": 100, "thorough": 1000}.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize=IN_CI,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("SECMIX_HYPOTHESIS") or os.environ.get("HYPOTHESIS_PROFILE") or "fast")


@pytest.fixture(scope="session", autouse=True)
def _same_cases_in_every_build():
    """What ``derandomize`` is to Hypothesis, to the checks of ``secmix.testing``, which draw a seed of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if IN_CI:
            patch.setattr("secrets.randbits", lambda bits: 0)
        yield


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
