"""Measures, tried: the changed scenario is held to exact evidence before a report recommends the change.

A trial probes one averaging of the changed protocol on the changed network and counts the known sums of all iterations
against the numbers behind them: linear algebra, no runs. It compares with the same for the scenario as it is. So it
finds out what a change does to what is known exactly; what other evidence would say of it is for an audit to find.
Where another cell of the report is that audit, its verdict counts: a report must not recommend what it refutes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secmix._base import plugins
from secmix._base.checks import Array
from secmix.auditing import decide
from secmix.auditing.advice.measures import changed_scenario, changed_setup, try_in_turn
from secmix.auditing.cell_parts import Outcome, Trial, Verdict
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.sum_observation import SumObservation, solved_together
from secmix.auditing.report import Cell
from secmix.auditing.robustness.theorems import withstood
from secmix.auditing.setup import ReadyParts, SumSetup, deep_copy
from secmix.errors import SecmixError, brief
from secmix.estimators.exact.leakage import KNOWN, LeakedSubspace, leaked_subspace
from secmix.network import nodes_in_words
from secmix.protocols.interfaces import Advice, SumTraits
from secmix.scenario import Scenario
from secmix.transcript import at_most

_MOST_NODES, _MOST_EDGES = 20, 80  # on which a trial takes no longer than a moment
_MOST_TRIALS = 24
_OUTCOMES: dict[Verdict, Outcome] = {"inconclusive": "open", "violated": "no use"}  # else it helps

_REVEALED, _SOLVABLE, _PARTLY, _OUTPUT = 3, 2, 1, 0
NodeStatus = tuple[int, float]
"""Standing of a node by exact evidence alone, worst highest, and the known share of its summed vector."""


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
    tried = sorted((t for t in trials if t.recommended), key=lambda trial: order.index(trial.outcome))
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


@dataclass(frozen=True)
class _Audited:
    scenario: Scenario
    content: dict[str, Any]
    kind: object  # the class of the protocol
    cell: Cell


def with_what_the_report_says(
    cells: Sequence[Scenario], results: Sequence[Cell], ready_parts: ReadyParts | None
) -> list[Cell]:
    """Return the cells of a report, each advised by the results of all; ``ready_parts`` as in ``build_setup``."""
    pairs = zip(cells, results, strict=True)
    audited = [_Audited(cell, _unlabelled(cell), _kind(cell, ready_parts), result) for cell, result in pairs]
    advised = []
    for own in audited:
        trials = [_judged(trial, list(_cells_after(own, trial, audited))) for trial in own.cell.trials]
        repairs = own.cell.coalitions.repairs if own.cell.coalitions is not None else []
        advised.append(own.cell.model_copy(update={"trials": trials, "advice": recommended(trials, repairs)}))
    return advised


def _cells_after(own: _Audited, trial: Trial, audited: Sequence[_Audited]) -> Iterator[Cell]:
    """Yield the cells of this report that are what the trial would make of ``own``."""
    if not trial.change or trial.outcome == "cannot be run":
        return
    try:
        wanted = _unlabelled(changed_scenario(own.scenario, trial.change))
    except SecmixError:
        return
    swapped = _installed(trial.change["protocol"]) if set(trial.change) == {"protocol"} else None
    for other in audited:
        alike = swapped is not None and other.kind is swapped and _others(other.content) == _others(wanted)
        if other is not own and (alike or other.content == wanted):
            yield other.cell


def _judged(trial: Trial, full_audits: Sequence[Cell]) -> Trial:
    """Return the trial as the full audits of the same change have it; the best of them counts."""
    if not full_audits:
        return trial
    best = min(full_audits, key=lambda cell: decide.ORDER.index(decide.of_leak(cell)))
    verdict = decide.of_leak(best)
    sentence = f"This report audits it in full, as {best.protocol}: {verdict}."
    effect = "closed" if verdict == "holds" else ""
    return trial.model_copy(update={"outcome": _OUTCOMES.get(verdict, "helps"), "effect": effect, "found": sentence})


def _unlabelled(cell: Scenario) -> dict[str, Any]:
    content = {key: value for key, value in cell.to_dict().items() if key not in ("title", "description")}
    for part in ("protocol", "adversary"):
        content[part] = {key: value for key, value in content.get(part, {}).items() if key != "label"}
    return content


def _others(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "protocol"}


def _kind(cell: Scenario, ready_parts: ReadyParts | None) -> object:
    """Return the class of a cell's protocol."""
    part = (ready_parts or {}).get(("protocol", cell.protocol.name))
    return type(part) if part is not None else _installed({"name": cell.protocol.name})


def _installed(protocol: Any) -> object:
    """Return the class behind an installed name; None for others, which are not loaded to compare them."""
    name = protocol.get("name") if isinstance(protocol, Mapping) else None
    known = plugins.available("protocols")
    return known[name].load() if name in known else None
