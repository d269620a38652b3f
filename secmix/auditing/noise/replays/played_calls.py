"""Calls of a collaboration with their releases: recorded, or with the releases of another call played back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.runner import ALLOWED, Call, frame_of, record_call, same_bits
from secmix.network import Network
from secmix.privacy.noted_releases import Ledger, Noise, Release, noting, seed_of
from secmix.scenario.claim_spec import Unit
from secmix.transcript import SERVER, Block, Channel

PURPOSE = "played back"
Bend = Callable[[int, Noise, Array], Array]
"""Noise in place of what was drawn, as :class:`~secmix.privacy.noted_releases.Ledger` takes it."""


@dataclass(frozen=True)
class PlayedCall:
    """One call: the rows of each node, the number of its draws, all that was sent and held, its releases and clips."""

    parts: tuple[Array, ...]
    key: int
    call: Call
    releases: tuple[Release, ...]
    clips: int


@dataclass
class Player:
    """Calls copies of a collaboration, each as it was built, with draws that a number names."""

    protocol: Any
    network: Network
    seed: int
    calls: int = 0
    most: int | None = None

    @staticmethod
    def of(case: CellContext) -> Player:
        """Return a player of the protocol of a cell, as it was before any run."""
        setup: Any = case.setup
        return Player(setup.protocol if case.built is None else case.built, setup.network, case.cell.seed)

    def record(self, parts: Sequence[Array], key: int, *, protocol: Any = None, bend: Bend | None = None) -> PlayedCall:
        """Call a copy, or ``protocol`` itself, on rows (1, N_i, d) of each node with the draws of ``key``."""
        return self._call(parts, key, protocol=protocol, bend=bend)

    def played(self, recorded: PlayedCall, parts: Sequence[Array]) -> PlayedCall:
        """Call a copy with other rows of all nodes and the same draws, while releases are those recorded."""
        return self._call(parts, recorded.key, recorded.releases)

    def play(self, recorded: PlayedCall, node: int, rows: Array, *, back: bool = True) -> PlayedCall:
        """Call a copy with other rows of a node and the same draws; ``back``: releases are those recorded."""
        parts = [rows if i == node else part for i, part in enumerate(recorded.parts)]
        return self._call(parts, recorded.key, recorded.releases if back else None)

    def reseeded(self, recorded: PlayedCall, key: int) -> PlayedCall:
        """Call a copy on the same rows with the draws of another ``key``, while releases are those recorded."""
        return self._call(recorded.parts, key, recorded.releases)

    def noised_anew(
        self, recorded: PlayedCall, key: int, parts: Sequence[Array] | None = None, *, back: bool = True
    ) -> PlayedCall:
        """Call a copy with the noise of another ``key`` and all other draws as recorded.

        ``parts`` are other rows of each node, if any; ``back``: releases are those recorded.
        """
        root = root_with_other_noise(recorded.releases, self.root(recorded.key), self.root(key))
        given = recorded.parts if parts is None else parts
        return self._call(given, key, recorded.releases if back else None, root=root)

    def _call(
        self,
        parts: Sequence[Array],
        key: int,
        played: Sequence[Release] | None = None,
        *,
        protocol: Any = None,
        bend: Bend | None = None,
        root: np.random.SeedSequence | None = None,
    ) -> PlayedCall:
        self.calls += 1
        chosen = deep_copy(self.protocol) if protocol is None else protocol
        rng = np.random.default_rng(self.root(key) if root is None else root)
        ledger, copies = Ledger(played, bend=bend), [part.copy() for part in parts]
        with noting(ledger):
            call = record_call(
                lambda channel: chosen.collaborate(copies, self.network, rng, channel=channel), Channel(), self.most
            )
        self.most = self.most or ALLOWED * max(call.messages, 1)
        return PlayedCall(tuple(parts), key, call, tuple(ledger.releases), ledger.clips)

    def root(self, key: int) -> np.random.SeedSequence:
        """Return the seed of the generator that the protocol is given in calls of ``key``."""
        return sequence(self.seed, PURPOSE, "protocol", key)


def root_with_other_noise(
    releases: Iterable[Release], recorded: np.random.SeedSequence, other: np.random.SeedSequence
) -> np.random.SeedSequence:
    """Return the seed of a call like the ``recorded`` one, whose noise is that of the ``other`` one.

    Generators are told apart by the way they were spawned: each that noise of a release came from draws as it does in
    the other call, every other one as it did in the recorded call. A generator that draws both has all of it new.
    """
    own = seed_of(np.random.default_rng(recorded))[:1]
    noisy = frozenset(tuple(release.seed[1]) for release in releases if release.seed[:1] == own)
    return _PartlyRecorded(other, recorded, noisy)


class _PartlyRecorded(np.random.SeedSequence):
    """A seed that spawns like another one, and draws like a third where no noise came from it."""

    def __init__(
        self, other: np.random.SeedSequence, recorded: np.random.SeedSequence, noisy: frozenset[tuple[int, ...]]
    ) -> None:
        # Entropy is the other's: whoever seeds a generator by it to repeat the noise has other noise.
        super().__init__(other.entropy, spawn_key=other.spawn_key, pool_size=other.pool_size)
        self.other, self.recorded, self.noisy = other, recorded, noisy

    def spawn(self, n_children: int) -> list[Any]:
        """Make seeds of the same kind."""
        pairs = zip(self.other.spawn(n_children), self.recorded.spawn(n_children), strict=True)
        return [_PartlyRecorded(other, recorded, self.noisy) for other, recorded in pairs]

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        """Return the state of a generator with this seed."""
        seed = self.other if tuple(self.spawn_key) in self.noisy else self.recorded
        return seed.generate_state(n_words, dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy by its three parts."""
        return (_PartlyRecorded, (self.other, self.recorded, self.noisy))


