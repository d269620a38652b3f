"""Audit of one recorded run: who read what, rows that follow from it, and what a coalition could compute.

One run has no truth beside it and no repetitions. So nothing here clears anybody: what is found is there, and the
verdict is *violated* or *inconclusive*, never *holds*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.flat import layouts, row_in_flat
from secmix.adversaries.reconstructions.flower import only_row
from secmix.auditing.recorded.recorded_spending import RecordedSpending, StatedClaim, spent_as_stated
from secmix.auditing.released.last_arrays import LastArrays, in_words, last_arrays
from secmix.recording import RecordedMessage, Recording
from secmix.transcript import SERVER

NOT_SHOWN = (
    "how much messages tell of rows in which no row was found: that needs many runs on rows that are known",
    "whether masks or noise hide what they should: that needs repetitions",
    "whether anything passed beside what was recorded",
    "how far a client that lies could push the result",
)
_ROUNDING = 64.0
_OF_MODELS = ("model", "update")


@dataclass(frozen=True)
class RecordedReading:
    """Messages of one kind that one party reads of another: how many, of how many numbers at most, in which role."""

    party: str
    sender: str
    kind: str
    messages: int
    numbers: int
    names: tuple[str, ...]
    role: str = ""


@dataclass(frozen=True)
class KnownRow:
    """A row that follows from the messages of one node, with how far it may be off for rounding."""

    node: int
    row: Array = field(repr=False)
    error: float
    how: str


@dataclass(frozen=True)
class RecordedAudit:
    """Result of auditing a recording."""

    verdict: Literal["violated", "inconclusive"]  # whether a row was found. One run never clears anybody
    # by those who receive messages of nodes, and by whoever hears lines that are not encrypted
    read: list[RecordedReading]
    rows: list[KnownRow]  # certified without the truth
    # coalitions, seen: what some parties could compute together, and what anybody notices without reading
    coalitions: list[str]
    seen: list[str]
    not_said: tuple[str, ...] = NOT_SHOWN  # what one run cannot show
    # what has to be known before anything else: that no client answered but with errors
    first: list[str] = field(default_factory=list)
    # what each client spent of epsilon, where somebody says with what noise
    spent: list[RecordedSpending] = field(default_factory=list)
    last: LastArrays = field(default_factory=LastArrays)  # what the public gets, as far as the recording has it


def audit_recording(recording: Recording, stated: StatedClaim | None = None) -> RecordedAudit:
    """Audit a recording under a policy that wants no row to be known.

    With a ``stated`` claim it has an account of what each node spent.

    >>> import tempfile
    >>> from secmix.recording import Recorder, read_recording
    >>> recorder = Recorder(tempfile.mkdtemp())
    >>> recorder.write(0, 0, -1, 0, [("weights", (), np.zeros(2))], roles={"weights": "model"})
    >>> audit_recording(read_recording(recorder.folder)).verdict
    'inconclusive'
    """
    cut = _cut(recording)
    rows = _rows(cut)
    read = [
        reading
        for end in sorted({m.receiver for m in recording.messages if m.sender != SERVER})
        for reading in _read(_who(end), (m for m in recording.messages if m.receiver == end))
    ]
    outsider = _read("an outsider", (m for m in recording.messages if not m.encrypted))
    return RecordedAudit(
        "violated" if rows else "inconclusive",
        [*read, *outsider],
        rows,
        _coalitions(cut),
        _metadata(recording),
        not_said=(*NOT_SHOWN, *_uncut(cut, {known.node for known in rows})),
        first=_only_errors(recording),
        spent=[] if stated is None else spent_as_stated(recording, stated),
        last=_last(recording, rows),
    )


def _last(recording: Recording, rows: Sequence[KnownRow]) -> LastArrays:
    """Look at the last model that the server sent: it is what was released, if anything was."""
    models = [m for m in recording.messages if m.sender == SERVER and m.of_role("model")]
    if not models:
        return LastArrays()
    last = models[-1]
    arrays = {kind: numbers for kind, _, numbers in last.parts if last.roles.get(kind) == "model"}
    sent = [(_who(m.sender), part) for m in recording.messages if m.sender != SERVER for part in m.of_role("model")]
    known = [(_who(row.node), row.row, row.error, row.how) for row in rows]
    title = f"the last model that the server sent, in iteration {last.iteration}"
    return last_arrays(in_words(title, arrays), arrays, known, sent)


def _read(party: str, messages: Iterable[RecordedMessage]) -> list[RecordedReading]:
    """Return messages of nodes by sender and kind; what the server sends is known to it anyway."""
    readings: dict[tuple[int, str, str], list[tuple[int, tuple[str, ...]]]] = {}
    for message in messages:
        if message.sender != SERVER:
            for kind, names, numbers in message.parts:
                key = (message.sender, kind, message.roles.get(kind, ""))
                readings.setdefault(key, []).append((len(numbers), names))
    return [
        RecordedReading(
            party, _who(sender), kind, len(held), max(size for size, _ in held), max(names for _, names in held), role
        )
        for (sender, kind, role), held in sorted(readings.items())
    ]


def _who(end: int) -> str:
    return "the server" if end == SERVER else f"node {end}"


def _claims(message: RecordedMessage) -> list[float]:
    """List how many rows the sender says it has."""
    return [float(number) for numbers in message.of_role("count") for number in numbers]


def _cut(recording: Recording) -> Recording:
    """Cut models and updates that are one flat vector into arrays, where other messages show where these lie."""
    known = layouts(m.of_role(role) for m in recording.messages for role in _OF_MODELS)
    messages = []
    for message in recording.messages:
        for role in _OF_MODELS:
            kinds = [kind for kind, _, _ in message.parts if message.roles.get(kind) == role]
            places = known.get(len(message.of_role(role)[0])) if len(kinds) == 1 else None
            message = message if places is None else _with_arrays(message, kinds[0], places, role)
        messages.append(message)
    return Recording(recording.by, tuple(messages))


def _with_arrays(message: RecordedMessage, flat: str, places: Sequence[slice], role: str) -> RecordedMessage:
    parts: list[tuple[str, tuple[str, ...], Array]] = []
    for kind, names, numbers in message.parts:
        if kind == flat:
            parts += [(f"{kind}[{k}]", (), numbers[place]) for k, place in enumerate(places)]
        else:
            parts.append((kind, names, numbers))
    roles = {kind: each for kind, each in message.roles.items() if kind != flat}
    return replace(message, parts=tuple(parts), roles=roles | {f"{flat}[{k}]": role for k, _ in enumerate(places)})


def _flat(updates: Sequence[tuple[list[Array], list[Array]]]) -> list[tuple[Array, Array]]:
    """Return models that are one vector each; none where some are not."""
    return [(before[0], after[0]) for before, after in updates if len(before) == len(after) == 1]


def _uncut(recording: Recording, known: set[int]) -> list[str]:
    """Name the nodes with one row in whose flat vector the arrays were not found."""
    sentences = []
    for node in recording.nodes:
        claims = {claim for m in recording.messages if m.sender == node for claim in _claims(m)}
        flat = _flat(_updates(recording.messages, node))
        if claims == {1.0} and flat and node not in known:
            sentences.append(
                f"what follows for the only row of node {node}: node {node} sends its model as one vector of "
                f"{len(flat[0][1])} numbers, and where its arrays lie in it was not found; record them one by one"
            )
    return sentences


def _rows(recording: Recording) -> list[KnownRow]:
    """Return certified rows of nodes that say in all their messages that they have one."""
    rows = []
    for node in recording.nodes:
        claims = {claim for m in recording.messages if m.sender == node for claim in _claims(m)}
        if claims != {1.0}:  # with more rows the ratio is a mean of them, and units may agree all the same
            continue
        updates = _updates(recording.messages, node)
        known = only_row(updates)
        if known is None and (flat := _flat(updates)):
            known = row_in_flat(flat)
        if known is not None and known.certified and known.rows is not None:
            rows.append(KnownRow(node, np.asarray(known.rows)[0], known.error, known.how))
    return rows


def _updates(messages: Iterable[RecordedMessage], node: int) -> list[tuple[list[Array], list[Array]]]:
    """Pair the arrays that a node got with those that it sent back, for each iteration in which it sent some."""
    got: dict[int, list[Array]] = {}
    pairs = []
    for message in messages:
        if message.receiver == node and (model := _floats(message, "model")):
            got[message.iteration] = model
        if message.sender == node:
            # An update moves along the row whatever it is added to.
            before = got.get(message.iteration) or [np.zeros_like(each) for each in _floats(message, "update")]
            if before and (after := _after(message, before)):
                pairs.append((before, after))
    return pairs


def _after(message: RecordedMessage, before: Sequence[Array]) -> list[Array]:
    """Return the model that a node sent, or its update added to ``before``; empty if it sent neither."""
    update = _floats(message, "update")
    if update and list(map(len, update)) == list(map(len, before)):
        # As exact as the coarser of both, no more.
        return [(b + u).astype(max(b.dtype, u.dtype, key=_last_digit)) for b, u in zip(before, update, strict=True)]
    return _floats(message, "model")


def _floats(message: RecordedMessage, role: str) -> list[Array]:
    return [each if each.dtype.kind == "f" else each.astype(np.float64) for each in message.of_role(role)]


def _last_digit(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps)


def _coalitions(recording: Recording) -> list[str]:
    """Say whether the next model averages what nodes sent: all but one can then compute that one's message."""
    if recording.by != "server":
        return ["what others could compute together is not known from the messages of one node"]
    iterations = sorted({m.iteration for m in recording.messages})
    for before, after in pairwise(iterations):
        sent = _models(recording.messages, before)
        claims = {m.sender: _claims(m) for m in recording.messages if m.iteration == before and m.sender in sent}
        replies = [_floats(m, "model") for m in recording.messages if m.iteration == after and m.sender == SERVER]
        reply = next(filter(None, replies), None)
        if len(sent) < 2 or reply is None:
            continue
        row_counts = [each[0] if each else None for each in claims.values()]
        for weights, how in weightings(row_counts, "by the numbers of rows that they said"):
            if _is_mean(list(sent.values()), weights, reply):
                last = (
                    f"in iteration {before} nodes {', '.join(map(str, sorted(sent)))} sent models, and the next model"
                )
                return [
                    f"{last} is their average {how}: any {len(sent) - 1} of these nodes together can compute what the "
                    "other one sent, from what they sent and the next model"
                ]
    return ["no next model was found to be an average of what nodes sent; what a coalition could compute is open"]


