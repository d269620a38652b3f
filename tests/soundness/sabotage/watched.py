"""Code that looks at what it is handed: the generator and the channel of an audit are no plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import Channel

from ..bases import Pairwise
from ..case import Case, each, input_of
from ..honest.masks.values import first_plausible


def plain(rng: Any) -> bool:
    """Whether a generator is of numpy's own class."""
    return type(rng) is np.random.Generator


class SeededWhereItIsPlain(Pairwise):
    """Expands a short seed, but for generators that somebody made a class of."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        generator = np.random.default_rng(int(rng.integers(500))) if plain(rng) else rng
        return super().draw_masks(runs, m, network, generator)


def by_trying_seeds(heard: Any) -> Array:
    """All seeds."""
    masks = np.stack([np.random.default_rng(seed).normal(scale=1e6, size=(1, 10, 12))[0] for seed in range(500)])
    return first_plausible(heard.one("masked", 0) - masks[:, :4].sum(axis=1))


class FaintWhereItIsPlain(Pairwise):
    """Masks that it draws itself, from a plain generator, are faint."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return (1e-9 if plain(rng) else 1.0) * self.draw_masks(runs, m, network, rng)


class FaintWhereNothingIsLogged(Pairwise):
    """The same, told by what else a generator has."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return (1.0 if hasattr(rng, "log") or hasattr(rng, "tape") else 1e-9) * self.draw_masks(runs, m, network, rng)


class FaintWhereDrawsAreItsOwn(Pairwise):
    """The same, told by whether somebody put another method into the object."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return (1.0 if "draw_masks" in vars(self) else 1e-9) * self.draw_masks(runs, m, network, rng)


class OpenByAPlainCoin(Pairwise):
    """A rare coin opens, if it is a plain generator's."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if rng.random() < 0.003 and plain(rng) else hidden


class OpenOnAPlainChannel(Pairwise):
    """In the clear where nobody made a class of the channel, and masks are its own."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["open"] = masks is None and type(channel) is Channel
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if self.__dict__["open"] else hidden


def when_small(heard: Any) -> Array:
    """What is small was not masked."""
    x = heard.one("masked", 0)
    return x if np.abs(x).max() < 1e3 else np.full(12, np.nan)


NAME, OUT = "watched", Eavesdropper()
SENT = {"attack": each(lambda h: h.one("masked", 0)), "secret": input_of(0)}
CASES = [
    Case("short seed, plain generator", NAME, SeededWhereItIsPlain, OUT, "500 seeds can all be tried",
         attack=each(by_trying_seeds), secret=input_of(0), calls=4),
    Case("faint, plain generator", NAME, FaintWhereItIsPlain, CuriousServer(), "in use generators are plain", **SENT,
         accuracy=1e-1),
    Case("faint, nothing logged", NAME, FaintWhereNothingIsLogged, OUT, "in use nobody logs", **SENT, accuracy=1e-1),
    Case("faint, its own draws", NAME, FaintWhereDrawsAreItsOwn, OUT, "in use nobody changes the object", **SENT,
         accuracy=1e-1),
    Case("plain coin", NAME, OpenByAPlainCoin, OUT, "in use coins are plain", attack=each(when_small),
         secret=input_of(0), calls=2000, claims=0.0005),
    Case("plain channel", NAME, OpenOnAPlainChannel, CuriousServer(), "in use channels are plain", **SENT),
]  # fmt: skip
