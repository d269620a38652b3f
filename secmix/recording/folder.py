"""The format of a recording, version 1: a folder with a header, an index and the numbers of each message.

- ``recording.json``: ``{"format": "secmix recording", "version": 1, "by": "server"}``; ``by`` is ``server`` or
  ``node``, whose messages these are.
- ``index.jsonl``: a line for each message, in the order in which they passed: ``{"file": "000000.npz", "iteration": 0,
  "round": 0, "sender": -1, "receiver": 0, "encrypted": true, "parts": [{"kind": "train: arrays/0", "names": []}]}``.
  The server is −1, nodes are counted from 0. ``round`` is 0 for what the server sends and 1 for the answer. Arrays of a
  model are kinds with a ``/``, in the order of its layers; ``names`` are those of single numbers, as in metrics.
- ``000000.npz``: the numbers of the parts of one message, of one axis each, named ``0``, ``1``, ..., not compressed.

A message is in the index once its numbers are written: a process that is killed leaves a recording of what passed
before. Who reads one may have it from somebody else: no link is followed, sizes are checked before anything is read.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base import files
from secmix.errors import DataError, shown

FORMAT = "secmix recording"
VERSION = 1
"""Of the format: a reader refuses others."""
MOST_BYTES = 4 * 2**30
"""Of all numbers together; more is not read."""
_INDEX_BYTES, _FILE_BYTES, _HEADER_BYTES = 256 * 2**20, 2**30, 4096
_MOST_PARTS, _LONGEST, _MOST_NAMES = 10_000, 200, 10_000
_NAME = re.compile(r"\d{6,9}\.npz")
_KINDS = "fiub"


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes
    ----------
    iteration, round, sender, receiver : int
        The server is −1.
    encrypted : bool
    parts : tuple of (kind, names, numbers (p,))
        In their order; ``names`` of single numbers, or none.
    """

    iteration: int
    round: int
    sender: int
    receiver: int
    encrypted: bool
    parts: tuple[tuple[str, tuple[str, ...], NDArray[Any]], ...]


