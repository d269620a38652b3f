"""Which sizes are tried: numbers of messages and f that a rule accepts, networks, and sizes that the code names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from secmix.adversaries.search.oracle import quietly
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.testing.cases import MOST_ENTRIES, MOST_MESSAGES
from secmix.transcript import Channel

Refusal = Callable[[int, int], ValueError | None]
"""``refusal(n, f)``: why the rule takes no n messages with f, or None."""

NAMED_MESSAGES, NAMED_ENTRIES, NAMED_NUMBERS = 300, 70_000, 200_000
"""Up to which numbers of messages, of entries, and of both together the code's own constants are tried."""
_LONG = 5000  # calls that a call makes; a rule that tries subsets makes them for few colluders, and no end for many
_STEPS = (4, 5, 6, 7, 8, 11, 15, 20, 31)
_NONE = (5, 8, 16, 40)  # messages of which none is to be withstood


def accepted(refusal: Refusal, f: int, n: int | None) -> list[tuple[int, int]]:
    """(n, f) that the rule accepts: the ``f`` given first of all, from the least n; then others."""
    if n is not None:
        why = refusal(n, f) if n > f else SecmixError("n must be above f")
        if why is not None:
            raise AssertionError(f"the rule refuses f = {f} with n = {n}; it said: {why}")
        return [(n, f)]
    last = None
    found: list[tuple[int, int]] = []
    for count in range(max(2 * f + 1, 2), max(MOST_MESSAGES, 6 * f + 12) + 1):
        error = refusal(count, f)
        if error is None:
            found.append((count, f))
        last = error or last
    if not found:
        raise AssertionError(f"the rule refuses f = {f} with every number of messages tried; it last said: {last}")
    others = [(count, 0) for count in _NONE if f and refusal(count, 0) is None]
    for count in sorted({*range(3, 17), *range(17, MOST_MESSAGES + 1, 3)}):
        # All that a few messages allow; of many, a few, lest a rule that tries subsets takes for ever.
        most = (count - 1) // 2 if count <= 12 else max(f, 3)
        fs = [g for g in range(1, min(most, (count - 1) // 2) + 1) if g != f]
        others += [(count, g) for g in fs if refusal(count, g) is None]
    others += [pair for count in (25, 40, MOST_MESSAGES) for pair in _many(refusal, count) if pair[1] > max(f, 3)]
    tail = sorted(found[5:] + others)
    return found[:5] + tail


def _many(refusal: Refusal, n: int) -> list[tuple[int, int]]:
    """n with more and more colluders, up to the first that is refused or for which it makes many calls."""
    found = []
    for f in (*(step for step in _STEPS if 2 * step < n - 2), (n - 1) // 2):
        if 2 * f >= n or refusal(n, f) is not None or not _quick(refusal, n, f):
            break
        found.append((n, f))
    return found


class _Enough(BaseException):
    """No error of the rule: whoever looks for those does not see it."""


def _quick(refusal: Refusal, n: int, f: int) -> bool:
    """Whether the rule makes few calls: their number is the same on every machine, the time that they take is not."""
    made = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")
        if made > _LONG:
            raise _Enough  # ends the call, and this count with it

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        refusal(n, f)
    except _Enough:
        pass
    finally:
        sys.setprofile(before)
    return made <= _LONG


def beyond(
    counts: set[int], refusal: Refusal, pairs: list[tuple[int, int]], f: int, n: int | None, p: int | None
) -> list[tuple[int, int, int]]:
    """(n, f, p) beyond the usual sizes that constants of the code may be about, as messages, as entries, as both."""
    least, most = pairs[0], max((pair for pair in pairs if pair[1] == f), default=pairs[0])
    found: list[tuple[int, int, int]] = []
    for count in sorted(counts):
        if n is None and 12 < count <= NAMED_MESSAGES and (many := _many(refusal, count)):
            found.append((*many[-1], 3 if p is None else p))
        if n is None and MOST_MESSAGES < count <= NAMED_MESSAGES and refusal(count, f) is None:
            found.append((count, f, 3 if p is None else p))
        if p is None and MOST_ENTRIES < count <= NAMED_ENTRIES:
            found.append((*least, count))
        if p is None and MOST_ENTRIES < count <= NAMED_NUMBERS:
            found.append((*most, -(-count // most[0])))
    return found


ROUND = (4, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256)
_LARGEST = (40, 256, 64)  # nodes, entries and runs that are drawn
_NAMED = (60, 2000, 300)  # and that are tried where the code names them
_TOGETHER = 300_000  # numbers that all nodes put in
_SENT = 10_000_000  # numbers that a call sends with unit inputs and unit masks beside the real ones: 80 MB
_SMALLEST = 5  # nodes of a network that is not made smaller


def wide_networks(
    protocol: SumProtocol, network: Network | None, numbers: set[int], count: int, rng: np.random.Generator
) -> list[tuple[Network, str, tuple[int, int] | None]]:
    """Networks with entries and runs: drawn ones, and those that the ``numbers`` of the protocol's code name.

    A network on which so much is sent that it would not fit into memory is halved until it does, or left out.
    """
    n = None if network is None else network.n
    found: list[tuple[Network, str, tuple[int, int] | None]] = []
    for place, (nodes, *size) in enumerate([*drawn_sizes(n, count, rng), *named_sizes(numbers, n, count)]):
        while True:
            drawn, kind = network_of(nodes, place, rng) if network is None else (network, "given")
            if _sent(protocol, drawn, *size) <= _SENT:
                found.append((drawn, kind, (size[0], size[1])))
                break
            if network is not None or nodes <= _SMALLEST:
                break
            nodes = max(nodes // 2, _SMALLEST)
    return found


def _sent(protocol: SumProtocol, network: Network, entries: int, runs: int) -> float:
    """How many numbers a call sends with unit inputs and unit masks, from one with a single number a node."""
    channel, inputs = Channel(), np.ones((1, network.n, 1))
    try:
        quietly(lambda: protocol.average(inputs, network, np.random.default_rng(0), channel=channel))
        masks = protocol.draw_masks(1, 1, network, np.random.default_rng(0)).shape[1]
    except Exception:  # reported by the properties, if it is not a refusal
        return 0.0
    return sum(len(block.payload) for block in channel.transcript) * float(runs * entries + network.n + masks)


def named_sizes(numbers: set[int], n: int | None, count: int) -> list[tuple[int, int, int]]:
    """(nodes, entries, runs) about numbers of the code, ``count`` at most; ``n`` where the nodes are given."""
    found = []
    for value in sorted(number + step for number in numbers for step in (0, 1)):
        if n is None and 3 <= value <= _NAMED[0]:
            found.append((value, 3, 2))
        if 2 <= value <= _NAMED[1]:
            found.append((n or 5, value, 2))
        if 2 <= value <= _NAMED[2]:
            found.append((n or 5, 3, value))
    return found[:: -(-len(found) // count)] if found else found


def drawn_sizes(n: int | None, count: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """(nodes, entries, runs), each the larger the seldomer, and round numbers among them."""
    found = []
    for place in range(count):
        size = [int(np.exp(rng.uniform(np.log(least), np.log(most + 1)))) for least, most in zip((3, 1, 1), _LARGEST)]  # noqa: B905
        which = int(rng.integers(3))
        if place % 2:
            size[which] = int(rng.choice([value for value in ROUND if value <= _LARGEST[which]]))
        nodes = n or size[0]
        found.append((nodes, size[1], max(1, min(size[2], _TOGETHER // (nodes * size[1])))))
    return found


def network_of(n: int, place: int, rng: np.random.Generator) -> tuple[Network, str]:
    """A network of n nodes, of another kind for each ``place``."""
    name = rng.permutation(n)
    path = [(int(name[i]), int(name[i + 1])) for i in range(n - 1)]
    kind = ("complete", "star", "path", "cycle", "wheel", "tree")[place % 6]
    if kind == "complete":
        return Network.complete(n), kind
    if kind == "star":
        return Network.from_edges(n, [(int(name[0]), int(other)) for other in name[1:]]), kind
    if kind == "path":
        return Network.from_edges(n, path), kind
    ring = [*path, (int(name[-1]), int(name[0]))]
    if kind == "cycle" and n > 3:
        return Network.from_edges(n, ring), kind
    if kind == "wheel" and n > 4:
        rim = [*path[1:], (int(name[-1]), int(name[1]))]
        return Network.from_edges(n, [*rim, *((int(name[0]), int(other)) for other in name[1:])]), kind
    return Network.from_edges(n, [(int(name[i]), int(name[rng.integers(i)])) for i in range(1, n)]), "tree"
