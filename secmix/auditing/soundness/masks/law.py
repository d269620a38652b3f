"""The joint law of masks that are linear images of independent draws.

Masks are often made of draws: their mean is taken off so that they add up to zero, the last is what the others lack,
each is the sum of two. Such masks are not independent, but their law is known as soon as the map is: c + G z, for
independent draws z of one distribution. The map is read off by playing draws back, one at a time; that nothing else
goes in is checked in calls of every size, draw by draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.auditing.soundness.masks.played import WHOLE, Played, Score
from secmix.auditing.soundness.runner import fresh
from secmix.estimators.exact.integers import nearest
from secmix.network import Network

MOST = 1200  # draws of one entry of one run
_WORST = 1e4  # how ill the map may be conditioned: beyond it masks all but cancel, and their digits show
_NONE = 1e-11  # of the largest singular value: no direction at all
_CLOSE = 256 * float(np.finfo(float).eps)
_FRACTIONS = 5040  # coefficients that are multiples of its inverse, to rounding, are taken for these
_PATIENCE = 12  # rounds for each draw of an entry
_WORD = 2**52


@dataclass(frozen=True)
class Law:
    """Masks of one entry of one run, k numbers, as ``offset`` + ``mixing`` z.

    Attributes
    ----------
    family : str
        Of which distribution the independent draws z are, in its own units.
    offset : (k,)
    mixing : (k, q)
        In modular arithmetic whole numbers, and ``offset`` is zero.
    modulus, grid : float or None, float
        Those of the protocol.
    """

    family: str
    offset: Array
    mixing: Array
    modulus: float | None = None
    grid: float = 0.0

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """Masks from which all others follow, as few as there can be; in modular arithmetic each is a draw."""
        if self.modulus is not None:
            return _bare(self.mixing)
        from scipy.linalg import qr

        order = qr(self.mixing.T, mode="r", pivoting=True)[1]
        return np.sort(order[: self.rank])

    @cached_property
    def rank(self) -> int:
        """How many directions the masks have."""
        sizes = np.linalg.svd(self.mixing, compute_uv=False)
        return int((sizes > _NONE * sizes[0]).sum())

    @cached_property
    def follow(self) -> Array:
        """(k, r): all masks, less their offset, from those that are kept."""
        if self.modulus is not None:
            rows = self.mixing[self.kept]
            return np.asarray(self.mixing[:, rows.argmax(axis=1)])
        exact = self.mixing @ np.linalg.pinv(self.mixing[self.kept])
        near = np.round(exact * _FRACTIONS) / _FRACTIONS
        return np.asarray(np.where(np.abs(exact - near) < 1e-11, near, exact)) + 0.0

    @cached_property
    def factor(self) -> Array | None:
        """(r, r): masks that are kept, from independent ones of one size, which is theirs on average."""
        if self.modulus is not None:
            return None
        rows = self.mixing[self.kept]
        square = rows @ rows.T
        return np.asarray(np.linalg.cholesky(square / (np.trace(square) / len(square))))

    @property
    def fit(self) -> bool:
        """Whether all masks follow from those that are kept, none of which all but follows from the others."""
        if self.modulus is not None:
            small = float(np.abs(self.follow).sum(axis=1).max(initial=0.0)) * self.modulus / (self.grid or 1.0)
            return len(self.kept) == self.mixing.shape[1] and small < 2.0**62 and not self.offset.any()
        rest = np.abs(self.mixing - self.follow @ self.mixing[self.kept]).max(initial=0.0)
        assert self.factor is not None
        return bool(rest <= 1e-12 * np.abs(self.mixing).max() and np.linalg.cond(self.factor) < _WORST)

    def of(self, masks: Array) -> Array:
        """What is kept (runs, r, m) of masks (runs, k, m)."""
        return np.asarray(masks[:, self.kept] - self.offset[self.kept, None])

    def all(self, kept: Array) -> Array:
        """Masks (runs, k, m) from what is kept of them (runs, r, m)."""
        if self.modulus is not None:
            step = self.grid or 1.0
            words = np.einsum("kr,nrm->nkm", self.follow.astype(np.int64), np.round(kept / step).astype(np.int64))
            masks = np.asarray(np.mod(words, round(self.modulus / step)) * step)
        else:
            masks = np.einsum("kr,nrm->nkm", self.follow, kept) + self.offset[:, None]
        masks[:, self.kept] = kept + self.offset[self.kept, None]
        return masks

    def whitened(self, kept: Array) -> Array:
        """Independent masks of one size, from what is kept (runs, r, m)."""
        return kept if self.factor is None else np.einsum("rq,nqm->nrm", np.linalg.inv(self.factor), kept)


Draw = Callable[[Any], Array]
"""Masks (runs, k, m), drawn from the generator that it is given."""


def law_of(protocol: Any, network: Network, modulus: float | None, grid: float, seed: int) -> Law | None:
    """The law of a protocol's masks, as single draws played back give it; None if they are no image of draws."""

    def draw(rng: Any) -> Array:
        return np.asarray(fresh(protocol).draw_masks(1, 1, network, rng), dtype=float)

    score = Score()
    real = draw(Played(np.random.PCG64(sequence(seed, "soundness", "law")), score))
    count, families = len(score.all), {family for family, _ in score.drawn}
    if (
        score.strange
        or not 0 < count <= MOST
        or len(families) != 1
        or real.ndim != 3
        or (WHOLE in families) != bool(modulus)
    ):
        return None
    step = 1.0 if modulus is None else grid or 1.0
    offset = _played(draw, np.zeros(count), score)
    if offset is None:
        return None
    columns = [_played(draw, unit, score) for unit in np.eye(count)]
    if any(column is None or column.shape != offset.shape for column in columns):
        return None
    mixing = (np.stack([np.asarray(each) for each in columns]) - offset).reshape(count, -1).T / step
    if modulus is not None:
        mixing = nearest(mixing, modulus / step)
        if (mixing != np.round(mixing)).any() or np.abs(mixing).max(initial=0.0) > 2.0**10:
            return None
    mixing = mixing[:, np.abs(mixing).max(axis=0, initial=0.0) > 0]
    law = Law(families.pop(), offset.ravel(), mixing, modulus, grid)
    return law if mixing.size and np.isfinite(mixing).all() and law.fit else None


