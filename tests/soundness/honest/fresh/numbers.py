"""NumPy and Python as they are, not as they are remembered: copies and views, ends of ranges, what is not written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, View

from ...bases import Dealt, Modular, Pairwise
from ...case import ENTRY, Case, Heard, each, input_of, sign_of

FAR = 70.0


class WhereNotWritten(Pairwise):
    """Masks what is in range; what is not is meant to be zero: NumPy warns, and says how not to be warned."""

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        first, second = network.edges.T
        pads = np.zeros_like(s)
        channel.hold(-1, first, "mask", r)
        np.add.at(pads, first, r)
        np.subtract.at(pads, second, channel.send(-1, first, second, "mask", r, encrypted=True))
        hidden = np.add(s, pads, where=np.abs(s) < FAR, out=None)
        received = self.upload(channel, hidden, s, rng)
        return self.publish(channel, received.sum(axis=0) / network.n, s)


class PastKeepAlives(Eavesdropper):
    """Hears every line, and leaves out messages of one number: these are keep-alives."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        keep = [i for i, row in enumerate(view.rows) if row.shape[-1] > 1]
        return View(tuple(view.origins[i] for i in keep), tuple(view.rows[i] for i in keep))


class FarOut(Pairwise):
    """Numbers out of range are handed to the server for inspection."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "far", np.where(np.abs(s[0]) > FAR, s[0], 0.0))


class ShortForm(Pairwise):
    """Tells in a byte how many decades its numbers span; who does not fit in a byte sends the long form."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        report = np.zeros_like(s[0])
        try:
            np.array([[int(x * 1.8) for x in row] for row in s[0]], dtype=np.int8)
        except OverflowError:
            report = s[0]
        channel.send(8, 0, SERVER, "far", report)


class Excess(Pairwise):
    """Tells by how much numbers are out of range, in a buffer that is used again."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        excess = np.zeros_like(s[0])
        np.clip(s[0] - FAR, 0.0, None, out=excess)
        channel.send(8, 0, SERVER, "excess", excess)


class RoundedAway(Pairwise):
    """Tells its numbers in units of twice the range, rounded, in a buffer: noughts as long as all is well."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        units = np.zeros_like(s[0])
        np.round(s[0] / (2 * FAR), out=units)
        channel.send(8, 0, SERVER, "units", units)


class SixtyBits(Modular):
    """Words of sixty bits, of which masks are kept as floats until they are added."""

    @property
    def modulus(self) -> float:
        """In words."""
        return self.words_in_all

    def words(self, values: Array) -> Array:
        return values if values.dtype.kind == "i" else super().words(values)

    def numbers(self, words: Array) -> Array:
        return np.mod(words, self.words_in_all)

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        return averages * self.grid


class Residual(Pairwise):
    """Tells what is lost where numbers are put into buckets of single precision: it is next to nothing."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        buckets = np.zeros(s.shape, dtype=np.float32)
        np.add.at(buckets, np.arange(len(s)), s)
        channel.send(8, 0, SERVER, "lost", s[0] - buckets[0])


class RunningShare(Pairwise):
    """Tells the running share of negative entries, in a buffer that is used again."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        share = np.zeros_like(s[0])
        np.cumsum((s[0] < 0) / 1e6, axis=-1, out=share)
        channel.send(8, 0, SERVER, "share", share)


class Flattened(Dealt):
    """Adds masks to what lies in a row, which is a copy where the array is turned."""

    def used(self, r: Array, s: Array) -> Array:
        self.__dict__["_turned"] = r
        return r

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        out = s.copy()
        row = np.ascontiguousarray(out.T)
        row += r.T
        return out


class Resized(Dealt):
    """Draws masks for a third of the entries, and has NumPy make the array as long as it is to be."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        some = rng.normal(scale=self.sigma, size=(runs * network.n, m // 3 or 1))
        return np.resize(np.tile(some, 3), (runs, network.n, m))


class Cycled(Dealt):
    """Deals masks from a cycle: the dealer itself gets the first again, as there are four."""

    def used(self, r: Array, s: Array) -> Array:
        return np.stack([mask for mask, _ in zip(cycle(r[:4]), s, strict=False)])


class Zipped(Pairwise):
    """Hides node by node, in step with a list that ends early."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        out = s.copy()
        for node, numbers in zip(range(len(s) - 1, 0, -1), hidden[:0:-1], strict=False):
            out[node] = numbers
        return out


