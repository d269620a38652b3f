"""Masks that follow from fewer: the exact evidence takes those for its unknowns, with their joint law.

Masks are often made of draws: their mean is taken off so that they add up to zero, the last is what the others lack,
each is the sum of two. The kernel's trace says of which draws each mask is made. Nothing of the protocol is changed: it
draws its masks as ever, what is handed out are those from which all others follow, and what is handed in is made into
all of them again. So unit masks travel as the protocol would send them, and masks that cancel are seen to cancel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.estimators.exact.integers import nearest
from secmix.kernel.numbers import Number
from secmix.kernel.state import Variable
from secmix.kernel.trace import drawn_masks
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import ProtocolWrapper, SumTraits
from secmix.transcript import Channel, Transcript

_SHAPES = ((6, 3), (1, 2))
_CLOSE = 1e-9  # of the largest: what masks may be off that a law explains
_WORST = 1e4  # how ill the map may be conditioned: beyond it masks all but cancel, and their digits show
_NONE = 1e-11  # of the largest singular value: no direction at all
_FRACTIONS = 5040  # coefficients that are multiples of its inverse, to rounding, are taken for these
_WORD = 2.0**62
_MOST = 2.0**10  # of the whole coefficients of masks that are words


@dataclass(frozen=True)
class Law:
    """Masks of one entry of one run, k numbers, as ``offset`` + ``mixing`` z, for independent draws z of one size.

    Attributes
    ----------
    offset : (k,)
    mixing : (k, q)
        In modular arithmetic whole numbers, and ``offset`` is zero.
    modulus, grid : float or None, float
        Those of the protocol.
    """

    offset: Array
    mixing: Array
    modulus: float | None = None
    grid: float = 0.0

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """Masks from which all others follow, as few as there can be; in modular arithmetic each is a draw."""
        if self.modulus is not None:
            bare = np.flatnonzero((np.abs(self.mixing).sum(axis=1) == 1) & (self.mixing.max(axis=1, initial=0.0) == 1))
            return np.sort(bare[np.unique(self.mixing[bare].argmax(axis=1), return_index=True)[1]])
        from scipy.linalg import qr

        sizes = np.linalg.svd(self.mixing, compute_uv=False)
        rank = int((sizes > _NONE * sizes[0]).sum())
        return np.sort(qr(self.mixing.T, mode="r", pivoting=True)[1][:rank])

    @cached_property
    def follow(self) -> Array:
        """(k, r): all masks, less their offset, from those that are kept."""
        rows = self.mixing[self.kept]
        if self.modulus is not None:
            return np.asarray(self.mixing[:, rows.argmax(axis=1)])
        exact = self.mixing @ np.linalg.pinv(rows)
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
    def fits(self) -> bool:
        """Say whether all masks follow from those that are kept, none of which all but follows from the others."""
        if self.modulus is not None:
            size = float(np.abs(self.follow).sum(axis=1).max(initial=0.0)) * self.modulus / (self.grid or 1.0)
            return len(self.kept) == self.mixing.shape[1] and size < _WORD
        rest = np.abs(self.mixing - self.follow @ self.mixing[self.kept]).max(initial=0.0)
        assert self.factor is not None
        return bool(rest <= 1e-12 * np.abs(self.mixing).max() and np.linalg.cond(self.factor) < _WORST)

    @property
    def is_plain(self) -> bool:
        """Say whether each mask is a draw of its own already, all of one size."""
        sizes = np.linalg.norm(self.mixing, axis=1)
        alone = (self.mixing != 0).sum(axis=0).max() == 1 and len(self.kept) == len(self.mixing)
        return bool(alone and np.ptp(sizes) <= 1e-9 * sizes.max())

    def is_like(self, other: Law) -> bool:
        """Say whether both are of the same joint distribution."""
        if len(self.mixing) != len(other.mixing) or not np.allclose(self.offset, other.offset, rtol=1e-9, atol=0.0):
            return False
        one, two = (law.mixing @ law.mixing.T for law in (self, other))
        return bool(np.allclose(one, two, rtol=1e-9, atol=1e-12 * np.abs(one).max()))

    def of(self, masks: Array) -> Array:
        """Return what is kept (runs, r, m) of masks (runs, k, m)."""
        return np.asarray(masks[:, self.kept] - self.offset[self.kept, None])

    def all(self, kept: Array) -> Array:
        """Return masks (runs, k, m) from what is kept of them (runs, r, m)."""
        if self.modulus is not None:
            step = self.grid or 1.0
            words = np.einsum("kr,nrm->nkm", self.follow.astype(np.int64), np.round(kept / step).astype(np.int64))
            masks = np.asarray(np.mod(words, round(self.modulus / step)) * step)
        else:
            masks = np.einsum("kr,nrm->nkm", self.follow, kept) + self.offset[:, None]
        masks[:, self.kept] = kept + self.offset[self.kept, None]
        return masks


@dataclass(frozen=True)
class Mixed(ProtocolWrapper):
    """``inner``, of whose masks only those are drawn from which the others follow."""

    law: Law

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Masks that are kept, of those that the protocol draws.

        Raises
        ------
        SecmixError
            They are none of the law that was found.
        """
        masks = np.asarray(self.inner.draw_masks(runs, m, network, rng), dtype=float)
        if masks.shape != (runs, len(self.law.offset), m):
            raise SecmixError("the protocol does not draw as many masks as before")
        kept = self.law.of(masks)
        off = np.abs(self.law.all(kept) - masks)
        if not (off <= _CLOSE * np.abs(masks).max(initial=0.0)).all():
            raise SecmixError("the protocol draws masks in another way than before")
        return kept

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """As ``inner``, with all masks that follow from ``masks``; with its own, if there are none."""
        every = None if masks is None else self.law.all(masks)
        return self.inner.average(inputs, network, rng, masks=every, channel=channel)

    def __getattr__(self, name: str) -> Any:
        # What else it says of itself: advice, a graph. Of a copy in the making there is nothing yet.
        if name.startswith("_") or name in ("inner", "law", "sigma"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def understood(
    protocol: SumProtocol, network: Network, shapes: Sequence[tuple[int, int]] = _SHAPES, seed: int = 0
) -> SumProtocol:
    """``protocol``, as one whose masks are drawn by themselves if they are not, and are linear images of such.

    Parameters
    ----------
    shapes : sequence of (runs, m)
        Of calls in which the law of the masks must hold.

    Examples
    --------
    >>> from secmix.protocols import SecureSum
    >>> protocol = SecureSum()
    >>> understood(protocol, Network.cycle(4)) is protocol
    True
    """
    traits = SumTraits.of(protocol)
    laws: list[Law | None] = []
    for runs, m in shapes:
        drawn = drawn_masks(protocol, network, runs, m, seed=seed)
        laws += [None] if drawn is None or not drawn[0].size else _laws(*drawn, traits)
    known = [law for law in laws if law is not None]
    if not known or len(known) < len(laws) or known[0].is_plain or not all(known[0].is_like(law) for law in known):
        return protocol
    return Mixed(protocol, known[0])


def _laws(masks: Any, variables: Mapping[int, Variable], traits: SumTraits) -> list[Law | None]:
    """Work out the law of the masks (runs, k, m) of each run and entry; None where they are no image of own draws."""
    found: list[Law | None] = []
    before: set[int] = set()
    for group in masks.objects.transpose(0, 2, 1).reshape(-1, masks.shape[1]):
        used = {v for mask in group if isinstance(mask, Number) for v in mask.form or ()}
        found.append(None if used & before or not used else _law(group, sorted(used), variables, traits))
        before |= used
    return found


def _law(group: Any, used: list[int], variables: Mapping[int, Variable], traits: SumTraits) -> Law | None:
    modulus = None if traits.modulus is None else float(traits.modulus)
    grid = float(traits.grid)
    step = 1.0 if modulus is None else grid or 1.0
    words = 0 if modulus is None else round(modulus / step)
    known = {math.inf, math.inf if modulus is None else modulus}
    if any(isinstance(mask, Number) and mask.modulus not in known for mask in group):
        return None
    if any(variables[v].range != words for v in used):
        return None
    terms = [mask.terms if isinstance(mask, Number) else {} for mask in group]
    mixing = np.array([[float(row.get(v, 0.0)) for v in used] for row in terms])
    values = np.array([float(variables[v].value) for v in used])
    offset = np.array([float(getattr(mask, "value", mask)) for mask in group]) - mixing @ values
    if modulus is None:
        offset[np.abs(offset) <= 1e-12 * (np.abs(mixing) @ np.abs(values))] = 0.0
        law = Law(offset, mixing * [variables[v].spread for v in used])
    else:
        law = Law(np.zeros(len(group)), nearest(mixing / step, modulus / step), modulus, grid)
        off = nearest(offset, modulus)
        if (law.mixing != np.round(law.mixing)).any() or off.any() or np.abs(law.mixing).max() > _MOST:
            return None
    return law if np.isfinite(law.mixing).all() and law.fits else None


def independent(protocol: Any, masks: Array) -> Array:
    """Masks of ``protocol`` (runs, k, m) as independent ones of one size, where that is not what they are."""
    factor = factor_of(protocol)
    return masks if factor is None else np.einsum("rq,nqm->nrm", np.linalg.inv(factor), masks)


def factor_of(protocol: Any) -> Array | None:
    """Return what independent masks of one size are multiplied by to get those of ``protocol``; None for nothing."""
    while isinstance(protocol, ProtocolWrapper):
        if isinstance(protocol, Mixed):
            return protocol.law.factor
        protocol = protocol.inner
    return None
