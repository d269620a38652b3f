"""Play releases back: run a collaboration again on neighbouring data, while releases return what they did before.

Whatever then changes in a message tells of the data beside the releases. What stays the same in all replays is taken
to depend on them alone: a printed premise, since what happens in fewer than 3/n of the calls escapes n of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.noise.replays.neighbouring_data import Neighbour, neighbour_of
from secmix.auditing.noise.replays.noise_checks import known_noise, other_noise, repeated_noise
from secmix.auditing.noise.replays.played_calls import (
    PURPOSE,
    PlayedCall,
    Player,
    failed,
    other_message,
    other_release,
)
from secmix.auditing.noise.replays.reach import Reach, reach_of
from secmix.auditing.setup import CollaborationSetup, deep_copy
from secmix.auditing.soundness.runner import same_bits
from secmix.privacy.noted_releases import Release
from secmix.scenario import PrivacyTerms
from secmix.scenario.claim_spec import Relation, Unit

_REPLAYS = (16, 48)  # of each node, fewer where a call sends much
_MESSAGES = 20_000  # of all calls
_TWICE = 2
_OTHER_DRAWS = 10**6  # numbers of draws beyond those of recorded calls


@dataclass
class NodeReplays:
    """Replays with other data at one node."""

    why_open: str = ""  # what changed that must not; empty if nothing did
    replays: int = 0
    # whether a released value, and without playing back anything sent, changed with the node's data
    differs: bool = False
    sampled: str = ""  # how often the node is taken to take part where that is drawn, in words; empty where it is not
    # for each relation, how far each release moved at most, by its place
    reaches: dict[Relation, dict[int, Reach]] = field(default_factory=lambda: {"replace": {}, "add-or-remove": {}})


@dataclass
class Playback:
    """Result of playing back a collaboration."""

    releases: tuple[Release, ...]  # of the first call
    nodes: dict[int, NodeReplays]  # by node; empty where the protocol neither clips nor releases anything
    calls: int
    why_open: str = ""  # why it proves nothing of any node; empty if it does of some, or there is nothing to prove


@dataclass
class Session:
    """One playing back, on the terms of an epsilon."""

    setup: CollaborationSetup
    player: Player
    terms: PrivacyTerms
    nodes: dict[int, NodeReplays]
    reached: dict[int, set[int]] = field(default_factory=dict)  # by node, releases that change with all of its rows

    @classmethod
    def of(cls, setup: CollaborationSetup, built: Any, seed: int, terms: PrivacyTerms) -> Session:
        """Return a session in which nothing has been played back."""
        player = Player(built, setup.network, seed)
        return cls(setup, player, terms, {node: NodeReplays() for node in setup.asked})

    def often(self, first: PlayedCall, calls: int) -> int:
        """Return how many calls are played back, if each is made about ``calls`` times for every node."""
        messages = max(first.call.messages, 1) * calls * (len(self.nodes) + 1)
        return int(np.clip(_MESSAGES // messages, *_REPLAYS))

    def sample(self, key: int) -> list[Array]:
        """Sample rows of every node."""
        return self.setup.sample_rows(1, stream(self.player.seed, PURPOSE, "rows", key))

    def neighbour(self, recorded: PlayedCall, node: int, key: int) -> Neighbour:
        """Return other data of one node."""

        def draw(k: int) -> Array:
            return self.setup.sample_rows(1, stream(self.player.seed, PURPOSE, "other rows", node, key, k))[node]

        return neighbour_of(recorded.parts[node], draw, key, self.terms)

    def reached_in(self, recorded: PlayedCall) -> dict[int, set[int]]:
        """Return the releases that change if all rows of a node are exchanged, or one is added where allowed."""
        other, reached = self.sample(-1 - recorded.key), {}
        for node in range(self.setup.network.n):
            reached[node] = set[int]()
            more = np.concatenate([other[node], other[node][:, :1]], axis=1)
            for rows in (other[node], *[more] * self.terms.counts_vary):
                played = self.player.play(recorded, node, rows)
                pairs = zip(recorded.releases, played.releases, strict=False)
                reached[node] |= {place for place, (a, b) in enumerate(pairs) if not same_bits(a.value, b.value)}
        return reached


def play_back(setup: CollaborationSetup, built: Any, seed: int, terms: PrivacyTerms) -> Playback:
    """Play the releases of a collaboration back with neighbouring data at each honest node that is asked about.

    ``built``: the protocol as it was before any run; ``terms``: a node is always exchanged; rows are exchanged in some
    replays whatever the relation is.
    """
    session, used = Session.of(setup, built, seed, terms), deep_copy(built)
    first = session.player.record(session.sample(0), 0, protocol=used)
    if not first.releases and not first.clips:
        return Playback((), {}, session.player.calls)
    why = unfit(session, first, used) or _played(session, first)
    _conclude(session, first, why)
    return Playback(first.releases, session.nodes, session.player.calls, why)


def bare_message(player: Player, first: PlayedCall, other: list[Array]) -> str:
    """Name the first message of a call that depends on data, where nothing is released."""
    for node, rows in enumerate(other):
        played = player.play(first, node, rows)
        if why := failed(played.call) or other_message(first.call, played.call, node):
            return f"{why} changes with the data of node {node}"
    return "no message changes with the data"


def unfit(session: Session, first: PlayedCall, used: Any) -> str:
    """Say why the releases of a collaboration clear nobody, whatever data are exchanged; empty if nothing does."""
    if why := failed(first.call):
        return why
    if not first.releases:
        bare = bare_message(session.player, first, session.sample(1))
        return f"vectors are clipped, and none is released with noise: {bare}"
    again = session.player.play(first, 0, first.parts[0])
    if why := failed(again.call):
        return f"{why} when it is repeated"
    if why := other_message(first.call, again.call, None) or other_release(first.releases, again.releases):
        return f"{why} changes in a call on the same data with the same draws"
    if why := other_noise(first.releases, again.releases):
        return why
    later = session.player.record(session.sample(1), 1, protocol=used)  # by the object that made the first call
    fresh = session.player.reseeded(later, later.key)  # by a new object
    if why := other_release(fresh.releases, later.releases):
        return f"{why} changes in the second call of an object"
    if why := failed(fresh.call) or other_message(fresh.call, later.call, None):
        return f"{why} changes in the second call of an object: it may hold the data of the first"
    return repeated_noise(first.releases, later.releases)


def _played(session: Session, first: PlayedCall) -> str:
    """Play calls back, each with other data at each node; say what is wrong with a call itself, empty if nothing."""
    for key in range(session.often(first, 2)):
        recorded = first if key == 0 else session.player.record(session.sample(key), key)
        if why := _unlike(session, first, recorded):
            return why
        if key < _TWICE:
            for node, places in session.reached_in(recorded).items():
                session.reached.setdefault(node, set()).update(places)
        left = [node for node, replays in session.nodes.items() if not replays.why_open]
        for node in left:
            replay(session, recorded, node, session.nodes[node])
        if not left:
            break
    return ""


def _unlike(session: Session, first: PlayedCall, recorded: PlayedCall) -> str:
    """Say how the releases of a call on other data with other draws differ from those of the first."""
    if why := failed(recorded.call):
        return f"{why} on other data"
    if why := other_release(first.releases, recorded.releases, session.terms.unit):
        return f"{why} changes with the data or the draws"
    if why := known_noise(recorded, session.player.root(recorded.key)):
        return why
    other = session.player.reseeded(recorded, _OTHER_DRAWS + recorded.key)
    if why := failed(other.call) or other_message(recorded.call, other.call, None):
        return (
            f"{why} changes with the draws while the releases are played back: what is sent holds randomness beside "
            "their noise, which may take it off"
        )
    return ""


def replay(session: Session, recorded: PlayedCall, node: int, of_node: NodeReplays) -> None:
    """Play one call back with other data at one node, and note what changes."""
    other = session.neighbour(recorded, node, recorded.key)
    played = session.player.play(recorded, node, other.rows)
    of_node.replays += 1
    of_node.why_open = _changed(session, recorded, played, node, other)
    if of_node.why_open:
        return
    for place, (old, new) in enumerate(zip(recorded.releases, played.releases, strict=True)):
        if not same_bits(old.value, new.value):
            reach = reach_of(old, new)
            so_far = of_node.reaches[other.relation]
            so_far[place] = max(so_far.get(place, reach), reach)
    if not of_node.differs and places_of(of_node):
        control = session.player.play(recorded, node, other.rows, back=False)
        of_node.differs = bool(failed(control.call) or other_message(recorded.call, control.call, node))


def _changed(session: Session, recorded: PlayedCall, played: PlayedCall, node: int, other: Neighbour) -> str:
    """Say what changes with the data of a node beside the values that are released; empty if nothing does."""
    if why := failed(played.call):
        return f"{why} with other data of node {node}"
    as_many: Unit | None = "row" if session.terms.unit == "row" and other.relation == "replace" else None
    if why := other_release(recorded.releases, played.releases, as_many):
        return f"{why} changes with the data of node {node}"
    if why := other_noise(recorded.releases, played.releases):
        return why
    if why := other_message(recorded.call, played.call, node):
        return f"{why} changes with the data of node {node} while the releases are played back"
    return ""


def _conclude(session: Session, first: PlayedCall, why: str) -> None:
    """Add to each node why it is open in any case, and releases that its replays may have missed."""
    attributed = set().union(*session.reached.values(), *(places_of(replays) for replays in session.nodes.values()))
    nobodys = set(range(len(first.releases))) - attributed  # these may be anybody's
    for node, of_node in session.nodes.items():
        if why:
            of_node.why_open = why
        elif not of_node.why_open and not of_node.differs:
            of_node.why_open = unmoved(node)
        for place in (session.reached.get(node, set()) | nobodys) - places_of(of_node):
            of_node.reaches["replace"][place] = _like_others(session, first, of_node, place)


def unmoved(node: int) -> str:
    """Say that nothing depends on the data of a node, so that replays with other data show nothing."""
    return (
        f"nothing that is sent changes with the data of node {node}, even where releases are not played back: the "
        "protocol may use other data"
    )


def places_of(replays: NodeReplays) -> set[int]:
    """Return the places of the releases that replays of a node moved."""
    return {place for reaches in replays.reaches.values() for place in reaches}


def _like_others(session: Session, first: PlayedCall, of_node: NodeReplays, place: int) -> Reach:
    """Bound how far a release moves that no replay of a unit moved, by those of the same line and its own clip."""
    release = first.releases[place]
    same = [k for k in of_node.reaches["replace"] if first.releases[k].place == release.place]
    alone = reach_of(release, release, all_move=session.terms.unit == "node")
    return max([alone, *(of_node.reaches["replace"][k] for k in same)])