def _models(messages: Iterable[RecordedMessage], iteration: int) -> dict[int, list[Array]]:
    """Return the model that each node sent in one iteration, or that its update leads to."""
    got: dict[int, list[Array]] = {}
    sent: dict[int, list[Array]] = {}
    for message in messages:
        if message.iteration == iteration and message.sender == SERVER and (model := _floats(message, "model")):
            got[message.receiver] = model
        elif message.iteration == iteration and (model := _after(message, got.get(message.sender, []))):
            sent[message.sender] = model
    return sent


def weightings(row_counts: Sequence[float | None], how: str) -> list[tuple[Array, str]]:
    """Return weights of models and ``how`` they are got: those that were told, if all were and they differ, and equal.

    >>> [(weights.tolist(), how) for weights, how in weightings([1.0, 3.0], "by rows")]
    [([1.0, 3.0], 'by rows'), ([1.0, 1.0], 'with equal weights')]
    """
    ways = [(np.ones(len(row_counts)), "with equal weights")]
    known = [value for value in row_counts if value is not None]
    if len(known) == len(row_counts) and min(known) > 0 and max(known) > min(known):
        ways.insert(0, (np.array(known), how))
    return ways


def are_means(arrays: Iterable[tuple[Array, Sequence[Array]]], weights: Array) -> bool:
    """Return whether each array is the weighted mean of its parts, up to rounding, and any part is another than it."""
    moved = False
    for array, parts in arrays:
        if any(part.shape != array.shape for part in parts):
            return False
        stack = np.stack(parts).astype(np.float64)
        mean = np.average(stack, axis=0, weights=weights)
        size = max(float(np.abs(each).max(initial=0.0)) for each in (stack, array))
        digits = [_last_digit(each.dtype) for each in (*parts, array) if each.dtype.kind == "f"]
        if not np.abs(mean - array).max(initial=0.0) <= _ROUNDING * max(digits, default=0.0) * size:
            return False
        moved = moved or np.abs(stack - array).max(initial=0.0) > 0
    return moved


