"""The summary of a report in everyday words: who learns what about whom, how certain that is, and what to change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from secmix.auditing.cell_parts import ENCRYPTION_ASSUMES, FAULTS, Effect, NodeSummary
from secmix.auditing.report import Cell, Report, covered
from secmix.reporting import words
from secmix.reporting.linked import link, plain

_MOST_WHO = 3  # adversaries that are listed one by one
_MOST_NAMES = 3
_MOST_MEASURES = 3
_MOST_COUNTS = 3


def summary(report: Report) -> list[str]:
    """Write paragraphs for decision makers: one for each adversary, then how certain this is, and what to change.

    Participants are nodes, each called by its name or number; an adversary is called by its label.
    """
    return [plain(paragraph) for paragraph in linked_summary(report)]


def linked_summary(report: Report) -> list[str]:
    """Write the summary with a link from each number to its source; see :mod:`secmix.reporting.linked`."""
    cells = [cell.model_copy(update={"number": k}) for k, cell in words.numbered(report)]
    report = report.model_copy(update={"cells": cells})
    by_adversary: dict[str, list[Cell]] = {}
    for cell in report.cells:
        by_adversary.setdefault(cell.adversary, []).append(cell)
    ranked = sorted(by_adversary.values(), key=lambda cells: min(map(_rank, cells)))
    paragraphs = [" ".join(_about(cells, report.policy)) for cells in ranked[:_MOST_WHO]]
    if len(ranked) > _MOST_WHO:
        more = len(ranked) - _MOST_WHO
        paragraphs.append(f"The table below has {link('matrix', str(more))} more adversar{'ies' if more > 1 else 'y'}.")
    return [*paragraphs, *_who_suffices(report), *filter(None, [" ".join(_how_sure(report))]), *_what_to_do(report)]


def _about(cells: Sequence[Cell], policy: Mapping[str, Any]) -> list[str]:
    """Write what one adversary learns, under which protocols, and how far it changes the result."""
    who = adversary_in_words(cells[0])
    known = [cell for cell in cells if _with_standing(cell, "revealed")]
    partly = [cell for cell in cells if cell not in known and _with_standing(cell, "partly leaked")]
    others = [cell for cell in cells if cell not in known and cell not in partly]
    unclear = [cell for cell in others if _asked(cell) and _open(cell)]
    clear = [cell for cell in others if _asked(cell) and not _open(cell)]
    parts = []
    if known:
        unlimited = "" if any(map(_asked, known)) else ", which the policy does not limit"
        parts.append(f"can compute the private data of {_of_whom(known, 'revealed')} {_under(known)}{unlimited}")
    if partly:
        parts.append(f"learns part of the private data of {_of_whom(partly, 'partly leaked')} {_under(partly)}")
    changed = [cell for cell in cells if cell.robustness and cell.robustness.verdict == "violated"]
    if changed:
        parts.append(f"can change the joint result more than allowed {_under(changed)}")
    sentences = [f"{who} {', and '.join(parts)}."] if parts else []
    if unclear:
        whether = "it learns anything it should not" if sentences else f"{who} learns anything it should not"
        sentences.append(f"Whether {whether} {_under(unclear)} could not be decided.")
    if exact := [cell for cell in clear if not _with_standing(cell, "bounded by noise")]:
        whom = "it" if sentences else who
        closed = any(ENCRYPTION_ASSUMES in assumed for cell in exact for assumed in cell.assumptions)
        where = f"{_under(exact)}{covered(exact)}{', if lines that should be encrypted are' * closed}"
        sentences.append(f"It is proved that {whom} learns nothing beyond the result itself {where}.")
    if noisy := [cell for cell in clear if _with_standing(cell, "bounded by noise")]:
        whom = "it" if sentences else who
        sentences.append(f"It is proved that noise keeps what {whom} learns within the policy {_under(noisy)}.")
    sentences += _claimed(cells, anew=not sentences)
    if silent := [cell for cell in others if not _asked(cell) and not _claims(cell)]:
        whom = "it" if sentences else who
        sentences.append(f"What {whom} learns {_under(silent)} is not limited by the policy.")
    bounded = _bounded(cells, policy)
    return [*sentences, *bounded] if changed or any(map(_asked, cells)) else [*bounded, *sentences]


def _bounded(cells: Sequence[Cell], policy: Mapping[str, Any]) -> list[str]:
    """Write how many colluders change the result by how much at most, where the policy asks and a theorem says so."""
    by_count: dict[tuple[int, int, bool], list[tuple[float | None, Cell]]] = {}
    for cell in cells:
        if cell.robustness is None or cell.robustness.verdict != "holds":
            continue
        counts = [cell.robustness.colluders] if "max_error_ratio" in policy else []
        counts += [round(cell.robustness.breakdown_proven * cell.n_nodes)] if "min_breakdown" in policy else []
        for count in dict.fromkeys(counts):
            bounds = [point.proven for point in cell.robustness.points if point.colluders <= count]
            most = None if None in bounds else max((bound for bound in bounds if bound is not None), default=None)
            by_count.setdefault((count, cell.n_nodes, cell.is_collaboration), []).append((most, cell))
    return [_bound(count, n, collaborates, bounds) for (count, n, collaborates), bounds in by_count.items()]


def _bound(count: int, n: int, is_collaboration: bool, bounds: Sequence[tuple[float | None, Cell]]) -> str:
    most, worst = max(bounds, key=lambda bound: math.inf if bound[0] is None else bound[0])
    where = f"{_place(worst)}-robustness"
    spread = (
        "the median difference between two honest runs on other rows"
        if is_collaboration
        else "the largest distance of an honest contribution from their mean"
    )
    by = "a bounded amount" if most is None else f"{link(where, words.number(most))} times {spread}"
    result = "the joint result of the audited runs" if is_collaboration else "an average"
    rule, who = "rules" if len(bounds) > 1 else "rule", link(where, f"{count} of the {n}")
    return (
        f"It is proved that, whatever up to {who} participants send, {result} is off by at most {by} "
        f"{_under([cell for _, cell in bounds])}, if the theorems of the {rule} apply to the code that runs."
    )


_OF_CLAIMS = {
    "violated": "The claim of differential privacy against {whom} is refuted {where}.",
    "inconclusive": "Whether the claim of differential privacy against {whom} holds {where} could not be decided.",
    "holds": "It is proved that the claim of differential privacy against {whom} holds {where}.",
}


def _claims(cell: Cell) -> bool:
    return cell.claim is not None and cell.claim.verdict != "not asked"


def _claimed(cells: Sequence[Cell], *, anew: bool) -> list[str]:
    """Write what became of claims of differential privacy against one adversary."""
    sentences: list[str] = []
    for verdict, sentence in _OF_CLAIMS.items():
        if which := [cell for cell in cells if cell.claim is not None and cell.claim.verdict == verdict]:
            whom = adversary_in_words(cells[0]) if anew and not sentences else "it"
            sentences.append(sentence.format(whom=whom, where=_under(which)))
    return sentences


def _who_suffices(report: Report) -> list[str]:
    """Write how few participants can learn somebody's data, if fewer than the policy asks for."""
    least: dict[str, tuple[int, str, str]] = {}
    for cell in report.cells:
        result = cell.coalitions
        if result and result.verdict == "violated" and result.least is not None:
            noun = "owner" if result.weakest and result.weakest.owners else "participant"
            entry = (result.least, noun, f"{_place(cell)}-coalitions")
            least[cell.protocol] = min(entry, least.get(cell.protocol, entry), key=lambda candidate: candidate[0])
    sentences = []
    for protocol, (few, noun, where) in least.items():
        count = f"{few} {noun}s" if few > 1 else f"one {noun}" if few else "an outsider"
        who = f"{link(where, count)}{' who act together' if few > 1 else ' alone' if few else ''}"
        sentences.append(f"Under “{protocol}” {who} can learn somebody's data; the policy asks for more.")
    return [" ".join(sentences)] if sentences else []


