"""The error of a protocol against the number of its colluders: points, damages and verdict, for any protocol.

Kinds of protocol differ in how errors arise, which :class:`Errors` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.attack import FARTHEST
from secmix.auditing import decide
from secmix.auditing.cell_parts import BOUND_ASSUMES, Damage, Robustness, RobustnessPoint, Verdict
from secmix.auditing.evidence.interface import finite
from secmix.auditing.setup import Setup
from secmix.kernel import clear_bounds
from secmix.scenario import PolicySpec

Push = tuple[float | None, float | None, str]
"""The worst error found, in honest spreads (None: unbounded), the bound of a theorem (or None), and the attack."""
Outcome = tuple[str, float | None, Array]
"""An attack, its error of the aggregate as in a Push, and its error of the outcome in each run."""


@dataclass(frozen=True)
class Errors:
    """Errors that attacks make in one protocol."""

    # ``push(colluders)``: the worst error of so many colluders, fewer than half of the nodes
    push: Callable[[int], Push]
    outcomes: Callable[[], Iterable[Outcome]]  # ``outcomes()``: the damage of each attack of the cell's own colluders
    # ``is_proven(point)``: whether a theorem bounds the error with so many colluders
    is_proven: Callable[[RobustnessPoint], bool]
    # spread, outcome: unit of errors of the aggregate, and quantity of errors of the outcome
    spread: str
    outcome: str
    majority: str  # why half of the nodes can do anything
    caveat: str = ""  # a caveat that precedes the reason of the verdict
    # ``remark(broken)``: a remark to add, given the least number that broke it
    remark: Callable[[int | None], str] = lambda broken: ""
    # ``spent()``: what the searches spent and left, in words, once all errors are measured
    spent: Callable[[], str] = lambda: ""


def curve(policy: PolicySpec, setup: Setup, errors: Errors) -> Robustness:
    """Compute points for every number of colluders, the cell's damages, and the verdict."""
    n, f = setup.network.n, len(setup.corrupt)
    points = [_point(errors, colluders, n) for colluders in range(1, max(f, (n - 1) // 2) + 1)]
    broken = [point.colluders for point in points if point.found is None]
    breakdown = (min(broken, default=len(points) + 1) - 1) / n
    withstood = max((point.colluders for point in points if errors.is_proven(point)), default=0)
    proven = min(withstood / n, breakdown)  # a bound that an attack broke is not proven
    damages = [_damage(*outcome) for outcome in errors.outcomes()]
    verdict, why = judged(policy, points, f, n, breakdown, proven, bool(broken))
    return Robustness(
        colluders=f,
        breakdown=breakdown,
        breakdown_proven=proven,
        spread=errors.spread,
        outcome=errors.outcome,
        points=points,
        damages=damages,
        verdict=verdict,
        why="; ".join(filter(None, [errors.caveat + why, errors.remark(min(broken, default=None))])),
        spent=errors.spent(),
    )


def _point(errors: Errors, colluders: int, n: int) -> RobustnessPoint:
    error, proven, attack = (None, None, errors.majority) if 2 * colluders >= n else errors.push(colluders)
    return RobustnessPoint(colluders=colluders, fraction=colluders / n, found=error, proven=proven, found_by=attack)


def _damage(attack: str, aggregate: float | None, outcome: Array) -> Damage:
    low, middle, high = np.quantile(outcome, [0.25, 0.5, 0.75], method="inverted_cdf")
    return Damage(
        attack=attack,
        aggregate=aggregate,
        model=finite(float(middle)),
        model_low=finite(float(low)),
        model_high=finite(float(high)),
    )


def bounded(ratio: float) -> float | None:
    """Return an error in honest spreads; None if only an attack of unbounded scale can make it."""
    return ratio if ratio <= 1e-3 * FARTHEST else None


def judged(
    policy: PolicySpec, points: list[RobustnessPoint], f: int, n: int, breakdown: float, proven: float, broken: bool
) -> tuple[Verdict, str]:
    """Judge by the policy, and say why: a search that finds nothing never clears."""
    accused: decide.Accusation = None
    bounds: list[tuple[str, float, float]] = []
    sentences: list[str] = []
    first = min((p for p in points if p.found is None and p.colluders * 2 < n), key=lambda p: p.colluders, default=None)
    by = f" ({first.found_by})" if first else ""
    fails = f"{round(breakdown * n) + 1} of {n} nodes can push the result without bound{by}"
    if policy.min_breakdown is not None and proven < policy.min_breakdown:
        # A search that finds nothing proves nothing: only a theorem clears.
        accused = "violated" if broken and breakdown < policy.min_breakdown else "inconclusive"
        sentences.append(
            fails
            if broken
            else f"no unbounded error was found, but no proof excludes one above a fraction {proven:.2f}"
        )
    limit = policy.max_error_ratio
    own = next((p for p in points if p.colluders == f), None)
    if limit is not None and own is not None:
        if own.found is None or own.found > limit:
            accused = "violated"
            size = "without bound" if own.found is None else f"by {own.found:.2g} times the honest spread"
            sentences.append(f"{f} colluders push the aggregate {size}")
        elif own.proven is None or own.proven > limit:
            accused = accused or "inconclusive"
            sentences.append(
                f"the largest error found is {own.found:.2g} honest spreads; no proof excludes more than {limit:g}"
            )
        else:
            bounds.append(("the error of the aggregate in honest spreads", own.proven, limit))
    if policy.min_breakdown is not None:
        bounds.append(
            ("the amount by which the proved breakdown is too small", max(0.0, policy.min_breakdown - proven), 0.0)
        )
    if limit is None and policy.min_breakdown is None:
        verdict: Verdict = "not asked"
    else:
        verdict = decide.judged([accused], clear_bounds(bounds, source=BOUND_ASSUMES))
    if policy.min_breakdown is not None and accused is None:
        sentences.append(
            f"the policy requires robustness against {policy.min_breakdown:.2f} of the nodes; proved is {proven:.2f}"
        )
    if not sentences:
        sentences.append(
            fails if broken else f"no number of colluders up to {len(points)} broke the result in the search"
        )
    return verdict, "; ".join(sentences)