def failed(call: Call) -> str:
    """Say why a call cannot be judged; empty if it can."""
    noted = " while releases are noted (nothing can be written to what clip returned)" * (call.failure == "ValueError")
    return f"a call ends with {call.failure}{noted}" if call.failure else call.unrecorded


def other_message(before: Call, after: Call, node: int | None) -> str:
    """Name the first thing sent, held elsewhere or ended with elsewhere that differs; ``node`` has other rows."""
    sent, other = ([block for block in call.blocks if not _own(block, node)] for call in (before, after))
    for old, new in zip(sent, other, strict=False):
        if frame_of(old) != frame_of(new):
            return f"number, kind, type or length of messages, from {_name(old, 0)} on,"
        if (place := _changed_row(old, new, node)) is not None:
            return _name(old, place)
    if len(sent) != len(other):
        return "the number of messages"
    others = [i for i in range(before.results.shape[1]) if i != node]
    ends = [call.results[:, others] if call.results.ndim == 3 else call.results for call in (before, after)]
    return "" if same_bits(ends[0], ends[1]) else "the result of another node"


def _own(block: Block, node: int | None) -> bool:
    """Say whether a block is what ``node`` alone holds, which is no message."""
    return block.line == "held" and set(block.sender.tolist()) <= {node}


def _changed_row(old: Block, new: Block, node: int | None) -> int | None:
    """Return the place of the first message in a block that differs; what ``node`` holds itself is none."""
    rows = [not same_bits(a, b) for a, b in zip(old.payload, new.payload, strict=True)]
    changed = np.array(rows, dtype=bool)[old.content]
    if old.line == "held":
        changed &= old.sender != node
    places = np.flatnonzero(changed)
    return int(places[0]) if len(places) else None


def _name(block: Block, place: int) -> str:
    ends = ["the server" if end == SERVER else f"node {end}" for end in (block.sender[place], block.receiver[place])]
    passed = f"held by {ends[0]}" if block.line == "held" else f"from {ends[0]} to {ends[1]}"
    return f"'{block.kind}' {passed} in round {block.round}"


def title(place: int, release: Release) -> str:
    """Name a release by its number and the line that asks for it."""
    return f"release {place + 1} ({release.place})"


def other_release(before: Sequence[Release], after: Sequence[Release], counts: Unit | None = None) -> str:
    """Name the first property of a release that differs between two calls; empty if none does.

    With ``counts`` equally many vectors must have been clipped, too; how many a mean is of does not matter to a bound
    on a whole node.
    """
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        for what, of in RELEASE_PROPERTIES.items():
            if of(old) != of(new):
                return f"{what} of {title(place, old)}"
        if counts and _count(old, counts) != _count(new, counts):
            return f"the number of clipped vectors of {title(place, old)}"
    if len(before) != len(after):
        return f"the number of releases ({len(before)} and {len(after)})"
    return ""


def _count(release: Release, unit: Unit) -> int:
    clip = release.clip
    return 0 if clip is None or (unit == "node" and clip.reduction == "mean") else len(clip.vectors)


def round_of(recorded: PlayedCall, place: int) -> int:
    """Return the round of the first message that carries the output of a release; its number where none does."""
    output = recorded.releases[place].output
    for block in recorded.call.blocks:
        if block.line == "held" or block.payload.dtype != output.dtype:
            continue
        if output.size and not (block.payload == output.flat[0]).any():  # of most blocks one look is enough
            continue
        if np.isin(output, block.payload).all():
            return int(block.round)
    return place


RELEASE_PROPERTIES: dict[str, Any] = {
    "the line": lambda release: release.place,
    "the kind": lambda release: release.noise,
    "the scale": lambda release: release.scale,
    "the shape": lambda release: release.output.shape,
    "the clip": lambda release: release.clip and release.clip.words,
    "the norm of the clip": lambda release: release.clip and release.clip.norm,
}
"""Properties of a release that must not depend on data, by their names in a sentence."""
