"""Cases that a build takes in turns: all take long, and few take a branch of the kernel's that no other test does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def in_turns(cases: Iterable[Any], *each_time: Any) -> list[Any]:
    """Mark the cases (a tuple is several arguments) of which a build runs a part: all but those of each time."""
    several = [(case, case if isinstance(case, tuple) else (case,)) for case in cases]
    return [case if case in each_time else pytest.param(*values, marks=pytest.mark.build) for case, values in several]
