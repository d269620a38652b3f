"""Advice: measures that might mend a cell, the scenario change that each means, and what becomes of it when tried.

What a protocol advises about itself is its own ``advise``; what holds for every protocol stands here. Repairs of
coalitions take the same measures. Before a report recommends a change, the changed scenario is held to exact evidence.
A trial probes one averaging of the changed protocol on the changed network and counts the known sums of all iterations
against the numbers behind them: linear algebra, no runs. It compares with the same for the scenario as it is. So it
finds out what a change does to what is known exactly; what other evidence would say of it is for an audit to find.
Where another cell of the report is that audit, its verdict counts (``secmix.auditing.assemble``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from secmix._base import plugins
from secmix._base.checks import Array
from secmix.adversaries.against_rules.worst_of_a_rule import NO_NUMBERS
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing import decide
from secmix.auditing.cell_parts import UNMASKED, NodeSummary, Robustness, SigmaPoint, Trial
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.sum_observation import SumObservation, solved_together
from secmix.auditing.robustness.theorems import withstood
from secmix.auditing.setup import CollaborationSetup, Setup, SumSetup, build_network, deep_copy
from secmix.errors import SecmixError, brief
from secmix.estimators.exact.leakage import KNOWN, LeakedSubspace, leaked_subspace
from secmix.network import nodes_in_words
from secmix.protocols.collaboration import CollaborationTraits
from secmix.protocols.interfaces import Advice, Revealed, SumTraits
from secmix.protocols.released import Released
from secmix.scenario import Scenario, from_dict
from secmix.transcript import Origin, at_most

T = TypeVar("T")

_TIMES = (2, 3, 4, 6, 8, 12, 16)  # rows a node, in multiples of what there are
_MOST_NODES, _MOST_EDGES = 20, 80  # on which a trial takes no longer than a moment
_MOST_TRIALS = 24
_OF_RESULTS = (
    "Release what more rows make, fewer numbers of it, or add noise before it is released: masks and encryption hide "
    "messages on the way, and nothing of the result."
)
_AS_TRACED = (
    "Write what the proof names in a way that it follows (docs/provable.md), or ask for the audited iterations alone: "
    'covers = "traced" under [policy].'
)
_REVEALED, _SOLVABLE, _PARTLY, _OUTPUT = 3, 2, 1, 0
NodeStatus = tuple[int, float]
"""Standing of a node by exact evidence alone, worst highest, and the known share of its summed vector."""


def try_in_turn(measures: Iterable[Advice], attempt: Callable[[Advice], T], helps: Callable[[T], bool]) -> list[T]:
    """Return what each attempt gave; of steps of one measure the first that helps is enough, else the last counts."""
    tried: dict[str, T] = {}
    for k, measure in enumerate(measures):
        key = measure.id or f"{k}"
        if key not in tried or not helps(tried[key]):
            tried[key] = attempt(measure)
    return list(tried.values())


def changed_scenario(cell: Scenario, change: Mapping[str, Any]) -> Scenario:
    """Return ``cell`` with these keys changed, and without its protocol's label, which may name what has changed.

    Raises SecmixError if the change does not fit the rest.
    """
    content = cell.to_dict()
    for key, value in change.items():
        table, _, name = key.partition(".")
        if name and not isinstance(content.get(table, {}), Mapping):
            raise SecmixError(f"'{key}' cannot be changed: '{table}' is no table of a scenario, but a value")
        content[table] = {**content.get(table, {}), name: value} if name else value
    content["protocol"] = {key: value for key, value in content["protocol"].items() if key != "label"}
    return from_dict(content)


def changed_setup(cell: Scenario, setup: SumSetup, change: Mapping[str, Any]) -> tuple[Scenario, SumSetup]:
    """Return the changed cell and its parts; those that do not change are the very objects of ``setup``.

    Raises SecmixError if the change does not fit the rest.
    """
    changed = changed_scenario(cell, change)
    network = build_network(changed.network) if "network" in change else setup.network
    settings = {key.partition(".")[2]: value for key, value in change.items() if key.startswith("protocol.")}
    protocol: Any = setup.protocol
    if "protocol" in change:
        protocol = plugins.build("protocols", {"name": changed.protocol.name, **changed.protocol.settings})
    elif settings:
        if not dataclasses.is_dataclass(protocol) or isinstance(protocol, type):
            raise SecmixError("its settings cannot be changed by name")
        protocol = dataclasses.replace(deep_copy(protocol), **settings)
    counts = setup.counts
    if "data.rows_per_node" in change:
        rows = changed.data.rows_per_node or 1
        counts = (rows,) * network.n if isinstance(rows, int) else tuple(rows)
    return changed, dataclasses.replace(setup, network=network, protocol=protocol, counts=counts)


def more_rows(setup: SumSetup) -> Iterator[Advice]:
    """Yield steps of more rows at each node, as far as there are rows."""
    for times in _TIMES:
        counts = [times * count for count in setup.counts]
        if not setup.has_rows(counts):
            return
        rows: int | list[int] = counts[0] if len(set(counts)) == 1 else counts
        amount = f"{rows} rows" if isinstance(rows, int) else f"{times} times the rows"
        plain = "let each participant bring more records"
        yield Advice(f"Give each node {amount}", {"data.rows_per_node": rows}, plain)


def fewer_iterations(cell: Scenario) -> Iterator[Advice]:
    """Yield steps of fewer iterations, down to one."""
    for iterations in range(cell.model.iterations - 1, 0, -1):
        words = f"Run {iterations} iteration{'s' * (iterations > 1)} instead of {cell.model.iterations}"
        yield Advice(words, {"model.iterations": iterations}, "run fewer rounds")


def fresh_masks(protocol: Any) -> Advice:
    """Return the advice to use no masks twice, with the change of a setting where the protocol has that setting."""
    change = {"protocol.masks": "fresh"} if getattr(protocol, "masks", None) == "reused" else {}
    return Advice("Draw fresh masks for every averaging", change, "use new masks in every round")


def advised(
    cell: Scenario,
    setup: Setup,
    nodes: list[NodeSummary],
    points: list[SigmaPoint],
    robustness: Robustness | None,
    solvable: bool,
    readable: Sequence[Origin] = (),
    *,
    is_proved: bool = False,
    narrow: bool = False,
) -> list[Advice]:
    """Return measures for the findings of one cell, the most effective first; empty where there is nothing to mend.

    ``solvable`` are known sums that may give away the rows of a node that is not revealed otherwise; ``readable`` of a
    collaboration the messages of other nodes that the adversary reads. ``is_proved``: what follows from all messages of
    the sum; ``narrow``, but of the calls that were traced alone.
    """
    if isinstance(setup, SumSetup):
        measures = _of_sums(cell, setup, nodes, points, robustness, solvable, is_proved)
        measures += [_AS_TRACED] * (narrow and not measures and cell.policy.covers != "traced")
    else:
        assert isinstance(setup, CollaborationSetup)
        measures = _of_collaborations(setup, nodes, robustness, tuple(readable))
    return [Advice(measure) if isinstance(measure, str) else measure for measure in measures]


def _is_broken_by_no_number(robustness: Robustness) -> bool:
    """Say whether what is not finite suffices to push the result: the rule does not set it aside."""
    return any(point.found is None and point.found_by in NO_NUMBERS for point in robustness.points)


def _of_sums(
    cell: Scenario,
    setup: SumSetup,
    nodes: list[NodeSummary],
    points: list[SigmaPoint],
    robustness: Robustness | None,
    solvable: bool,
    is_proved: bool,
) -> list[Advice | str]:
    known = [s for s in nodes if s.standing == "revealed"]
    solved = [s.node for s in known if s.worst_evidence == "inversion"]
    revealed = tuple(s.node for s in known if s.node not in solved)
    partly = [s.node for s in nodes if s.standing == "partly leaked"]
    traits = SumTraits.of(setup.protocol)
    broken = robustness is not None and robustness.verdict == "violated"
    no_number = robustness is not None and broken and _is_broken_by_no_number(robustness)
    colluders = robustness.colluders if robustness is not None and broken and not no_number else 0
    advised: list[Advice | str] = list(traits.advise(Revealed(revealed, setup.corrupt, setup.network, colluders)))
    if no_number:
        words = (
            "Have the rule set aside messages that are not finite before it combines the others: "
            "messages[np.isfinite(messages).all(axis=1)]."
        )
        advised.append(Advice(words, plain="set aside messages that are no numbers", against="falsehood"))
    if traits.reuses_masks and (known or partly or not is_proved):
        advised.append(
            _because(fresh_masks(setup.protocol), "reused ones cancel in the differences between iterations")
        )
    if partly and points and not traits.reuses_masks:
        advised += _enough_sigma(points, traits.sigma)
    if broken and traits.aggregate is None:
        words = (
            "Where colluders count more than curiosity, let a server apply a robust rule: a sum counts every message, "
            "however false. The price is that the server sees every contribution."
        )
        change = {"protocol": {"name": "robust_server", "rule": "trimmed_mean", "f": max(colluders, 1)}}
        advised.append(Advice(words, change, "let a server discard extreme contributions", "falsehood"))
    if solved and AdversaryTraits.of(setup.adversary).active is not None:
        advised.append(
            "Let every node refuse parameters under which the likelihood of its own rows falls (likelihood_drop under "
            "[model]), and keep covariances above a floor (covariance_floor): rows are singled out by bending both."
        )
    if solved or solvable:
        advised += _fewer_equations(cell, setup)
    if not advised and (unmasked := [s.node for s in known if UNMASKED in s.why]):
        words = f"Add a secret mask to what {nodes_in_words(tuple(unmasked))} sends: it is read as it stands."
        advised.append(Advice(words, plain="add a secret mask to what is sent"))
    return advised


def _fewer_equations(cell: Scenario, setup: SumSetup) -> list[Advice | str]:
    """Return two ways to have fewer sums than unknown numbers, step by step; the trial finds how far they must go."""
    why = "fewer known sums than unknown numbers cannot be solved"
    steps = [_because(step, why) for step in (*more_rows(setup), *fewer_iterations(cell))]
    return [*steps] or [f"Give each node more rows: {why}."]


def _because(advice: Advice, why: str) -> Advice:
    return dataclasses.replace(advice, words=f"{advice.words}: {why}.")


def _enough_sigma(points: list[SigmaPoint], now: float | None) -> list[Advice]:
    least = min(p.normalised_leakage for p in points)
    enough = next(p for p in points if p.normalised_leakage <= least + 1e-3)
    if now is None or enough.sigma <= now:
        return []
    words = (
        f"Raise sigma from {now:g} to {enough.sigma:g}: the masks then hide all that they can, for a relative error of "
        f"{enough.error:.1g} in the sums."
    )
    found = f"Tried: the curve of mask sizes in this report gives a leakage of {enough.normalised_leakage:.3f} there."
    return [Advice(words, {"protocol.sigma": enough.sigma}, "use larger masks", found=found)]


def _of_collaborations(
    setup: CollaborationSetup, nodes: list[NodeSummary], robustness: Robustness | None, readable: tuple[Origin, ...]
) -> list[Advice | str]:
    broken = robustness is not None and robustness.verdict == "violated"
    colluders = robustness.colluders if robustness is not None and broken else 0
    learned = tuple(s.node for s in nodes if s.standing in ("revealed", "partly leaked"))
    if isinstance(setup.protocol, Released):  # what protects messages on the way hides nothing of the result
        return [_OF_RESULTS] * bool(learned)
    revealed = Revealed(learned, setup.corrupt, setup.network, colluders, readable)
    sentences: list[Advice | str] = list(CollaborationTraits.of(setup.protocol).advise(revealed))
    if any(s.standing == "revealed" for s in nodes):
        sentences.append(
            "Give each node more rows than its messages have numbers to tell of them, or add noise to what is sent: as "
            "they are, the messages determine rows."
        )
    outsider = not setup.corrupt and AdversaryTraits.of(setup.adversary).eavesdrops
    if learned and outsider and any(origin.line == "plain" for origin in readable):
        sentences.append("Encrypt the lines: that keeps outsiders out, though not the participants.")
    if broken:
        sentences.append(
            "Combine what arrives by a rule with a proven bound, where there is one, or admit fewer strangers."
        )
    return sentences


def tried(case: CellContext, advised: Sequence[Advice], colluders: int, leaking: Collection[int] = ()) -> list[Trial]:
    """Try each measure; of the steps of one measure the first that helps is enough.

    ``colluders`` push the result too far (0: none do); of the nodes ``leaking`` more is known than the output tells, by
    any evidence.
    """
    try:
        now = _model(case)
        before = None if now is None else _statuses(now)
    except Exception:  # a trial is never the reason why a cell fails; what cannot be tried is reported as untried
        now = before = None
    left = _MOST_TRIALS

    def attempt(advice: Advice) -> Trial:
        nonlocal left
        left -= 1
        if advice.found:
            return _untried(advice).model_copy(update={"outcome": "helps", "found": advice.found})
        if left < 0 or now is None or before is None or not advice.change:
            return _untried(advice)
        return _tried(now, before, advice, colluders, leaking)

    return try_in_turn(advised, attempt, lambda trial: trial.outcome == "helps")


def recommended(trials: Sequence[Trial], repairs: Sequence[str] = ()) -> list[str]:
    """Return a report's advice: repairs of ``min_colluders``, then measures that help, are open or were not tried."""
    order = ("helps", "open", "not tried")
    tried = sorted((t for t in trials if t.outcome in order), key=lambda trial: order.index(trial.outcome))
    return [*repairs, *map(in_words, tried)]


