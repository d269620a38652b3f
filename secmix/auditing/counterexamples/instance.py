"""A protocol instance in use: one object, call after call, that draws its masks itself, unlike in an audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.counterexamples.outside import written
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.adversary_observer import AdversaryObserver, Frame
from secmix.auditing.soundness.numbers_read import Place, numbers_read
from secmix.auditing.soundness.runner import Call, call_sum
from secmix.network import Network
from secmix.protocols import SumProtocol

CALLS = 160
LEAST = 100  # with fewer runs, a half of them is too few to judge a decoder
_MESSAGES = 60_000
_ZEROS = 1_500  # calls on zeros


@dataclass(frozen=True)
class InstanceCall:
    """One call, as the adversary reads it."""

    truth: Array  # (runs, n, m): inputs of the nodes
    # Place -> (runs, w): numbers that the adversary reads, of any type; in single calls also those that any
    # outsider reads
    rows: dict[Place, NDArray[Any]]
    frames: list[Frame]  # metadata of the messages, in order


def truth_of(calls: Sequence[InstanceCall]) -> Array:
    """Stack the inputs of the nodes in all runs (runs, n, m)."""
    return np.concatenate([call.truth for call in calls]) if calls else np.empty((0, 0, 0))


@dataclass(frozen=True)
class ProtocolInstance:
    """A protocol in use, and its adversary."""

    protocol: SumProtocol  # as it was built; every instance begins with a copy
    network: Network
    adversary: Adversary
    seed: int

    def single_calls(self, inputs: Mapping[int, Array]) -> dict[int, tuple[list[InstanceCall], list[InstanceCall]]]:
        """Make single calls in each iteration of ``inputs`` (n, runs, m) on two copies, train and test."""
        runs = min(CALLS, *(x.shape[1] for x in inputs.values()))
        calls = [slice(run, run + 1) for run in range(runs)]
        return self._halves(inputs, calls[: runs // 2], calls[runs // 2 :])

    def batches(self, inputs: Mapping[int, Array]) -> dict[int, tuple[list[InstanceCall], list[InstanceCall]]]:
        """Make one call with many runs on each of two copies: train and test."""
        runs = min(CALLS, *(x.shape[1] for x in inputs.values()))
        return self._halves(inputs, [slice(0, runs // 2)], [slice(runs // 2, runs)])

    def zeros(self, iteration: int, n: int, m: int) -> dict[Place, NDArray[Any]]:
        """Collect what is read in calls on zeros: a row for each call with such a message, where it has any masks."""
        protocol, read = deep_copy(self.protocol), dict[Place, list[NDArray[Any]]]()
        corrupt, messages, waits = self.adversary.corrupt_nodes(self.network), 0, True
        for place, runs in enumerate([_ZEROS, *[1] * _ZEROS]):
            call = self._call(protocol, np.zeros((runs, n, m)), iteration, "zeros", place, waits=waits)
            waits = waits and not call.leaves_thread  # that calls of the object do is known then
            for where, row in numbers_read(call, self.adversary, self.network, corrupt).items():
                if row.shape == (runs, m) and row.dtype == np.float64:
                    read.setdefault(where, []).append(row)
            messages += call.messages
            unmasked = place == 1 and not any(np.ptp(np.concatenate(rows), axis=0).any() for rows in read.values())
            if unmasked or messages > _MESSAGES:
                break
        return {where: np.concatenate(rows) for where, rows in read.items()}

    def _halves(
        self, inputs: Mapping[int, Array], first: list[slice], second: list[slice]
    ) -> dict[int, tuple[list[InstanceCall], list[InstanceCall]]]:
        train, test = (self._used(inputs, calls) for calls in (first, second))
        return {t: (train[t], test[t]) for t in inputs}

    def _used(self, inputs: Mapping[int, Array], calls: list[slice]) -> dict[int, list[InstanceCall]]:
        protocol, corrupt = deep_copy(self.protocol), self.adversary.corrupt_nodes(self.network)
        observer = AdversaryObserver(self.adversary, self.network, corrupt, _is_blind(self.adversary))
        used: dict[int, list[InstanceCall]] = {t: [] for t in inputs}
        messages, waits = 0, True
        for runs in calls:
            for t, x in sorted(inputs.items()):
                s = np.ascontiguousarray(x[:, runs].transpose(1, 0, 2), dtype=float)
                with written() as outside:
                    call = self._call(protocol, s, t, "use", runs.start, runs.stop, waits=waits)
                waits = waits and not call.leaves_thread
                if not call.failure:
                    rows = numbers_read(call, self.adversary, self.network, corrupt) | (outside if len(s) == 1 else {})
                    used[t].append(InstanceCall(s, rows, observer.observe(call).frames))
                messages += call.messages
            if messages > _MESSAGES:
                break
        return used

    def _call(self, protocol: SumProtocol, inputs: Array, iteration: int, *names: object, waits: bool) -> Call:
        rng = stream(self.seed, "soundness", *names, iteration)
        return call_sum(protocol, inputs, self.network, rng, iteration=iteration, waits=waits)


def _is_blind(adversary: Adversary) -> bool:
    return not AdversaryTraits.of(adversary).sees_metadata


def steps_of(values: Iterable[float]) -> list[float]:
    """Find steps that divide all ``values``, up to noise of a tenth of a step: the largest first, maybe none.

    Powers of two and ten are tried, and the greatest common divisor of the values.

    >>> steps_of(3000.0 * np.random.default_rng(0).integers(-500, 500, size=60))[0]
    3000.0
    """
    nonzero = np.asarray(list(values), dtype=float)
    nonzero = nonzero[np.isfinite(nonzero) & (nonzero != 0)]
    if len(nonzero) < 8:
        return []
    tried = {common_divisor(nonzero), *(2.0**k for k in range(-40, 41)), *(10.0**k for k in range(-9, 13))} - {0.0}
    top, out = float(np.abs(nonzero).max()), []
    for step in sorted(tried, reverse=True):
        phase = np.exp(2j * np.pi * (nonzero / step - np.round(nonzero / step)))
        # A step that is coarser than the values, or no coarser than their last digits, is meaningless.
        if 1e-15 * top < step < top / 4 and abs(phase.mean()) > 0.8:
            out.append(step)
    return out[:6]


def common_divisor(values: Array) -> float:
    """Compute the greatest common divisor of floats, to 1e-8 of the smallest; 0 if there is none."""
    left = np.abs(values[:40])
    floor = 1e-8 * float(left.min())
    divisor = float(left[0])
    for value in left[1:]:
        a, b = divisor, float(value)
        while b > floor:
            a, b = b, a % b
            b = min(b, a - b) if b < a else b
        divisor = a
    return divisor if divisor > 100 * floor else 0.0
