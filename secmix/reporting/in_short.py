"""The report in short and without the field's words: who learns what about whom, how sure that is, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from secmix.auditing.report import FAULTS, Cell, Effect, NodeSummary, Report
from secmix.reporting import words
from secmix.reporting.linked import leads, plain

_MOST_WHO = 3  # adversaries that are listed one by one
_MOST_NAMES = 3
_MOST_MEASURES = 3
_MOST_COUNTS = 3


def in_short(report: Report) -> list[str]:
    """Paragraphs for whoever decides: one for each adversary, then how sure this is, and what to do.

    Participants are the nodes, each known by its name or number; an adversary goes by its label.
    """
    return [plain(paragraph) for paragraph in linked(report)]


def linked(report: Report) -> list[str]:
    """The same, each number with the place in the report that it comes from; see :mod:`secmix.reporting.linked`."""
    cells = [cell.model_copy(update={"number": k}) for k, cell in words.numbered(report)]
    report = report.model_copy(update={"cells": cells})
    by_adversary: dict[str, list[Cell]] = {}
    for cell in report.cells:
        by_adversary.setdefault(cell.adversary, []).append(cell)
    ranked = sorted(by_adversary.values(), key=lambda cells: min(map(_rank, cells)))
    said = [" ".join(_about(cells)) for cells in ranked[:_MOST_WHO]]
    if len(ranked) > _MOST_WHO:
        more = len(ranked) - _MOST_WHO
        said.append(f"The table below has {leads('matrix', str(more))} more adversar{'ies' if more > 1 else 'y'}.")
    return [*said, *_who_suffices(report), *filter(None, [" ".join(_how_sure(report))]), *_what_to_do(report)]


def _about(cells: Sequence[Cell]) -> list[str]:
    """What one adversary learns, under which protocols, and how far it bends the result."""
    who = _who(cells[0])
    known = [cell for cell in cells if _those(cell, "revealed")]
    partly = [cell for cell in cells if cell not in known and _those(cell, "partly leaked")]
    others = [cell for cell in cells if cell not in known and cell not in partly]
    unclear = [cell for cell in others if _asked(cell) and _open(cell)]
    clear = [cell for cell in others if _asked(cell) and not _open(cell)]
    parts = []
    if known:
        parts.append(f"can work out the private data of {_of_whom(known, 'revealed')} {_under(known)}")
    if partly:
        parts.append(f"learns part of the private data of {_of_whom(partly, 'partly leaked')} {_under(partly)}")
    pushed = [cell for cell in cells if cell.robustness and cell.robustness.verdict == "violated"]
    if pushed:
        parts.append(f"can bend the joint result further than allowed {_under(pushed)}")
    said = [f"{who} {', and '.join(parts)}."] if parts else []
    if unclear:
        whether = "it learns anything it should not" if said else f"{who} learns anything it should not"
        said.append(f"Whether {whether} {_under(unclear)} could not be settled.")
    if clear:
        whom = "it" if said else who
        said.append(f"It is proved that {whom} learns nothing beyond the result itself {_under(clear)}.")
    if silent := [cell for cell in others if not _asked(cell)]:
        whom = "it" if said else who
        said.append(f"What {whom} learns {_under(silent)} is not limited by the policy.")
    return said


def _who_suffices(report: Report) -> list[str]:
    """How few participants can learn somebody's data, where that is fewer than the policy asks for."""
    least: dict[str, tuple[int, str, str]] = {}
    for cell in report.cells:
        found = cell.coalitions
        if found and found.verdict == "violated" and found.least is not None:
            one = "owner" if found.witness and found.witness.owners else "participant"
            this = (found.least, one, f"{_place(cell)}-coalitions")
            least[cell.protocol] = min(this, least.get(cell.protocol, this), key=lambda each: each[0])
    said = []
    for protocol, (few, one, where) in least.items():
        count = f"{few} {one}s" if few > 1 else f"one {one}" if few else "an outsider"
        who = f"{leads(where, count)}{' who act together' if few > 1 else ' alone' if few else ''}"
        said.append(f"Under “{protocol}” {who} can learn somebody's data; the policy asks for more.")
    return [" ".join(said)] if said else []


def _who(cell: Cell) -> str:
    if cell.server:
        more = "the server"
    elif not cell.corrupt:
        more = "an outsider who listens to the lines"
    elif len(cell.corrupt) == 1:
        more = cell.label(cell.corrupt[0]) if cell.names else f"participant {cell.corrupt[0]}"
    else:
        count = leads(f"{_place(cell)}-network", f"{len(cell.corrupt)} of the {cell.n_nodes}")
        more = f"{count} participants, who pool what they see"
    return f"“{cell.adversary}” ({more})"


def _those(cell: Cell, standing: str) -> list[NodeSummary]:
    return [node for node in cell.nodes if node.standing == standing]


def _open(cell: Cell) -> bool:
    """Say whether anything about what it learns is undecided: a cell counts as clear only if all of it holds."""
    doubtful = any(node.verdict != "holds" for node in words.honest(cell)) or bool(_those(cell, "inconclusive"))
    return doubtful or not cell.nodes or cell.verdict == "inconclusive"


def _asked(cell: Cell) -> bool:
    """Say whether the policy asks what the adversary learns."""
    return not cell.nodes or any(node.verdict != "not asked" for node in words.honest(cell))


