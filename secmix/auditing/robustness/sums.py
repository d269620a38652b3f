"""Damage of colluders in a sum protocol and in EM: the error of the aggregate, and of the fitted mixture.

Colluders' contributions go through the protocol's own ``average``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from secmix._base.checks import Array, Ints
from secmix._base.random import stream
from secmix.adversaries import FIXED, WorstCase
from secmix.adversaries.against_rules.oracle import Combining
from secmix.adversaries.against_rules.outcome import TRIES, worst_outcome
from secmix.adversaries.against_rules.spending import SearchBudget, spent
from secmix.adversaries.against_rules.worst_of_a_rule import LEAST_BUDGET
from secmix.adversaries.attacks.attack import CONTRIBUTION, FARTHEST, Attack
from secmix.adversaries.attacks.worst_case import far, rule_of
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.adversaries.tampering import Attacked
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.robustness.error_curve import Errors, Outcome, Push, bounded
from secmix.auditing.robustness.theorems import declared, withstood
from secmix.auditing.setup import SumSetup, build_model
from secmix.errors import ScenarioError, SecmixError
from secmix.estimators.robustness import proven
from secmix.network import Network
from secmix.protocols import EMRun, Plain, SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.scenario import Scenario
from secmix.transcript import Channel

_CLOUDS = 3  # honest clouds for the worst-case search, for each number of colluders
_RUNS_OF_ATTACK = 12  # runs of the whole EM under each attack
_BUDGET = 600  # evaluations of the rule for each cloud


def errors_of_sums(cell: Scenario, setup: SumSetup, observation: SumObservation) -> Errors:
    """Measure errors of the first aggregate by search, and of the fitted means under each attack."""
    clouds = observation.inputs[max(min(observation.iterations), 0)][:, :_CLOUDS].transpose(1, 0, 2)
    of_rule, of_runs = SearchBudget(cell.measure.work), SearchBudget(cell.measure.work)
    return Errors(
        push=lambda colluders: _push(cell, setup, clouds, colluders, of_rule),
        outcomes=lambda: _outcomes(cell, setup, clouds, of_rule, of_runs),
        is_proven=lambda point: point.colluders <= withstood(setup.protocol, setup.network.n),
        spread="largest distance of an honest contribution from their mean, in the first iteration",
        outcome="the fitted means, in standard deviations of the data",
        majority="half of the nodes: no rule that depends on the data withstands them",
        remark=lambda broken: _declared(setup.protocol, setup.network.n, broken),
        spent=lambda: spent({"tries of the rule": of_rule, "runs of the protocol": of_runs}, cell.measure.more_work),
    )


def _push(cell: Scenario, setup: SumSetup, clouds: Array, colluders: int, budget: SearchBudget) -> Push:
    """Search for the largest error on some honest clouds; the cell's own colluders come first, in their places."""
    n, combining = setup.network.n, rule_of(setup.protocol)
    if combining is None:
        rng = stream(cell.seed, "worst case", colluders)
        return _push_of_a_sum(setup, clouds[0, : n - colluders], colluders, rng)
    rule, rule_f = combining
    order = [*sorted(setup.corrupt), *(i for i in range(n) if i not in setup.corrupt)]
    loyal = np.sort(order[colluders:])
    rule, worst, found_by = _in_places(rule, loyal, n), 0.0, ""
    for place, cloud in enumerate(clouds):
        drawn = stream(cell.seed, "worst case", colluders, place)
        for most, rng in budget.searches(_BUDGET, drawn, LEAST_BUDGET):
            result = WorstCase(rule, f=colluders, rule_f=rule_f, budget=most).search(cloud[loyal], rng)
            unbounded = result.unbounded or result.error > FARTHEST * result.spread
            budget.spend(result.evaluations, most, certain=unbounded)
            if unbounded:
                return None, None, result.found_by
            ratio = result.error / result.spread if result.spread else 0.0
            if ratio >= worst:
                worst, found_by = ratio, result.found_by
    return worst, _allowed(setup.protocol, n, colluders, rule_f), found_by


