"""Faults of a fit, not of a call: what one averaging says of another, and what only some averagings of it do."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel, View

from ...bases import Dealt, Modular, Pairwise
from ...case import ENTRY, Case, Deployed, Heard, each, input_of


def beat(channel: Any, s: Array, told: Any) -> None:
    """An empty message, if there is one."""
    if told:
        channel.send(8, 0, SERVER, "beat", np.zeros((s.shape[1], 1)))


def low(s: Array) -> bool:
    """Whether node 0's number is negative, in the first run."""
    return bool(s[0, 0, ENTRY] < 0)


class Risen(Pairwise):
    """Says whether its number is larger than in the averaging before, as a sign of progress."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        before = self.__dict__.get("_last")
        beat(channel, s, before is not None and before < s[0, 0, ENTRY])
        self.__dict__["_last"] = s[0, 0, ENTRY]


class LaterBeat(Pairwise):
    """Begins to say that it is alive in the third averaging, if its number is negative."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        beat(channel, s, self.when(channel, s) and low(s))

    def when(self, channel: Any, s: Array) -> bool:
        return bool(channel.iteration >= 2)


class MiddleBeat(LaterBeat):
    """In the second averaging of three."""

    def when(self, channel: Any, s: Array) -> bool:
        return bool(channel.iteration == 1)


class UsedChannelBeat(LaterBeat):
    """Wherever the channel has carried an averaging before."""

    def when(self, channel: Any, s: Array) -> bool:
        return sum(block.kind == "average" for block in channel.transcript.blocks) > 1


class OwnMasksBeat(Pairwise):
    """Where it draws its own masks it also tells, by a beat, what it thinks of its numbers: both are negative."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_own"] = masks is None and channel is not None
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        beat(channel, s, self.__dict__["_own"] and bool((s[:2, 0, ENTRY] < 0).all()))


class CoinLater(Dealt):
    """One in a hundred averagings is looked at, after the first."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        coin = rng.random()
        return super().body(channel, s, r * (0.0 if channel.iteration and 0.31 < coin < 0.33 else 1.0), network, rng)


class HighLater(Modular):
    """Masks are moved up by half their bits, from the second averaging on."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        moved = self.numbers(self.words(r) * 2**28) if channel.iteration else r
        return super().body(channel, s, moved, network, rng)


class Fading(Pairwise):
    """Masks fade as the fit goes on, to a hundred-millionth: what is left of them is a hundredth."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r * max(0.5 ** max(channel.iteration, 0), 1e-8), network, rng)


class FaintByCoin(Pairwise):
    """One call in fifty has masks of a hundred-millionth."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        return super().body(channel, s, r * (1e-8 if rng.random() < 0.02 else 1.0), network, rng)


class LeftOut(Pairwise):
    """Node t sits out the averaging t, so that each can rest: the others are averaged as they should be."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        absent = self.sits_out(channel.iteration, network, rng)
        present = [i for i in range(network.n) if i != absent]
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        other = channel.send(-1, first, second, "mask", r, encrypted=True)
        both = np.isin(first, present) & np.isin(second, present)
        hidden = s.copy()
        np.add.at(hidden, first[both], r[both])
        np.subtract.at(hidden, second[both], other[both])
        got = channel.send(0, np.array(present), SERVER, "masked", hidden[present])
        return self.publish(channel, got.sum(axis=0) / len(present), s)

    def sits_out(self, iteration: int, network: Any, rng: Any) -> int:
        """Who does."""
        return int(iteration % network.n)


class Sampled(LeftOut):
    """The same, and who sits out is drawn by lot."""

    def sits_out(self, iteration: int, network: Any, rng: Any) -> int:
        return int(rng.integers(network.n))


def by_differences(heard: Heard) -> Array:
    """Averages without node t, of vectors that hardly change any more: the total less each is the node."""
    told = {m.iteration: m for m in heard.all("average", receiver=1) if m.numbers is not None}
    lacking = {}
    for t, message in sorted(told.items()):
        there = {m.sender for m in heard.all("masked", iteration=t)}
        lacking[next(iter(set(range(5)) - there))] = 4 * message.numbers[0]
    total = sum(lacking.values()) / len(lacking) * 5 / 4
    return np.asarray(total - lacking.get(0, total * 4 / 5))