def _of_whom(cells: Sequence[Cell], standing: str) -> str:
    counts = {(len(_those(cell, standing)), len(words.honest(cell))) for cell in cells}
    worst = max(cells, key=lambda cell: len(_those(cell, standing)))
    where = f"{_place(worst)}-nodes"
    other = "other " if cells[0].corrupt else ""
    if len(counts) > 1:
        return f"up to {leads(where, str(max(count for count, _ in counts)))} {other}participants"
    ((count, honest),) = counts
    if count == honest:
        return f"{leads(where, f'all {honest}')} {other}participants" if honest > 1 else f"the only {other}participant"
    return f"{leads(where, f'{count} of {honest}')} {other}participants"


def _under(cells: Sequence[Cell]) -> str:
    return f"under {_listed(dict.fromkeys(cell.protocol for cell in cells))}"


def _listed(names: Iterable[str]) -> str:
    """
    >>> _listed(["a"]), _listed(["a", "b"]), _listed("abcde")
    ('“a”', '“a” and “b”', '“a”, “b”, “c” and 2 more')
    """
    quoted = [f"“{name}”" for name in names]
    if len(quoted) > _MOST_NAMES + 1:
        quoted = [*quoted[:_MOST_NAMES], f"{len(quoted) - _MOST_NAMES} more"]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _how_sure(report: Report) -> list[str]:
    """Say what is certain, and of the rest in how many runs it came out: as the findings say that decide."""
    revealed = [(cell, node) for cell in report.cells for node in _those(cell, "revealed")]
    partly = any(_those(cell, "partly leaked") and not _those(cell, "revealed") for cell in report.cells)
    tried = [(cell, node) for cell, node in revealed if not node.certain]
    said = []
    if revealed and not tried:
        what = "Whose data can be worked out" if partly else "This"
        said.append(f"{what} is certain: it follows by calculation from what is sent.")
    elif len(tried) < len(revealed):
        said.append(f"Some of this follows by calculation from what is sent; the rest was done: {_came_out(tried)}.")
    elif tried:
        said.append(f"This was done: {_came_out(tried)}.")
    if partly:
        said.append("Where part of the data is learnt, more may be learnt than was found.")
    if any(cell.verdict == "inconclusive" for cell in report.cells):
        said.append("Where something could not be settled, it may be worse than what was found.")
    if any(cell.verdict == "holds" for cell in report.cells):
        said.append("What is proved rests on assumptions, which stand below with each combination.")
    return said


def _came_out(tried: Sequence[tuple[Cell, NodeSummary]]) -> str:
    counts: dict[tuple[int, int], str] = {}  # each with where it is first found
    for cell, node in tried:
        if node.hits is not None and node.runs:
            counts.setdefault((node.hits, node.runs), f"{_place(cell)}-node-{node.node}")
    among = "trial runs of the real programme the data came out"
    if not counts or any(node.hits is None or not node.runs for _, node in tried):
        return f"in {among}"
    ordered = sorted(counts, key=lambda count: (count[0] / count[1], count[1]))
    if len(ordered) <= _MOST_COUNTS:
        *others, last = [leads(counts[count], f"{count[0]} of {count[1]}") for count in ordered]
        return f"in {' or '.join(filter(None, [', '.join(others), last]))} {among}"
    least, most = (
        leads(counts[count], str(math.floor(100 * count[0] / count[1]))) for count in (ordered[0], ordered[-1])
    )
    return f"in {least} to {most} % of the {among}"


def _place(cell: Cell) -> str:
    return f"cell-{cell.number}"


def _what_to_do(report: Report) -> list[str]:
    bad = [cell for cell in report.cells if cell.verdict in FAULTS]
    if not bad:
        return ["Nothing has to be changed for this policy; read below what it does not ask, and what was not tried."]
    if helped := [
        f"{said}: {which}" for effect, said in _HELPED.items() if (which := _measures(bad, ("helps",), effect))
    ]:
        return [f"Measures were tried. {'. '.join(helped)}. Audit again after a change; details stand below."]
    if may := _measures(bad, ("open", "not tried")):
        return [f"What may help, but was not shown to: {may}."]
    if any(cell.advice for cell in bad):
        return ["What to change stands below, with each finding."]
    if any(cell.unmeasured for cell in bad):
        return [
            "Part of this audit was not done, so that no change is proposed; what is missing, and why, stands below."
        ]
    return ["This audit knows no change that would mend it."]


_HELPED: dict[Effect, str] = {
    "closed": "These closed the leak that was found",
    "bounded": "These bound the error by proof",
    "reduced": "These only reduced the leak",
    "": "These helped",
}


def _measures(bad: Sequence[Cell], outcomes: Sequence[str], effect: Effect | None = None) -> str:
    """Measures with one of these outcomes, each with whom it is against where that is not everybody.

    With ``effect`` those whose least effect it is: what closes one leak and reduces another reduces.
    """
    against: dict[str, dict[str, None]] = {}
    effects: dict[str, set[Effect]] = {}
    for cell in bad:
        for trial in cell.trials:
            if trial.plain and trial.outcome in outcomes:
                effects.setdefault(trial.plain, set()).add(trial.effect)
                against.setdefault(trial.plain, {})[cell.adversary] = None
    if effect is not None:
        against = {measure: who for measure, who in against.items() if _least(effects[measure]) == effect}
    everybody = {cell.adversary for cell in bad}
    # What helps against most comes first.
    commonest = sorted(against, key=lambda measure: -len(against[measure]))[:_MOST_MEASURES]
    return "; ".join(
        measure if set(against[measure]) == everybody else f"{measure} (against {_listed(against[measure])})"
        for measure in commonest
    )


def _least(effects: set[Effect]) -> Effect:
    if "reduced" in effects:
        return "reduced"
    return next(iter(effects)) if len(effects) == 1 else ""


def _rank(cell: Cell) -> tuple[int, int]:
    return words.VERDICTS.index(cell.verdict), -len(_those(cell, "revealed"))
