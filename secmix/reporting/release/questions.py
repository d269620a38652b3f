"""Questions of two guidelines about a release, in words of our own, with what an audit can answer.

Sources: SATRE v2.0.1, output management (3.3), by the numbers of its statements; NIST SP 800-226 (2025), by subject.
What an audit cannot answer says so: an organisation's own decisions stand in no report.
"""

from __future__ import annotations

from collections.abc import Sequence

from secmix.auditing.cell_parts import FAULTS, PrivacyClaim
from secmix.auditing.released.membership import NAME as MEMBERSHIP
from secmix.auditing.report import Acceptance, Report
from secmix.estimators.row_membership import RATE
from secmix.reporting import words
from secmix.reporting.release.page import NOT_ANSWERED, Output, Question, Status

SATRE, NIST = "SATRE v2.0.1", "NIST SP 800-226"
_ASKED: dict[str, tuple[str, str, str]] = {
    # key: (document, section, question)
    "what": (SATRE, "3.3.07", "Which outputs leave that nobody can check by eye, such as the weights of a model?"),
    "memory": (SATRE, "3.3.07", "Can records be got back from what leaves, because a model has memorised them?"),
    "controls": (SATRE, "3.3.07", "Which technical controls are there before anything leaves, and were they on?"),
    "may": (SATRE, "3.3.07", "May such outputs leave at all, and which controls does the policy require first?"),
    "responsible": (SATRE, "3.3.05", "Who is responsible for the check, and for what was let pass?"),
    "basis": (SATRE, "3.3.06", "On which statistical basis is an output called safe or not?"),
    "record": (SATRE, "3.3.09", "Is there a record of the criteria that a program can read, bound to the output?"),
    "unit": (NIST, "unit of privacy", "Whose data does the guarantee protect: one record, or all of a participant?"),
    "epsilon": (NIST, "epsilon and delta", "What are ε and δ, over all that is released, and are they kept?"),
    "trust": (NIST, "trust model", "Who has to be trusted, and with what?"),
    "steps": (
        NIST,
        "access to intermediate results",
        "Who reads what passes before the result, and what is known by it?",
    ),
}
_NO_CLAIM = "No differential privacy is claimed or asked for: nothing is said of ε and δ."


def question(key: str, status: Status, answer: Sequence[str]) -> Question:
    """Return a question with its answer."""
    document, section, asked = _ASKED[key]
    return Question(document=document, section=section, question=asked, status=status, answer=list(answer))


def unanswered(key: str, *answer: str) -> Question:
    """Return a question that an audit does not answer, with what is to be done instead."""
    return question(key, NOT_ANSWERED, answer)


def listed(outputs: Sequence[Output]) -> Question:
    """Say what leaves, by its name."""
    if not outputs:
        return unanswered("what", "Nothing that leaves was seen.")
    return question("what", "answered in part", [
        *(f"{output.name}: {output.what}" for output in outputs),
        "Whether anything else leaves beside it is not known to this audit.",
    ])  # fmt: skip


def controlled(outputs: Sequence[Output]) -> Question:
    """Say of each control whether it acted."""
    controls: dict[str, list[str]] = {}
    for output in outputs:
        for control in output.controls:
            controls.setdefault(f"{control.name}: {control.acted}", []).append(output.name)
    if not controls:
        return unanswered("controls", "No control was seen: none is configured, or none that this audit knows.")
    return question(
        "controls", "answered in part", [f"{control} ({', '.join(names)})" for control, names in controls.items()]
    )


def of_the_organisation() -> Question:
    """Return the question that no audit answers."""
    return unanswered("may", "That is the organisation's own policy. This page has what was found, for that decision.")


def trusted(outputs: Sequence[Output]) -> Question:
    """Say of each adversary that was tried how it stands; all others are trusted unseen."""
    parties = [
        f"{output.name}: {'; '.join(f'{reader.who}: {reader.verdict}' for reader in tried)}"
        for output in outputs
        if (tried := [reader for reader in output.readers if reader.verdict != "not tried"])
    ]
    others = "Of adversaries not listed, and of larger coalitions, nothing is said: whoever relies on this trusts them."
    return question("trust", "answered in part" if parties else NOT_ANSWERED, [*parties, others])


def questions_of_report(report: Report, outputs: Sequence[Output]) -> list[Question]:
    """Answer each question as far as a report does."""
    return [
        listed(outputs),
        _memory(report),
        controlled(outputs),
        of_the_organisation(),
        responsible(report.accepted),
        _basis(report),
        machine_record(),
        _unit(report),
        _epsilon(report),
        trusted(outputs),
        stepwise(outputs),
    ]


