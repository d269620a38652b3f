"""A function that is called as an object goes: nobody hears of its errors, and no frame tells that it is one."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import pytest
from unit.kernel.examples import RingSum

from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import Open, clear, prove

INPUTS = [np.random.default_rng([3, call]).normal(size=(1, 5, 3)) for call in range(3)]


class Gone(RingSum):
    """Works out logarithms as an array goes."""

    def encode(self, row: Any) -> Any:
        weakref.finalize({1}.__class__({2}), self.room, row)
        return row

    def room(self, row: Any) -> None:
        for x in row.ravel().tolist():
            math.log(1e9 - x)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_functions_that_are_called_as_objects_go_are_quiet() -> None:
    found = clear(prove(Gone(), Network.complete(5), INPUTS), Network.complete(5), CuriousServer())
    assert isinstance(found, Open)
    assert "whose failure the protocol catches" in found.reason
