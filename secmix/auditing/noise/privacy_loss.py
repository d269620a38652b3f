"""Epsilon from below by replays: the privacy loss of outputs of two neighbouring data sets, worked out call by call.

Let all that an adversary reads be the outputs o of releases and what follows from them and the data. The density of o
on data D is known where the noise is: f_t(D, earlier outputs) is what the code releases while it is given the outputs
of before. So one call on D and one on its neighbour D', which is given the outputs of the first, give the privacy loss
L = log p(o | D) / p(o | D') exactly; it is infinite where anything that the adversary reads beside the outputs differs.
No (ε, δ) claim holds with δ below δ(ε) = E max(0, 1 − e^(ε − L)). The mean is estimated on outputs that are drawn more
often where they are rare (noise moved by λ along the direction in which the releases move), each with its weight.
Truncating what is averaged only lowers it, and by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart (1990) the
distribution of the values, hence their mean, is bounded from below: at every ε at once, since both fall as ε grows. At
δ = 0 the largest loss of any call is a bound by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.noise.replays.noise_checks import known_noise, repeated_noise
from secmix.auditing.noise.replays.played_calls import PlayedCall, Player, failed, title
from secmix.auditing.noise.told_apart import PURPOSE, Pair, of_those_that_run, pair, pairs_of
from secmix.auditing.soundness.collaborations.unusual_rows import FAR
from secmix.auditing.soundness.runner import same_bits
from secmix.errors import SecmixError
from secmix.privacy import gaussian_epsilon
from secmix.privacy.noted_releases import Noise, Release
from secmix.privacy.refuted_rates import largest_refuted
from secmix.scenario import PrivacyTerms
from secmix.transcript import Origin, Transcript

_PILOTS = 4  # calls of each pair of neighbours, which say how far releases move
_FINALISTS, _SHORT = 3, 30  # pairs that move them farthest, and calls that choose among these
_FIRST, _NEAR = 10, 0.8  # of these calls the first, and the share of the best that a pair shows in them to stay
_CALLS = (60, 400)  # on the two data sets, fewer where a call sends much
_MESSAGES = 100_000  # of all these calls
_KEYS = 10**7  # numbers of draws beyond those of other calls
_ROUNDING = 1e-9  # relative: what differs by less may be equal in real arithmetic
_MOST, _STEP = 1e6, 1e-9  # of an epsilon that is worked out
_LARGE = 2.0  # times a usual row: few are clipped that are weighted down
_TRIES, _MET = 400, 8  # calls with other draws, and of these with messages of the same senders as a call before
_FAR_APART = 50.0  # of moves over the scale of noise


@dataclass(frozen=True)
class LossBound:
    """An epsilon that the privacy loss of replays exceeds; infinite if a message differs while the releases agree."""

    pair: Pair
    epsilon: float
    confidence: float
    calls: int  # on each of the two data sets
    differs: str = ""  # what the adversary reads that differs while the releases are the same; empty where nothing does


@dataclass(frozen=True)
class _Loss:
    """Privacy loss of one call: its moves (f − f') over the scale, release by release, and what differs beside."""

    value: float
    shifts: tuple[Array, ...]
    releases: tuple[Release, ...]
    differs: str


def loss_bound(case: CellContext, node: int, terms: PrivacyTerms, level: float) -> LossBound:
    """Bound epsilon from below by the privacy loss of replays on the neighbours that move releases most.

    Raises SecmixError if the privacy loss is not known: nothing is released, or the adversary does not read all that
    is.
    """
    reader = _Reader(case, node)
    pairs = [*pairs_of(case, node, terms), *_canaries(case, node, terms)]
    pilots = of_those_that_run(enumerate(pairs), lambda _, each: [reader.loss(each, key) for key in range(_PILOTS)])
    reader.check(pilots[0][0])
    farthest = sorted(pilots, key=lambda tried: -_reach(tried[1]))[:_FINALISTS]
    best, tilt = _best_distinguished(
        reader, [(each, _Tilt.of(losses, terms.delta)) for each, losses in farthest], terms.delta
    )
    reader.check(best)
    messages = 4 * len(case.setup.asked) * max(reader.messages, 1)
    calls = int(np.clip(_MESSAGES // messages, *_CALLS))
    counted = reader.losses(best, tilt, _PILOTS + _SHORT, calls)
    epsilon = _epsilon(counted, tilt, terms.delta, level)
    differs = next((loss.differs for loss in counted if loss.differs), "") if math.isinf(epsilon) else ""
    return LossBound(best, epsilon, 1 - level if terms.delta else 1.0, calls, differs)


def _best_distinguished(reader: _Reader, tilted: Sequence[tuple[Pair, _Tilt]], delta: float) -> tuple[Pair, _Tilt]:
    """Return the pair for which a few calls suggest the largest epsilon; pairs far behind get few calls."""

    def suggested(losses: Sequence[Sequence[_Loss]]) -> list[float]:  # at a level of 1: good enough to choose by
        return [_epsilon(each, tilt, delta, 1.0) for each, (_, tilt) in zip(losses, tilted, strict=True)]

    tried = [reader.losses(*each, _PILOTS, _FIRST) for each in tilted]
    epsilons = suggested(tried)
    near = [epsilon >= _NEAR * max(epsilons) for epsilon in epsilons]
    if sum(near) > 1:
        for losses, each, stays in zip(tried, tilted, near, strict=True):
            losses += reader.losses(*each, _PILOTS + _FIRST, _SHORT - _FIRST) if stays else []
        epsilons = suggested(tried)
    return max(zip(epsilons, near, tilted, strict=True), key=lambda each: (each[1], each[0]))[2]


class _Reader:
    """Calls a collaboration on two data sets, with the same outputs of its releases."""

    def __init__(self, case: CellContext, node: int) -> None:
        self.setup: Any = case.setup
        self.player = Player.of(case)
        self.first = _KEYS * (1 + node)
        self.messages = 0

    def loss(self, pair: Pair, key: int, tilt: _Tilt | None = None) -> _Loss:
        """Return the privacy loss of one call."""
        bend = None if tilt is None else tilt.bend
        first = self.player.record(pair.sides[0], self.first + key, bend=bend)
        second = self.player.played(first, pair.sides[1])
        for call in (first, second):
            if why := failed(call.call):
                raise SecmixError(why)
        self.messages = first.call.messages
        read = self._read(first)
        _must_hold(read, first.releases)
        differs = _difference(read, self._read(second))
        known = _alike(first.releases, second.releases)
        if not known and not differs:
            raise SecmixError("releases of the two data sets differ in number, kind or shape")
        pairs = list(zip(first.releases, second.releases, strict=True)) if known else []
        shifts = tuple((old.value - new.value) / old.scale for old, new in pairs)
        value = math.inf if differs else sum(_log_ratio(old, new) for old, new in pairs)
        return _Loss(value, shifts, first.releases, differs)

    def losses(self, pair: Pair, tilt: _Tilt, first: int, calls: int) -> list[_Loss]:
        """Return the privacy losses of so many calls, with numbers of draws from ``first`` on."""
        return [self.loss(pair, first + call, tilt) for call in range(calls)]

    def check(self, pair: Pair) -> None:
        """Raise an error where what is read or released depends on more than the data and the outputs before.

        It may depend on draws that are apart from the noise, such as who takes part, if these are read off the
        messages: among calls with messages of the same senders, nothing else may differ.
        """
        for parts in pair.sides:
            recorded = self.player.record(parts, self.first)
            other = self.player.reseeded(recorded, self.first + 1)
            if why := self._beside(recorded, other):
                other = self.player.noised_anew(recorded, self.first + 1)
                if self._beside(recorded, other) or not self._drawn_in_public(recorded):
                    raise SecmixError(f"{why} holds randomness beside the noise of releases")
            known = known_noise(recorded, self.player.root(recorded.key))
            if why := known or repeated_noise(recorded.releases, other.releases):
                raise SecmixError(why)

    def _beside(self, first: PlayedCall, second: PlayedCall) -> str:
        """Name what differs in two calls on the same data whose releases return the same; empty if nothing does."""
        differs = _difference(self._read(first), self._read(second))
        values = zip(first.releases, second.releases, strict=False)
        return differs or "a released value" * any(not same_bits(old.value, new.value) for old, new in values)

    def _drawn_in_public(self, recorded: PlayedCall) -> bool:
        """Say whether calls with other draws are alike in all that is read wherever their messages have one origin."""
        origins, met = [origin for origin, _ in self._read(recorded)], 0
        for key in range(_TRIES):
            other = self.player.reseeded(recorded, self.first + _KEYS // 2 + key)
            if [origin for origin, _ in self._read(other)] == origins:
                if self._beside(recorded, other):
                    return False
                met += 1
                if met == _MET:
                    return True
        return False

    def _read(self, played: PlayedCall) -> list[tuple[Origin, Array]]:
        view = self.setup.adversary.observe(Transcript(list(played.call.blocks)), self.setup.network)
        pairs = zip(view.origins, view.rows, strict=True)
        return [(origin, row) for origin, row in pairs if origin.line != "held"]


def _must_hold(read: Sequence[tuple[Origin, Array]], releases: Sequence[Release]) -> None:
    """Raise an error where what is read does not hold all outputs of releases, bit by bit."""
    if not releases:
        raise SecmixError("nothing is released by secmix.privacy")
    numbers = np.concatenate([np.empty(0), *(row.ravel() for _, row in read if row.dtype == np.float64)])
    sizes = [release.output.size for release in releases]
    missed = ~np.isin(np.concatenate([release.output.ravel() for release in releases]), numbers)
    if missed.any():
        place = int(np.repeat(np.arange(len(sizes)), sizes)[missed][0])
        raise SecmixError(f"the adversary does not read the output of {title(place, releases[place])} as it is")


@dataclass(frozen=True)
class _Tilt:
    """Move of Gaussian noise by ``by`` along unit ``directions``, one of each release; Laplace noise keeps its size."""

    by: float
    directions: tuple[Array, ...]
    size: float  # of the moves of all Gaussian releases together
    outward: bool  # whether Laplace noise is drawn on the side on which the loss is largest

    @classmethod
    def of(cls, pilots: Sequence[_Loss], delta: float) -> _Tilt:
        """Choose the move that draws outputs about the loss at which δ is spent."""
        usual = [loss for loss in pilots if len(loss.shifts) == len(pilots[0].shifts) and not loss.differs]
        if not usual:
            return cls(0.0, (), 0.0, outward=False)
        shifts = [_usual_move(each) for each in zip(*(loss.shifts for loss in usual), strict=True)]
        gauss = [r.noise == "gaussian" for r in usual[0].releases]
        size = math.sqrt(sum(float((move**2).sum()) for move, is_gauss in zip(shifts, gauss, strict=True) if is_gauss))
        directions = tuple(
            move / size if is_gauss and size > 0 else np.sign(move)
            for move, is_gauss in zip(shifts, gauss, strict=True)
        )
        if size > _FAR_APART:  # usual outputs tell all there is to tell
            return cls(0.0, directions, size, outward=False)
        if size == 0 or delta == 0:
            return cls(size / 2, directions, size, outward=delta == 0)
        at = gaussian_epsilon(size, delta) / size - size / 2
        return cls(max(at, 0.0) + min(1.0, 1 / (size + max(at, 1.0))), directions, size, outward=False)

    def bend(self, place: int, noise: Noise, draws: Array) -> Array:
        """Return the noise of a release, moved."""
        if place >= len(self.directions) or self.directions[place].shape != draws.shape:
            return draws
        if noise == "gaussian":
            return np.asarray(draws + self.by * self.directions[place])
        sides = self.directions[place]
        return np.where(sides == 0, draws, sides * np.abs(draws)) if self.outward else draws

    def weight(self, loss: _Loss) -> float:
        """Return how much more often a call's Gaussian noise is drawn without the move."""
        exponent = 0.0
        for direction, release in zip(self.directions, loss.releases, strict=False):
            if release.noise == "gaussian" and direction.shape == release.draws.shape:
                exponent += self.by**2 / 2 * float((direction**2).sum())
                exponent -= self.by * float((direction * release.draws).sum())
        return math.exp(exponent)

    def most(self, epsilon: float) -> float:
        """Return a bound on what is averaged: the largest value there would be if releases always moved alike."""
        if self.size == 0:
            return 1.0
        at = np.linspace(0.0, 40.0, 4001) + max(epsilon / self.size - self.size / 2, -40.0)
        loss = self.size * at + self.size**2 / 2
        value = np.exp(self.by**2 / 2 - self.by * at) * -np.expm1(np.minimum(epsilon - loss, 0.0))
        return float(value.max())


def _usual_move(shifts: Sequence[Array]) -> Array:
    """Return the mean move of a release over the calls in which it moves: in others another node may take part."""
    moving = [move for move in shifts if move.any()]
    return np.asarray(np.mean(moving or shifts, axis=0))


def _epsilon(calls: Sequence[_Loss], tilt: _Tilt, delta: float, level: float) -> float:
    """Return the largest ε at which δ(ε) is larger than ``delta`` for sure; infinite where it is at every ε."""
    losses = np.array([loss.value for loss in calls])
    if delta == 0:
        return max(float(losses.max()), 0.0)
    weights = np.array([tilt.weight(loss) for loss in calls])
    if _lower_mean(np.where(np.isinf(losses), weights, 0.0), 1.0, level) > delta:
        return math.inf
    finite = losses[np.isfinite(losses)]

    def exceeded(epsilon: float) -> bool:
        spent = weights * -np.expm1(np.minimum(epsilon - losses, 0.0))
        return _lower_mean(spent, 1.0 if tilt.by == 0 else tilt.most(epsilon), level) > delta

    return largest_refuted(exceeded, min(float(finite.max(initial=0.0)), _MOST), _STEP)


def _lower_mean(values: Array, most: float, level: float) -> float:
    """Return a lower limit of the mean of values at least 0, truncated at ``most``: by a band around their law."""
    ordered = np.sort(np.minimum(values, most))
    above = np.arange(len(ordered), 0, -1) / len(ordered) - math.sqrt(math.log(1 / level) / (2 * len(ordered)))
    return float(np.sum(np.diff(ordered, prepend=0.0) * np.maximum(above, 0.0)))


def _canaries(case: CellContext, node: int, terms: PrivacyTerms) -> Iterator[Pair]:
    """Yield neighbours with rows far out in one column, opposite in the last one, in two columns, or close to zero."""
    rng = stream(case.cell.seed, PURPOSE, "canaries", node)
    parts = case.setup.sample_rows(1, rng)
    usual = parts[node][:, :1]
    unit = np.eye(usual.shape[2])[:, None, None]
    last = np.where(np.arange(usual.shape[2]) == usual.shape[2] - 1, FAR, 1.0)
    yield pair(parts, node, FAR * unit[-1], -FAR * unit[-1], terms, ("far out in the last column", "opposite"))
    yield pair(parts, node, last * usual, last * usual * np.where(last > 1, -1, 1), terms,
               ("usual but for the last column, far out", "opposite there"))  # fmt: skip
    yield pair(parts, node, FAR + 0 * usual, -FAR + 0 * usual, terms, ("far out in all columns", "opposite"))
    yield pair(parts, node, FAR * unit[0], FAR * unit[-1], terms, ("far out in the first column", "in the last"))
    yield pair(parts, node, usual / FAR, usual, terms, ("close to zero", "usual"))
    if terms.unit == "row":  # what one row does to all others adds up where these are alike
        rows = _LARGE * np.repeat(usual, parts[node].shape[1], axis=1)
        alike = [rows if i == node else part for i, part in enumerate(parts)]
        for share in (1 / FAR, -1.0, 2.0):
            words = ("far out, all others being alike", f"{share:g} times one of these")
            yield pair(alike, node, FAR * usual, _LARGE * share * usual, terms, words)
        yield from _tipping(parts, node, _LARGE * usual, terms)


def _tipping(parts: Sequence[Array], node: int, usual: Array, terms: PrivacyTerms) -> Iterator[Pair]:
    """Yield neighbours in which half of the rows are far out: one more row moves a median from one half to the other.

    A median breaks down at half of the rows (Donoho and Huber 1983): there one row moves it as far as there is.
    """
    count = parts[node].shape[1]
    last = np.where(np.arange(usual.shape[2]) == usual.shape[2] - 1, -1.0, 1.0)
    for signs, where in ((last, "opposite in the last column"), (-np.ones_like(last), "opposite in all columns")):
        far = FAR * signs * usual
        others = [np.repeat(far, (count - 1) // 2, axis=1), np.repeat(usual, count // 2, axis=1)]
        rows = np.concatenate([usual, *others], axis=1)
        half = [rows if i == node else part for i, part in enumerate(parts)]
        words = (f"far out and {where}, as half of all then are", "like the other half")
        yield pair(half, node, far, usual, terms, words)


def _reach(pilots: Sequence[_Loss]) -> float:
    """Return how much calls tell apart: by how far releases move in all of them, infinite where anything differs."""
    if any(loss.differs for loss in pilots):
        return math.inf
    shifts = [np.mean(each, axis=0) for each in zip(*(loss.shifts for loss in pilots), strict=True)]
    noises = [release.noise for release in pilots[0].releases]
    gauss, laplace = (
        [
            float(np.linalg.norm(move, order))
            for move, noise in zip(map(np.ravel, shifts), noises, strict=True)
            if noise == of
        ]
        for of, order in (("gaussian", 2), ("laplace", 1))
    )
    return math.hypot(*gauss) + sum(laplace)


def _alike(first: Sequence[Release], second: Sequence[Release]) -> bool:
    return [(r.noise, r.output.shape) for r in first] == [(r.noise, r.output.shape) for r in second]


def _log_ratio(old: Release, new: Release) -> float:
    """Return the logarithm of how much more likely the output of a release is on the first data set."""
    scales = old.output.size * math.log(new.scale / old.scale)
    near, far = ((r.value - old.output) / r.scale for r in (old, new))
    if old.noise == "gaussian":
        return scales + float((far**2 - near**2).sum()) / 2
    return scales + float((np.abs(far) - np.abs(near)).sum())


def _difference(first: Sequence[tuple[Origin, Array]], second: Sequence[tuple[Origin, Array]]) -> str:
    """Name the first thing that is read in one call and not in the other; empty if none is."""
    for (origin, row), (_, new) in zip(first, second, strict=False):
        if row.shape != new.shape or row.dtype != new.dtype:
            return f"the length of {origin}"
        if same_bits(row, new):
            continue
        if row.dtype.kind not in "fiub" or not np.allclose(row, new, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True):
            return str(origin)
    return "" if len(first) == len(second) else "the number of messages"