def in_words(trial: Trial) -> str:
    """Put a measure and what trying it gave into words."""
    return f"{trial.advice} {trial.found}".strip()


def _untried(advice: Advice) -> Trial:
    found = "Not tried: audit the changed scenario before you rely on it."
    return Trial(advice=advice.words, change=dict(advice.change), outcome="not tried", found=found, plain=advice.plain)


@dataclass(frozen=True)
class _Model:
    """Quantities that exact evidence of a cell goes by."""

    cell: Scenario
    setup: SumSetup
    sizes: Mapping[int, int]  # entries of what is summed in each iteration; those before EM's own are below 0
    leaked: LeakedSubspace  # of one averaging, or of two where masks are reused


def _model(case: CellContext) -> _Model | None:
    if not isinstance(case.setup, SumSetup) or not isinstance(case.observation, SumObservation):
        return None
    if case.setup.network.n > _MOST_NODES or len(case.setup.network.edges) > _MOST_EDGES:
        return None
    sizes = {t: inputs.shape[2] for t, inputs in case.observation.inputs.items()}
    return _Model(case.cell, case.setup, sizes, _probed(case.cell, case.setup))


def _probed(cell: Scenario, setup: SumSetup) -> LeakedSubspace:
    protocol = deep_copy(setup.protocol)
    rounds = 2 if SumTraits.of(protocol).reuses_masks else 1
    too_large = SecmixError("the messages of the trial take more than memory_limit leaves for them")
    with at_most(cell.message_limit * 2**20, too_large):
        return leaked_subspace(protocol, setup.network, setup.adversary, rounds=rounds)


