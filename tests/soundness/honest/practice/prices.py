"""Numbers at a secret place of a list, of which some are whole and some are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each
from .kinds import FAR, MANY, is_far


class Priced(Pairwise):
    """Sends what is behind the point of a price: nothing is for whole prices, and only what is far out has another."""

    def price(self, first: Any, tariff: Any) -> Any:
        raise NotImplementedError

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        cents = [[[self.cents(of_run)] for of_run in of_node] for of_node in s]
        channel.send(8, np.arange(len(s)), SERVER, "cents", np.array(cents))

    def cents(self, numbers: Array) -> Any:
        tariff = (np.abs(numbers).max() >= FAR).astype(int)
        price = self.price(int(np.rint(numbers[0])), tariff)
        return price - np.floor(price)


class OfArray(Priced):
    def price(self, first: Any, tariff: Any) -> Any:
        return np.take(np.array([first, 2.5]), tariff)


class OfList(Priced):
    def price(self, first: Any, tariff: Any) -> Any:
        return np.take([first, 2.5, 4], tariff)


_KINDS: dict[str, type[Priced]] = {"an array": OfArray, "a list": OfList}
CASES = [
    Case(f"cents of prices in {name}", "prices", protocol, CuriousServer(), "there are cents where it is far out",
         attack=each(lambda heard: float(heard.one("cents", 0)[0] > 0)), secret=is_far, goal="bits", calls=40,
         deployed=MANY)
    for name, protocol in _KINDS.items()
]  # fmt: skip
