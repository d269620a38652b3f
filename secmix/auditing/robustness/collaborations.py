"""What forgers do to a collaboration: its outcome pushed, for every number of them, and where it breaks down.

The protocol that runs is the one attacked, over a channel on which the colluders speak. Errors are counted in the error
that other rows make: the median between two honest runs on different deals.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.forgers import Forgers, Forgery, ForgingChannel
from secmix.auditing.report import Robustness, RobustnessPoint
from secmix.auditing.robustness.sums import FARTHEST, at, damage, judged
from secmix.auditing.setup import CollaborationSetup
from secmix.data import deal
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols.collaboration import CollaborationTraits
from secmix.scenario import Scenario
from secmix.transcript import Channel, Transcript

_DEALS = 8  # runs under each attack
_SEARCHED = 2  # runs for a forgery that searches


@dataclass(frozen=True)
class _Honest:
    """The runs in which all follow the protocol."""

    rows_by_node: list[Array]
    results: Array
    transcript: Transcript
    typical: float  # median error between these results and those on other rows


def robustness(cell: Scenario, setup: CollaborationSetup) -> Robustness | None:
    """The damage that the cell's forgers do; None where the adversary is passive."""
    if not isinstance(setup.adversary, Forgers):
        return None
    honest = _honest(cell, setup)
    n, f = setup.network.n, len(setup.corrupt)
    forgeries = setup.adversary.forgeries(honest.transcript)
    order = [*sorted(setup.corrupt), *(i for i in range(n) if i not in setup.corrupt)]
    most = max(f, (n - 1) // 2)
    tried: dict[int, Errors] = {
        c: {name: _errors(cell, setup, honest, name, forgery, order[:c]) for name, forgery in forgeries.items()}
        for c in range(1, most + 1)
    }
    points = [_point(setup, honest, errors, c) for c, errors in tried.items()]
    broken = [p.colluders for p in points if p.found is None]
    least = min(broken, default=most + 1)
    proven = max((p.colluders for p in points if p.proven is not None), default=0)
    verdict, why = judged(cell.policy, points, f, n, (least - 1) / n, proven / n, bool(broken))
    return Robustness(
        colluders=f,
        breakdown=(least - 1) / n,
        breakdown_proven=proven / n,
        spread=f"median error between two honest runs on other rows, {honest.typical:.3g} {_unit(setup)}",
        outcome=f"the outcome at honest nodes, {_unit(setup)}",
        points=points,
        damages=[damage(name, _push(setup, errors, honest.typical), errors) for name, errors in tried[f].items()],
        verdict=verdict,
        why=why if honest.typical < _worthless(setup) else f"other rows alone make the outcome worthless; {why}",
    )


def _unit(setup: CollaborationSetup) -> str:
    return CollaborationTraits.of(setup.protocol).unit


def _honest(cell: Scenario, setup: CollaborationSetup) -> _Honest:
    first, second = (
        deal(setup.rows, setup.counts, _DEALS, stream(cell.seed, "attacked rows", k)) for k in ("first", "other")
    )
    channel = Channel()
    results = _run(cell, setup, first, channel)
    others = _run(cell, setup, second, Channel(record=False))
    typical = float(np.median(setup.protocol.error(others, results)))
    return _Honest(first, results, channel.transcript, typical)


def _run(cell: Scenario, setup: CollaborationSetup, rows_by_node: list[Array], channel: Channel) -> Array:
    """With the same draws whoever speaks, so that the colluders alone make the difference."""
    rng = stream(cell.seed, "attacked protocol")
    return np.asarray(setup.protocol.collaborate(rows_by_node, setup.network, rng, channel=channel), dtype=np.float64)


Errors = dict[str, Array]
"""By attack, the error of each run; infinite where the protocol gave up."""


def _errors(
    cell: Scenario, setup: CollaborationSetup, honest: _Honest, name: str, forgery: Forgery, corrupt: list[int]
) -> Array:
    """The worse of two sizes of the same lie, over the runs: a rule that sees the large one may miss the small."""
    assert isinstance(setup.adversary, Forgers)
    scale = setup.adversary.scale
    runs = _SEARCHED if forgery.searches else _DEALS
    sizes = (scale,) if forgery.searches else (scale, FARTHEST * scale)
    both = [_errors_at(cell, setup, honest, name, forgery, corrupt, size, runs) for size in sizes]
    return max(both, key=lambda errors: float(errors.max()))


def _errors_at(
    cell: Scenario,
    setup: CollaborationSetup,
    honest: _Honest,
    name: str,
    forgery: Forgery,
    corrupt: list[int],
    scale: float,
    runs: int,
) -> Array:
    rng = stream(cell.seed, "attack", name, len(corrupt))
    rows_by_node = [part[:runs] for part in honest.rows_by_node]
    if forgery.poison is not None:
        rows_by_node = [
            forgery.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(rows_by_node)
        ]
    channel = ForgingChannel(forgery, corrupt, rng, protocol=setup.protocol, scale=scale, record=False)
    loyal = [i for i in range(setup.network.n) if i not in corrupt]
    try:
        # What colluders send may overflow; that is their aim, and counts as a run that failed. Nor is it news that
        # some of it is set aside.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = _run(cell, setup, rows_by_node, channel)
            errors = setup.protocol.error(results[:, loyal], honest.results[:runs, loyal])
    except ScenarioError:  # the forgery itself is at fault
        raise
    except (SecmixError, FloatingPointError):
        return np.full(runs, np.inf)
    return np.where(np.isfinite(errors), errors, np.inf)


def _point(setup: CollaborationSetup, honest: _Honest, errors: Errors, colluders: int) -> RobustnessPoint:
    n = setup.network.n
    if 2 * colluders >= n:
        return at(colluders, n, None, None, "half of the nodes: nothing tells the honest half from the other")
    by = max(errors, key=lambda name: float(errors[name].max()))
    allowed = CollaborationTraits.of(setup.protocol).bound(honest.transcript, honest.results, colluders)
    return at(
        colluders,
        n,
        _push(setup, errors[by], honest.typical),
        None if allowed is None else _ratio(float(allowed), honest.typical),
        by.replace("_", " "),
    )


def _push(setup: CollaborationSetup, errors: Array, typical: float) -> float | None:
    """The worst of some errors over the typical one; None where the outcome is broken."""
    worst = float(errors.max())
    # Where other rows alone make an outcome that bad, it says nothing of colluders.
    if worst >= _worthless(setup) > typical or not math.isfinite(worst):
        return None
    return None if worst > 1e-3 * FARTHEST * max(typical, 1e-12) else _ratio(worst, typical)


def _worthless(setup: CollaborationSetup) -> float:
    return CollaborationTraits.of(setup.protocol).broken


def _ratio(error: float, typical: float) -> float:
    return error / max(typical, 1e-12)
