"""Rows and values that follow from one message of a job, without the truth beside them.

A row is claimed only where what the client itself says makes it certain: a cluster that counts one row has it as its
centre, the mean of the rows counted (MacQueen 1967); support vectors are rows of the data (Cortes and Vapnik 1995); a
layer's weights and biases of a client that says it has one row moved along that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.flower import only_row
from secmix.adversaries.reconstructions.interfaces import Reconstruction
from secmix.recording.nvflare.ends import JobMessage, JobRecording
from secmix.recording.nvflare.run_log import COUNT

_ROUNDING = 4.0
_MOST = 1000  # rows of one client and one kind that are listed one by one


@dataclass(frozen=True)
class JobRow:
    """A row of a client that follows from messages, and who gets these messages."""

    client: str
    known_to: tuple[str, ...]  # receivers of the messages
    row: Array = field(repr=False)  # (d,)
    error: float  # how far it may be off for rounding
    how: str


def known_rows(job: JobRecording) -> list[JobRow]:
    """Return every row that is certain, once for each client and way, by client in the order of the job."""
    known: dict[tuple[str, str, bytes], JobRow] = {}
    for message in job.messages:
        if message.sender in job.clients:
            for row, error, how in [*_counted_once(message), *support_vectors(message)]:
                key = (message.sender, how, np.round(row, 12).tobytes())
                before = known[key].known_to if key in known else ()
                known_to = tuple(dict.fromkeys([*before, message.receiver]))
                known[key] = JobRow(message.sender, known_to, row, error, how)
    # Messages of different clients arrive in any order.
    return sorted([*known.values(), *_only_rows(job)], key=lambda row: job.clients.index(row.client))


def _layouts(message: JobMessage, name: str) -> Iterator[tuple[str, Array]]:
    """Yield the readable arrays called ``name``, each in its shape, with what is before its name."""
    for path, numbers in message.readable.items():
        above, _, own = path.rpartition("/")
        if own == name and path in message.shapes:
            yield above, np.asarray(numbers, dtype=np.float64).reshape(message.shapes[path])


def _counted_once(message: JobMessage) -> Iterator[tuple[Array, float, str]]:
    """Yield centres of clusters that have one row, as k-means of NVFlare sends them."""
    counts = dict(_layouts(message, "count"))
    for above, centers in _layouts(message, "center"):
        count = counts.get(above)
        if centers.ndim == 2 and count is not None and count.shape == centers.shape[:1]:
            for center in centers[count == 1.0]:
                yield center, _off(center), "its cluster counts one row, and is at that row"


def starts_without_counts(message: JobMessage) -> bool:
    """Return whether a message has centres of clusters, and no counts."""
    counts = dict(_layouts(message, "count"))
    return any(above not in counts and centers.ndim == 2 for above, centers in _layouts(message, "center"))


def counted_alone(messages: Iterable[JobMessage]) -> list[str]:
    """Say how many bins of histograms count one row, whose number then lies between two known ones."""
    alone: dict[str, int] = {}
    for message in messages:
        for above, bins in _layouts(message, "bins"):
            if bins.ndim == 2 and bins.shape[1] == 3 and "histogram" in above:  # lower and upper bound, and count
                name = above.partition("histogram/")[2]
                alone[name] = max(alone.get(name, 0), int(np.count_nonzero(bins[:, 2] == 1.0)))
    return [f"{count} bins of the histogram of {name} count one row each" for name, count in alone.items() if count]


def support_vectors(message: JobMessage) -> Iterator[tuple[Array, float, str]]:
    """Yield rows that a support vector machine of NVFlare sends as they are, with their labels."""
    labels = dict(_layouts(message, "support_y"))
    for above, vectors in _layouts(message, "support_x"):
        if vectors.ndim == 2 and above in labels and len(labels[above]) == len(vectors):
            for vector in vectors[:_MOST]:
                yield vector, 0.0, "it is a support vector, and those are sent as they are"


def _off(row: Array) -> float:
    return float(_ROUNDING * np.finfo(np.float64).eps * np.abs(row).max(initial=0.0))


def _only_rows(job: JobRecording) -> Iterator[JobRow]:
    """Yield rows of clients that say in all their results that they have one."""
    for client in job.clients:
        sent = [m for m in job.messages if m.sender == client and m.reply and m.arrays]
        counts = {v for m in sent for name, v in m.singles.items() if name.rpartition("/")[2] == COUNT}
        known = moved_along(job, client) if counts == {1.0} else None
        if known is not None and known.certified and known.rows is not None:
            receivers = tuple(dict.fromkeys(m.receiver for m in sent))
            yield JobRow(client, receivers, np.asarray(known.rows)[0], known.error, known.how)


def moved_along(job: JobRecording, client: str) -> Reconstruction | None:
    """Return the row along which the first layer of a client's models moved, or None; one row is presumed."""
    got: dict[tuple[str, str], JobMessage] = {}
    updates = []
    for m in job.messages:
        if not m.reply and m.receiver == client and m.arrays:
            got[m.task, m.tag] = m
        elif m.reply and m.sender == client and m.arrays and (m.task, m.tag) in got:
            pair = models(got[m.task, m.tag], m)
            if pair is not None:
                updates.append((list(pair[0].values()), list(pair[1].values())))
    return only_row(updates)


def models(before: JobMessage, after: JobMessage) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """Return the model a client got and the one it made of it, by variable; a difference is added to what it got."""
    old, new = variables(before), variables(after)
    if not new or any(name not in old or old[name].shape != array.shape for name, array in new.items()):
        return None
    old = {name: old[name] for name in new}
    if is_difference(after):
        new = {name: old[name] + array for name, array in new.items()}
    return old, new


def model_of(got: JobMessage | None, sent: JobMessage) -> dict[str, Array] | None:
    """Return the model that a client trained; ``got`` is needed if it sent the difference from it."""
    if not is_difference(sent):
        return variables(sent) or None
    pair = models(got, sent) if got is not None else None
    return None if pair is None else pair[1]


def is_difference(message: JobMessage) -> bool:
    """Return whether the arrays of a message are differences to the model that was sent."""
    return any("weight_diff" in path.split("/") for path in message.arrays)


def variables(message: JobMessage) -> dict[str, Array]:
    """Return the readable arrays of a model by the names of its variables."""
    kinds = ("weights", "weight_diff")
    return {
        path.partition("/")[2]: np.asarray(numbers)
        for path, numbers in message.readable.items()
        if path.partition("/")[0] in kinds
    }