def adversary_in_words(cell: Cell) -> str:
    """Name an adversary, and say what part it has; counts are links, see :mod:`secmix.reporting.linked`."""
    if cell.public:
        more = "the public, who gets the result alone"
        if cell.corrupt:
            known = ", ".join(cell.label(node) for node in cell.corrupt)
            more += f", and knows the rows of {'node' if len(cell.corrupt) == 1 else 'nodes'} {known}"
    elif not cell.corrupt:
        more = "the server" if cell.server else "an outsider who reads the lines"
    else:
        if len(cell.corrupt) > 1:
            more = f"{link(f'{_place(cell)}-network', f'{len(cell.corrupt)} of the {cell.n_nodes}')} participants"
        else:
            more = cell.label(cell.corrupt[0]) if cell.names else f"participant {cell.corrupt[0]}"
        several = len(cell.corrupt) + cell.server > 1
        does = ["pool what they read"] * several + [f"tap{'s' * (not several)} lines"] * bool(cell.tapped)
        more = "the server and " * cell.server + more + (f", who {' and '.join(does)}" if does else "")
    return f"“{cell.adversary}” ({more})"


def _with_standing(cell: Cell, standing: str) -> list[NodeSummary]:
    return [node for node in cell.nodes if node.standing == standing]


def _open(cell: Cell) -> bool:
    """Check whether anything about what it learns is undecided: a cell counts as clear only if all of it holds."""
    doubtful = any(node.verdict != "holds" for node in words.honest(cell)) or bool(_with_standing(cell, "inconclusive"))
    return doubtful or not cell.nodes or cell.verdict == "inconclusive"