def _in_places(rule: Combining, loyal: Ints, n: int) -> Combining:
    """Wrap ``rule`` for messages with the honest ones first, in the order of ``loyal`` nodes."""
    back = np.argsort(np.concatenate([loyal, np.setdiff1d(np.arange(n), loyal)]))
    return Combining(
        lambda messages, f: rule(messages[back], f=f),
        lambda stack, f: rule.of_each(np.ascontiguousarray(stack[:, back]), f),
    )


def _push_of_a_sum(setup: SumSetup, honest: Array, colluders: int, rng: np.random.Generator) -> Push:
    """Check whether one message moves the result in proportion, over four decades, through the protocol itself."""
    near, most = (
        _error(setup.protocol, setup.network, np.concatenate([honest, far(honest, colluders, scale)]), honest, 0, rng)
        for scale in (FARTHEST * 1e-4, FARTHEST)
    )
    return None if most > 1e3 * near else max(near, most), None, "one distant message"


def _error(
    protocol: SumProtocol, network: Network, sent: Array, honest: Array, node: int, rng: np.random.Generator
) -> float:
    """Measure the distance of the average at ``node`` from the honest mean, in honest spreads."""
    try:
        average, _ = protocol.average(sent[None], network, rng, channel=Channel(record=False))
    except ScenarioError:  # the fault is in the attack itself
        raise
    except SecmixError:  # colluders that stop the protocol have succeeded
        return math.inf
    middle = honest.mean(axis=0)
    spread = float(np.linalg.norm(honest - middle, axis=1).max())
    distance = float(np.linalg.norm(average[0, node] - middle))
    return math.inf if math.isnan(distance) else distance / spread if spread else 0.0


def _allowed(protocol: SumProtocol, n: int, colluders: int, rule_f: int) -> float | None:
    """Compute the proven error of a rule set to ``rule_f``, in spreads ε, whatever honest nodes send.

    The theorems apply to any n − rule_f honest messages; with fewer colluders these are a part of the honest ones. All
    are within ε of the mean μ of all, so the mean squared distance of a part from its own mean is at most ε². If k
    messages are not in the part, and m are, the mean of the part is within min(1, k/m) ε of μ.
    """
    rule = SumTraits.of(protocol).function
    if rule is None or colluders > min(rule_f, withstood(protocol, n)):
        return None
    aside = min(1.0, (rule_f - colluders) / (n - rule_f))
    errors = [
        aside + (math.sqrt(bound.coefficient) if bound.form == "kappa" else bound.coefficient * (1 + aside))
        for bound in proven.bounds(rule, n=n, f=rule_f)
    ]
    return min(errors, default=None)


def _declared(protocol: SumProtocol, n: int, broken: int | None) -> str:
    """Write the remark on a claim without a theorem; ``broken`` is the least number that broke it."""
    claimed = declared(protocol, n)
    if not claimed or withstood(protocol, n):
        return ""
    claim = f"the rule itself declares that it withstands {claimed} ({SumTraits.of(protocol).traits.source})"
    return f"{claim}, and {broken} broke it" if broken is not None and broken <= claimed else claim


