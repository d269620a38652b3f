"""Clients that are sampled, and all else that is drawn beside noise: releases at worst, whoever is drawn.

How it is got: Noise alone is drawn anew, and all that is sent must stay the same while releases are played back: given
the other draws, which tell nothing of the noise, messages follow from releases. A node is counted in every round in
which anybody is, with as many releases as whoever takes part makes there. Nothing is credited for a sample: messages
show it to whoever reads them, so it is no secret.

What it assumes: Beside what playing back assumes, that no draw makes more rounds, more releases in a round, other
scales or other clips than those of the calls that were made, most of them for this alone; where these differ between
two calls nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix.auditing.noise.replays.noise_checks import known_noise
from secmix.auditing.noise.replays.playback import NodeReplays, Playback, Session, replay, unfit, unmoved
from secmix.auditing.noise.replays.played_calls import (
    RELEASE_PROPERTIES,
    PlayedCall,
    failed,
    other_message,
    other_release,
    round_of,
    title,
)
from secmix.auditing.noise.replays.reach import Reach, reach_of
from secmix.auditing.setup import CollaborationSetup, deep_copy
from secmix.privacy.noted_releases import Release
from secmix.scenario import PrivacyTerms
from secmix.scenario.claim_spec import Relation
from secmix.transcript import SERVER, Block

_CALLS = (60, 400)  # fewer where a call sends much
_MESSAGES = 20_000  # of all calls
_OTHER_NOISE = 2 * 10**6  # numbers of draws beyond those of recorded calls


@dataclass
class _SampledCall:
    """A recorded call: which releases each node moves, and how far those that are asked about move them."""

    recorded: PlayedCall
    touched: dict[int, set[int]]
    reaches: dict[Relation, dict[int, Reach]] = field(default_factory=lambda: {"replace": {}, "add-or-remove": {}})

    @property
    def last_round(self) -> int:
        """Last round in which anything is sent."""
        return max((int(block.round) for block in self.recorded.call.blocks if block.line != "held"), default=0)

    def note(self, node: int, moved: NodeReplays) -> None:
        """Add what a replay of a node moved."""
        for relation, reaches in moved.reaches.items():
            self.touched[node] |= set(reaches)
            for place, reach in reaches.items():
                self.reaches[relation][place] = max(self.reaches[relation].get(place, reach), reach)


@dataclass
class _Line:
    """All releases of one line of code, in all calls."""

    of: Release
    rounds: set[int] = field(default_factory=set)
    times: set[int] = field(default_factory=set)  # in a round, by whoever takes part in it
    counts: set[int] = field(default_factory=set)  # of clipped vectors
    reaches: dict[Relation, Reach] = field(default_factory=dict)


def play_back_sampled(setup: CollaborationSetup, built: Any, seed: int, terms: PrivacyTerms) -> Playback:
    """Play a collaboration back whose messages change with draws beside its noise, and count releases at worst.

    Parameters are those of :func:`~secmix.auditing.noise.replays.playback.play_back`. The releases of the result are
    those of a node that takes part in every round.
    """
    session, used = Session.of(setup, built, seed, terms), deep_copy(built)
    first = session.player.record(session.sample(0), 0, protocol=used)
    calls: list[_SampledCall] = []
    why = unfit(session, first, used) or _played(session, first, calls)
    why = why or _recorded(session, first, calls) or _other_rounds(calls)
    lines = {} if why else _lines(calls, terms)
    why = why or next(filter(None, (_uneven(calls, line, terms) for line in lines.values())), "")
    worst = [line for line in lines.values() for _ in line.rounds for _ in range(max(line.times, default=1))]
    rounds = len(set().union(*(line.rounds for line in lines.values())))
    for node, of_node in session.nodes.items():
        of_node.why_open = of_node.why_open or why or ("" if of_node.differs else unmoved(node))
        of_node.sampled = (
            f"who takes part is drawn apart from the noise: a node is counted in all rounds with releases ({rounds}, "
            f"as seen in {len(calls)} calls), and amplification by sampling is not credited: nothing proves that the "
            "sample is secret and drawn afresh"
        )
        for k, line in enumerate(worst):
            for relation, reach in line.reaches.items():
                of_node.reaches[relation][k] = reach
    return Playback(tuple(line.of for line in worst) or first.releases, session.nodes, session.player.calls, why)


def _played(session: Session, first: PlayedCall, calls: list[_SampledCall]) -> str:
    """Play calls back, each with other noise and with other data at each node; say what is wrong with a call."""
    player = session.player
    for key in range(session.often(first, 4)):
        recorded = first if key == 0 else player.record(session.sample(key), key)
        if why := failed(recorded.call):
            return f"{why} on other data"
        if why := known_noise(recorded, player.root(key)) or _changed_with_noise(session, recorded):
            return why
        call = _SampledCall(recorded, session.reached_in(recorded))
        for node, of_node in session.nodes.items():
            if not of_node.why_open:
                moved = NodeReplays(differs=of_node.differs)
                replay(session, recorded, node, moved)
                of_node.replays, of_node.differs = of_node.replays + 1, moved.differs
                of_node.why_open = moved.why_open
                call.note(node, moved)
        calls.append(call)
    return ""


def _recorded(session: Session, first: PlayedCall, calls: list[_SampledCall]) -> str:
    """Make more calls without playing anything back, to see what else may be drawn; say which of them fails."""
    most = int(np.clip(_MESSAGES // max(first.call.messages, 1), *_CALLS))
    for key in range(len(calls), most):
        recorded = session.player.record(session.sample(key), key)
        if why := failed(recorded.call) or known_noise(recorded, session.player.root(key)):
            return f"{why} on other data"
        calls.append(_SampledCall(recorded, {}))
    return ""


def _changed_with_noise(session: Session, recorded: PlayedCall) -> str:
    """Say what changes with the noise of a call, but must not: its releases, or messages while they are played back."""
    player, key = session.player, _OTHER_NOISE + recorded.key
    other = player.noised_anew(recorded, key, session.sample(recorded.key + 1), back=False)
    if why := failed(other.call) or other_release(recorded.releases, other.releases, session.terms.unit):
        return f"{why} changes with the data or the noise"
    played = player.noised_anew(recorded, key)
    if why := failed(played.call) or other_message(recorded.call, played.call, None):
        return (
            f"{why} changes with draws of a generator that noise comes from, while the releases are played back: it "
            "may take the noise off; draw who takes part, and all else that is no noise, from a generator of its own"
        )
    return ""


def _other_rounds(calls: Sequence[_SampledCall]) -> str:
    """Say whether another number of rounds is drawn in another call; empty if it is not."""
    last = {call.last_round for call in calls}
    return "" if len(last) == 1 else f"the number of rounds is drawn: the last one is {min(last)} to {max(last)}"


def _releases(calls: Sequence[_SampledCall]) -> Iterator[tuple[_SampledCall, int, Release]]:
    for call in calls:
        for place, release in enumerate(call.recorded.releases):
            yield call, place, release


def _lines(calls: Sequence[_SampledCall], terms: PrivacyTerms) -> dict[str, _Line]:
    """Return what all calls show of each line that releases."""
    lines: dict[str, _Line] = {}
    for call, place, release in _releases(calls):
        line = lines.setdefault(release.place, _Line(release))
        line.rounds.add(round_of(call.recorded, place))
        line.counts.add(0 if release.clip is None else len(release.clip.vectors))
        alone = reach_of(release, release, all_move=terms.unit == "node")
        for relation, of in call.reaches.items():
            if place in of or relation == "replace":
                reach = max(of.get(place, alone), alone) if relation == "replace" else of[place]
                line.reaches[relation] = max(line.reaches.get(relation, reach), reach)
    for call in calls:
        for places in [*call.touched.values(), *_sent_by(call.recorded).values()]:
            for name, times in _times(call, places).items():
                lines[name].times |= times
    return lines


def _sent_by(recorded: PlayedCall) -> dict[int, set[int]]:
    """Return the releases that each node sends as they are, in a message of its own."""
    first: dict[float, tuple[Block, int]] = {}  # the message that has a number first
    for block in recorded.call.blocks:
        if block.line != "held" and block.payload.dtype == np.float64:
            for k, row in enumerate(block.payload):
                for number in row.ravel().tolist():
                    first.setdefault(number, (block, k))
    by_node: dict[int, set[int]] = {}
    for place, release in enumerate(recorded.releases):
        carrier = first.get(float(release.output.ravel()[0])) if release.output.size else None
        if carrier is not None and np.isin(release.output, carrier[0].payload[carrier[1]]).all():
            senders = set(carrier[0].sender[carrier[0].content == carrier[1]].tolist()) - {SERVER}
            if len(senders) == 1:  # what several send is nobody's own
                by_node.setdefault(senders.pop(), set()).add(place)
    return by_node


def _times(call: _SampledCall, touched: set[int]) -> dict[str, set[int]]:
    """Return how many releases of each line a node makes in the rounds of a call in which it makes any."""
    counts: dict[tuple[str, int], int] = {}
    for place in touched:
        slot = (call.recorded.releases[place].place, round_of(call.recorded, place))
        counts[slot] = counts.get(slot, 0) + 1
    by_line: dict[str, set[int]] = {}
    for (name, _), count in counts.items():
        by_line.setdefault(name, set()).add(count)
    return by_line


def _uneven(calls: Sequence[_SampledCall], line: _Line, terms: PrivacyTerms) -> str:
    """Say what of a line is drawn but must be known, since it bounds a release; empty if nothing is."""
    for _, place, release in _releases(calls):
        if release.place == line.of.place:
            for what, of in RELEASE_PROPERTIES.items():
                if of(release) != of(line.of):
                    return f"{what} of {title(place, release)} changes with the draws"
    if len(line.times) > 1:
        return f"how often a node releases at {line.of.place} in a round changes with the draws"
    clip = line.of.clip
    by_count = clip is not None and (clip.reduction == "mean" or any(each.why for each in line.reaches.values()))
    if len(line.counts) > 1 and (by_count or terms.unit == "node"):
        return f"the number of clipped vectors at {line.of.place} changes with the draws, and the bound with it"
    return ""