def _asked(cell: Cell) -> bool:
    """Check whether the policy limits what the adversary learns."""
    return not cell.nodes or any(node.verdict != "not asked" for node in words.honest(cell))


def _of_whom(cells: Sequence[Cell], standing: str) -> str:
    counts = {(len(_with_standing(cell, standing)), len(words.honest(cell))) for cell in cells}
    worst = max(cells, key=lambda cell: len(_with_standing(cell, standing)))
    where = f"{_place(worst)}-nodes"
    other = "other " if cells[0].corrupt else ""
    if len(counts) > 1:
        return f"up to {link(where, str(max(count for count, _ in counts)))} {other}participants"
    ((count, honest),) = counts
    if count == honest:
        return f"{link(where, f'all {honest}')} {other}participants" if honest > 1 else f"the only {other}participant"
    return f"{link(where, f'{count} of {honest}')} {other}participants"


def _under(cells: Sequence[Cell]) -> str:
    return f"under {_listed(dict.fromkeys(cell.protocol for cell in cells))}"


def _listed(names: Iterable[str]) -> str:
    """Quote and join the names; of many, the first few.

    >>> _listed(["a"]), _listed(["a", "b"]), _listed("abcde")
    ('“a”', '“a” and “b”', '“a”, “b”, “c” and 2 more')
    """
    quoted = [f"“{name}”" for name in names]
    if len(quoted) > _MOST_NAMES + 1:
        quoted = [*quoted[:_MOST_NAMES], f"{len(quoted) - _MOST_NAMES} more"]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _how_sure(report: Report) -> list[str]:
    """Write what is certain, and for the rest in how many runs it came out, by the findings that decide."""
    revealed = [(cell, node) for cell in report.cells for node in _with_standing(cell, "revealed")]
    partly = any(
        _with_standing(cell, "partly leaked") and not _with_standing(cell, "revealed") for cell in report.cells
    )
    tried = [(cell, node) for cell, node in revealed if not node.certain]
    sentences = []
    if revealed and not tried:
        bounded = any(cell.robustness and cell.robustness.verdict == "holds" for cell in report.cells)
        what = "Whose data can be computed" if partly or bounded else "This"
        sentences.append(f"{what} is certain: it follows by calculation from what is sent.")
    elif len(tried) < len(revealed):
        sentences.append(
            f"Some of this follows by calculation from what is sent; the rest was tried: {_came_out(tried)}."
        )
    elif tried:
        sentences.append(f"This was tried: {_came_out(tried)}.")
    if partly:
        sentences.append("Where part of the data is learnt, more may be learnt than was found.")
    if any(cell.verdict == "inconclusive" for cell in report.cells):
        sentences.append("Where something could not be decided, it may be worse than what was found.")
    if any(cell.verdict == "holds" for cell in report.cells):
        sentences.append("What is proved rests on assumptions that are listed below with each combination.")
    return sentences