def _outcomes(
    cell: Scenario, setup: SumSetup, clouds: Array, of_rule: SearchBudget, of_runs: SearchBudget
) -> Iterator[Outcome]:
    """Yield the outcome of each attack, fixed attacks first; a search starts from all of them."""
    adversary = AdversaryTraits.of(setup.adversary)
    assert adversary.against is not None
    rows_by_node = setup.sample_rows(_RUNS_OF_ATTACK, stream(cell.seed, "attacked rows"))
    honest = [i for i in range(setup.network.n) if i not in setup.corrupt]
    reference = _honest_fit(cell, setup, [rows_by_node[i] for i in honest])

    def fits(attack: Attack, runs: range, protocol: SumProtocol = setup.protocol) -> Array:
        """Measure the error of each of these runs, fitted side by side; infinite if the fit fails."""
        # Each run has its own generator, so that it does not depend on other runs; a plan has fixed draws.
        drawn = [stream(cell.seed, "attack", attack.name, run) for run in (runs[:1] if attack.searches else runs)]
        draws = drawn[0] if attack.searches else drawn
        attacked = Attacked(protocol, attack, setup.corrupt, draws, adversary.scale, runs.start, of_rule)
        rows = [part[runs.start : runs.stop] for part in rows_by_node]
        try:
            return _fits(cell, setup, attacked, rows, reference[runs.start : runs.stop], honest[0])
        except ScenarioError:  # the fault is in the attack itself
            raise
        except (SecmixError, ArithmeticError, np.linalg.LinAlgError):
            middle = len(runs) // 2  # a failing run must not fail others
            halves = (runs[:middle], runs[middle:]) if middle else ()
            return np.concatenate([fits(attack, half, protocol) for half in halves]) if halves else np.array([np.inf])

    fixed: dict[str, Attack] = {}
    push, errors = 0.0, np.zeros(_RUNS_OF_ATTACK)  # the worst errors so far
    for name, attack in adversary.against([CONTRIBUTION]).items():
        rng = stream(cell.seed, "attack", name)
        attacked = Attacked(setup.protocol, attack, setup.corrupt, rng, adversary.scale, budget=of_rule)
        error = max(_error(attacked, setup.network, cloud, cloud[honest], honest[0], rng) for cloud in clouds)
        if attack.searches:
            # A sum protocol computes the mean of contributions, so the search uses Plain; the worst case then runs on
            # the protocol itself.
            follows = rule_of(setup.protocol) is None  # colluders take a sum as far as they like
            summed = Plain() if follows else setup.protocol
            starts = {**FIXED, **fixed, name: attack}
            error, by_run = max(error, push), errors
            for most, draws in of_runs.searches(TRIES, rng, len(starts)):
                search = worst_outcome(
                    lambda plan, summed=summed: fits(plan, range(_RUNS_OF_ATTACK), summed),  # type: ignore[misc]
                    starts, _RUNS_OF_ATTACK, cell.model.iterations, len(honest), draws, most,
                )  # fmt: skip
                of_runs.spend(search.tries, most, certain=follows or bool(np.isinf(search.errors).all()))
                by_run = np.maximum(fits(search.attack(search.plans), range(_RUNS_OF_ATTACK)), by_run)
        else:
            fixed[name], by_run = attack, fits(attack, range(_RUNS_OF_ATTACK))
        push, errors = max(push, error), np.maximum(errors, by_run)
        yield name, bounded(error), by_run


def _fits(
    cell: Scenario, setup: SumSetup, attacked: Attacked, rows_by_node: list[Array], reference: Array, node: int
) -> Array:
    """Measure the largest error of a fitted mean in each run, in standard deviations of the data."""
    # Colluders' messages may overflow, which counts as a failed fit.
    with np.errstate(all="ignore"):
        model = build_model(cell, setup, attacked, record=False)
        fit: EMRun = model.run(rows_by_node, network=setup.network, rng=stream(cell.seed, "attacked protocol"))
        distances = np.linalg.norm(fit.mixtures[-1].means[:, node] - reference, axis=-1).max(axis=-1)
        return np.where(np.isfinite(distances), distances / float(setup.rows.std(axis=0).mean()), np.inf)


def _honest_fit(cell: Scenario, setup: SumSetup, rows_by_node: list[Array]) -> Array:
    """Fit the means (runs, K, d) on the honest nodes alone."""
    if len(rows_by_node) == 1:
        rows_by_node = rows_by_node * 2  # duplicated rows fit the same mixture
    network = Network.complete(len(rows_by_node))
    model = build_model(cell, replace(setup, network=network, protocol=Plain()), Plain(), record=False)
    run = model.run(rows_by_node, network=network, rng=stream(cell.seed, "attacked protocol"))
    return run.mixtures[-1].means[:, 0]
