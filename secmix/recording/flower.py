"""Record a Flower app: at its server the messages of all clients, at a client its own.

At the server::

    from secmix.recording.flower import recorded

    @app.main()
    def main(grid, context):
        grid = recorded(grid, "recording")
        ...  # as before: strategy.start(grid=grid, ...)

At a client::

    from secmix.recording.flower import recording_mod

    app = ClientApp(mods=[recording_mod("recording")])

A mod reads what the next mod in the list passes on: put it first to record what leaves the client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from secmix.protocols.flower.names import flower
from secmix.protocols.flower.records import roles, sections, single_names
from secmix.recording.folder import Recorder
from secmix.transcript import SERVER


class _RecordedGrid:
    """A Grid that passes every call on, and records the messages."""

    def __init__(self, grid: Any, folder: str | os.PathLike[str]) -> None:
        self._grid, self._recorder = grid, Recorder(folder)
        self._numbers: dict[int, int] = {}  # of Flower's node ids
        self._requests: dict[str, tuple[int, int, str]] = {}  # messages without a reply so far
        self._iteration = -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._grid, name)

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        """Push messages as the Grid does, and record them."""
        requests = self._record_requests(messages)
        ids = list(self._grid.push_messages(requests))
        for message, identifier in zip(requests, ids, strict=True):
            self._requests[identifier] = (self._iteration, self._node(message.metadata.dst_node_id), _type(message))
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        """Pull replies as the Grid does, and record them."""
        replies = list(self._grid.pull_messages(message_ids))
        for reply in replies:
            known = self._requests.pop(reply.metadata.reply_to_message_id, None)
            if known is not None:
                _write(self._recorder, known[0], 1, known[1], SERVER, f"{known[2]} reply", reply)
        return replies

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Iterable[Any]:
        """Send messages and receive replies as the Grid does, and record both."""
        requests = self._record_requests(messages)
        replies = list(self._grid.send_and_receive(requests, timeout=timeout))
        kinds = {self._node(message.metadata.dst_node_id): _type(message) for message in requests}
        for reply in replies:
            node = self._node(reply.metadata.src_node_id)
            _write(self._recorder, self._iteration, 1, node, SERVER, f"{kinds.get(node, _type(reply))} reply", reply)
        return replies

    def _record_requests(self, messages: Iterable[Any]) -> list[Any]:
        requests = list(messages)
        self._iteration += 1
        for message in requests:
            node = self._node(message.metadata.dst_node_id)
            _write(self._recorder, self._iteration, 0, SERVER, node, _type(message), message)
        return requests

    def _node(self, flower_id: int) -> int:
        return self._numbers.setdefault(flower_id, len(self._numbers))


def recorded(grid: Any, folder: str | os.PathLike[str]) -> Any:
    """Wrap the ``grid`` of a ServerApp so that all messages are written into ``folder``.

    Nodes are numbered from 0 in the order of their first message from the server.
    """
    flower("Grid").register(_RecordedGrid)  # an abstract class: Flower accepts what has its methods
    return _RecordedGrid(grid, folder)


def recording_mod(folder: str | os.PathLike[str]) -> Callable[[Any, Any, Callable[[Any, Any], Any]], Any]:
    """Make a mod of a ClientApp that writes the messages of this client into its own folder in ``folder``.

    The name of the folder contains the node's id in Flower; in the recording the node is 0.
    """

    def mod(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        recorder = Recorder(Path(folder) / f"node-{context.node_id}", "node")
        iteration = recorder.count // 2
        _write(recorder, iteration, 0, SERVER, 0, _type(message), message)
        reply = call_next(message, context)
        _write(recorder, iteration, 1, 0, SERVER, f"{_type(message)} reply", reply)
        return reply

    return mod


def _type(message: Any) -> str:
    return str(message.metadata.message_type)


def _write(recorder: Recorder, iteration: int, round: int, sender: int, receiver: int, kind: str, message: Any) -> None:
    """Write one message; an error is written as its code."""
    parts: list[tuple[str, tuple[str, ...], Any]]
    declared: dict[str, str] = {}
    if message.has_error():
        parts = [(f"{kind}: error", ("code",), [float(message.error.code)])]
        declared = {f"{kind}: error": "error"}
    else:
        names = single_names(message.content)
        parts = [
            (f"{kind}: {section.name}", names.get(section.name, ()), section.numbers)
            for section in sections(message.content)
        ]
        declared = _declared(message.content, kind, parts)
    recorder.write(iteration, round, sender, receiver, parts, roles=declared)


def _declared(content: Any, kind: str, parts: list[tuple[str, tuple[str, ...], Any]]) -> dict[str, str]:
    """Return the roles of the parts and single numbers that are written: by the names that Flower gives them."""
    role_of = roles(content)
    written = {part: part.removeprefix(f"{kind}: ") for part, _, _ in parts}
    written |= {name: name for _, names, _ in parts for name in names}
    return {what: role_of[name] for what, name in written.items() if name in role_of}