def _memory(report: Report) -> Question:
    """Say whose data were recovered, in whole or in part, from messages or from the result by itself."""
    attacked = any(cell.public for cell in report.cells)
    alone = "The result by itself was attacked by what is listed, and by nothing else."
    alone = alone if attacked else "The result by itself was not attacked."
    sentences = []
    for cell in report.cells:
        partly = sum(node.standing == "partly leaked" for node in cell.nodes)
        if partly or any(node.standing == "revealed" for node in cell.nodes):
            more = f", and {partly} partly leaked" if partly else ""
            sentences.append(
                f"{cell.protocol}, {cell.adversary}: {words.tally(cell)}{more}, from what this adversary reads"
            )
    tests = [finding for finding in report.findings if finding.evidence == MEMBERSHIP]
    if tests:
        most = max(tests, key=lambda finding: finding.low or 0.0)
        sentences.append(
            f"{most.protocol}: the result alone tells the membership of a row in at least {most.low or 0.0:.1%} of the "
            f"runs, with {RATE:.0%} false alarms ({most.percent} confidence)"
        )
    if not sentences:
        return unanswered("memory", f"No node's data were found in what was audited. {alone}")
    return question("memory", "answered in part", [*sentences, alone])


def responsible(accepted: Sequence[Acceptance]) -> Question:
    """Say who accepts what until when."""
    if not accepted:
        return unanswered("responsible", "Nobody has accepted any finding of this audit.")
    return question("responsible", "answered in part", [
        f"{entry.by or 'nobody named'} {'accepted' if entry.ended else 'accepts'} {entry.what} of {entry.protocol} "
        f"against {entry.adversary} until {entry.until}{', which is over' if entry.ended else ''}: {entry.reason}"
        for entry in accepted
    ])  # fmt: skip


def _basis(report: Report) -> Question:
    stated = [f"{key.replace('_', ' ')} {_limit(value)}" for key, value in report.policy.items()]
    stated += dict.fromkeys(f"the claim of {claim.terms} of at most {claim.epsilon:g}" for _, claim in _claims(report))
    limits = ", ".join(stated)
    faults = sum(cell.verdict in FAULTS for cell in report.cells)
    return question("basis", "answered", [
        f"The limits are: {limits or 'none, and so nothing is called safe'}. {faults} of {len(report.cells)} "
        "combinations of protocol and adversary do not meet them.",
        "An attack that works, or a confidence bound, accuses; only a proof clears; all else is inconclusive.",
    ])  # fmt: skip


def _limit(value: float | str) -> str:
    return value if isinstance(value, str) else words.size(value)


def machine_record() -> Question:
    """Say which file a program reads, and what it lacks."""
    return question("record", "answered in part", [
        "release.json has the limits and verdicts of this audit, report.json or recorded.json its details. The file "
        "that is released is not named in them: keep them beside it."
    ])  # fmt: skip


def _claims(report: Report) -> list[tuple[str, PrivacyClaim]]:
    return [
        (f"{cell.protocol} against {cell.adversary}", cell.claim)
        for cell in report.cells
        if cell.claim is not None and cell.claim.verdict != "not asked"
    ]


def _unit(report: Report) -> Question:
    units = list(dict.fromkeys(f"Claimed: {claim.terms}." for _, claim in _claims(report)))
    if "max_epsilon" in report.policy:
        unit = report.policy.get("unit", "node")
        units.append(f"The policy limits ε of {'one row' if unit == 'row' else 'all rows of a node'}.")
    if not units:
        return unanswered("unit", _NO_CLAIM, "Verdicts are about all that one node holds, and about rows of it.")
    return question("unit", "answered", units)


def _epsilon(report: Report) -> Question:
    budgets = [
        f"{where}: the claim {'holds' if claim.verdict == 'holds' else f'is {claim.verdict}'}. {claim.why}."
        for where, claim in _claims(report)
    ]
    if "max_epsilon" in report.policy:
        budgets.append(f"The policy limits ε to {_limit(report.policy['max_epsilon'])}; see what holds, above.")
    if not budgets:
        return unanswered("epsilon", _NO_CLAIM)
    return question("epsilon", "answered in part", [*budgets, "Releases outside what was audited add to it."])


def stepwise(outputs: Sequence[Output]) -> Question:
    """Say who reads what on the way to the result."""
    steps = [
        f"{output.name}: {reader.who}: {' '.join(reader.reads) or 'reads nothing'}"
        for output in outputs
        for reader in output.readers
        if reader.verdict != "not tried"
    ]
    return question("steps", "answered in part" if steps else NOT_ANSWERED, steps)
