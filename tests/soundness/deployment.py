"""A protocol in use, not in an audit: masks drawn by itself, one call after the other, and an ear at every channel."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.setup import build_model, build_setup
from secmix.data import sample_rows
from secmix.network import Network
from secmix.protocols import Plain
from secmix.scenario import Scenario, from_dict
from secmix.transcript import SEALED, SERVER, Channel, Sealed, passed_on

from .case import Call, Case, Deployed, Heard, Message


@dataclass(frozen=True)
class _Recorder(Plain):
    """Plain averages, and a note of what was put in."""

    seen: list[tuple[int, Array]] = field(default_factory=list)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        """As :meth:`Plain.average`."""
        self.seen.append((channel.iteration, np.asarray(inputs).copy()))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def deploy(
    case: Case, calls: int | None = None, batch: int | None = None, *, same_draws: bool = False
) -> Iterator[tuple[Heard, Deployed]]:
    """What is heard of one call after the other, with other data each, and the truth behind it.

    Inputs are those of exact EM: what a protocol gets if it averages as it should. With ``same_draws`` every call has a
    generator in the same state.
    """
    calls, batch = case.calls if calls is None else calls, case.batch if batch is None else batch
    content, protocols, _ = case.build()
    wanted = {key: value for key, value in {**content, **case.deployed}.items() if key not in ("measure", "policy")}
    how = case.in_turn or [Call(batch, case.given)] * calls
    ends = np.cumsum([each.runs for each in how])
    network, rows, averagings = _workload(json.dumps(wanted, sort_keys=True), int(ends[-1]))
    protocol, adversary = protocols[case.name], case.ears or case.adversary
    corrupt = adversary.corrupt_nodes(network)
    one_for_all = np.random.default_rng([7, case.first])
    for call, called in enumerate(how):
        runs = slice(ends[call] - called.runs, ends[call])
        mine = tuple(part[runs] for part in rows)
        draws = case.first + (0 if same_draws else call)
        channel, ended, inputs = Channel(), [], []
        about: dict[str, Any] = {}
        with _ears() as sent, _read() as written, _patience(), case.meanwhile(call):
            if hasattr(protocol, "collaborate"):
                rng = one_for_all if case.chained else case.use.generator([7, draws])
                parts = case.use.parts(list(mine))
                line = case.use.channel()
                with suppress(*([RuntimeError, ValueError] if case.fails else [])):
                    returned = protocol.collaborate(parts, network, rng, channel=line)
                    ended.append(np.asarray(returned))
                    about["returned"] = returned
                about |= {"rows": {node: parts[node] for node in corrupt}, "network": network, "line": line}
            else:
                chain = np.random.default_rng([7, draws])
                lasting = None
                for place, (iteration, vectors) in enumerate(averagings):
                    channel.iteration = iteration
                    inputs.append(vectors[runs].copy())
                    rng = chain if case.chained else np.random.default_rng([7, draws, place])
                    given = channel if called.has_channel else None
                    handed = vectors[runs].copy()
                    if (getattr(protocol, "reuses_masks", False) and lasting is None) or called.has_masks:
                        lasting = protocol.draw_masks(len(handed), handed.shape[2], network, rng)
                    try:
                        averages, _ = protocol.average(handed, network, rng, masks=lasting, channel=given)
                    except (RuntimeError, ValueError):
                        if not case.fails:
                            raise
                        break
                    ended.append(np.array(averages))
                    about = {"rows": {node: handed[:, node] for node in corrupt}, "network": network, "line": channel}
                    about["returned"] = averages
        messages = tuple(heard for one in sent if (heard := _heard(one, adversary, corrupt)) is not None)
        held = tuple({node: result[:, node] for node in sorted(corrupt)} for result in ended)
        about["written"] = written.getvalue()
        yield Heard(messages, held, **about), Deployed(tuple(inputs), mine)


@lru_cache
def _parts(content: str) -> tuple[Scenario, Any]:
    cell = from_dict(json.loads(content) | {"protocol": {"name": "plain"}})
    return cell, build_setup(cell)


@lru_cache
def _workload(content: str, runs: int) -> tuple[Network, list[Array], list[tuple[int, Array]]]:
    """Rows of all runs and what nodes put into every averaging."""
    cell, parts = _parts(content)
    rows = sample_rows(parts.rows, parts.counts, runs, np.random.default_rng(7))
    recorder = _Recorder()
    build_model(cell, parts, recorder).run(rows, network=parts.network, rng=np.random.default_rng(8))
    return parts.network, rows, recorder.seen


@contextmanager
def _patience() -> Iterator[None]:
    """Ends when the threads that were started meanwhile have ended."""
    before = set(threading.enumerate())
    yield
    for thread in threading.enumerate():
        if thread not in before:
            thread.join(5)


@contextmanager
def _read() -> Iterator[io.StringIO]:
    """Keep all that is printed or logged, as where somebody debugs."""
    text, root = io.StringIO(), logging.getLogger()
    level, handler = root.level, logging.StreamHandler(text)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(text), redirect_stderr(text):
            yield text
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


@contextmanager
def _ears() -> Iterator[list[Message]]:
    """Everything sent or held on any channel while this lasts, whether its transcript keeps it or not."""
    sent: list[Message] = []
    send, hold = Channel.send, Channel.hold

    def note(channel: Channel, round: int, ends: Any, kind: str, payload: Any, line: Any, content: Any) -> Any:
        rows = (payload[None] if payload.ndim == 2 else payload).copy()
        first, second = np.broadcast_arrays(*(np.atleast_1d(np.asarray(end, dtype=int)) for end in ends))
        which = np.arange(len(first)) if content is None else np.asarray(content)
        size, dtype = rows.shape[-1], str(rows.dtype)
        for a, b, place in zip(first.tolist(), second.tolist(), which.tolist(), strict=True):
            sent.append(Message(channel.iteration, round, kind, line, a, b, size, dtype, rows[place]))
        return payload

    def sending(
        self: Channel, round: int, sender: Any, receiver: Any, kind: str, payload: Any, *, encrypted: Any = False,
        content: Any = None, sealed_for: Any = None,
    ) -> Any:  # fmt: skip
        line = "encrypted" if encrypted else "plain"
        if sealed_for is not None:  # one holder for each message: it reads what all others see the length of
            note(self, round, (sender, sealed_for), kind, payload, "encrypted", content)
            note(self, round, (sender, receiver), kind + SEALED, 0 * payload, line, content)
        if sealed_for is not None or isinstance(payload, Sealed):
            more = {} if sealed_for is None else {"sealed_for": sealed_for}
            return send(self, round, sender, receiver, kind, payload, encrypted=encrypted, content=content, **more)
        passed_on(payload, kind, lambda name, rows: note(self, round, (sender, receiver), name, rows, line, content),
                  max(np.size(sender), np.size(receiver)))  # fmt: skip
        return send(self, round, sender, receiver, kind, payload, encrypted=encrypted, content=content)

    def holding(self: Channel, round: int, node: Any, kind: str, payload: Any) -> None:
        passed_on(payload, kind, lambda name, rows: note(self, round, (node, node), name, rows, "held", None),
                  np.size(node))  # fmt: skip
        hold(self, round, node, kind, payload)

    Channel.send, Channel.hold = sending, holding  # type: ignore[method-assign, assignment]
    try:
        yield sent
    finally:
        Channel.send, Channel.hold = send, hold  # type: ignore[method-assign]


def _heard(message: Message, adversary: Adversary, corrupt: frozenset[int]) -> Message | None:
    """``message`` as the adversary meets it, or None if it does not."""
    ends = {message.sender, message.receiver}
    if message.line == "held":
        return message if ends & corrupt else None
    if isinstance(adversary, CuriousServer):
        return message if SERVER in ends else None
    if isinstance(adversary, HonestButCurious):
        if ends & corrupt:
            return message
        if not adversary.eavesdrops:
            return None
    elif not isinstance(adversary, Eavesdropper):
        raise TypeError(f"ears = {adversary!r}: give one of the house's passive adversaries")
    elif adversary.tapped is not None and (min(ends), max(ends)) not in adversary.tapped:
        return None
    return message if message.line == "plain" else replace(message, numbers=None)