def _tried(
    now: _Model, before: Mapping[int, NodeStatus], advice: Advice, colluders: int, leaking: Collection[int]
) -> Trial:
    about: dict[str, Any] = {"advice": advice.words, "change": dict(advice.change), "plain": advice.plain}
    try:
        then = _changed(now, advice.change)
        after = _statuses(then)
    except SecmixError as error:
        return Trial(**about, outcome="cannot be run", found=brief(f"Tried: it cannot be run here ({error})."))
    except Exception:  # a part of the user's own may fail in any way; a change that does is none to recommend
        return Trial(**about, outcome="cannot be run", found="Tried: it cannot be run here.")
    result = _in_words(after)
    if advice.against == "falsehood":
        helps, effect = colluders <= withstood(then.setup.protocol, then.setup.network.n), "bounded"
        result = f"{'by' if helps else 'but no'} proof bounds the error with {colluders} colluders then; {result}"
    else:
        better = any(after[node] < before[node] for node in before)
        helps = better and not any(after[node][0] > before[node][0] for node in before)
        # What other evidence found a trial does not look at.
        seen = all(before.get(node, (_OUTPUT, 0.0))[0] > _OUTPUT for node in leaking)
        effect = "closed" if seen and all(rank == _OUTPUT for rank, _ in after.values()) else "reduced"
    about |= {"outcome": "helps", "effect": effect} if helps else {"outcome": "no use"}
    return Trial(**about, found=f"Tried with exact evidence: {result}.")