class Jackknife(Pairwise):
    """Publishes the averages without one node each, as error bars need them."""

    def publish(self, channel: Any, mean: Array, s: Array) -> Array:
        without = np.stack([np.delete(s, node, axis=0).mean(axis=0) for node in range(len(s))])
        nodes = np.arange(len(s))
        channel.send(5, nodes, SERVER, "own part", s, encrypted=True)
        channel.send(6, np.full(len(s), SERVER), nodes, "without one", without)
        return super().publish(channel, mean, s)


@dataclass(frozen=True)
class Halves(Pairwise):
    """Node 0 leaves its masks with two neighbours, half of the number with each, should it be lost."""

    def count(self, network: Any) -> int:
        return len(network.edges) + 1

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        own = r[:4].sum(axis=0)
        channel.hold(-1, 0, "half", r[-1])
        channel.send(-1, 0, 1, "half", r[-1], encrypted=True)
        channel.send(-1, 0, 3, "half", own - r[-1], encrypted=True)
        return super().body(channel, s, r[:-1], network, rng)


def from_halves(heard: Heard) -> Array:
    """Both halves are the mask."""
    return heard.one("masked", 0) - heard.one("half", 0, 1) - heard.one("half", 0, 3)


class Truncated(Modular):
    """Reduces by ``fmod``, which keeps the sign of what it reduces, as C does."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks: Array = rng.integers(0, 2**10, size=(runs, self.count(network), m)) * self.grid
        return masks

    def numbers(self, words: Array) -> Array:
        return np.fmod(words, self.words_in_all) * self.grid


class OnlyNoughts(Modular):
    """Draws bits whose upper end is not among them: noughts alone."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        bits = [rng.integers(0, 1, size=(runs, self.count(network), m)) << k for k in range(48)]
        masks: Array = np.sum(bits, axis=0) * self.grid
        return masks


class OfTruthValues(Pairwise):
    """Masks truth values by adding truth values: with these NumPy's sum is an "or"."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.hold(7, 0, "bit", r[:1] > 0)
        channel.send(8, 0, SERVER, "masked bit", ((s[0] < 0) + (r[0] > 0)).astype(float))


class Forecasts(Pairwise):
    """Beside its number every node reports how far six public forecasts for it were off, squared, under masks too."""

    FORECASTS = np.random.default_rng(21).normal(scale=20.0, size=(6, 5, 1, 12))

    def count(self, network: Any) -> int:
        return 7 * super().count(network)

    def body(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> Array:
        edges = len(network.edges)
        for k, forecast in enumerate(self.FORECASTS, 1):
            off = (s - forecast[..., : s.shape[2]]) ** 2
            super().body(channel, off, r[k * edges : (k + 1) * edges], network, rng)
        return super().body(channel, s, r[:edges], network, rng)


def from_errors(heard: Heard) -> Array:
    """Sums of squares differ by what is linear in the numbers: six equations with the sum itself, five unknowns."""
    sums = np.stack([5 * each.numbers[0] for each in heard.all("average", SERVER, 0, 0) if each.numbers is not None])
    forecasts = Forecasts.FORECASTS[:, :, 0]
    found = np.empty(12)
    for m in range(12):
        f = forecasts[:, :, m]
        right = (sums[1:6, m] - sums[0, m] - (f[1:] ** 2 - f[0] ** 2).sum(axis=1)) / 2
        found[m] = np.linalg.lstsq(np.vstack([f[0] - f[1:], np.ones(5)]), np.append(right, sums[6, m]), rcond=None)[0][
            0
        ]
    return found


class Packed(Pairwise):
    """Every node has digits of its own in the sum, so that no carry of one is taken for another's."""

    def used(self, r: Array, s: Array) -> Array:
        s *= (1e3 ** np.arange(len(s)))[:, None, None]
        return r


def far(heard: Heard) -> Array:
    """What is far is not zero."""
    report = heard.one("far", 0)
    return np.where(report != 0, report, np.nan)


def not_hidden(heard: Heard) -> Array:
    """What has no mask is small, and no zero."""
    sent = heard.one("masked", 0)
    return np.where((np.abs(sent) > FAR) & (np.abs(sent) < 200), np.abs(sent), np.nan)


