"""The recordings of a job's participants, read and put together: each message once, with who sent and who got it.

What stands at one end alone stays what it is: the other end may have kept no recording. Where both ends have one, a
message is the same at both, or was changed on the way, which is recorded.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix.errors import DataError
from secmix.recording.folder import RecordedMessage, Recording, read_recording
from secmix.recording.nvflare.log_lines import FILE, Line, read_lines
from secmix.recording.nvflare.run_log import RESULT, kind_of, roles_of
from secmix.transcript import SERVER

UNKNOWN = "another client"


@dataclass(frozen=True)
class JobMessage:
    """One message between participants of a job."""

    # sender, receiver: names; UNKNOWN for a receiver that no recording tells
    sender: str
    receiver: str
    # task, tag: the task, and which of its rounds
    task: str
    tag: str
    reply: bool  # whether it is the result of the task
    arrays: Mapping[str, NDArray[Any]]  # str -> (p,): by path, such as "weights/coef"
    singles: Mapping[str, float]
    shapes: Mapping[str, tuple[int, ...]]
    opaque: frozenset[str]  # paths of arrays that are bytes nobody here can read
    code: str  # NVFlare's return code
    history: tuple[str, ...]  # filters that the message says were applied
    recorded_at: str  # "both ends", or the participant whose recording has it
    time: float
    encrypted: bool

    @property
    def title(self) -> str:
        """Its task, and which way it goes."""
        return f"{self.task} ({'result' if self.reply else 'data'})"

    @property
    def readable(self) -> dict[str, NDArray[Any]]:
        """Arrays that are not opaque, by path."""
        return {path: numbers for path, numbers in self.arrays.items() if path not in self.opaque}


@dataclass(frozen=True)
class Participant:
    """A participant that recorded, the filters of its configuration, and passages of messages through them."""

    name: str
    server: bool
    secure: bool
    nvflare: str
    filters: tuple[Mapping[str, Any], ...]
    passages: tuple[Mapping[str, Any], ...]
    ended: bool


@dataclass(frozen=True)
class JobRecording:
    """A recorded job."""

    server: str  # name of the server
    clients: tuple[str, ...]
    participants: tuple[Participant, ...]  # those that kept a recording
    messages: tuple[JobMessage, ...]  # in order
    # tuple of (sender, receiver, task, tag): messages that left one end and arrived as others at the other
    changed: tuple[tuple[str, str, str, str], ...]

    def neutral(self) -> Recording:
        """Return the messages in the neutral form: the server is −1, clients are counted as in ``clients``."""
        number = {name: k for k, name in enumerate(self.clients)} | {self.server: SERVER, UNKNOWN: len(self.clients)}
        order: dict[tuple[str, str], int] = {}
        return Recording(
            "server",
            tuple(
                RecordedMessage(
                    order.setdefault((m.task, m.tag), len(order)),
                    int(m.reply),
                    number[m.sender],
                    number[m.receiver],
                    m.encrypted,
                    parts := _neutral_parts(m),
                    roles_of(parts, m.opaque),
                )
                for m in self.messages
            ),
        )


@dataclass
class _Half:
    """A message as one participant recorded it."""

    owner: str
    direction: str
    line: Mapping[str, Any]
    message: RecordedMessage
    digest: str = field(default="")


def is_job(folder: str | os.PathLike[str]) -> bool:
    """Return whether ``folder`` has recordings of a job of NVFlare: one participant's, or several in folders of it."""
    place = Path(folder)
    return (place / FILE).is_file() or any(place.glob(f"*/{FILE}"))


def read_job(folder: str | os.PathLike[str]) -> JobRecording:
    """Read one participant's recording, or those of several in the folders of ``folder``.

    Raises DataError if there is none, or one is damaged.
    """
    place = Path(folder)
    folders = [place] if (place / FILE).is_file() else sorted(each.parent for each in place.glob(f"*/{FILE}"))
    if not folders:
        raise DataError(f"{place} has no {FILE}, nor has a folder in it; give the folder that the recorder was given")
    participants, halves, servers = [], [], set()
    for own in folders:
        participant, lines = _participant(own)
        participants.append(participant)
        taken = _halves(own, participant.name, lines)
        halves += taken
        servers |= {participant.name} if participant.server else _servers(participant.name, taken)
    if len(servers) != 1:
        raise DataError(f"{place} has messages of {len(servers)} servers; give recordings of one job")
    server = servers.pop()
    messages, changed = _joined(halves)
    names = {name for m in messages for name in (m.sender, m.receiver)} | {each.name for each in participants}
    clients = tuple(sorted(names - {server, UNKNOWN}))
    return JobRecording(server, clients, tuple(participants), messages, changed)


def _participant(place: Path) -> tuple[Participant, list[Line]]:
    """Return a participant, and the lines of its messages."""
    of = read_lines(place)
    about = of["participant"][0]
    participant = Participant(
        about["name"],
        about["server"],
        about["secure"],
        about["nvflare"],
        tuple({_key(line): line for line in of["filter"]}.values()),
        tuple(of["passage"]),
        bool(of["end"]),
    )
    return participant, of["message"]


