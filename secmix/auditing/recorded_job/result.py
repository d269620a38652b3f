"""Result of a job, as the public gets it: the last arrays that pass to those who train."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix.auditing.recorded_job.rows import JobRow, support_vectors
from secmix.auditing.released.last_arrays import LastArrays, in_words, last_arrays
from secmix.recording.nvflare.ends import JobRecording

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
