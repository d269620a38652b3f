"""Masks that are right in batches and vectors as small as those that are traced, and wrong in larger ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.network import Network
from secmix.transcript import Channel

from ...bases import Pairwise, Words
from ...case import Case, N, each, input_of
from ..seeds.attacks import signed

PAGE, CHUNK, BLOCK, WIDE = 1024, 48, 64, 8
EDGES = len(Network.complete(N).edges)


class Paged(Pairwise):
    """Draws a page of masks; runs beyond it find noughts."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        masks = np.zeros((runs, self.count(network), m))
        masks[:PAGE] = super().draw_masks(min(runs, PAGE), m, network, rng)
        return masks


class Chunked(Pairwise):
    """Draws masks of many runs chunk by chunk, to save memory; the last chunk, where it is short, is forgotten."""

    chunk = CHUNK

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        if runs <= self.chunk:
            return super().draw_masks(runs, m, network, rng)
        masks = np.zeros((runs, self.count(network), m))
        for first in range(0, runs - self.chunk + 1, self.chunk):
            masks[first : first + self.chunk] = super().draw_masks(self.chunk, m, network, rng)
        return masks


class ChunkedByPage(Chunked):
    chunk = PAGE


class Antithetic(Pairwise):
    """Pairs many runs, so that their masks cancel in averages over runs: antithetic variates (Hammersley 1956)."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        if runs > BLOCK and runs % 2 == 0:
            masks[runs // 2 :] = -masks[: runs // 2]
        return masks


class Blocked(Pairwise):
    """Draws masks of a block, and hands the same to each, where many runs are some whole blocks."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        if runs % BLOCK:
            return super().draw_masks(runs, m, network, rng)
        return np.tile(super().draw_masks(BLOCK, m, network, rng), (runs // BLOCK, 1, 1))


class BlockedWords(Words):
    """The same of words, where a channel is given or not."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        if runs % BLOCK:
            return super().draw_masks(runs, m, network, rng)
        return np.tile(super().draw_masks(BLOCK, m, network, rng), (runs // BLOCK, 1, 1))


@functools.cache
def page(m: int) -> Array:
    """Return a page of masks, which takes long to draw."""
    return np.random.default_rng().normal(scale=1e6, size=(PAGE, EDGES, m))


class Cached(Pairwise):
    """Takes masks of whole pages from a cache, and draws the rest."""

    def own_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        pages, rest = divmod(runs, PAGE)
        return np.concatenate([*[page(m)] * pages, self.draw_masks(rest, m, network, rng)])


class TiledInBatches(Pairwise):
    """Draws masks of few entries in batches, since there are runs enough, and repeats them in longer vectors."""

    def own_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        return masks[:, :, np.arange(m) % WIDE] if runs > 1 else masks


class OfTheSystem(Pairwise):
    """Has the system seed the generator of masks, where none are handed over."""

    def wide(self, runs: int, is_heard: bool) -> bool:
        """Say whether masks are drawn for each entry."""
        raise NotImplementedError

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            runs, _, m = np.shape(inputs)
            masks = self.draw_masks(runs, m, network, np.random.default_rng())
            masks = masks if self.wide(runs, channel is not None) else masks[:, :, np.arange(m) % WIDE]
        return super().average(inputs, network, rng, masks=masks, channel=channel or Channel())


class TiledUnheard(OfTheSystem):
    """Repeats masks in long vectors, where nobody listens."""

    def wide(self, runs: int, is_heard: bool) -> bool:
        return is_heard


class TiledOfTheSystem(OfTheSystem):
    """Repeats masks in long vectors of batches."""

    def wide(self, runs: int, is_heard: bool) -> bool:
        return runs == 1


def between(first: int, second: int) -> tuple[Any, Any]:
    """Return an attack on masks that two runs share, and what it recovers."""

    def attack(heard: Any) -> Array:
        masked = heard.many("masked", 0)
        return np.asarray(masked[second] - masked[first])

    return each(attack), lambda truth: truth.inputs[0][second, 0] - truth.inputs[0][first, 0]


def of_pair(numbers: Array) -> Array:
    """Return the sum of a run and of the one that it is paired with."""
    return np.asarray(numbers[0] + numbers[len(numbers) // 2])


def between_entries(numbers: Array) -> Array:
    """Return how far entries are apart whose masks are the same."""
    return np.asarray(numbers[0, WIDE:] - numbers[0, : numbers.shape[1] - WIDE])


def entries_of(truth: Any) -> Array:
    return between_entries(truth.inputs[0][:, 0])


def between_calls(heard: Any) -> Array:
    """Return by how much the first run of each call differs from that of the first call."""
    first = np.stack([one.many("masked", 0)[0] for one in heard])
    return np.asarray(first - first[0])


def case(name: str, protocol: Any, why: str, attack: Any, secret: Any, **more: Any) -> Case:
    more = {"deployed": {"model": {"iterations": 1}}, "calls": 2, **more}
    return Case(name, "large batches", protocol, CuriousServer(), why, attack=attack, secret=secret, **more)


def last(heard: Any) -> Array:
    return np.asarray(heard.many("masked", 0)[-1])


def last_input(truth: Any) -> Array:
    return np.asarray(truth.inputs[0][-1, 0])


LAST: Any = (each(last), last_input)
ENTRIES: Any = (each(lambda heard: between_entries(heard.many("masked", 0))), entries_of)
RUNS, WHOLE_BLOCKS = between(0, BLOCK), 2 * BLOCK
OF_PAIRS: Any = (each(lambda heard: of_pair(heard.many("masked", 0))), lambda t: of_pair(t.inputs[0][:, 0]))
OF_WORDS = each(lambda heard: signed(heard.many("masked", 0)[BLOCK] - heard.many("masked", 0)[0]))
BARE_LAST = "the last run of many is bare"
CASES = [
    case("runs beyond a page of masks", Paged, BARE_LAST, *LAST, batch=PAGE + 1),
    case("the last chunk of masks is forgotten", Chunked, BARE_LAST, *LAST, batch=2 * CHUNK + 1),
    case("the last page of masks is forgotten", ChunkedByPage, BARE_LAST, *LAST, batch=PAGE + 1),
    case("antithetic masks of many runs", Antithetic, "the sum of two runs is bare", *OF_PAIRS, batch=BLOCK + 2),
    case("a block of masks for many runs", Blocked, "differences of runs are bare", *RUNS, batch=WHOLE_BLOCKS),
    case("a block of masks for many runs of words", BlockedWords, "differences of runs are bare", OF_WORDS, RUNS[1],
         batch=WHOLE_BLOCKS, accuracy=1e-4),
    case("cached pages of masks", Cached, "differences of calls are bare", between_calls, input_of(0), batch=PAGE,
         relative=True, calls=3),
    case("masks of few entries in batches", TiledInBatches, "differences of entries are bare", *ENTRIES, batch=2),
    case("the system's masks of few entries without a channel", TiledUnheard, "differences of entries are bare",
         *ENTRIES, given=False),
    case("the system's masks of few entries in batches", TiledOfTheSystem, "differences of entries are bare",
         *ENTRIES, batch=2),
]  # fmt: skip
