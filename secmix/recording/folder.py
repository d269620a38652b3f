"""The format of a recording, version 1: a folder with a header, an index and the numbers of each message.

- ``recording.json``: ``{"format": "secmix recording", "version": 1, "by": "server"}``; ``by`` is ``server`` or
  ``node``: the participant that recorded its messages.
- ``index.jsonl``: a line for each message, in the order of sending: ``{"file": "000000.npz", "iteration": 0,
  "round": 0, "sender": -1, "receiver": 0, "encrypted": true, "parts": [{"kind": "train: arrays/0", "names": []}]}``.
  The server is −1, nodes are counted from 0. ``round`` is 0 for what the server sends and 1 for the answer. ``names``
  are the names of single numbers, as in metrics. ``roles``, which may be missing, declares a part, by its kind, or a
  single number, by its name, to be one of ``secmix.recording.ROLES``: ``{"arrays/0": "model", "num-rows": "count"}``.
- ``000000.npz``: the numbers of the parts of one message, a vector each, named ``0``, ``1``, ..., not compressed.

A message enters the index after its numbers are written: a process that is killed leaves a valid recording of the
messages before. A recording may come from somebody else: no link is followed, and sizes are checked before reading.
"""

from __future__ import annotations

import io
import json
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base import safe_files
from secmix.errors import DataError, shown
from secmix.recording.format import BY, FORMAT, NAME, VERSION, faults_of_line

MOST_BYTES = 4 * 2**30
"""Largest total size of all numbers; larger recordings are refused."""
_INDEX_BYTES, _FILE_BYTES, _HEADER_BYTES = 256 * 2**20, 2**30, 4096
_KINDS = "fiub"


@dataclass(frozen=True)
class RecordedMessage:
    """One message.

    Attributes
    ----------
    iteration, round, sender, receiver : int
        The server is −1.
    encrypted : bool
    parts : tuple of (kind, names, numbers (p,))
        In order; ``names`` of single numbers, or none.
    roles : mapping
        Of kinds and of names of single numbers, to one of ``secmix.recording.ROLES``.
    """

    iteration: int
    round: int
    sender: int
    receiver: int
    encrypted: bool
    parts: tuple[tuple[str, tuple[str, ...], NDArray[Any]], ...]
    roles: Mapping[str, str] = field(default_factory=dict)

    def of_role(self, role: str) -> list[NDArray[Any]]:
        """List the parts, and the single numbers as vectors of one, that were declared as ``role``, in order."""
        paths = []
        for kind, names, numbers in self.parts:
            if self.roles.get(kind) == role:
                paths.append(numbers)
            else:
                paths += [numbers[k : k + 1] for k, name in enumerate(names) if self.roles.get(name) == role]
        return paths