def _changed(now: _Model, change: Mapping[str, Any]) -> _Model:
    cell, setup = changed_setup(now.cell, now.setup, change)
    sizes = {t: size for t, size in now.sizes.items() if t < cell.model.iterations}
    unchanged = setup.protocol is now.setup.protocol and setup.network is now.setup.network
    return _Model(cell, setup, sizes, now.leaked if unchanged else _probed(cell, setup))


def _statuses(model: _Model) -> dict[int, NodeStatus]:
    """Return how each honest node stands by exact evidence alone."""
    setup = model.setup
    several = SumTraits.of(setup.protocol).reuses_masks and len(model.sizes) > 1
    reading = model.leaked
    n, corrupt = setup.network.n, setup.corrupt
    unknowns = [count * setup.rows.shape[1] for count in setup.counts]
    bases: dict[int, Array] = dict.fromkeys(model.sizes, reading.basis[:, :n])
    output = 1.0 / (n - len(corrupt))
    statuses = {}
    for node in range(n):
        if node in corrupt:
            continue
        known = float(reading.explained(node).max())
        _, equations, behind = solved_together(bases, model.sizes, unknowns, corrupt, node, setup.possible_rows)
        if known > KNOWN:
            statuses[node] = (_REVEALED, 1.0)
        elif equations >= behind or several:  # what reused masks give away of sums is more than a round shows
            statuses[node] = (_SOLVABLE, round(known, 6))
        elif known > output + decide.MARGIN:
            statuses[node] = (_PARTLY, round(known, 6))
        else:
            statuses[node] = (_OUTPUT, round(known, 6))
    return statuses


def _in_words(statuses: Mapping[int, NodeStatus]) -> str:
    def nodes_of(rank: int) -> tuple[int, ...]:
        return tuple(node for node, (status, _) in statuses.items() if status == rank)

    parts = []
    if revealed := nodes_of(_REVEALED):
        parts.append(f"the summed vector of {nodes_in_words(revealed)} is known then")
    elif max((known for _, known in statuses.values()), default=0.0) < 1e-9:
        return "nothing that the adversary holds then depends on anybody's input"
    else:
        parts.append("nobody's summed vector is known then")
    if solvable := nodes_of(_SOLVABLE):
        parts.append(f"the known sums may still be solved for the rows of {nodes_in_words(solvable)}")
    if partly := nodes_of(_PARTLY):
        share = max(statuses[node][1] for node in partly)
        parts.append(f"of {nodes_in_words(partly)} up to {share:.0%} of the vector's variance is known")
    if len(parts) == 1 and not revealed:
        parts.append("and no more than the output itself tells")
    return "; ".join(parts[:1]) + "".join(f", {part}" if part.startswith("and ") else f"; {part}" for part in parts[1:])
