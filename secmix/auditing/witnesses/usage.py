"""A protocol in use: one object, call after call, which draws its masks itself, as no audit makes it do."""

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
from secmix.auditing.soundness.holding import Place, held
from secmix.auditing.soundness.runner import Call, call_sum, fresh
from secmix.auditing.soundness.sight import Eyes, Frame
from secmix.auditing.witnesses.written import written
from secmix.network import Network
from secmix.protocols import SumProtocol

CALLS = 160
LEAST = 100  # runs below which a half of them is too few to judge a decoder by
_MESSAGES = 60_000
_ZEROS = 1_500  # calls on zeros


@dataclass(frozen=True)
class Use:
    """One call through the adversary's eyes.

    Attributes
    ----------
    truth : (runs, n, m)
        What the nodes put in.
    rows : dict of Place -> (runs, w)
        The numbers that the adversary reads, of any type; in calls of one run those that any outsider reads too.
    frames : list of tuple
        The messages that it notices, in order.
    """

    truth: Array
    rows: dict[Place, NDArray[Any]]
    frames: list[Frame]


def truth_of(uses: Sequence[Use]) -> Array:
    """What the nodes put in, in all runs (runs, n, m)."""
    return np.concatenate([use.truth for use in uses]) if uses else np.empty((0, 0, 0))


@dataclass(frozen=True)
class Service:
    """A protocol in use, and who watches it.

    Attributes
    ----------
    protocol : sum protocol
        As it was built; every life of it begins with a copy.
    """

    protocol: SumProtocol
    network: Network
    adversary: Adversary
    seed: int

    def single_calls(self, inputs: Mapping[int, Array]) -> dict[int, tuple[list[Use], list[Use]]]:
        """Uses of each iteration in ``inputs`` (n, runs, m), fit after fit of one run each, in two lives."""
        runs = min(CALLS, *(of.shape[1] for of in inputs.values()))
        calls = [slice(run, run + 1) for run in range(runs)]
        return self._lives(inputs, calls[: runs // 2], calls[runs // 2 :])

    def batches(self, inputs: Mapping[int, Array]) -> dict[int, tuple[list[Use], list[Use]]]:
        """Many runs together, a call in each of two lives."""
        runs = min(CALLS, *(of.shape[1] for of in inputs.values()))
        return self._lives(inputs, [slice(0, runs // 2)], [slice(runs // 2, runs)])

    def zeros(self, iteration: int, n: int, m: int) -> dict[Place, NDArray[Any]]:
        """What is read of calls on zeros: a row for each call in which there is such a message."""
        life, found = fresh(self.protocol), dict[Place, list[NDArray[Any]]]()
        corrupt, messages = self.adversary.corrupt_nodes(self.network), 0
        for place, runs in enumerate([_ZEROS, *[1] * _ZEROS]):
            call = self._call(life, np.zeros((runs, n, m)), iteration, "zeros", place)
            for where, row in held(call, self.adversary, self.network, corrupt).items():
                if row.shape == (runs, m) and row.dtype == np.float64:
                    found.setdefault(where, []).append(row)
            messages += call.messages
            if messages > _MESSAGES:
                break
        return {where: np.concatenate(rows) for where, rows in found.items()}

    def _lives(
        self, inputs: Mapping[int, Array], first: list[slice], second: list[slice]
    ) -> dict[int, tuple[list[Use], list[Use]]]:
        lives = [self._used(inputs, calls) for calls in (first, second)]
        return {t: (lives[0][t], lives[1][t]) for t in inputs}

    def _used(self, inputs: Mapping[int, Array], calls: list[slice]) -> dict[int, list[Use]]:
        life, corrupt = fresh(self.protocol), self.adversary.corrupt_nodes(self.network)
        eyes = Eyes(self.adversary, self.network, corrupt, _is_blind(self.adversary))
        uses: dict[int, list[Use]] = {t: [] for t in inputs}
        messages = 0
        for which in calls:
            for t, of in sorted(inputs.items()):
                s = np.ascontiguousarray(of[:, which].transpose(1, 0, 2), dtype=float)
                with written() as outside:
                    call = self._call(life, s, t, "use", which.start, which.stop)
                if not call.failure:
                    rows = held(call, self.adversary, self.network, corrupt) | (outside if len(s) == 1 else {})
                    uses[t].append(Use(s, rows, eyes.see(call).frames))
                messages += call.messages
            if messages > _MESSAGES:
                break
        return uses

    def _call(self, life: SumProtocol, inputs: Array, iteration: int, *names: object) -> Call:
        rng = stream(self.seed, "soundness", *names, iteration)
        return call_sum(life, inputs, self.network, rng, iteration=iteration)


def _is_blind(adversary: Adversary) -> bool:
    return not AdversaryTraits.of(adversary).sees_metadata


def steps_of(values: Iterable[float]) -> list[float]:
    """Steps of which ``values`` are all whole multiples, but for a blur of a tenth: largest first, maybe none.

    Powers of two and ten are tried, and the greatest common divisor of the values.

    Examples
    --------
    >>> steps_of(3000.0 * np.random.default_rng(0).integers(-500, 500, size=60))[0]
    3000.0
    """
    given = np.asarray(list(values), dtype=float)
    given = given[np.isfinite(given) & (given != 0)]
    if len(given) < 8:
        return []
    tried = {common_divisor(given), *(2.0**k for k in range(-40, 41)), *(10.0**k for k in range(-9, 13))} - {0.0}
    top, out = float(np.abs(given).max()), []
    for step in sorted(tried, reverse=True):
        turn = np.exp(2j * np.pi * (given / step - np.round(given / step)))
        # Whatever is coarser than the values, or no coarser than their last digits, says nothing.
        if 1e-15 * top < step < top / 4 and abs(turn.mean()) > 0.8:
            out.append(step)
    return out[:6]


def common_divisor(values: Array) -> float:
    """The greatest common divisor of floating-point numbers, to one in 10⁸ of the smallest; 0 where there is none."""
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
