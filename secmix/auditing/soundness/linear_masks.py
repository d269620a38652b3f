"""Masks that are linear functions of fewer masks: exact evidence takes those as unknowns, with their distribution.

Masks are often linear functions of draws: their mean is subtracted so that they add up to zero, the last is minus the
sum of the others, each is the sum of two. The kernel's trace gives the draws of each mask. The protocol itself is not
changed: it draws its masks, of which a basis is returned; a given basis is expanded to all masks. So unit masks are
sent as the protocol would send them, and masks that cancel are recognised as such.
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
from secmix.kernel.randomness.draws import Draws
from secmix.kernel.tracing.trace import copied, guarded
from secmix.kernel.tracing.world import modules_of, replaced
from secmix.kernel.values.arrays import Followed, followed
from secmix.kernel.values.current_trace import LeftTrace, Trace, Variable, following
from secmix.kernel.values.numbers import Number
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import ProtocolWrapper, SumTraits
from secmix.transcript import Channel, Transcript

_SHAPES = ((6, 3), (1, 2))
_CLOSE = 1e-9  # largest relative error of masks that a distribution explains
_WORST = 1e4  # largest condition number of the map: beyond it masks nearly cancel, and their digits become visible
_NONE = 1e-11  # share of the largest singular value that counts as zero
_FRACTIONS = 5040  # coefficients near multiples of its inverse are rounded to these
_WORD = 2.0**62
_MOST = 2.0**10  # largest integer coefficient of masks that are words


@dataclass(frozen=True)
class MaskDistribution:
    """Masks of one entry of one run, k numbers, as ``offset`` + ``mixing`` z, for independent draws z of one size."""

    offset: Array  # (k,)
    mixing: Array  # (k, q): in modular arithmetic integers, and ``offset`` is zero
    # modulus, grid: modulus and grid of the protocol
    modulus: float | None = None
    grid: float = 0.0

    @cached_property
    def basis(self) -> NDArray[np.intp]:
        """Masks that determine all others, as few as possible; in modular arithmetic each is a draw."""
        if self.modulus is not None:
            bare = np.flatnonzero((np.abs(self.mixing).sum(axis=1) == 1) & (self.mixing.max(axis=1, initial=0.0) == 1))
            return np.sort(bare[np.unique(self.mixing[bare].argmax(axis=1), return_index=True)[1]])
        from scipy.linalg import qr

        sizes = np.linalg.svd(self.mixing, compute_uv=False)
        rank = int((sizes > _NONE * sizes[0]).sum())
        return np.sort(qr(self.mixing.T, mode="r", pivoting=True)[1][:rank])

    @cached_property
    def map(self) -> Array:
        """(k, r): the map from the basis to all masks, without the offset."""
        rows = self.mixing[self.basis]
        if self.modulus is not None:
            return np.asarray(self.mixing[:, rows.argmax(axis=1)])
        exact = self.mixing @ np.linalg.pinv(rows)
        near = np.round(exact * _FRACTIONS) / _FRACTIONS
        return np.asarray(np.where(np.abs(exact - near) < 1e-11, near, exact)) + 0.0

    @cached_property
    def factor(self) -> Array | None:
        """(r, r): the map from independent masks of one size to the basis, with the same average size."""
        if self.modulus is not None:
            return None
        rows = self.mixing[self.basis]
        square = rows @ rows.T
        return np.asarray(np.linalg.cholesky(square / (np.trace(square) / len(square))))

    @property
    def fits(self) -> bool:
        """True if the basis determines all masks, and no mask of the basis nearly follows from the others."""
        if self.modulus is not None:
            size = float(np.abs(self.map).sum(axis=1).max(initial=0.0)) * self.modulus / (self.grid or 1.0)
            return len(self.basis) == self.mixing.shape[1] and size < _WORD
        if self.is_plain:  # its map is a permutation, and its factor the identity
            return True
        rest = np.abs(self.mixing - self.map @ self.mixing[self.basis]).max(initial=0.0)
        assert self.factor is not None
        return bool(rest <= 1e-12 * np.abs(self.mixing).max() and np.linalg.cond(self.factor) < _WORST)

    @property
    def is_plain(self) -> bool:
        """True if each mask is already its own draw, all of one size."""
        sizes = np.linalg.norm(self.mixing, axis=1)
        alone = (self.mixing != 0).sum(axis=0).max(initial=0) == 1
        if not alone or not np.ptp(sizes) <= 1e-9 * sizes.max():
            return False
        # Rows without a common draw are orthogonal, so that of real ones of one size none follows from others.
        return self.modulus is None or len(self.basis) == len(self.mixing)

    def is_like(self, other: MaskDistribution) -> bool:
        """Check whether both have the same joint distribution."""
        if len(self.mixing) != len(other.mixing) or not np.allclose(self.offset, other.offset, rtol=1e-9, atol=0.0):
            return False
        own, others = (masks.mixing @ masks.mixing.T for masks in (self, other))
        return bool(np.allclose(own, others, rtol=1e-9, atol=1e-12 * np.abs(own).max()))

    def of(self, masks: Array) -> Array:
        """Compute the basis (runs, r, m) of masks (runs, k, m)."""
        return np.asarray(masks[:, self.basis] - self.offset[self.basis, None])

    def all(self, basis: Array) -> Array:
        """Compute all masks (runs, k, m) from their basis (runs, r, m)."""
        if self.modulus is not None:
            step = self.grid or 1.0
            words = np.einsum("kr,nrm->nkm", self.map.astype(np.int64), np.round(basis / step).astype(np.int64))
            masks = np.asarray(np.mod(words, round(self.modulus / step)) * step)
        else:
            masks = np.einsum("kr,nrm->nkm", self.map, basis) + self.offset[:, None]
        masks[:, self.basis] = basis + self.offset[self.basis, None]
        return masks


@dataclass(frozen=True)
class LinearMasks(ProtocolWrapper):
    """``inner``, with only a basis of its masks drawn."""

    distribution: MaskDistribution

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw masks with the protocol, and return their basis.

        Raises SecmixError if the masks do not have the known distribution.
        """
        masks = np.asarray(self.inner.draw_masks(runs, m, network, rng), dtype=float)
        if masks.shape != (runs, len(self.distribution.offset), m):
            raise SecmixError(
                "the protocol draws another number of masks than before; draw_masks must depend on its arguments only"
            )
        basis = self.distribution.of(masks)
        off = np.abs(self.distribution.all(basis) - masks)
        if not (off <= _CLOSE * np.abs(masks).max(initial=0.0)).all():
            raise SecmixError(
                "the protocol draws masks of another distribution than before; draw_masks must depend on its "
                "arguments only"
            )
        return basis

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Run ``inner`` with all masks that follow from ``masks``; with its own if None."""
        expanded = None if masks is None else self.distribution.all(masks)
        return self.inner.average(inputs, network, rng, masks=expanded, channel=channel)

    def __getattr__(self, name: str) -> Any:
        # Other members, such as advise or exposure_graph. A copy being made has no attributes yet.
        if name.startswith("_") or name in ("inner", "distribution", "sigma"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def with_linear_masks(
    protocol: SumProtocol, network: Network, shapes: Sequence[tuple[int, int]] = _SHAPES, seed: int = 0
) -> SumProtocol:
    """Wrap ``protocol`` so that its masks are independent draws, if they are linear functions of such.

    ``shapes``, sequence of (runs, m): calls in which the distribution of the masks must be the same.

    >>> from secmix.protocols import SecureSum
    >>> protocol = SecureSum()
    >>> with_linear_masks(protocol, Network.cycle(4)) is protocol
    True
    """
    traits = SumTraits.of(protocol)
    distributions: list[MaskDistribution | None] = []
    for runs, m in shapes:
        drawn = drawn_masks(protocol, network, runs, m, seed=seed)
        distributions += [None] if drawn is None or not drawn[0].size else _distributions(*drawn, traits)
    known = [distribution for distribution in distributions if distribution is not None]
    if not known or len(known) < len(distributions) or known[0].is_plain:
        return protocol
    if not all(known[0].is_like(other) for other in known):
        return protocol
    return LinearMasks(protocol, known[0])


def _distributions(masks: Any, variables: Mapping[int, Variable], traits: SumTraits) -> list[MaskDistribution | None]:
    """Determine the distribution of the masks (runs, k, m) of each run and entry; None if they share draws."""
    distributions: list[MaskDistribution | None] = []
    before: set[int] = set()
    for group in masks.objects.transpose(0, 2, 1).reshape(-1, masks.shape[1]):
        used = {v for mask in group if isinstance(mask, Number) for v in mask.form or ()}
        shared = bool(used & before) or not used
        distributions.append(None if shared else _distribution(group, sorted(used), variables, traits))
        before |= used
    return distributions


def _distribution(
    group: Any, used: list[int], variables: Mapping[int, Variable], traits: SumTraits
) -> MaskDistribution | None:
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
    mixing, place = np.zeros((len(terms), len(used))), {v: k for k, v in enumerate(used)}
    for mask, row in zip(mixing, terms, strict=True):
        for v, coefficient in row.items():
            mask[place[v]] = float(coefficient)
    values = np.array([float(variables[v].value) for v in used])
    offset = np.array([float(getattr(mask, "value", mask)) for mask in group]) - mixing @ values
    if modulus is None:
        offset[np.abs(offset) <= 1e-12 * (np.abs(mixing) @ np.abs(values))] = 0.0
        distribution = MaskDistribution(offset, mixing * [variables[v].spread for v in used])
    else:
        distribution = MaskDistribution(np.zeros(len(group)), nearest(mixing / step, modulus / step), modulus, grid)
        off = nearest(offset, modulus)
        if (
            (distribution.mixing != np.round(distribution.mixing)).any()
            or off.any()
            or np.abs(distribution.mixing).max() > _MOST
        ):
            return None
    return distribution if np.isfinite(distribution.mixing).all() and distribution.fits else None


def independent(protocol: Any, masks: Array) -> Array:
    """Convert masks of ``protocol`` (runs, k, m) to independent ones of one size, if they are not already."""
    factor = factor_of(protocol)
    return masks if factor is None else np.einsum("rq,nqm->nrm", np.linalg.inv(factor), masks)


def factor_of(protocol: Any) -> Array | None:
    """Compute the map from independent masks of one size to those of ``protocol``; None for the identity."""
    while isinstance(protocol, ProtocolWrapper):
        if isinstance(protocol, LinearMasks):
            return protocol.distribution.factor
        protocol = protocol.inner
    return None


def drawn_masks(
    protocol: Any, network: Network, runs: int, m: int, *, seed: int = 0
) -> tuple[Followed, dict[int, Variable]] | None:
    """Trace masks (runs, k, m) to their draws, and return both; None if that cannot be followed."""
    trace, protocol = Trace(), copied(protocol)
    rng = Draws(np.random.default_rng((seed,)).bit_generator, secret=None)
    with replaced(modules_of(protocol)), following(trace), guarded(protocol):
        try:
            masks = followed(protocol.draw_masks(runs, m, network, rng))
        except (LeftTrace, Exception):  # a stranger's code may fail in any way
            return None
    return None if trace.left or masks.ndim != 3 else (masks, trace.variables)