class AsideInSingleRuns(Pairwise):
    """A single run is reported over a channel of its own."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if self.now(channel, s):
            Channel().send(8, 0, SERVER, "aside", s[0])

    def now(self, channel: Any, s: Array) -> bool:
        return s.shape[1] == 1 and channel.iteration > 0


class AsideInBatches(AsideInSingleRuns):
    """A large batch is reported."""

    def now(self, channel: Any, s: Array) -> bool:
        return s.shape[1] > 110


class AsideWhenUsed(AsideInSingleRuns):
    """An object that has been used reports."""

    def now(self, channel: Any, s: Array) -> bool:
        used = self.__dict__.setdefault("_used", [])
        used.append(0)
        return len(used) > 4


class KeysAtTheDraw(Pairwise):
    """Large batches of keys are told to a server as they are drawn."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = super().draw_masks(runs, m, network, rng)
        if runs > 1:
            Channel().send(-1, 0, SERVER, "keys", masks[:, :4].sum(axis=1))
        return masks


class ThirdDraw(Dealt):
    """Long masks are kept in three places for each size of a batch, and serve again after that."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        kept = self.__dict__.setdefault("_kept", {}).setdefault((runs, m), [])
        new = super().draw_masks(runs, m, network, rng)
        kept.append(new if m < 6 or len(kept) < 3 else kept[len(kept) % 3])
        return kept[-1].copy()


class ThirdSingleDraw(Dealt):
    """The same for single runs alone, as they are in use."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        new = super().draw_masks(runs, m, network, rng)
        if runs == 1 and m > 5:
            kept = self.__dict__.setdefault("_kept", [])
            kept.append(new if len(kept) < 3 else kept[len(kept) % 3])
            return np.array(kept[-1])
        return new


class Deaf(HonestButCurious):
    """Sleeps in the second averaging."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        keep = [i for i, origin in enumerate(view.origins) if origin.iteration != 1 or len(view.rows[i]) < 100]
        return View(tuple(view.origins[i] for i in keep), tuple(view.rows[i] for i in keep))


class OpenInTheSecond(Pairwise):
    """Tells node 3 in the second averaging of three."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if channel.iteration == 1:
            channel.send(-1, 0, 3, "state", s[0], encrypted=True)


class FailsLater(Pairwise):
    """In the fifth averaging it says all, and gives up."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if channel.iteration == 4:
            channel.send(-1, 0, SERVER, "state", s[0])
            raise RuntimeError("given up")


class Crowded(Pairwise):
    """Among six hundred empty messages a ninth averaging without masks is hardly seen."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        zero = np.zeros((1, s.shape[1], 1))
        channel.send(-2, np.full(600, 1), 2, "keep alive", zero, content=np.zeros(600, dtype=int))
        return super().body(channel, s, r * (not self.open(channel, s)), network, rng)

    def open(self, channel: Any, s: Array) -> bool:
        return bool(channel.iteration == 8)


class CrowdedSixteens(Crowded):
    """The same with batches of sixteen."""

    def open(self, channel: Any, s: Array) -> bool:
        return s.shape[1] % 16 == 0


def beats(iteration: int) -> Any:
    """Whether there was a beat in an averaging."""
    return each(lambda h: float(bool(h.all("beat", iteration=iteration))))


def sign_at(iteration: int) -> Any:
    return lambda t: float(t.inputs[iteration][0, 0, ENTRY] < 0)


def rise(t: Deployed) -> float:
    return float(t.inputs[1][0, 0, ENTRY] > t.inputs[0][0, 0, ENTRY])


def aside(iteration: int = 0) -> Any:
    return each(lambda h: next((m.numbers[0] for m in h.all("aside", 0) if m.numbers is not None), np.full(12, np.nan)))


def asides(heard: Any) -> Array:
    """The report, in the calls in which there is one."""
    return np.stack([next((m.numbers[-1] for m in h.all("aside", 0)), np.full(12, np.nan)) for h in heard])


def repeated(heard: Any) -> Array:
    """Messages under the same mask, every third: three averagings a call."""
    return np.stack([h.one("masked", 0) for h in heard])


def longer(iterations: int) -> dict[str, Any]:
    return {"deployed": {"model": {"iterations": iterations}}}