@dataclass(frozen=True)
class Recording:
    """The recorded messages: of all clients, by the server, or of one node, by itself."""

    by: str
    messages: tuple[RecordedMessage, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All nodes that sent or received a message."""
        return tuple(sorted({end for m in self.messages for end in (m.sender, m.receiver) if end >= 0}))


class Recorder:
    """Writer of a recording; several threads may call it.

    Parameters
    ----------
    folder : path
        Created if it does not exist. An existing recording by the same participant is continued.
    by : {"server", "node"}

    Attributes
    ----------
    count : int
        Number of messages written so far.

    Raises
    ------
    DataError
        If the folder contains something else.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "recording"
    >>> recorder = Recorder(place)
    >>> recorder.write(0, 0, -1, 2, [("model", (), np.zeros(3))])
    >>> [(m.receiver, m.parts[0][0]) for m in read_recording(place).messages]
    [(2, 'model')]
    """

    def __init__(self, folder: str | os.PathLike[str], by: str = "server") -> None:
        if by not in BY:
            raise DataError(f"by = {shown(by)}; expected 'server' or 'node'")
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # messages may reveal private rows
        header = self.folder / "recording.json"
        if header.exists() or any(self.folder.iterdir()):
            if _header(self.folder) != by:
                raise DataError(
                    f"{self.folder} contains a recording by a {_header(self.folder)}, expected {by}; give each "
                    "recorder its own folder"
                )
        else:
            safe_files.write(header, json.dumps({"format": FORMAT, "version": VERSION, "by": by}).encode() + b"\n")
        self._lock = threading.Lock()
        self.count = len([place for place in self.folder.iterdir() if NAME.fullmatch(place.name)])

    def write(
        self,
        iteration: int,
        round: int,
        sender: int,
        receiver: int,
        parts: Sequence[tuple[str, Sequence[str], Any]],
        *,
        encrypted: bool = True,
        roles: Mapping[str, str] | None = None,
    ) -> None:
        """Write one message of ``parts`` (kind, names, numbers (p,)).

        ``roles`` declares what they are: by the kind of a part or the name of a single number, one of
        ``secmix.recording.ROLES``.

        Raises
        ------
        DataError
            If a part is not a vector of real numbers, or what is written would not be read; or if another recorder
            writes into the folder.
        """
        arrays = [np.asarray(numbers) for _, _, numbers in parts]
        for (kind, names, _), array in zip(parts, arrays, strict=True):
            if array.ndim != 1 or array.dtype.kind not in _KINDS or (names and len(names) != len(array)):
                raise DataError(
                    f"part {shown(kind)} has shape {array.shape}, type {array.dtype} and {len(names)} names; "
                    "expected a vector of real numbers, with a name for each or none"
                )
        entry = {
            **{"iteration": int(iteration), "round": int(round), "sender": int(sender), "receiver": int(receiver)},
            "encrypted": bool(encrypted),
            "parts": [{"kind": str(kind), "names": [str(name) for name in names]} for kind, names, _ in parts],
        } | ({"roles": dict(roles)} if roles else {})
        with self._lock:
            self._append(entry, _archive(arrays))

    def _append(self, entry: dict[str, Any], content: bytes) -> None:
        name = f"{self.count:06d}.npz"
        entry = {"file": name, **entry}
        for fault in faults_of_line(entry):
            raise DataError(f"this message cannot be recorded: {fault}")
        if (self.folder / name).exists():
            raise DataError(f"another recorder writes into {self.folder}; give each recorder its own folder")
        safe_files.write(self.folder / name, content)
        with (self.folder / "index.jsonl").open("a", encoding="utf-8") as index:
            index.write(json.dumps(entry) + "\n")
        self.count += 1


def _archive(arrays: Sequence[NDArray[Any]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for k, array in enumerate(arrays):
            with archive.open(f"{k}.npy", "w") as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    return content.getvalue()


def read_recording(folder: str | os.PathLike[str]) -> Recording:
    """Read the recording in ``folder``, which may come from anybody.

    Raises
    ------
    DataError
        If it is not a recording, of another version, damaged, or larger than :data:`MOST_BYTES`.
    """
    place = Path(folder)
    by = _header(place)
    left, messages = MOST_BYTES, []
    for number, line in enumerate(_lines(place), 1):
        message, size = _message(place, line, number, left)
        left -= size
        messages.append(message)
    if not messages:
        raise DataError(f"{place} contains no message; record a run first")
    return Recording(by, tuple(messages))


def _read(place: Path, most: int) -> bytes:
    try:
        return safe_files.read_regular(place, follow=False, most=most)
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror or type(error).__name__}") from None


def _header(place: Path) -> str:
    if not place.is_dir():
        raise DataError(f"'{place}' is not a folder; give the folder that a Recorder wrote")
    if not (place / "recording.json").exists():
        raise DataError(f"there is no recording.json in '{place}'; give the folder that a Recorder wrote")
    content, form = _read(place / "recording.json", _HEADER_BYTES), None
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        header = json.loads(content)
        form, version, by = header["format"], header["version"], header["by"]
    if form != FORMAT or by not in BY:
        raise DataError(
            f"{place / 'recording.json'} is not the header of a recording; give a folder that a Recorder wrote"
        )
    if version != VERSION or isinstance(version, bool):
        raise DataError(f"{place} has version {shown(version)} of the format, expected {VERSION}; record again")
    return str(by)


def _lines(place: Path) -> Iterator[Any]:
    if not (place / "index.jsonl").exists():
        return
    content = _read(place / "index.jsonl", _INDEX_BYTES)
    *lines, rest = content.split(b"\n")  # a last line without a newline is incomplete
    del rest
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"line {number} of {place / 'index.jsonl'} is not JSON") from None


def _message(place: Path, line: Any, number: int, left: int) -> tuple[RecordedMessage, int]:
    bad = f"line {number} of {place / 'index.jsonl'} is not a message of this format: "
    for fault in faults_of_line(line):
        raise DataError(bad + fault)
    kinds = [(part["kind"], tuple(part["names"])) for part in line["parts"]]
    arrays, size = _numbers(place / line["file"], len(kinds), left)
    for (kind, names), array in zip(kinds, arrays, strict=True):
        if names and len(names) != len(array):
            raise DataError(f"{bad}part {shown(kind)} has {len(array)} numbers and {len(names)} names")
    content = tuple((kind, names, array) for (kind, names), array in zip(kinds, arrays, strict=True))
    iteration, round_number, sender, receiver = (line[key] for key in ("iteration", "round", "sender", "receiver"))
    roles = line.get("roles", {})
    return RecordedMessage(iteration, round_number, sender, receiver, line["encrypted"], content, roles), size


def faults_of_recording(folder: str | os.PathLike[str]) -> list[str]:
    """List all that is wrong with the recording in ``folder``: with its header, with each line, with its numbers."""
    place, left = Path(folder), MOST_BYTES
    faults, count = [], 0
    try:
        _header(place)
        for number, line in enumerate(_lines(place), 1):
            count += 1
            in_line = [f"{place / 'index.jsonl'}, line {number}: {fault}" for fault in faults_of_line(line)]
            faults += in_line
            if not in_line:
                try:
                    left -= _message(place, line, number, left)[1]
                except DataError as error:
                    faults.append(str(error))
    except DataError as error:  # what follows cannot be read
        return [*faults, str(error)]
    return faults if count else [f"{place} contains no message; record a run first"]


def _numbers(place: Path, count: int, left: int) -> tuple[list[NDArray[Any]], int]:
    content = _read(place, min(_FILE_BYTES, left))
    expected = [f"{k}.npy" for k in range(count)]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            # Without compression, no member is larger than the file.
            stored = all(m.compress_type == zipfile.ZIP_STORED and m.file_size <= len(content) for m in members)
            if [member.filename for member in members] != expected or not stored:
                raise DataError(f"{place} does not contain the {count} parts that the index lists, uncompressed")
        with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
            arrays = [loaded[str(k)] for k in range(count)]
    except DataError:
        raise
    except Exception:  # a damaged archive may fail in any way
        raise DataError(f"{place} is damaged; record the run again") from None
    if any(array.ndim != 1 or array.dtype.kind not in _KINDS for array in arrays):
        raise DataError(f"{place} contains something else than vectors of real numbers")
    return arrays, len(content)
