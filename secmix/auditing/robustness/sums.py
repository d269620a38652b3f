"""What colluders can do to the result: the aggregate pushed, the fitted mixture pushed, and where it breaks down.

The attacked protocol is the one that runs: colluders' contributions go through its own ``average``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import WorstCase
from secmix.adversaries.colluders import Colluders
from secmix.aggregators import Traits, is_ours
from secmix.auditing.evidence.premises import finite
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Damage, Robustness, RobustnessPoint, Verdict
from secmix.auditing.setup import SumSetup, build_model
from secmix.data import deal
from secmix.errors import SecmixError
from secmix.estimators.robustness import proven
from secmix.network import Network
from secmix.protocols import EMRun, SumProtocol
from secmix.protocols.interfaces import Carrying, SumTraits
from secmix.scenario import PolicySpec, Scenario
from secmix.transcript import Channel, Transcript

_CLOUDS = 3  # honest clouds on which the worst case is searched, for each number of colluders
_DEALS = 12  # runs of the whole EM under each attack
_BUDGET = 600  # tries of the rule for each cloud
_BUDGET_EACH = 150  # and for each contribution within a run of EM
FARTHEST = 1e6  # honest spreads


@dataclass(frozen=True)
class Attacked(Carrying):
    """A sum protocol in which colluders replace their contributions by those of one attack."""

    colluders: Colluders
    attack: str
    rng: np.random.Generator = field(repr=False)

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Averages of the honest contributions and the colluders'."""
        s = np.array(inputs, dtype=np.float64)
        theirs = sorted(self.colluders.corrupt_nodes(network))
        honest = np.setdiff1d(np.arange(network.n), theirs)
        for run in range(len(s)):
            s[run, theirs] = self._contributions(s[run, honest], len(theirs), network)
        return self.inner.average(s, network, rng, masks=masks, channel=channel)

    def _contributions(self, honest: Array, f: int, network: Network) -> Array:
        if self.attack != "worst_case":
            return self.colluders.contribute(honest, f, self.rng, self.attack)
        rule, told = _rule_of(self.inner)
        if rule is None:  # in a sum no message is too far to count
            return _far(honest, f, FARTHEST)
        return WorstCase(rule, f=f, told=told, budget=_BUDGET_EACH).attack(honest, self.rng)


def _far(honest: Array, f: int, scale: float) -> Array:
    """The same message from all colluders, ``scale`` honest spreads away from the honest mean."""
    apart = honest - honest.mean(axis=0)
    farthest = apart[np.argmax(np.linalg.norm(apart, axis=1))]
    return np.repeat(honest.mean(axis=0)[None] + scale * farthest, f, axis=0)


