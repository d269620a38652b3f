"""Whether the next model of a job averages what clients sent: all of them but one then know what that one sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.recorded_job.rows import made_of, variables
from secmix.recording.nvflare.changes import STEPS
from secmix.recording.nvflare.ends import JobMessage, JobRecording

_ROUNDING = 64.0


def averaged(job: JobRecording) -> tuple[str, tuple[str, ...], str] | None:
    """Find a round whose next model is an average of what clients sent to the server.

    Returns
    -------
    round : str
    clients : tuple of str
    how : str
        By which weights.
    """
    for task in dict.fromkeys(m.task for m in job.messages):
        tags = list(dict.fromkeys(m.tag for m in job.messages if m.task == task and not m.reply))
        for now, later in pairwise(tags):
            sent = {m.sender: m for m in _round(job, task, now, True) if m.sender in job.clients}
            got = {m.receiver: m for m in _round(job, task, now, False)}
            after = next(_round(job, task, later, False), None)
            made = [model for client, m in sent.items() if (model := made_of(got.get(client), m)) is not None]
            if len(sent) > 1 and after is not None and len(made) == len(sent):
                for weights, how in _weights(list(sent.values())):
                    if _is_mean(made, weights, variables(after)):
                        return f"{task}, {now}", tuple(sorted(sent)), how
    return None


def _round(job: JobRecording, task: str, tag: str, reply: bool) -> Iterator[JobMessage]:
    return (m for m in job.messages if (m.task, m.tag, m.reply) == (task, tag, reply) and m.arrays)


def _weights(messages: list[JobMessage]) -> list[tuple[Array, str]]:
    """Return equal weights, and those that clients tell if they differ."""
    found = [(np.ones(len(messages)), "with equal weights")]
    told = [next((v for path, v in m.singles.items() if path.endswith(STEPS)), None) for m in messages]
    known = [value for value in told if value is not None]
    if len(known) == len(told) and min(known) > 0 and max(known) > min(known):
        found.insert(0, (np.array(known), f"by {STEPS}"))
    return found


def _is_mean(made: list[dict[str, Array]], weights: Array, after: dict[str, Array]) -> bool:
    moved = False
    names = [name for name in after if all(name in model for model in made)]
    for name in names:
        parts = [np.asarray(model[name], dtype=np.float64) for model in made]
        if any(part.shape != after[name].shape for part in parts):
            return False
        mean = np.average(np.stack(parts), axis=0, weights=weights)
        size = max(float(np.abs(part).max(initial=0.0)) for part in (*parts, after[name]))
        kinds = [m[name].dtype for m in (after, *made) if m[name].dtype.kind == "f"]
        off = _ROUNDING * max((float(np.finfo(kind).eps) for kind in kinds), default=0.0) * size
        if not np.abs(mean - after[name]).max(initial=0.0) <= off:
            return False
        moved = moved or any(np.abs(part - after[name]).max(initial=0.0) > 0 for part in parts)
    return bool(names) and moved