def _bare(mixing: Array) -> NDArray[np.intp]:
    """The first mask, for each of the draws, that is that draw and nothing else."""
    rows = np.flatnonzero((np.abs(mixing).sum(axis=1) == 1) & (mixing.max(axis=1, initial=0.0) == 1))
    first = np.unique(mixing[rows].argmax(axis=1), return_index=True)[1]
    return np.asarray(np.sort(rows[first]))


def _played(draw: Draw, values: Array, like: Score) -> Array | None:
    """Masks drawn from these values, or None where other draws are made than those of a score."""
    score = Score(values=values)
    masks = draw(Played(np.random.PCG64(0), score))
    return None if score.strange or score.kind != like.kind else masks


class Roles:
    """Which draw of a call is which: of what run and entry, and by which column of the map it goes in."""

    def __init__(self, law: Law, seed: int) -> None:
        self.law, self.seed = law, seed
        self.columns, self.which = np.unique(law.mixing, axis=1, return_inverse=True)
        self.wanted = np.bincount(self.which.ravel(), minlength=self.columns.shape[1])
        self.known: dict[Any, tuple[NDArray[np.intp], NDArray[np.intp]] | None] = {}

    def explain(self, draw: Draw, masks: Array, score: Score) -> bool:
        """Whether masks (runs, k, m) are the law's, of draws of their own; ``score`` is of the call that drew them."""
        if score.strange or {family for family, _ in score.drawn} != {self.law.family}:
            return False
        key = (masks.shape, score.kind)
        if key not in self.known:
            self.known[key] = self._found(draw, masks.shape, score)
        found = self.known[key]
        return found is not None and self._are(masks, score.all, found)

    def _are(self, masks: Array, values: Array, found: tuple[NDArray[np.intp], NDArray[np.intp]]) -> bool:
        """Whether masks are what the draws ``values`` give."""
        owner, role = found
        runs, k, m = masks.shape
        due, terms = (np.zeros((runs * m, k)) for _ in "ab")
        used = np.flatnonzero(role >= 0)
        for column in range(self.columns.shape[1]):
            mine = used[role[used] == column]
            np.add.at(due, owner[mine], values[mine, None] * self.columns[:, column])
            np.add.at(terms, owner[mine], np.abs(values[mine, None] * self.columns[:, column]))
        given = masks.transpose(0, 2, 1).reshape(-1, k)
        # Rounding is that of the largest number on the way, which may be of another mask.
        allowed = _CLOSE * (terms.max(axis=1, keepdims=True) + np.abs(self.law.offset))
        return bool((np.abs(due + self.law.offset - given) <= allowed).all())

    def _found(
        self, draw: Draw, shape: tuple[int, ...], score: Score
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Owner and role of each draw; -1 for one that does nothing. None where the law does not hold.

        So few draws at a time are played that most entries get one or none. Where an entry gets one, its masks are a
        multiple of a column, and by how much they are says which draw it was.
        """
        runs, k, m = shape
        values, rng = score.all, stream(self.seed, "soundness", "roles", *shape)
        count, groups = len(values), runs * m
        owner, role = np.full(count, -1), np.full(count, -1)
        sizes = rng.uniform(1.0, 2.0, count)
        left = np.ones(count, dtype=bool)
        idle = count - groups * self.law.mixing.shape[1]
        for turn in range(_PATIENCE * (count // groups + 8)):
            if left.sum() <= max(idle, 0):
                break
            # Some entries may have many left where most have none: fewer in turns.
            active = left & (rng.random(count) < min(0.5, groups / (left.sum() - idle)) / 2 ** (turn % 3))
            masks = _played(draw, np.where(active, sizes, 0.0), score)
            if masks is None or masks.shape != shape:
                return None
            moved = (masks - self.law.offset[:, None]).transpose(0, 2, 1).reshape(groups, k)
            hit = np.flatnonzero(moved.any(axis=1))
            which = np.flatnonzero(active)[np.argsort(sizes[active])]
            for column in range(self.columns.shape[1]):
                towards = self.columns[:, column]
                amount = moved[hit] @ towards / (towards @ towards)
                place = np.clip(np.searchsorted(sizes[which], amount), 0, max(len(which) - 1, 0))
                for candidate in (place, np.maximum(place - 1, 0)) if len(which) else ():
                    draws = which[candidate]
                    off = np.abs(moved[hit] - sizes[draws, None] * towards).max(axis=1)
                    fits = off <= _CLOSE * (np.abs(towards).max() + np.abs(self.law.offset).max())
                    owner[draws[fits]], role[draws[fits]] = hit[fits], column
                    left[draws[fits]] = False
        counts = np.zeros((groups, self.columns.shape[1]), dtype=int)
        np.add.at(counts, (owner[role >= 0], role[role >= 0]), 1)
        if (counts != self.wanted).any():
            return None
        other = rng.standard_normal(count)  # those without a role must do nothing, and the others no more than said
        masks = _played(draw, other, score)
        return (owner, role) if masks is not None and self._are(masks, other, (owner, role)) else None
