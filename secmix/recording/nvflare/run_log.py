"""One participant's recording of a run: its messages, and beside them what NVFlare says of each and of its filters.

Beside the files of :mod:`secmix.recording.folder` the folder has ``nvflare.jsonl``. Each line is an object; ``is`` says
of what: the ``participant``, a configured ``filter``, a ``message`` (in the order of the index), a ``passage`` of a
message through a filter, or the ``end`` of the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from secmix.recording.folder import Recorder
from secmix.recording.nvflare.contents import Contents, contents
from secmix.recording.nvflare.log_lines import FILE, read_lines
from secmix.recording.nvflare.names import used, version
from secmix.transcript import SERVER

RESULT = "task_result"
COUNT = "num-examples"
"""The number in which a client may say how many rows it has."""
_ROLES = {"weights": "model", "weight_diff": "update"}
_MOST_NAMED = 100
_MOST_SINGLES = 5000  # the format takes 10,000 names of a part
_LONGEST = 160  # the format takes 200 characters of a kind; the task's name is before it


class RunLog:
    """Writer of one participant's recording; several threads may call it.

    ``folder``: of all participants; this one's is below it, named after it; ``name``: identity of the participant in
    NVFlare; ``encrypted``: whether lines count as encrypted.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str, server: bool, encrypted: bool) -> None:
        place = Path(folder) / (safe(name))
        self._recorder = Recorder(place, "server" if server else "node")
        self._file, self._lock = place / FILE, threading.Lock()
        self.name, self.server, self._encrypted = name, server, encrypted
        self._numbers: dict[str | None, int] = {}
        self._iterations: dict[tuple[str, Any], int] = {}
        self._rounds: dict[Any, Any] = {}  # of tasks, by id and by name and peer
        self._sequence: dict[tuple[Any, ...], int] = {}
        self._other_clients: set[str | None] = {None}  # as this one learns of them: they send it tasks by themselves
        if not server:
            self._numbers[name] = 0
        if self._file.exists():
            self._go_on(read_lines(place)["message"])

    def _go_on(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Go on with a recording: NVFlare's simulator starts a client anew for each task where threads are few."""
        for line in messages:
            peer = next((end for end in line["ends"] if end != self.name), None)
            if not self.server and not line["peer_is_server"]:
                self._other_clients.add(peer)
            self._iterations.setdefault((line["task"], line["tag"]), len(self._iterations))
            for end in line["ends"]:
                self._number(end)
            if line["chain"] != RESULT:
                key = (line["task"], peer, line["direction"] == "out")
                self._sequence[key] = self._sequence.get(key, -1) + 1

    def note(self, what: str, **values: Any) -> None:
        """Write one line beside the messages."""
        with self._lock:
            self._write({"is": what, **values})

    def begin(self, secure: bool, filters: Sequence[Mapping[str, Any]]) -> None:
        """Write who records, and all configured filters."""
        self.note("participant", name=self.name, server=self.server, nvflare=version(), secure=secure)
        for each in filters:
            self.note("filter", **each)

    def message(self, shareable: Any, context: Any, chain: str, task: str, direction: str) -> None:
        """Write one message as it is on the line."""
        read, header = contents(shareable), _header(shareable)
        peer = self._peer(context, chain, direction)
        ends = (self.name, peer) if direction == "out" else (peer, self.name)
        key = used("nvflare.apis.shareable", "ReservedHeaderKey")
        task_id = header.get(key.TASK_ID) or context.get_prop(used("nvflare.apis.fl_constant", "FLContextKey.TASK_ID"))
        with self._lock:
            if not self.server and header.get(key.TOPIC) == used("nvflare.apis.fl_constant", "ReservedTopic.DO_TASK"):
                self._other_clients.add(peer)
            tag = self._tag(header, chain, direction, task, peer, task_id)
            about = {
                **{"chain": chain, "direction": direction, "task": task, "task_id": task_id, "tag": str(tag)},
                **{"ends": ends, "peer_is_server": self._is_server(peer), "code": str(header.get(key.RC, "OK"))},
            }
            self._write_message(read, about)

    def _write_message(self, read: Contents, about: Mapping[str, Any]) -> None:
        """Write the numbers of a message, and then the line about it."""
        chain, task = about["chain"], about["task"]
        iteration = self._iterations.setdefault((task, about["tag"]), len(self._iterations))
        sender, receiver = (self._number(name) for name in about["ends"])
        parts = _parts(read, kind_of(task, chain))
        file = f"{self._recorder.count:06d}.npz"
        self._recorder.write(
            *(iteration, int(chain == RESULT), sender, receiver, parts),
            encrypted=self._encrypted,
            roles=roles_of(parts, {_short(part.path) for part in read.arrays if part.opaque}),
        )
        self._write(
            {
                **{"is": "message", "file": file, **about, "time": time.time()},
                "shapes": {_short(part.path): part.shape for part in read.arrays},
                "opaque": [_short(part.path) for part in read.arrays if part.opaque],
                "texts": read.texts[:_MOST_NAMED],
                "history": read.history,
            }
        )

    def _peer(self, context: Any, chain: str, direction: str) -> str | None:
        """Return who is at the other end; None where NVFlare does not tell, as for tasks that clients send."""
        if chain != RESULT and direction == "out" and not self.server:
            return None
        if chain == RESULT and direction == "in" and not self.server:
            return None  # the answer to a client's own task: the context still has the server
        peer = context.get_peer_context()
        return None if peer is None else str(peer.get_identity_name())

    def _tag(self, header: Mapping[str, Any], chain: str, direction: str, task: str, peer: Any, task_id: Any) -> Any:
        """Return the round that a message belongs to, as far as it is told; otherwise its number among its like."""
        current = used("nvflare.app_common.app_constant", "AppConstants.CURRENT_ROUND")
        tag = header.get(current)
        last = (task, peer, direction == "out")  # a result goes the other way than its task
        if chain == RESULT:
            known = self._rounds.get(task_id) if task_id else None
            return known if known is not None else self._rounds.get((task, peer, direction != "out"), tag)
        count = self._sequence[last] = self._sequence.get(last, -1) + 1
        tag = f"round {tag}" if tag is not None else f"number {count}"
        self._rounds[last] = tag
        if task_id:
            self._rounds[task_id] = tag
        return tag

    def _number(self, name: str | None) -> int:
        if (name == self.name and self.server) or self._is_server(name):
            return SERVER
        return self._numbers.setdefault(name, len(self._numbers))

    def _is_server(self, peer: str | None) -> bool:
        """Return whether a peer is the server, whose name may be any: clients ask it for tasks."""
        return not self.server and peer != self.name and peer not in self._other_clients

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")


def safe(name: str) -> str:
    """Return a name of a folder for a participant."""
    kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in name).strip(".")
    return kept or "participant"