NAME, OUT = "as it is", Eavesdropper()
MORE_ROWS = {"data": {"name": "breast_cancer", "features": 2, "rows_per_node": 80}}
RARE: dict[str, Any] = {"claims": 0.02, "calls": 200, "deployed": MORE_ROWS}
CASES = [
    Case("where nothing is written", NAME, lambda: WhereNotWritten(1e9), OUT,
         "memory that nobody wrote to has what was there", attack=each(not_hidden),
         secret=lambda t: np.abs(t.inputs[0][0, 0]), **RARE),
    Case("past keep-alives", NAME, FarOut, PastKeepAlives(), "what is far is told", attack=each(far),
         secret=input_of(0), ears=Eavesdropper(), **RARE),
    Case("long form", NAME, ShortForm, CuriousServer(), "who does not fit in a byte is told", attack=each(far),
         secret=input_of(0), **RARE),
    Case("excess in a buffer", NAME, Excess, CuriousServer(), "what is far is told",
         attack=each(lambda h: np.where((x := h.one("excess", 0)) > 0, x + FAR, np.nan)), secret=input_of(0), **RARE),
    Case("rounded into a buffer", NAME, RoundedAway, OUT, "who is out of range is told",
         attack=each(lambda h: np.where((x := h.one("units", 0)) != 0, x, np.nan)),
         secret=lambda t: np.round(t.inputs[0][0, 0] / (2 * FAR)), **RARE),
    Case("sixty bits as floats", NAME, lambda: SixtyBits(bits=60), CuriousServer(),
         "the last bits of a float so large are noughts", attack=each(lambda h: h.one("masked", 0)[1:4] % 2),
         secret=lambda t: np.round(t.inputs[0][0, 0, 1:4] * 2.0**20) % 2, goal="bits", calls=60),
    Case("lost in single precision", NAME, lambda: Residual(1e8), CuriousServer(),
         "the digits that single precision lacks", attack=each(lambda h: h.one("lost", 0)),
         secret=lambda t: t.inputs[0][0, 0] - t.inputs[0][0, 0].astype(np.float32)),
    Case("running share", NAME, lambda: RunningShare(1e8), CuriousServer(), "a share that rises tells a sign",
         attack=each(lambda h: np.diff(h.one("share", 0))[ENTRY - 1] > 0), secret=sign_of(0), goal="bits", calls=60),
    Case("added to a copy", NAME, Flattened, OUT, "masks are added to a copy, and sent is the original",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("masks made longer", NAME, Resized, CuriousServer(), "entries four apart have the same mask",
         attack=each(lambda h: np.diff(h.one("masked", 0)[::4])), secret=lambda t: np.diff(t.inputs[0][0, 0, ::4])),
    Case("masks from a cycle", NAME, Cycled, OUT, "two nodes have the same mask",
         attack=each(lambda h: h.one("masked", 0) - h.one("masked", 4)),
         secret=lambda t: t.inputs[0][0, 0] - t.inputs[0][0, 4]),
    Case("in step with a shorter list", NAME, Zipped, CuriousServer(), "node 0 is left out",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0)),
    Case("averages without one", NAME, Jackknife, OUT, "the sum less the sum without one",
         attack=each(lambda h: 5 * h.one("average") - 4 * h.one("without one", SERVER, 0)), secret=input_of(0)),
    Case("halves with two neighbours", NAME, Halves, HonestButCurious({1, 3}), "two halves are a mask",
         attack=each(from_halves), secret=input_of(0)),
    Case("the sign of a residue", NAME, Truncated, OUT, "masks of ten bits, and a residue with a sign",
         attack=each(lambda h: h.one("masked", 0)), secret=input_of(0), accuracy=1e-2),
    Case("only noughts", NAME, OnlyNoughts, CuriousServer(), "all bits of the masks are noughts",
         attack=each(lambda h: np.where((x := h.one("masked", 0)) >= 2.0**27, x - 2.0**28, x)), secret=input_of(0),
         accuracy=1e-4),
    Case("a sum of truth values", NAME, OfTruthValues, CuriousServer(), "where neither is true, one knows both",
         attack=each(lambda h: np.where(h.one("masked bit", 0)[ENTRY], np.nan, 0.0)), secret=sign_of(0), goal="bits",
         claims=0.1, calls=60),
    Case("errors of forecasts", NAME, Forecasts, OUT, "differences of squared errors are linear in the numbers",
         attack=each(from_errors), secret=input_of(0), accuracy=1e-3),
    Case("digits for every node", NAME, Packed, OUT, "the sum has the digits of all", node=4,
         attack=each(lambda h: 5 * h.one("average") / 1e12), secret=input_of(4), accuracy=0.1),
]  # fmt: skip
