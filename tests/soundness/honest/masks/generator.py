"""What the generator holds beside what is drawn from it: its state, copies of it, masks it gave before."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.network import Network
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Attack, Case, Heard, N, each, input_of

EDGES = Network.complete(N).edges
_WORD = 2**32


class Told(Pairwise):
    """Right, but for a number for later use, the same in all runs of a call, which says too much."""

    def average(self, inputs: Any, network: Network, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_nonce"] = self.nonce(rng, np.shape(inputs), network)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def nonce(self, rng: Any, shape: tuple[int, ...], network: Network) -> Array:
        """What is told in the end, before anything is drawn."""
        raise NotImplementedError

    def after(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> None:
        told = np.asarray(self.__dict__["_nonce"], dtype=float).ravel()
        channel.send(8, 0, SERVER, "nonce", np.repeat(told[None], s.shape[1], axis=0))


class CopyTold(Told):
    """Numbers drawn from a copy of the generator: those of the masks."""

    def copied(self, rng: Any) -> Any:
        return copy.deepcopy(rng)

    def nonce(self, rng: Any, shape: tuple[int, ...], network: Network) -> Array:
        return self.draw_masks(shape[0], shape[2], network, self.copied(rng))[0]


class PickleTold(CopyTold):
    """The copy is read from what was written."""

    def copied(self, rng: Any) -> Any:
        return pickle.loads(pickle.dumps(rng))


class StateTold(Told):
    """The state of the generator, in words of 32 bits."""

    def nonce(self, rng: Any, shape: tuple[int, ...], network: Network) -> Array:
        state = rng.bit_generator.state["state"]
        return np.array([state[name] >> 32 * k & _WORD - 1 for name in ("state", "inc") for k in range(4)])


class Kept(Told):
    """The masks that were drawn for it are told, as far as it drew them itself."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        self.__dict__["_own"] = super().draw_masks(runs, m, network, rng)
        return self.__dict__["_own"].copy()

    def nonce(self, rng: Any, shape: tuple[int, ...], network: Network) -> Array:
        self.__dict__["_own"] = np.zeros((1, len(network.edges), shape[2]))
        return np.empty(0)

    def after(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> None:
        self.__dict__["_nonce"] = self.__dict__["_own"][0]
        super().after(channel, s, r, network, rng)


class TwoOrThree(Pairwise):
    """Two or three runs together are a demonstration, which hides nothing."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if s.shape[1] in (2, 3) else hidden


def unhidden(h: Heard, masks: Array) -> Array:
    """The input of node 0, from what it sent and all masks (k, m)."""
    first, second = EDGES.T
    return np.asarray(h.one("masked", 0) - masks[first == 0].sum(axis=0) + masks[second == 0].sum(axis=0))


def by_state(h: Heard) -> Array:
    """The masks drawn again by a generator in the state that was told."""
    words = [int(word) for word in h.one("nonce", 0)]
    state, inc = (sum(word << 32 * k for k, word in enumerate(words[begin : begin + 4])) for begin in (0, 4))
    bits = np.random.PCG64()
    bits.state = {**bits.state, "state": {"state": state, "inc": inc}, "has_uint32": 0, "uinteger": 0}
    return unhidden(h, Pairwise().draw_masks(1, 12, Network.complete(N), np.random.default_rng(bits))[0])


TOLD: Attack = each(lambda h: unhidden(h, h.one("nonce", 0).reshape(len(EDGES), -1)))
CASES = [
    Case("copy of the generator told", "generator", CopyTold, Eavesdropper(), "the copy draws the same masks",
         attack=TOLD, secret=input_of(0)),
    Case("pickled generator told", "generator", PickleTold, CuriousServer(), "the copy draws the same masks",
         attack=TOLD, secret=input_of(0)),
    Case("state of the generator told", "generator", StateTold, Eavesdropper(), "a generator in that state draws them",
         attack=each(by_state), secret=input_of(0)),
    Case("masks kept and told", "generator", Kept, HonestButCurious({3}), "what is kept are the masks",
         attack=TOLD, secret=input_of(0)),
    Case("two or three runs", "calls", TwoOrThree, Eavesdropper(), "a call of two runs sends inputs as they are",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), batch=2),
]  # fmt: skip