def _key(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells a filter from others; it is listed anew where NVFlare starts a participant anew."""
    return str(line["id"]), str(line["class"]), str(line["chain"]), str(line["arguments"])


def _halves(place: Path, owner: str, lines: list[Line]) -> list[_Half]:
    if not (place / "index.jsonl").exists():
        return []
    recorded = read_recording(place).messages
    if len(lines) < len(recorded) - 1:  # one message may be cut off between the two files
        raise DataError(f"{place / FILE} has {len(lines)} messages and the index {len(recorded)}; record the run again")
    halves = [_Half(owner, line["direction"], line, message) for line, message in zip(lines, recorded, strict=False)]
    for number, half in enumerate(halves):
        half.digest = _digest(half.message)
        sizes = {path: len(numbers) for path, numbers in _arrays(half).items()}
        shapes = {path: math.prod(shape) for path, shape in half.line["shapes"].items()}
        if sizes != shapes or not set(half.line["opaque"]) <= set(sizes):
            raise DataError(f"message {number} of {place} has other arrays than {FILE} says; record the run again")
    return halves


def _arrays(half: _Half) -> dict[str, NDArray[Any]]:
    """Return the arrays of a message by path."""
    start = len(kind_of(half.line["task"], half.line["chain"])) + 2
    return {kind[start:]: numbers for kind, names, numbers in half.message.parts if not names}


def _digest(message: RecordedMessage) -> str:
    """Hash all numbers of a message with their names."""
    digest = hashlib.sha256()
    for kind, names, numbers in sorted(message.parts, key=lambda part: part[0]):
        digest.update(f"{kind}|{names}|{numbers.dtype}|{numbers.shape}".encode())
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return digest.hexdigest()


def _servers(own: str, halves: Iterable[_Half]) -> set[str]:
    return {
        str(name) for h in halves if h.line.get("peer_is_server") for name in h.line["ends"] if name not in (own, None)
    }


def _joined(halves: list[_Half]) -> tuple[tuple[JobMessage, ...], tuple[tuple[str, str, str, str], ...]]:
    """Put the halves of each message together: by the sender, the content and, where it is told, the receiver."""
    waiting: dict[tuple[Any, ...], list[_Half]] = defaultdict(list)
    for half in sorted(halves, key=_time):
        if half.direction == "out":
            waiting[_group(half)].append(half)
    owners = {half.owner for half in halves}
    messages, changed = [], []
    for half in sorted(halves, key=_time):
        if half.direction == "out":
            continue
        others = waiting[_group(half)]
        alike = [o for o in others if o.digest == half.digest and _fits(o, half)]
        match = min(alike, key=lambda sent, half=half: _distance(sent, half), default=None)  # type: ignore[misc]
        sender = half.line["ends"][0]
        if match is not None and match.line["ends"][1] is not None:
            others.remove(match)
        elif match is None and sender in owners:
            replaced = next((o for o in others if _fits(o, half) and _same_task(o, half)), None)
            if replaced is not None:  # it left, and something else arrived
                others.remove(replaced)
                changed.append((str(sender), half.owner, str(half.line["task"]), str(half.line["tag"])))
        if match is not None:
            match.line = {**match.line, "met": True}
        owner = match.owner if match is not None else sender
        messages.append(
            _message(half, str(owner or UNKNOWN), half.owner, "both ends" if match is not None else half.owner)
        )
    unmet = [h for group in waiting.values() for h in group if not h.line.get("met")]
    messages += [_message(h, h.owner, str(h.line["ends"][1] or UNKNOWN), h.owner) for h in unmet]
    return tuple(sorted(messages, key=lambda m: m.time)), tuple(changed)


def _time(half: _Half) -> float:
    return float(half.line["time"])


def _group(half: _Half) -> tuple[Any, ...]:
    return half.line["task"], half.line["chain"]


def _fits(sent: _Half, arrived: _Half) -> bool:
    """Return whether the ends agree, as far as each is told."""
    return (
        sent.owner != arrived.owner
        and arrived.line["ends"][0] in (None, sent.owner)
        and sent.line["ends"][1] in (None, arrived.owner)
    )


def _distance(sent: _Half, arrived: _Half) -> tuple[bool, bool, bool, float]:
    """Order candidate arrivals: same task first, then same round, not yet matched, nearest in time."""
    unlike = sent.line["tag"] != arrived.line["tag"]
    return not _same_task(sent, arrived), unlike, bool(sent.line.get("met")), abs(_time(sent) - _time(arrived))


def _same_task(sent: _Half, arrived: _Half) -> bool:
    task = sent.line["task_id"]
    return task is not None and task == arrived.line["task_id"]


def _message(half: _Half, sender: str, receiver: str, recorded_at: str) -> JobMessage:
    named = [(names, numbers) for _, names, numbers in half.message.parts if names]
    singles = {name: float(value) for names, numbers in named for name, value in zip(names, numbers, strict=True)}
    line = half.line
    return JobMessage(
        sender,
        receiver,
        str(line["task"]),
        str(line["tag"]),
        line["chain"] == RESULT,
        _arrays(half),
        singles,
        {str(path): tuple(shape) for path, shape in line["shapes"].items()},
        frozenset(map(str, line["opaque"])),
        str(line["code"]),
        tuple(map(str, line["history"])),
        recorded_at,
        _time(half),
        half.message.encrypted,
    )


def _neutral_parts(message: JobMessage) -> tuple[tuple[str, tuple[str, ...], NDArray[Any]], ...]:
    kind = f"{message.task} reply" if message.reply else message.task
    arrays: list[tuple[str, tuple[str, ...], NDArray[Any]]] = [
        (f"{kind}: {path}", (), numbers) for path, numbers in message.arrays.items()
    ]
    if message.singles:
        singles = np.array(list(message.singles.values()))
        arrays.append((f"{kind}: numbers", tuple(message.singles), singles))
    return tuple(arrays)
