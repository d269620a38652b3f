"""Arrays that clients sent: passed on to others as they were, averaged, or released at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.recorded.recorded_run import are_means, weightings
from secmix.auditing.recorded.rows import JobRow, model_of, support_vectors, variables
from secmix.auditing.released.last_arrays import LastArrays, in_words, last_arrays
from secmix.recording.nvflare.changes import STEPS, digest
from secmix.recording.nvflare.ends import JobMessage, JobRecording


def passed_on(job: JobRecording) -> dict[tuple[str, str], list[str]]:
    """Find arrays of a client that a receiver passed on to a third participant, number by number.

    Arrays of one number or of equal ones are left out, and those that the third sent itself or had got already.
    Returns in which tasks, by client and receiver.
    """
    origins: dict[str, set[str]] = defaultdict(set)  # of an array: the clients that sent it and had not got it
    holders: dict[str, set[str]] = defaultdict(set)  # who got it so far
    tasks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for message in job.messages:
        where = f"{message.title} from {message.sender}"
        for path, mark in marks(message):
            if message.sender not in holders[mark] and message.sender in job.clients:
                origins[mark].add(message.sender)
            elif message.receiver not in origins[mark] | holders[mark]:
                for client in sorted(origins[mark] - {message.sender}):
                    tasks[client, message.receiver].append(f"gets {path} as it sent it, in {where}")
            holders[mark].add(message.receiver)
    return dict(tasks)


def marks(message: JobMessage) -> Iterator[tuple[str, str]]:
    """Yield the hashes of the readable arrays of a message whose numbers are not all the same."""
    for path, numbers in message.readable.items():
        if len(numbers) > 1 and np.any(numbers != numbers[0]):
            yield path, digest(numbers)


def with_those_who_get_them(job: JobRecording, rows: Sequence[JobRow]) -> list[JobRow]:
    """Add to each row the participants that get it in an array from somebody else."""
    tables = [(m.receiver, table) for m in job.messages for table in _tables(m)]
    widened = []
    for row in rows:
        others = [name for name, table in tables if name != row.client and _has(table, row)]
        widened.append(replace(row, known_to=tuple(dict.fromkeys([*row.known_to, *others]))))
    return widened


def _tables(message: JobMessage) -> Iterator[Array]:
    for path, numbers in message.readable.items():
        shape = message.shapes.get(path, ())
        if len(shape) == 2:
            yield np.asarray(numbers, dtype=np.float64).reshape(shape)


def _has(table: Array, row: JobRow) -> bool:
    if len(row.row) < 2 or table.shape[1] != len(row.row):
        return False
    return bool(np.any(np.all(np.abs(table - row.row) <= row.error, axis=1)))


def averaged(job: JobRecording) -> tuple[str, tuple[str, ...], str] | None:
    """Find a round whose next model is an average of what clients sent to the server.

    Returns the round, the clients, and by which weights.
    """
    for task in dict.fromkeys(m.task for m in job.messages):
        tags = list(dict.fromkeys(m.tag for m in job.messages if m.task == task and not m.reply))
        for now, later in pairwise(tags):
            sent = {m.sender: m for m in _round(job, task, now, True) if m.sender in job.clients}
            got = {m.receiver: m for m in _round(job, task, now, False)}
            after = next(_round(job, task, later, False), None)
            models = [model for client, m in sent.items() if (model := model_of(got.get(client), m)) is not None]
            if len(sent) > 1 and after is not None and len(models) == len(sent):
                for weights, how in weightings([_stated_weight(m) for m in sent.values()], f"by {STEPS}"):
                    if _is_mean(models, weights, variables(after)):
                        return f"{task}, {now}", tuple(sorted(sent)), how
    return None


def _round(job: JobRecording, task: str, tag: str, reply: bool) -> Iterator[JobMessage]:
    return (m for m in job.messages if (m.task, m.tag, m.reply) == (task, tag, reply) and m.arrays)


def _stated_weight(message: JobMessage) -> float | None:
    """Return the weight that a client tells."""
    return next((value for path, value in message.singles.items() if path.endswith(STEPS)), None)


def _is_mean(models: list[dict[str, Array]], weights: Array, after: dict[str, Array]) -> bool:
    names = [name for name in after if all(name in model for model in models)]
    return are_means(((after[name], [model[name] for model in models]) for name in names), weights)


_SOMEBODY = "a client"


def result_of_job(job: JobRecording, rows: Sequence[JobRow]) -> LastArrays:
    """Look at the last task that had arrays: what the server sent, or in swarms the client that aggregates."""
    tasks = [m for m in job.messages if not m.reply and m.arrays]
    if not tasks:
        return LastArrays()
    last = tasks[-1]
    title = f"the last arrays that {last.sender} sent, in {last.title} ({last.tag})"
    if not last.readable:
        return LastArrays(f"{title}: bytes that are opaque to who lacks the key", readable=False)
    arrays = {path: np.asarray(numbers) for path, numbers in last.readable.items()}
    known = [(row.client, row.row, row.error, row.how) for row in rows]
    certain = {row.row.tobytes() for row in rows}
    known += [(_SOMEBODY, row, off, how) for row, off, how in support_vectors(last) if row.tobytes() not in certain]
    before = [m for m in job.messages if m.sender in job.clients and m is not last]
    sent = [(m.sender, np.asarray(numbers)) for m in before for numbers in m.readable.values()]
    return last_arrays(in_words(title, arrays), arrays, known, sent)
