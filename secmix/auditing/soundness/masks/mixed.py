"""A sum protocol whose masks follow from fewer: the exact evidence takes those for its unknowns, with their joint law.

Nothing of the protocol is changed. It draws its masks as ever; what is handed out are those from which all others
follow, and what is handed in is made into all of them again. Unit masks then travel as the protocol would send them,
and masks that cancel are seen to cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix._base.random import sequence
from secmix.auditing.soundness.masks.law import Law, Roles, law_of
from secmix.auditing.soundness.masks.played import Played, Score
from secmix.auditing.soundness.masks.traced import Logged, residues_of, trace
from secmix.auditing.soundness.runner import fresh, same_bits
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import Carrying, SumTraits
from secmix.transcript import Channel, Transcript

_SHAPES = ((6, 3), (1, 3), (4, 2), (1, 1), (2, 3))
_CLOSE = 1e-9  # of the largest: what masks may be off that a law explains


@dataclass(frozen=True)
class Mixed(Carrying):
    """``inner``, of whose masks only those are drawn from which the others follow."""

    law: Law

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Masks that are kept, of those that the protocol draws.

        Raises
        ------
        SecmixError
            They are none of the law that was found.
        """
        draw: Callable[..., Array] = vars(self).get("_genuine", self.inner.draw_masks)
        masks = np.asarray(draw(runs, m, network, rng), dtype=float)
        if masks.shape != (runs, len(self.law.offset), m):
            raise SecmixError("the protocol does not draw as many masks as before")
        kept = self.law.of(masks)
        off = np.abs(self.law.all(kept) - masks)
        if not (off <= _CLOSE * np.abs(masks).max(initial=0.0)).all():
            raise SecmixError("the protocol draws masks in another way than before")
        object.__setattr__(self, "_drawn", (kept, masks))
        return kept.copy()

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
        if masks is not None:
            return self.inner.average(inputs, network, rng, masks=self.law.all(masks), channel=channel)
        if "draw_masks" in vars(self) and "_genuine" not in vars(self):  # somebody watches what is drawn
            object.__setattr__(self, "_genuine", self.inner.draw_masks)
            watched = vars(self)["draw_masks"]
            object.__setattr__(self.inner, "draw_masks", lambda *a, **more: self._again(watched(*a, **more)))
        return self.inner.average(inputs, network, rng, channel=channel)

    def _again(self, kept: Array) -> Array:
        """All masks from what is kept: to the last bit those that were drawn, where they are."""
        drawn, masks = vars(self)["_drawn"]
        return masks.copy() if same_bits(drawn, kept) else self.law.all(kept)

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
    try:
        if _by_themselves(protocol, network, shapes[0], seed):
            return protocol
        law = law_of(protocol, network, traits.modulus, traits.grid, seed)
        if law is None:
            return protocol
        roles = Roles(law, seed)
        for place, (runs, m) in enumerate(shapes):
            seeds = sequence(seed, "soundness", "law", place)
            if drawn_by(law, roles, fresh(protocol), (runs, m), network, seeds) is None:
                return protocol
    except Exception:  # a stranger's code may fail in any way: then nothing is known of its masks
        return protocol
    return Mixed(protocol, law)


def drawn_by(
    law: Law, roles: Roles, protocol: Any, shape: tuple[int, int], network: Network, seeds: np.random.SeedSequence
) -> Array | None:
    """Masks (runs, k, m) that ``protocol`` draws, if each is what the law says, of draws of its own; else None."""
    before = fresh(protocol)

    def draw(rng: Any, once: Any = None) -> Array:
        drawing = fresh(before) if once is None else once
        return np.asarray(drawing.draw_masks(*shape, network, rng), dtype=float)

    plain = draw(np.random.Generator(_bits(seeds)))
    if law.modulus is not None:
        logged = Logged(_bits(seeds))
        masks = draw(logged, protocol)
        kept = law.of(masks)
        good = residues_of(kept, logged.log, law.modulus, law.grid) is None and (law.all(kept) == masks).all()
    else:
        score = Score()
        masks = draw(Played(_bits(seeds), score), protocol)
        good = masks.shape == (shape[0], len(law.offset), shape[1]) and roles.explain(draw, masks, score)
    return masks if good and same_bits(plain, masks) else None


def _bits(seeds: np.random.SeedSequence) -> np.random.PCG64:
    """The same each time, children too."""
    return np.random.PCG64(np.random.SeedSequence(seeds.entropy, spawn_key=seeds.spawn_key))


def _by_themselves(protocol: Any, network: Network, shape: tuple[int, int], seed: int) -> bool:
    """Whether each mask is a draw of its own already, all of one size; or there are none."""
    traits = SumTraits.of(protocol)
    logged = Logged(np.random.PCG64(sequence(seed, "soundness", "by themselves")))
    masks = np.asarray(fresh(protocol).draw_masks(*shape, network, logged), dtype=float)
    if not masks.size:
        return True
    modulus = None if traits.modulus is None else float(traits.modulus)
    traced = trace(masks, logged.log, modulus, float(traits.grid))
    return traced.witness is None and float(np.ptp(traced.scales)) <= 1e-9 * float(traced.scales.max())


def independent(protocol: Any, masks: Array) -> Array:
    """Masks of ``protocol`` (runs, k, m) as independent ones of one size, where that is not what they are."""
    return protocol.law.whitened(masks) if isinstance(protocol, Mixed) else masks


def factor_of(protocol: Any) -> Array | None:
    """What independent masks of one size are multiplied by to get those of ``protocol``; None for nothing."""
    while isinstance(protocol, Carrying):
        if isinstance(protocol, Mixed):
            return protocol.law.factor
        protocol = protocol.inner
    return None
