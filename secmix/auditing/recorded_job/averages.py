"""Models of a job that average what clients sent: all of them but one then know what that one sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from secmix._base.checks import Array
from secmix.auditing.recorded import are_means, weightings
from secmix.auditing.recorded_job.rows import made_of, variables
from secmix.recording.nvflare.changes import STEPS
from secmix.recording.nvflare.ends import JobMessage, JobRecording


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
            made = [model for client, m in sent.items() if (model := made_of(got.get(client), m)) is not None]
            if len(sent) > 1 and after is not None and len(made) == len(sent):
                for weights, how in weightings([_told(m) for m in sent.values()], f"by {STEPS}"):
                    if _is_mean(made, weights, variables(after)):
                        return f"{task}, {now}", tuple(sorted(sent)), how
    return None


def _round(job: JobRecording, task: str, tag: str, reply: bool) -> Iterator[JobMessage]:
    return (m for m in job.messages if (m.task, m.tag, m.reply) == (task, tag, reply) and m.arrays)


def _told(message: JobMessage) -> float | None:
    """Return the weight that a client tells."""
    return next((value for path, value in message.singles.items() if path.endswith(STEPS)), None)


def _is_mean(made: list[dict[str, Array]], weights: Array, after: dict[str, Array]) -> bool:
    names = [name for name in after if all(name in model for model in made)]
    return are_means(((after[name], [model[name] for model in made]) for name in names), weights)