def _came_out(tried: Sequence[tuple[Cell, NodeSummary]]) -> str:
    counts: dict[tuple[int, int], str] = {}  # each with the anchor of its first node
    for cell, node in tried:
        if node.hits is not None and node.runs:
            counts.setdefault((node.hits, node.runs), f"{_place(cell)}-node-{node.node}")
    among = "trial runs of the real programme the data came out"
    if not counts or any(node.hits is None or not node.runs for _, node in tried):
        return f"in {among}"
    ordered = sorted(counts, key=lambda count: (count[0] / count[1], count[1]))
    if len(ordered) <= _MOST_COUNTS:
        *others, last = [link(counts[count], f"{count[0]} of {count[1]}") for count in ordered]
        return f"in {' or '.join(filter(None, [', '.join(others), last]))} {among}"
    least, most = (
        link(counts[count], str(math.floor(100 * count[0] / count[1]))) for count in (ordered[0], ordered[-1])
    )
    return f"in {least} to {most} % of the {among}"


def _place(cell: Cell) -> str:
    return f"cell-{cell.number}"


def _what_to_do(report: Report) -> list[str]:
    bad = [cell for cell in report.cells if cell.verdict in FAULTS]
    if not bad:
        return ["Nothing has to be changed for this policy; see below what it does not ask, and what was not tried."]
    if helped := [
        f"{intro}: {which}" for effect, intro in _HELPED.items() if (which := _measures(bad, ("helps",), effect))
    ]:
        return [f"Measures were tried. {'. '.join(helped)}. Audit again after a change; details are below."]
    if may := _measures(bad, ("open", "not tried")):
        return [f"These may help, which was not shown: {may}."]
    if any(cell.advice for cell in bad):
        return ["What to change is listed below, with each finding."]
    if any(cell.unmeasured for cell in bad):
        return ["Part of this audit was not done, so no change is proposed; see below what is missing, and why."]
    if all(cell.verdict == "inconclusive" for cell in bad):
        return ["No fault was shown, so no change was tried; why it could not be decided stands below."]
    return ["This audit found no change that would help."]


_HELPED: dict[Effect, str] = {
    "closed": "These closed the leak that was found",
    "bounded": "These bound the error by proof",
    "reduced": "These only reduced the leak",
    "": "These helped",
}


def _measures(bad: Sequence[Cell], outcomes: Sequence[str], effect: Effect | None = None) -> str:
    """List measures with one of these outcomes, each with where unless that is everywhere; ``effect`` asks for one."""
    where: dict[str, dict[tuple[str, str], None]] = {}
    for cell in bad:
        for trial in cell.trials:
            if trial.plain and trial.outcome in outcomes and effect in (None, trial.effect):
                where.setdefault(trial.plain, {})[cell.protocol, cell.adversary] = None
    # Measures that help most often come first.
    commonest = sorted(where, key=lambda measure: -len(where[measure]))[:_MOST_MEASURES]
    every = {(cell.protocol, cell.adversary) for cell in bad}
    return "; ".join(f"{measure}{_only(where[measure], every)}" for measure in commonest)


def _only(where: Iterable[tuple[str, str]], every: set[tuple[str, str]]) -> str:
    """Name the protocols and adversaries of some combinations; nothing where these are all.

    >>> every = {("P", "A"), ("Q", "A"), ("P", "B")}
    >>> [_only(some, every) for some in (every, [("P", "B")], [("P", "A"), ("P", "B")], [("Q", "A"), ("P", "B")])]
    ['', ' (against “B”)', ' (under “P”)', ' (under “Q” against “A”; under “P” against “B”)']
    """
    cells = {*where}
    protocols, adversaries = (list(dict.fromkeys(each[k] for each in where)) for k in (0, 1))
    if cells == every:
        return ""
    if cells == {each for each in every if each[1] in adversaries}:
        return f" (against {_listed(adversaries)})"
    if cells == {each for each in every if each[0] in protocols}:
        return f" (under {_listed(protocols)})"
    pairs = [f"under “{protocol}” against “{adversary}”" for protocol, adversary in where]
    more = [f"and {len(pairs) - _MOST_NAMES} more"] * (len(pairs) > _MOST_NAMES)
    return f" ({'; '.join([*pairs[:_MOST_NAMES], *more])})"


def _rank(cell: Cell) -> tuple[int, int]:
    return words.VERDICTS.index(cell.verdict), -len(_with_standing(cell, "revealed"))