def robustness(cell: Scenario, setup: SumSetup, observation: SumObservation) -> Robustness | None:
    """The damage that the cell's colluders do; None where the adversary is passive."""
    if not isinstance(setup.adversary, Colluders):
        return None
    n, f = setup.network.n, len(setup.corrupt)
    vectors = observation.inputs[max(min(observation.iterations), 0)][:, :_CLOUDS].transpose(1, 0, 2)
    points = [_point(cell, setup, vectors, c) for c in range(1, max(f, (n - 1) // 2) + 1)]
    unbounded = [p.colluders for p in points if p.found is None]
    least = min(unbounded, default=len(points) + 1)
    declared = max((p.colluders for p in points if _is_proven(setup.protocol, n, p.colluders)), default=0)
    proven = min(declared, least - 1)  # what an attack has broken is not proven, whatever anybody claims
    damages = _damages(cell, setup, vectors)
    verdict, why = judged(cell.policy, points, f, n, (least - 1) / n, proven / n, bool(unbounded))
    why = "; ".join(filter(None, [why, _declared(setup.protocol, min(unbounded, default=None), declared)]))
    return Robustness(
        colluders=f,
        breakdown=(least - 1) / n,
        breakdown_proven=proven / n,
        spread="largest distance of an honest contribution from their mean, in the first iteration",
        points=points,
        damages=damages,
        verdict=verdict,
        why=why,
    )


def _point(cell: Scenario, setup: SumSetup, vectors: Array, colluders: int) -> RobustnessPoint:
    """The largest error over some honest clouds; the colluders are the last of the nodes."""
    n = setup.network.n
    rule, told = _rule_of(setup.protocol)
    if 2 * colluders >= n:
        return at(colluders, n, None, None, "half of the nodes: no rule that follows the data withstands them")
    if rule is None:
        return _point_of_a_sum(setup, vectors[0], colluders, stream(cell.seed, "worst case", colluders))
    search = WorstCase(rule, f=colluders, told=told, budget=_BUDGET)
    worst, found_by, allowed = 0.0, "", []
    for place, cloud in enumerate(vectors):
        honest = cloud[: n - colluders]
        found = search.search(honest, stream(cell.seed, "worst case", colluders, place))
        if found.unbounded or found.error > FARTHEST * found.spread:
            return at(colluders, n, None, None, found.found_by)
        ratio = found.error / found.spread if found.spread else 0.0
        if told is not None and found.spread and (bound := _allowed(setup.protocol, honest, colluders, told)):
            allowed.append(bound / found.spread)
        if ratio >= worst:
            worst, found_by = ratio, found.found_by
    return at(colluders, n, worst, max(allowed) if len(allowed) == len(vectors) else None, found_by)


def _point_of_a_sum(setup: SumSetup, cloud: Array, colluders: int, rng: np.random.Generator) -> RobustnessPoint:
    """Whether one message moves the result in proportion, over four decades: through the protocol itself."""
    n = setup.network.n
    honest = cloud[: n - colluders]
    middle = honest.mean(axis=0)
    spread = float(np.linalg.norm(honest - middle, axis=1).max())
    errors = []
    for scale in (FARTHEST * 1e-4, FARTHEST):
        messages = np.concatenate([honest, _far(honest, colluders, scale)])
        average, _ = setup.protocol.average(messages[None], setup.network, rng, channel=Channel(record=False))
        errors.append(float(np.linalg.norm(average[0, 0] - middle)) / spread if spread else 0.0)
    grows = errors[1] > 1e3 * errors[0]
    return at(colluders, n, None if grows else max(errors), None, "one message from afar")


def _allowed(protocol: SumProtocol, honest: Array, colluders: int, told: int) -> float | None:
    """What is proven of a rule set to ``told``, with so many colluders beside these honest messages.

    The theorems speak of any n − told messages. With fewer colluders than told those are a part of the honest ones: the
    part without the farthest will do, plus the way from its mean to the mean of all.
    """
    if colluders > told:
        return None
    middle = honest.mean(axis=0)
    near = np.argsort(np.linalg.norm(honest - middle, axis=1))[: len(honest) - (told - colluders)]
    rule = getattr(protocol, "function", None)
    bound = None if rule is None or not is_ours(rule) else proven.best(rule, honest[near], told)
    return None if bound is None else bound[1] + float(np.linalg.norm(honest[near].mean(axis=0) - middle))


def at(colluders: int, n: int, found: float | None, proven: float | None, found_by: str) -> RobustnessPoint:
    """A point of the curve against the number of colluders."""
    return RobustnessPoint(colluders=colluders, fraction=colluders / n, found=found, proven=proven, found_by=found_by)


def _rule_of(protocol: SumProtocol) -> tuple[Any, int | None]:
    """The rule of a robust server and the f it is set to; a sum has none."""
    traits = SumTraits.of(protocol)
    aggregate, f_set = traits.aggregate, traits.f
    if aggregate is None:
        return None, None
    return (lambda messages, *, f: aggregate(messages, f=f_set)), f_set


def _is_proven(protocol: SumProtocol, n: int, colluders: int) -> bool:
    """Whether the error is bounded with so many colluders, by the literature or as the rule declares."""
    traits = getattr(protocol, "traits", None)
    f = int(getattr(protocol, "f", 0))
    return isinstance(traits, Traits) and colluders <= min(traits.tolerates(n, f), f)


def _declared(protocol: SumProtocol, broken: int | None, declared: int) -> str:
    """What to add to the verdict's reason where the claim is the rule's own; ``broken`` is the least that broke it."""
    traits = getattr(protocol, "traits", None)
    function = getattr(protocol, "function", None)
    if not isinstance(traits, Traits) or (function is not None and is_ours(function)) or not declared:
        return ""
    said = f"the rule itself declares that it withstands {declared} ({traits.source})"
    return f"{said}, and {broken} broke it" if broken is not None and broken <= declared else said


def _damages(cell: Scenario, setup: SumSetup, vectors: Array) -> list[Damage]:
    assert isinstance(setup.adversary, Colluders)
    names = [*setup.adversary.attacks, *(["worst_case"] if setup.adversary.searches else [])]
    rows_by_node = deal(setup.rows, setup.counts, _DEALS, stream(cell.seed, "attacked rows"))
    honest = [i for i in range(setup.network.n) if i not in setup.corrupt]
    wanted = _honest_fit(cell, setup, [rows_by_node[i] for i in honest])
    return [_damage(cell, setup, name, vectors, rows_by_node, wanted, honest) for name in names]


def _damage(
    cell: Scenario,
    setup: SumSetup,
    name: str,
    vectors: Array,
    rows_by_node: list[Array],
    wanted: Array,
    honest: list[int],
) -> Damage:
    assert isinstance(setup.adversary, Colluders)
    rng = stream(cell.seed, "attack", name)
    attacked = Attacked(setup.protocol, setup.adversary, name, rng)
    pushed: list[float] = []
    for cloud in vectors:
        try:
            average, _ = attacked.average(cloud[None], setup.network, rng, channel=Channel(record=False))
        except SecmixError:  # colluders who stop the protocol have it as they like
            pushed.append(math.inf)
            continue
        centre = cloud[honest].mean(axis=0)
        spread = float(np.linalg.norm(cloud[honest] - centre, axis=1).max())
        pushed.append(float(np.linalg.norm(average[0, honest[0]] - centre)) / spread if spread else 0.0)
    fits = _fits(cell, setup, attacked, rows_by_node, wanted, honest[0])
    return damage(name, _bounded(max(pushed)), fits)


def damage(attack: str, aggregate: float | None, outcome: Array | list[float]) -> Damage:
    """What an attack does to the aggregate, and to the outcome of each run."""
    low, middle, high = np.quantile(outcome, [0.25, 0.5, 0.75], method="inverted_cdf")
    return Damage(
        attack=attack,
        aggregate=aggregate,
        model=finite(float(middle)),
        model_low=finite(float(low)),
        model_high=finite(float(high)),
    )


def _fits(
    cell: Scenario, setup: SumSetup, attacked: Attacked, rows_by_node: list[Array], wanted: Array, node: int
) -> list[float]:
    """Largest error of a fitted mean in each run, in standard deviations of the data; infinite where the fit fails."""
    scale = float(setup.rows.std(axis=0).mean())
    errors = []
    for run in range(_DEALS):
        try:
            # What the colluders send may overflow; that is their aim, and counts as a fit that fails.
            with np.errstate(all="ignore"):
                model = build_model(cell, setup, attacked, record=False)
                rng = stream(cell.seed, "attacked protocol")
                fit: EMRun = model.run([part[run : run + 1] for part in rows_by_node], network=setup.network, rng=rng)
                apart = np.linalg.norm(fit.mixtures[-1].means[0, node] - wanted[run], axis=-1)
            errors.append(float(apart.max()) / scale if np.isfinite(apart).all() else math.inf)
        except (SecmixError, FloatingPointError):
            errors.append(math.inf)
    return errors


def _honest_fit(cell: Scenario, setup: SumSetup, rows_by_node: list[Array]) -> Array:
    """The means (runs, K, d) that the honest nodes would fit by themselves, without anybody's interference."""
    from secmix.protocols import Plain

    network = Network.complete(len(rows_by_node)) if len(rows_by_node) > 1 else None
    if network is None:
        rows_by_node = [rows_by_node[0], rows_by_node[0]]  # twice the same rows fit the same mixture
        network = Network.complete(2)
    alone = replace(setup, network=network, protocol=Plain())
    model = build_model(cell, alone, Plain(), record=False)
    run = model.run(rows_by_node, network=network, rng=stream(cell.seed, "attacked protocol"))
    return run.mixtures[-1].means[:, 0]


def judged(
    policy: PolicySpec, points: list[RobustnessPoint], f: int, n: int, breakdown: float, proven: float, broken: bool
) -> tuple[Verdict, str]:
    """The verdict under the policy, and why: a search that finds nothing never clears."""
    verdict: Verdict = "not refuted"
    told: list[str] = []
    fails = f"{round(breakdown * n) + 1} of {n} nodes can push the result without bound"
    if policy.min_breakdown is not None and proven < policy.min_breakdown:
        # A search that finds nothing proves nothing: only a theorem clears.
        verdict = "violated" if broken and breakdown < policy.min_breakdown else "inconclusive"
        told.append(
            fails
            if broken
            else f"no unbounded error was found, but none is excluded by proof above a fraction {proven:.2f}"
        )
    limit = policy.max_error_ratio
    here = next((p for p in points if p.colluders == f), None)
    if limit is not None and here is not None:
        if here.found is None or here.found > limit:
            verdict = "violated"
            much = "without bound" if here.found is None else f"by {here.found:.2g} times the honest spread"
            told.append(f"{f} colluders push the aggregate {much}")
        elif here.proven is None or here.proven > limit:
            verdict = "violated" if verdict == "violated" else "inconclusive"
            told.append(f"the worst push found is {here.found:.2g} honest spreads; no proof excludes {limit:g}")
    if policy.min_breakdown is not None and verdict == "not refuted":
        told.append(f"the policy asks to withstand {policy.min_breakdown:.2f} of the nodes, proven is {proven:.2f}")
    if not told:
        told.append(fails if broken else f"no number of colluders up to {len(points)} was found to break the result")
    return verdict, "; ".join(told)


def _bounded(ratio: float) -> float | None:
    return ratio if ratio < 1e-3 * FARTHEST else None
