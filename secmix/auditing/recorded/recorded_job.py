"""Audit of one recorded job: controls that acted or did not, and what each participant learns of each client.

One run has no truth beside it and no repetitions. Nothing here clears anybody: the verdict is *violated* or
*inconclusive*, never *holds*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from secmix.auditing.recorded.controls import Control, controls, counted
from secmix.auditing.recorded.passed_on import averaged, passed_on, result_of_job, with_those_who_get_them
from secmix.auditing.recorded.recorded_spending import RecordedSpending, StatedClaim, spent_in_job
from secmix.auditing.recorded.rows import JobRow, counted_alone, known_rows, moved_along, starts_without_counts
from secmix.auditing.released.last_arrays import LastArrays
from secmix.recording.nvflare.changes import STEPS
from secmix.recording.nvflare.ends import JobMessage, JobRecording

LISTENER = "a listener on the line"
NOT_SHOWN = (
    "how much messages tell of rows in which no row was found: that needs many runs on rows that are known",
    "whether noise of a filter is as much as it claims: that needs repetitions",
    "whether anything passed beside tasks and their results: streams, events and files are not recorded",
    "what a server or a client that lies could do",
)
_NAMED = 6


@dataclass(frozen=True)
class Learned:
    """Knowledge of one party about one client."""

    client: str
    party: str
    reads: list[str]  # kinds of messages that it reads, with how many and how long
    knows: list[str]  # what follows from them
    rows: int = 0  # how many rows of the client it knows


@dataclass(frozen=True)
class JobAudit:
    """Result of auditing a recorded job."""

    verdict: Literal["violated", "inconclusive"]  # whether a control did not act, or a row follows from messages
    controls: list[Control]  # violated ones first
    learned: list[Learned]  # for each client: the server, each other client, a listener
    rows: list[JobRow]
    all_failed: bool  # whether no client sent anything but errors
    remarks: list[str]  # what else is to be known of this run
    not_said: tuple[str, ...] = NOT_SHOWN  # what one run cannot show
    # what each client spent of epsilon, on its configuration's word
    spent: list[RecordedSpending] = field(default_factory=list)
    last: LastArrays = field(default_factory=LastArrays)  # what the public gets, as far as the recording has it


def audit_job(job: JobRecording, stated: StatedClaim | None = None) -> JobAudit:
    """Audit a recorded job under a policy that wants every control to act and no row to be known.

    With a ``stated`` claim the account of epsilon is of the noise that it states, too.
    """
    judged, rows = controls(job), with_those_who_get_them(job, known_rows(job))
    mean, onward = averaged(job), passed_on(job)
    parties = [job.server, *job.clients, LISTENER]
    learned = [
        _learned(job, client, party, rows, mean, onward.get((client, party), []))
        for client in job.clients
        for party in parties
        if party != client
    ]
    last, spent = result_of_job(job, rows), spent_in_job(job, stated)
    violated = bool(rows or last.rows) or any(control.outcome == "violated" for control in judged)
    verdict: Literal["violated", "inconclusive"] = "violated" if violated else "inconclusive"
    all_failed = not any(m.code == "OK" for m in job.messages if m.sender in job.clients)
    return JobAudit(verdict, judged, learned, rows, all_failed, _remarks(job), spent=spent, last=last)


def _learned(
    job: JobRecording,
    client: str,
    party: str,
    rows: Sequence[JobRow],
    mean: tuple[str, tuple[str, ...], str] | None,
    onward: list[str],
) -> Learned:
    sent = [m for m in job.messages if m.sender == client]
    read = [m for m in sent if reads(job, party, m)]
    knows = [
        f"a row of {len(row.row)} numbers: {row.how}"
        for row in rows
        if row.client == client and knows_row(job, party, row)
    ]
    certain = len(knows)
    knows += [*onward, *counted_alone(read)]
    if mean is not None and client in mean[1] and party in mean[1]:
        others = len(mean[1]) - 1
        whom = "from its own and the next model" if others == 1 else f"together with the other {others - 1}"
        knows.append(f"can compute what it sent in {mean[0]}, {whom}: the next model is the average {mean[2]}")
    if party == LISTENER and (unread := [m for m in sent if m not in read]):
        sizes = sorted({sum(part.nbytes for part in m.arrays.values()) + 8 * len(m.singles) for m in unread})
        length = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        knows.append(f"notices {counted(len(unread))}, when and to whom they pass, and their {length} bytes of numbers")
    return Learned(client, party, _kinds(read), _counted(knows), certain)


def reads(job: JobRecording, party: str, message: JobMessage) -> bool:
    """Return whether a party reads a message: it receives it, carries it unsealed, or hears a plain line."""
    if party == LISTENER:
        return not message.encrypted
    return message.receiver == party or (
        party == job.server and message.receiver != job.server and not _sealed_between_clients(job)
    )


def knows_row(job: JobRecording, party: str, row: JobRow) -> bool:
    """Return whether a party gets the messages from which a row follows, or reads them on their way."""
    on_the_way = (m for m in job.messages if m.sender == row.client and m.receiver in row.known_to)
    return party in row.known_to or any(reads(job, party, m) for m in on_the_way)


def _sealed_between_clients(job: JobRecording) -> bool:
    """Return whether clients seal what they send each other: NVFlare's ``private_p2p``, which is its default."""
    return all(v for m in job.messages for path, v in m.singles.items() if path.endswith("private_p2p"))


