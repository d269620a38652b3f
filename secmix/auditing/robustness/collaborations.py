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
from secmix.adversaries.forgers import Forgers, Forgery, ForgingChannel
from secmix.auditing.report import Robustness, RobustnessPoint
from secmix.auditing.robustness.sums import FARTHEST, at, damage, judged
from secmix.auditing.setup import Whole
from secmix.data import deal
from secmix.errors import ScenarioError, SecmixError
from secmix.scenario import Scenario
from secmix.transcript import Channel, Transcript

_DEALS = 8  # runs under each attack
_SEARCHED = 2  # runs for a forgery that searches


@dataclass(frozen=True)
class _Honest:
    """The runs in which all follow the protocol."""

    dealt: list[Array]
    results: Array
    transcript: Transcript
    typical: float  # median error between these results and those on other rows


def robustness(cell: Scenario, parts: Whole) -> Robustness | None:
    """The damage that the cell's forgers do; None where the adversary is passive."""
    if not isinstance(parts.adversary, Forgers):
        return None
    honest = _honest(cell, parts)
    n, f = parts.network.n, len(parts.corrupt)
    forgeries = parts.adversary.forgeries(honest.transcript)
    order = [*sorted(parts.corrupt), *(i for i in range(n) if i not in parts.corrupt)]
    most = max(f, (n - 1) // 2)
    tried: dict[int, Errors] = {
        c: {name: _errors(cell, parts, honest, forgery, order[:c]) for name, forgery in forgeries.items()}
        for c in range(1, most + 1)
    }
    points = [_point(parts, honest, errors, c) for c, errors in tried.items()]
    broken = [p.colluders for p in points if p.found is None]
    least = min(broken, default=most + 1)
    proven = max((p.colluders for p in points if p.proven is not None), default=0)
    verdict, why = judged(cell.policy, points, f, n, (least - 1) / n, proven / n, bool(broken))
    return Robustness(
        colluders=f,
        breakdown=(least - 1) / n,
        breakdown_proven=proven / n,
        spread=f"median error between two honest runs on other rows, {honest.typical:.3g} {_unit(parts)}",
        outcome=f"the outcome at honest nodes, {_unit(parts)}",
        points=points,
        damages=[damage(name, _push(parts, errors, honest.typical), errors) for name, errors in tried[f].items()],
        verdict=verdict,
        why=why if honest.typical < _worthless(parts) else f"other rows alone make the outcome worthless; {why}",
    )


def _unit(parts: Whole) -> str:
    return str(getattr(parts.protocol, "unit", "in the protocol's own measure"))


def _honest(cell: Scenario, parts: Whole) -> _Honest:
    first, second = (deal(parts.rows, parts.counts, _DEALS, np.random.default_rng([cell.seed, 8, k])) for k in (0, 1))
    channel = Channel()
    results = _run(cell, parts, first, channel)
    others = _run(cell, parts, second, Channel(record=False))
    typical = float(np.median(parts.protocol.error(others, results)))
    return _Honest(first, results, channel.transcript, typical)


def _run(cell: Scenario, parts: Whole, dealt: list[Array], channel: Channel) -> Array:
    """With the same draws whoever speaks, so that the colluders alone make the difference."""
    rng = np.random.default_rng([cell.seed, 9])
    return np.asarray(parts.protocol.collaborate(dealt, parts.network, rng, channel=channel), dtype=np.float64)


Errors = dict[str, Array]
"""By attack, the error of each run; infinite where the protocol gave up."""


def _errors(cell: Scenario, parts: Whole, honest: _Honest, forgery: Forgery, corrupt: list[int]) -> Array:
    """The worse of two sizes of the same lie, over the runs: a rule that sees the large one may miss the small."""
    assert isinstance(parts.adversary, Forgers)
    scale = parts.adversary.scale
    runs = _SEARCHED if forgery.searches else _DEALS
    sizes = (scale,) if forgery.searches else (scale, FARTHEST * scale)
    both = [_errors_at(cell, parts, honest, forgery, corrupt, size, runs) for size in sizes]
    return max(both, key=lambda errors: float(errors.max()))


def _errors_at(
    cell: Scenario, parts: Whole, honest: _Honest, forgery: Forgery, corrupt: list[int], scale: float, runs: int
) -> Array:
    rng = np.random.default_rng([cell.seed, 10, len(corrupt)])
    dealt = [part[:runs] for part in honest.dealt]
    if forgery.poison is not None:
        dealt = [forgery.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(dealt)]
    channel = ForgingChannel(forgery, corrupt, rng, protocol=parts.protocol, scale=scale, record=False)
    loyal = [i for i in range(parts.network.n) if i not in corrupt]
    try:
        # What colluders send may overflow; that is their aim, and counts as a run that failed. Nor is it news that
        # some of it is set aside.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = _run(cell, parts, dealt, channel)
            errors = parts.protocol.error(results[:, loyal], honest.results[:runs, loyal])
    except ScenarioError:  # the forgery itself is at fault
        raise
    except (SecmixError, FloatingPointError):
        return np.full(runs, np.inf)
    return np.where(np.isfinite(errors), errors, np.inf)


def _point(parts: Whole, honest: _Honest, errors: Errors, colluders: int) -> RobustnessPoint:
    n = parts.network.n
    if 2 * colluders >= n:
        return at(colluders, n, None, None, "half of the nodes: nothing tells the honest half from the other")
    by = max(errors, key=lambda name: float(errors[name].max()))
    bound = getattr(parts.protocol, "bound", None)
    allowed = None if bound is None else bound(honest.transcript, honest.results, colluders)
    return at(
        colluders,
        n,
        _push(parts, errors[by], honest.typical),
        None if allowed is None else _ratio(float(allowed), honest.typical),
        by.replace("_", " "),
    )


def _push(parts: Whole, errors: Array, typical: float) -> float | None:
    """The worst of some errors over the typical one; None where the outcome is broken."""
    worst = float(errors.max())
    # Where other rows alone make an outcome that bad, it says nothing of colluders.
    if worst >= _worthless(parts) > typical or not math.isfinite(worst):
        return None
    return None if worst > 1e-3 * FARTHEST * max(typical, 1e-12) else _ratio(worst, typical)


def _worthless(parts: Whole) -> float:
    return float(getattr(parts.protocol, "broken", math.inf))


def _ratio(error: float, typical: float) -> float:
    return error / max(typical, 1e-12)