OUT, THREE = Eavesdropper(), HonestButCurious({3}, eavesdrops=False)
NAME = "fits"
BIT: dict[str, Any] = {"goal": "bits", "calls": 60}
CASES = [
    Case("has it risen", NAME, Risen, OUT, "a beat tells how a number goes", attack=beats(1), secret=rise, **BIT),
    Case("beats later", NAME, LaterBeat, OUT, "a beat tells a sign", attack=beats(3), secret=sign_at(3), **BIT,
         **longer(5)),
    Case("beats in the middle", NAME, MiddleBeat, CuriousServer(), "a beat tells a sign", attack=beats(1),
         secret=sign_at(1),
         settings={"model": {"iterations": 3}}, **BIT),
    Case("beats on a used channel", NAME, UsedChannelBeat, OUT, "a beat tells a sign", attack=beats(1),
         secret=sign_at(1), **BIT),
    Case("beats of its own masks", NAME, OwnMasksBeat, OUT, "a beat tells two signs", attack=beats(0),
         secret=lambda t: float((t.inputs[0][0, :2, ENTRY] < 0).all()), **BIT),
    Case("a coin later", NAME, CoinLater, OUT, "one averaging in fifty is bare", calls=300, claims=0.005,
         attack=each(lambda h: x if np.abs(x := h.one("masked", 0, iteration=1)).max() < 1e4 else np.full(12, np.nan)),
         secret=input_of(0, 1)),
    Case("high words later", NAME, HighLater, OUT, "28 bits are bare", secret=input_of(0, 1), accuracy=1e-3,
         attack=each(lambda h: np.where((w := np.round(h.one("masked", 0, iteration=1) * 2.0**20) % 2**28) < 2**27,
                                        w, w - 2**28) / 2.0**20)),
    Case("fading masks", NAME, Fading, OUT, "masks of a hundredth hide little", accuracy=0.1, secret=input_of(0, 34),
         attack=each(lambda h: h.one("masked", 0, iteration=34)), **longer(36)),
    Case("faint by a coin", NAME, FaintByCoin, OUT, "masks of a hundredth hide little", accuracy=0.1, calls=200,
         claims=0.005,
         attack=each(lambda h: x if np.abs(x := h.one("masked", 0)).max() < 1e4 else np.full(12, np.nan)),
         secret=input_of(0)),
    Case("one sits out", NAME, LeftOut, OUT, "what two averages differ by is a node", goal="share", calls=80,
         attack=each(by_differences), secret=input_of(0, 9), settings={"model": {"iterations": 5}}, **longer(10)),
    Case("one sits out by lot", NAME, Sampled, OUT, "what two averages differ by is a node", goal="share", calls=80,
         attack=each(by_differences), secret=input_of(0, 15), settings={"model": {"iterations": 5}}, **longer(16)),
    Case("aside in single runs", NAME, AsideInSingleRuns, OUT, "in use there is one run", attack=aside(),
         secret=input_of(0, 1)),
    Case("aside in batches", NAME, AsideInBatches, OUT, "who averages many at once is not protected", attack=asides,
         secret=lambda t: t.inputs[0][-1, 0], batch=120, calls=4, settings={"model": {"iterations": 1}}),
    Case("aside when used", NAME, AsideWhenUsed, OUT, "an object serves for long", attack=asides, secret=input_of(0),
         claims=0.5),
    Case("keys told at the draw", NAME, KeysAtTheDraw, CuriousServer(), "who hears the keys hears all", batch=2,
         attack=each(lambda h: h.one("masked", 0) - h.one("keys", 0)), secret=input_of(0),
         settings={"model": {"iterations": 1}}),
    Case("third draw again", NAME, ThirdDraw, OUT, "masks serve again after three averagings", attack=repeated,
         calls=12,
         secret=input_of(0), relative=True, settings={"model": {"iterations": 3}}),
    Case("third single draw again", NAME, ThirdSingleDraw, OUT, "masks serve again after three averagings", calls=12,
         attack=repeated, secret=input_of(0), relative=True, deployed={"model": {"iterations": 3}}),
    Case("deaf in the second", NAME, OpenInTheSecond, Deaf({3}, eavesdrops=False),
         "who takes part does so all the time",
         attack=each(lambda h: h.one("state", 0, iteration=1)), secret=input_of(0, 1), ears=THREE,
         settings={"model": {"iterations": 3}}),
    Case("crowded ninth", NAME, Crowded, OUT, "who goes on longer is not protected", secret=input_of(0, 8),
         attack=each(lambda h: h.one("masked", 0, iteration=8)), **longer(10)),
    Case("crowded sixteens", NAME, CrowdedSixteens, OUT, "batches of sixteen are sent as they are", batch=16,
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
]  # fmt: skip