def _kinds(messages: Iterable[JobMessage]) -> list[str]:
    """Say what was read, by task: arrays by name, opaque ones apart, and single numbers."""
    messages_by_kind: dict[str, list[JobMessage]] = {}
    for m in messages:
        if m.arrays or m.singles:
            messages_by_kind.setdefault(m.title, []).append(m)
    return [
        f"{title}, {len(held)} time{'s' * (len(held) != 1)}: {_content(held)}"
        for title, held in messages_by_kind.items()
    ]


def _content(messages: list[JobMessage]) -> str:
    sizes = {path: len(numbers) for m in messages for path, numbers in m.readable.items()}
    opaque = sorted({path for m in messages for path in m.opaque})
    singles = list(dict.fromkeys(path for m in messages for path in m.singles))
    parts = [f"{path} ({size} number{'s' * (size != 1)})" for path, size in sizes.items()]
    content = _listed(parts)
    if singles:
        content += ["the numbers " + ", ".join(_listed(singles))]
    if opaque:
        content += [f"{', '.join(_listed(opaque))}, encrypted: opaque to this adversary"]
    return ", ".join(content)


def _listed(names: list[str]) -> list[str]:
    return [*names[:_NAMED], *([f"{len(names) - _NAMED} more"] if len(names) > _NAMED else [])]


def _counted(sentences: list[str]) -> list[str]:
    """Say each sentence once, with how often."""
    counts = {each: sentences.count(each) for each in sentences}
    return [each if count == 1 else f"{count} times {each}" for each, count in counts.items()]


def _remarks(job: JobRecording) -> list[str]:
    remarks = [*_failures(job)]
    silent = [name for name in (job.server, *job.clients) if name not in {each.name for each in job.participants}]
    if silent:
        remarks.append(f"no recording of {', '.join(silent)}: their filters are not known, nor what else they sent")
    if any(not each.ended for each in job.participants):
        cut = ", ".join(each.name for each in job.participants if not each.ended)
        remarks.append(f"the recording of {cut} has no end: the run was cut off")
    remarks += [
        f"what {s} sent to {r} in {task} ({tag}) arrived otherwise than it left" for s, r, task, tag in job.changed
    ]
    one_sided = sum(m.recorded_at != "both ends" for m in job.messages)
    ends = (
        f"{len(job.messages) - one_sided} of {len(job.messages)} messages were recorded at both ends, and were the same"
    )
    remarks.append(ends if not one_sided else f"{ends}; {one_sided} were recorded at one end alone")
    if any(m.encrypted for m in job.messages) and not any(each.secure for each in job.participants):
        remarks.append("lines are taken to be encrypted, as a provisioned NVFlare has them; those of this run were not")
    if any(m.opaque for m in job.messages):
        remarks.append(
            "bytes that could not be read here are opaque to this adversary, no more: where NVFlare encrypts, all "
            "clients have one key, and any of them together with the server reads what every client sent"
        )
    return [*remarks, *_possible_rows(job), *_unlike_filters(job)]


def _failures(job: JobRecording) -> list[str]:
    """Say which clients answered with errors."""
    failed: dict[str, list[str]] = {}
    for m in job.messages:
        if m.reply and m.sender in job.clients and m.code != "OK":
            failed.setdefault(m.sender, []).append(f"{m.task}: {m.code}")
    return [f"{client} answered with errors ({', '.join(sorted(set(codes)))})" for client, codes in failed.items()]


def _possible_rows(job: JobRecording) -> list[str]:
    """Name clients whose models moved along one vector, if they tell one step: with one row that vector is the row."""
    candidates = []
    for client in job.clients:
        steps = {v for m in job.messages if m.sender == client for p, v in m.singles.items() if p.endswith(STEPS)}
        if steps == {1.0} and (known := moved_along(job, client)) is not None and known.certified:
            candidates.append(
                f"the models of {client} moved along one vector, and it tells {STEPS} = 1: "
                "if it has one row, that is it"
            )
        if any(starts_without_counts(m) for m in job.messages if m.sender == client):
            candidates.append(
                f"{client} sends centres without counts: k-means++ starts from rows (Arthur and Vassilvitskii 2007); "
                "if it starts so, these are rows"
            )
    return candidates


def _unlike_filters(job: JobRecording) -> list[str]:
    """Say where one client has a filter that another has not."""
    own = {
        client.name: {str(line["class"]) for line in client.filters}
        for client in job.participants
        if client.name in job.clients
    }
    every = {name for names in own.values() for name in names}
    return [
        f"{name} is configured for {', '.join(with_it)} and not for {', '.join(without)}"
        for name in sorted(every)
        if (with_it := [client for client, names in own.items() if name in names])
        and (without := [client for client, names in own.items() if name not in names])
    ]