def _is_mean(models: list[list[Array]], weights: Array, reply: list[Array]) -> bool:
    if any(len(model) != len(reply) for model in models):
        return False
    return are_means(((array, parts) for array, *parts in zip(reply, *models, strict=True)), weights)


def _only_errors(recording: Recording) -> list[str]:
    """Say that nodes answered with errors alone, to everything or to one kind of message."""
    answers = [m for m in recording.messages if m.sender != SERVER and m.parts]
    errors = [m for m in answers if m.of_role("error")]
    who = ", ".join(map(str, sorted({m.sender for m in errors})))
    if errors and len(errors) == len(answers):
        return [f"nobody answered but with errors (node {who}): nothing was trained, and what follows is of no use"]
    # The kind of an error begins as other answers to the same request do.
    kinds = {kind.partition(": ")[0] for m in errors for kind, _, _ in m.parts}
    alone = sorted(
        begin
        for begin in kinds
        if all(m.of_role("error") for m in answers if any(kind.partition(": ")[0] == begin for kind, _, _ in m.parts))
    )
    return [f"nobody sent {begin!r} but with errors (node {who})" for begin in alone]


def _metadata(recording: Recording) -> list[str]:
    """Say what shows without reading: who took part when, who failed."""
    out = []
    nodes = set(recording.nodes)
    for iteration in sorted({m.iteration for m in recording.messages}):
        messages = [m for m in recording.messages if m.iteration == iteration]
        asked = {m.receiver for m in messages if m.sender == SERVER}
        failed = {m.sender for m in messages if m.of_role("error")}
        silent = asked - {m.sender for m in messages if m.sender != SERVER}
        sizes = {
            sum(numbers.nbytes for _, _, numbers in m.parts) for m in messages if m.sender not in {SERVER, *failed}
        }
        for which, what in ((nodes - asked, "not asked"), (failed, "answered with an error"), (silent, "silent")):
            if which:
                out.append(f"iteration {iteration}: {what}: {', '.join(_who(i) for i in sorted(which))}")
        if len(sizes) > 1:
            out.append(f"iteration {iteration}: answers differ in length, {min(sizes)} to {max(sizes)} bytes")
    return out
