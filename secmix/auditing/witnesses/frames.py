"""What the messages by themselves tell where runs differ in them: who speaks, how often, how long, and in which order.

How it is got: Runs of a collaboration that send different messages are compared by what an adversary notices of every
message without reading it: how many there are, of which kind, from whom to whom, how long, and which group of runs that
look alike this is. A line from one such number to an entry of the node's row is chosen on one half of the runs, and
judged on the other.

What it assumes: Nothing but that runs are independent. It is a lower bound: a better decoder may exist.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.evidence.decoding import MOST
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.observation.collaborations import CollaborationObservation
from secmix.auditing.report import Finding
from secmix.auditing.witnesses.clues import Clue, clues_in_frames
from secmix.auditing.witnesses.decode import Decoded, decode
from secmix.auditing.witnesses.usage import Use
from secmix.estimators.estimate import wilson

_MEMBERS = 10  # runs of a group from which on being in it is a clue


def _applies(case: Case) -> bool:
    observation = case.observation
    if not isinstance(observation, CollaborationObservation):
        return False
    return len({tuple(group.noticed) for group in observation.groups}) > 1


def _gather(case: Case) -> Gathered:
    assert isinstance(case.observation, CollaborationObservation)
    groups, asked = case.observation.groups, case.setup.asked
    sizes = [group.runs for group in groups]
    truth = np.concatenate([np.stack([group.rows[i] for i in asked], axis=1) for group in groups])  # (runs, nodes, d)
    rng = stream(case.cell.seed, "frames")
    order = rng.permutation(len(truth))
    seen = [Use(np.empty((1, 0, 0)), {}, group.noticed) for group in groups]
    clues = [_of_runs(clue, np.repeat(clue.values[:, 0], sizes)[order]) for clue in clues_in_frames(seen)]
    for place, size in enumerate(sizes):
        if size >= _MEMBERS:
            member = np.repeat(np.arange(len(sizes)) == place, sizes).astype(float)
            clues.append(Clue("the messages that are noticed", f"being in group {place + 1}", member[order, None]))
    decoded = decode(truth[order], clues, range(len(asked)), len(truth) // 2, rng)
    return Gathered([_finding(of, case, asked[k]) for k, of in decoded.items()])


def _of_runs(clue: Clue, values: Array) -> Clue:
    """With a value for each run in place of one for each group; where a group has no such message, one below all."""
    lowest = float(np.nanmin(values))
    return Clue(clue.where, clue.how, np.where(np.isnan(values), lowest - 1.0, values)[:, None])


def _finding(found: Decoded, case: Case, node: int) -> Finding:
    value, low = (max(0.0, 1.0 - error**2) for error in (found.error.value, found.error.high))
    share = wilson(found.exact, found.runs)[0] if found.exact else 0.0
    notes = [f"entry {found.entry} of its row is told by the messages themselves: {found.how}"] if low > 0 else []
    return Finding(
        **case.about(node),
        evidence="frames",
        view="cumulative",
        target="row",
        method=f"{found.error.method}; messages differ between runs",
        value=found.error.value,
        unit=found.error.unit,
        low=found.error.low,
        high=found.error.high,
        kind="upper bound",
        status="determined" if found.exact >= MOST * found.runs else "resolved",
        normalised_leakage=max(value, found.exact / found.runs),
        normalised_low=max(low, share),
        normalised_high=1.0,
        runs=found.runs,
        hits=found.exact,
        notes=notes,
    )


EVIDENCE = Evidence(
    "frames",
    (
        Kind(
            "frames",
            "A row told by which messages are sent",
            "Runs send different messages: other senders, numbers, lengths. An entry of the node's row is computed "
            "from what anybody notices of them without reading any. Gives a lower bound: a better decoder may exist.",
        ),
    ),
    _applies,
    _gather,
    rank=8,
    always=True,
    judges="all runs",
)
