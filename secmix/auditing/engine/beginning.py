"""The first call that a process makes, which nobody but a trial hears: it must send what the next one sends.

A protocol may say aloud what it is asked once, a handshake as it were, and note outside the object that it has been
said. Every process that uses it begins with that call; an audit tries parts out before it listens. So trials are
listened to, and the second is to look like the first. Only prints of the numbers are kept, for there may be many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.cells.audit_cell import CellResult
from secmix.auditing.soundness.runner import Call, fresh, same_blocks
from secmix.auditing.soundness.sight import Eyes, other_frames, other_numbers
from secmix.errors import NotConverged
from secmix.network import Network
from secmix.transcript import Block, Channel, overheard


@dataclass(frozen=True)
class Beginning:
    """What was sent in the first two calls, of the same rows and draws."""

    network: Network
    first: Call
    second: Call

    def doubt(self, adversary: Adversary) -> str | None:
        """In words, how the calls differ for ``adversary``; None where they do not."""
        asked = fresh(adversary)
        try:
            corrupt = asked.corrupt_nodes(self.network)
            eyes = Eyes(asked, self.network, corrupt, not AdversaryTraits.of(asked).sees_metadata)
            one, other = eyes.see(self.first), eyes.see(self.second)
        except Exception:  # it is made for another network; what it would have seen is not known
            if same_blocks(self.first.blocks, self.second.blocks):
                return None
            where = "the messages"
        else:
            witness = other_frames(one, other) or other_numbers(one.rows, other.rows, one.names)
            if witness is None and one.names == other.names:
                return None
            where = "what can be heard" if witness is None else witness.where
        return f"the first call in a process is unlike the second, on the same rows and with the same draws ({where})"


def begun(network: Network, trial: Callable[[], object]) -> Beginning:
    """Both calls; whatever the first raises is raised, but for a search that has not converged."""
    calls = []
    for more in range(2):
        with _prints() as blocks, suppress(NotConverged, *([Exception] if more else [])):
            trial()
        calls.append(Call(tuple(blocks), np.empty((0, 0, 0))))
    return Beginning(network, *calls)


@contextmanager
def _prints() -> Iterator[list[Block]]:
    """The blocks that are sent meanwhile on any channel, with prints in place of their numbers."""
    blocks: list[Block] = []

    def listen(carrier: Channel, block: Block | None) -> None:
        if block is not None:
            kind = f"{block.kind} {block.payload.shape[2]} {block.payload.dtype.str}"
            blocks.append(replace(block, kind=kind, payload=_print_of(block.payload)))

    with overheard(listen):
        yield blocks


def _print_of(payload: Any) -> Any:
    rows = np.asarray(payload)
    held = (repr(row.tolist()).encode() if row.dtype == object else np.ascontiguousarray(row).tobytes() for row in rows)
    prints = [hashlib.blake2b(row, digest_size=8).digest() for row in held]
    return np.frombuffer(b"".join(prints), dtype=np.int64).reshape(len(rows), 1, 1)


def held_to(result: CellResult, doubt: str | None) -> CellResult:
    """``result``, not cleared where there is a ``doubt``."""
    cell, findings = result
    if doubt is None or cell.verdict != "not refuted":
        return result
    nodes = [
        node.model_copy(update={"standing": "inconclusive", "why": doubt, "verdict": "inconclusive"})
        if node.verdict == "not refuted" and node.standing != "corrupt"
        else node
        for node in cell.nodes
    ]
    changed = {"verdict": "inconclusive", "sentence": f"Cannot be decided: {doubt}.", "nodes": nodes}
    return cell.model_copy(update={**changed, "notes": [*cell.notes, doubt]}), findings