def _header(shareable: Any) -> Mapping[str, Any]:
    headers = shareable.get(used("nvflare.apis.shareable", "ReservedHeaderKey.HEADERS"))
    return headers if isinstance(headers, Mapping) else {}


def kind_of(task: str, chain: str) -> str:
    """Return how the kinds of a message's parts begin in the neutral form: the task, and whether it is a result."""
    return _short(f"{task} reply" if chain == RESULT else task, 30)


def roles_of(parts: Sequence[tuple[str, Sequence[str], Any]], opaque: Collection[str]) -> dict[str, str]:
    """Declare what the parts of a message are in the neutral form: by the kind of the DXO that they were in."""
    roles: dict[str, str] = {}
    for kind, names, _ in parts:
        path = kind.partition(": ")[2]
        if names:
            roles |= {name: "count" if name.rpartition("/")[2] == COUNT else "statistic" for name in names}
        elif path in opaque:
            roles[kind] = "opaque"
        else:
            roles[kind] = _ROLES.get(path.partition("/")[0], "statistic")
    return roles


def _parts(read: Contents, kind: str) -> list[tuple[str, tuple[str, ...], Any]]:
    arrays: list[tuple[str, tuple[str, ...], Any]]
    arrays = [(f"{kind}: {_short(part.path)}", (), part.numbers) for part in read.arrays]
    singles = [(_short(path), value) for path, value in read.singles.items()]
    for k in range(0, len(singles), _MOST_SINGLES):
        names, values = zip(*singles[k : k + _MOST_SINGLES], strict=True)
        arrays.append((f"{kind}: numbers" + f" from {k}" * bool(k), names, list(values)))
    return arrays


def _short(text: str, longest: int = _LONGEST) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - 17] + "~" + hashlib.sha256(text.encode()).hexdigest()[:16]
