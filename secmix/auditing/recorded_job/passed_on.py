"""Arrays of a client that others get from somebody else: the server, or the client that aggregates, passes it on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.recorded_job.rows import JobRow
from secmix.recording.nvflare.changes import digest
from secmix.recording.nvflare.ends import JobMessage, JobRecording


def passed_on(job: JobRecording) -> dict[tuple[str, str], list[str]]:
    """Find arrays that a client sent and that a third participant got, number by number, from who had got them.

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
    """Yield the readable arrays of a message that can be told from others, hashed."""
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