@dataclass(frozen=True)
class Recording:
    """What was recorded: by the server, of all its clients, or by one node, of itself."""

    by: str
    messages: tuple[Message, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All that sent or were sent anything."""
        return tuple(sorted({end for m in self.messages for end in (m.sender, m.receiver) if end >= 0}))


class Recorder:
    """Writes a recording.

    Parameters
    ----------
    folder : path
        Made if it does not exist. One that holds a recording by the same is gone on with.
    by : {"server", "node"}

    Attributes
    ----------
    count : int
        Messages written so far.

    Raises
    ------
    DataError
        The folder holds something else.

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
        if by not in ("server", "node"):
            raise DataError(f"a recording is by 'server' or 'node'; given {shown(by)}")
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what passed may tell of private rows
        header = self.folder / "recording.json"
        if header.exists() or any(self.folder.iterdir()):
            if _header(self.folder) != by:
                raise DataError(f"{self.folder} holds a recording by another; give each its own folder")
        else:
            files.write(header, json.dumps({"format": FORMAT, "version": VERSION, "by": by}).encode() + b"\n")
        self.count = len([place for place in self.folder.iterdir() if _NAME.fullmatch(place.name)])

    def write(
        self,
        iteration: int,
        round: int,
        sender: int,
        receiver: int,
        parts: Sequence[tuple[str, Sequence[str], Any]],
        *,
        encrypted: bool = True,
    ) -> None:
        """Write one message of ``parts`` (kind, names, numbers (p,)).

        Raises
        ------
        DataError
            A part is no vector of real numbers.
        """
        arrays = [np.asarray(numbers) for _, _, numbers in parts]
        for (kind, names, _), array in zip(parts, arrays, strict=True):
            if array.ndim != 1 or array.dtype.kind not in _KINDS or (names and len(names) != len(array)):
                raise DataError(f"part {shown(kind)} is no vector of real numbers, or its names are not as many")
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
            for k, array in enumerate(arrays):
                with archive.open(f"{k}.npy", "w") as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
        name = f"{self.count:06d}.npz"
        files.write(self.folder / name, content.getvalue())
        said = {
            "file": name,
            **{"iteration": int(iteration), "round": int(round), "sender": int(sender), "receiver": int(receiver)},
            "encrypted": bool(encrypted),
            "parts": [{"kind": str(kind), "names": [str(each) for each in names]} for kind, names, _ in parts],
        }
        with (self.folder / "index.jsonl").open("a", encoding="utf-8") as index:
            index.write(json.dumps(said) + "\n")
        self.count += 1


def read_recording(folder: str | os.PathLike[str]) -> Recording:
    """The recording in ``folder``, which may come from anybody.

    Raises
    ------
    DataError
        It is no recording, of another version, damaged, or larger than :data:`MOST_BYTES`.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"{place} is no folder; a recording is the folder that a Recorder was given")
    by = _header(place)
    left, messages = MOST_BYTES, []
    for number, line in enumerate(_lines(place), 1):
        message, size = _message(place, line, number, left)
        left -= size
        messages.append(message)
    if not messages:
        raise DataError(f"{place} holds no message yet")
    return Recording(by, tuple(messages))


def _read(place: Path, most: int) -> bytes:
    try:
        return files.read_regular(place, follow=False, most=most)
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror or type(error).__name__}") from None


def _header(place: Path) -> str:
    try:
        header = json.loads(_read(place / "recording.json", _HEADER_BYTES))
        form, version, by = header["format"], header["version"], header["by"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place / 'recording.json'} is not the header of a recording") from None
    if form != FORMAT or by not in ("server", "node"):
        raise DataError(f"{place / 'recording.json'} is not the header of a recording")
    if version != VERSION or isinstance(version, bool):
        raise DataError(f"{place} has version {shown(version)} of the format; this secmix reads version {VERSION}")
    return str(by)


def _lines(place: Path) -> Iterator[Any]:
    if not (place / "index.jsonl").exists():
        return
    content = _read(place / "index.jsonl", _INDEX_BYTES)
    *lines, rest = content.split(b"\n")  # a last line without an end was being written
    del rest
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"line {number} of {place / 'index.jsonl'} is not JSON") from None


def _message(place: Path, line: Any, number: int, left: int) -> tuple[Message, int]:
    bad = DataError(f"line {number} of {place / 'index.jsonl'} is no message of this format")
    try:
        name, parts = line["file"], line["parts"]
        ends = [line[key] for key in ("iteration", "round", "sender", "receiver")]
        kinds = [(part["kind"], tuple(part["names"])) for part in parts]
        encrypted = line["encrypted"]
    except (KeyError, TypeError):
        raise bad from None
    texts = [text for kind, names in kinds for text in (kind, *names)]
    if (
        not isinstance(name, str)
        or not _NAME.fullmatch(name)
        or not isinstance(encrypted, bool)
        or any(type(end) is not int or not -1 <= end < 2**31 for end in ends)
        or len(kinds) > _MOST_PARTS
        or any(len(names) > _MOST_NAMES for _, names in kinds)
        or any(not isinstance(text, str) or len(text) > _LONGEST for text in texts)
    ):
        raise bad
    arrays, size = _numbers(place / name, len(kinds), left)
    if any(names and len(names) != len(array) for (_, names), array in zip(kinds, arrays, strict=True)):
        raise bad
    content = tuple((kind, names, array) for (kind, names), array in zip(kinds, arrays, strict=True))
    iteration, turn, sender, receiver = ends
    return Message(iteration, turn, sender, receiver, encrypted, content), size


def _numbers(place: Path, count: int, left: int) -> tuple[list[NDArray[Any]], int]:
    content = _read(place, min(_FILE_BYTES, left))
    wanted = [f"{k}.npy" for k in range(count)]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = archive.infolist()
            # Stored as it is: what a member unpacks to is no more than the file is long.
            stored = all(each.compress_type == zipfile.ZIP_STORED and each.file_size <= len(content) for each in held)
            if [each.filename for each in held] != wanted or not stored:
                raise DataError(f"{place} does not hold the {count} parts that the index says, uncompressed")
        with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
            arrays = [loaded[str(k)] for k in range(count)]
    except DataError:
        raise
    except Exception:  # a damaged archive may fail in any way
        raise DataError(f"{place} is damaged") from None
    if any(array.ndim != 1 or array.dtype.kind not in _KINDS for array in arrays):
        raise DataError(f"{place} holds something else than vectors of real numbers")
    return arrays, len(content)
