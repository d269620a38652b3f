"""All pairs of a wrong protocol and its right twin."""

from __future__ import annotations

from typing import Any, Literal

import secmix
from secmix.auditing.cell_parts import PrivacyClaim

from . import before_noise, beside, draws, samples
from .bases import Twins

TWINS: list[Twins] = [*before_noise.TWINS, *draws.TWINS, *beside.TWINS, *samples.TWINS]
Side = Literal["wrong", "right"]


def claimed(twins: Twins, side: Side, *, share: float = 1.0, seed: int = 0) -> PrivacyClaim:
    """Return what an audit says of the claim of a twin, or of ``share`` times the epsilon that it claims."""
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "gaussian", "features": 4, "rows_per_node": 6, **twins.data},
            "runs": 100,
            "seed": seed,
            "claim": {**twins.claim, "epsilon": share * twins.claim["epsilon"]},
            "measure": {"evidence": ["decoders"], "nodes": [0]},
        },
        protocols={side: getattr(twins, side)()},
        adversaries={"them": twins.adversary},
    )
    claim: Any = report.cells[0].claim
    return claim  # type: ignore[no-any-return]
