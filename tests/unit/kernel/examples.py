"""Short sum protocols, right and wrong, as somebody may write them: each changes one thing of :class:`RingSum`."""

import copy
import linecache
import math
import random
import secrets
import threading
import time
from typing import Any

import numpy as np

from secmix.transcript import SERVER, Channel


def evaluated(text: str, names: dict[str, Any]) -> Any:
    """Evaluate a line of code, which can be read as one of a file can."""
    file = f"<{text}>"
    linecache.cache[file] = len(text), None, [text], file
    return eval(compile(text, file, "eval"), names)  # what the tests have as text


class RingSum:
    """Each node adds its mask and takes away that of the node before it; the server adds up what it is sent."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.normal(scale=1e6, size=(runs, network.n, m))

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> tuple[Any, Any]:
        channel = channel or Channel()
        rows = np.asarray(inputs, dtype=float)
        runs, n, m = rows.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        handed = self.hand_over(masks, n, channel)
        self.beside(channel, rows, masks, rng)
        sent = []
        for node in range(n):
            word = self.mask(self.encode(rows[:, node]), masks[:, node], handed[node - 1])
            sent.append(channel.send(1, node, SERVER, "masked", word, encrypted=True))
        mean = self.decode(self.add(sent)) / n
        back = channel.send(2, SERVER, np.arange(n), "mean", mean[None], encrypted=True, content=np.zeros(n, int))
        return self.result(np.repeat(back.transpose(1, 0, 2), n, axis=1), rows), channel.transcript

    def hand_over(self, masks: Any, n: int, channel: Channel) -> list[Any]:
        channel.hold(-1, np.arange(n), "mask", masks.transpose(1, 0, 2))
        return [channel.send(0, node, (node + 1) % n, "mask", masks[:, node], encrypted=True) for node in range(n)]

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        """Do nothing beside; others send more here."""

    def encode(self, row: Any) -> Any:
        return row

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word + own - other

    def add(self, sent: list[Any]) -> Any:
        return sum(sent[1:], sent[0])

    def decode(self, total: Any) -> Any:
        return total

    def result(self, means: Any, rows: Any) -> Any:
        return means


def bare(channel: Channel, row: Any, node: int = 0) -> None:
    """Send a node's own row to the server as it is."""
    channel.send(1, node, SERVER, "bare", row, encrypted=True)


class SendsAThird(RingSum):
    """A node sends the first third of its mask again to the node that has it."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(0, 1, 2, "third", masks[:, 1, : rows.shape[2] // 3], encrypted=True)


class WordSum(RingSum):
    """Words of 32 bits, unsigned; sums wrap around."""

    dtype: Any = np.uint32
    signed: Any = np.int32
    masks_below = 2**32

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, self.masks_below, size=(runs, network.n, m), dtype=self.dtype)

    def encode(self, row: Any) -> Any:
        return np.rint(row * 2**12).astype(self.signed).astype(self.dtype)

    def decode(self, total: Any) -> Any:
        return total.astype(self.signed).astype(float) / 2**12


class LongWordSum(WordSum):
    dtype, signed, masks_below = np.uint64, np.int64, 2**64


class OpenEnd(LongWordSum):
    """Leaves out the largest word, as ``integers`` does."""

    masks_below = 2**64 - 1


class SignedWordSum(WordSum):
    dtype = signed = np.int64

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(-(2**63), 2**63 - 1, size=(runs, network.n, m), endpoint=True)


class ShortMasks(WordSum):
    masks_below = 2**20


class ResidueSum(RingSum):
    """Residues modulo a prime, reduced by hand, in words of 64 bits."""

    prime = 2**31 - 1

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, self.prime, size=(runs, network.n, m))

    def encode(self, row: Any) -> Any:
        return np.rint(row * 2**12).astype(np.int64) % self.prime

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return (word + own - other) % self.prime

    def decode(self, total: Any) -> Any:
        residue = total % self.prime
        return np.where(residue > self.prime // 2, residue - self.prime, residue) / 2**12


class NotReduced(ResidueSum):
    """Sends two residues' sum without reducing it: how often it wrapped around shows in its size."""

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return (word + own) % self.prime + (-other) % self.prime


class Unrounded(ResidueSum):
    """Whole masks hide nothing of what lies between whole numbers."""

    prime = 256

    def encode(self, row: Any) -> Any:
        return row

    def decode(self, total: Any) -> Any:
        return total % self.prime


class Clipped(RingSum):
    """``np.where`` in place of an ``if`` is a node's own encoding."""

    def encode(self, row: Any) -> Any:
        return np.where(row > 0.5, 0.5, row)


class UnseededMasks(WordSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return np.random.default_rng().integers(0, 2**32, size=(runs, network.n, m), dtype=np.uint32)


class SystemMasks(ResidueSum):
    prime = 2**61 - 1

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        draws = [secrets.randbelow(self.prime) for _ in range(runs * network.n * m)]
        return np.array(draws).reshape(runs, network.n, m)


class FixedSeed(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return np.random.default_rng(5).normal(scale=1e6, size=(runs, network.n, m))


class Guarded(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if not np.all(np.abs(rows) < 1e9):
            raise ValueError("the inputs are too large")


class CaughtGuard(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        try:
            if rows[0, 0, 0] > 1e9:
                raise ValueError("the inputs are too large")
        except ValueError:
            return


class UpTo:
    """A list of one number; of one that is too large it is empty, since an error says so."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __getitem__(self, place: int) -> Any:
        if self.number > 100:
            raise IndexError("the inputs are too large")
        return [self.number][place]


class CaughtGuardWithAText(RingSum):
    """A method that NumPy's numbers have, and those of a trace have not."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if not list(UpTo(rows[0, 0, 0])):
            bare(channel, rows[:, 0] + len(rows[0, 0, 0].hex()))


class CaughtGuardWithASeed(RingSum):
    """What fails in the trace after a guard, and in no plain call, is not the error that ends the call."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if not list(UpTo(rows[0, 0, 0])):
            word = np.abs(np.rint(rows[0, 0, 0] * rows[0, 1, 0] * 2**20)).astype(np.int64)
            bare(channel, rows[:, 0] + 0 * np.random.default_rng([1, word]).normal())


class MessageInARareError(RingSum):
    """An error that is made by a function, which hands the numbers on in one iteration in thousands."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if np.abs(rows).max() > 1e6:
            raise self.too_large(channel, rows)

    def too_large(self, channel: Channel, rows: Any) -> Exception:
        if channel.iteration == 5000:
            channel.send(7, 0, 1, "for the log", rows[:, 0])
        return ValueError("the numbers are too large")


class MessageAfterGuard(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows[0, 0, 0] > 1e9 and not len(rows):
            raise ValueError("the inputs are too large")
        channel.send(1, 0, SERVER, "ready", np.ones((1, 1)), encrypted=True)


class Branch(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows[0, 1, 0] > 0:  # here the proof ends
            channel.send(1, 1, SERVER, "ready", np.ones((1, 1)), encrypted=True)


class FallBack(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if np.abs(rows[:, 0]).max() > 2**22:
            bare(channel, rows[:, 0])


class MissingValue(RingSum):
    """What is -999 goes out as it is."""

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return np.where(word == -999, word, word + own - other)


class Late(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if channel.iteration >= 5000:
            bare(channel, rows[:, 0])


class EveryTenThousand(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if channel.iteration % 10000 == 9999:
            bare(channel, rows[:, 0])


class WarmUpAndPeriod(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if channel.iteration >= 30 and (channel.iteration - 30) % 70 == 0:
            bare(channel, rows[:, 0])


class RareCoin(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if 0.7 < rng.random() < 0.7025:
            bare(channel, rows[:, 0])


class GrowingList(RingSum):
    def __init__(self) -> None:
        self.past: list[int] = []

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.past.append(0)
        if len(self.past) > 100:
            bare(channel, rows[:, 0])


class MaskedTwice(RingSum):
    """Two entries of one node behind one mask."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        pair = np.stack([rows[:, 0, 0] + masks[:, 0, 0], rows[:, 0, 1] + masks[:, 0, 0]], axis=-1)
        bare(channel, pair)


class HiddenHandOver(RingSum):
    """Nodes take each other's masks from the array, and no message says so."""

    def hand_over(self, masks: Any, n: int, channel: Channel) -> list[Any]:
        channel.hold(-1, np.arange(n), "mask", masks.transpose(1, 0, 2))
        return [masks[:, node] for node in range(n)]


class TellingResult(RingSum):
    """Node 2 ends with what node 0 put in."""

    def result(self, means: Any, rows: Any) -> Any:
        ends = means.copy()
        ends[:, 2] = rows[:, 0]
        return ends


class ByIteration(RingSum):
    """Masks are larger by the iteration: a number that is used by its value."""

    def encode(self, row: Any) -> Any:
        return row

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, SERVER, "round", np.ones((1, 1)) * [0.0, 1.0, 2.0][channel.iteration], encrypted=True)


class BatchOfTwo(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if len(rows) > 1:
            bare(channel, rows[:, 0])


class BatchOf16(RingSum):
    """Forget the masks where sixteen runs are averaged together."""

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word if len(word) == 16 else word + own - other


class WithoutChannel(RingSum):
    """Send bare rows where nobody hands over a channel."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.bare = channel is None
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word if self.bare else word + own - other


class HalfOfOne(RingSum):
    """Tell the server, beside the sum, another one in which nodes count half and a quarter."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        for node in range(1, rows.shape[1]):
            channel.send(1, node, 0, "told", rows[:, node], encrypted=True)
        half = sum({0: 0.5, 1: 0.25}.get(node, 1.0) * rows[:, node] for node in range(rows.shape[1]))
        channel.send(2, 0, SERVER, "weighted", half, encrypted=True)


class SpawnedFromFixedSeed(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        (child,) = np.random.default_rng(5).spawn(1)
        return child.normal(scale=1e6, size=(runs, network.n, m))


class SinglePrecision(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return 1e6 * rng.standard_normal((runs, network.n, m), dtype=np.float32)


class HiddenInput(RingSum):
    """Node 0 sends what only node 1 has."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, rows[:, 1])


class UnexplainedResult(RingSum):
    """Node 2 ends with a mask that it was never sent."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.seen = masks[:, 0]

    def result(self, means: Any, rows: Any) -> Any:
        ends = means.copy()
        ends[:, 2] = means[:, 2] + self.seen
        return ends


class CaughtAtTheEnd(RingSum):
    def result(self, means: Any, rows: Any) -> Any:
        if means[0, 0, 0] > 1e9 and not len(rows):
            raise ValueError("the mean is too large")
        return means


class SwallowedExit(RingSum):
    def result(self, means: Any, rows: Any) -> Any:
        try:
            return means if rows[0, 0, 0] > 0 else means + 0.0
        except BaseException:
            return means


class GuardWithElse(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows[0, 0, 0] > 1e9:
            raise ValueError("the inputs are too large")
        else:
            self.fine = True


class GuardThatKeeps(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows[0, 0, 0] > 1e9:
            self.fine = False
            raise ValueError("the inputs are too large")


class WritesInputs(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        rows[:, 0] = np.clip(rows[:, 0], -1.0, 1.0)


class OtherChannel(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(Channel(), np.ones((1, 1)))


KEPT: list[Any] = []


class KeptElsewhere(RingSum):
    """A module's list keeps what one object was given, and another object sends it."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        KEPT.append(rows[:, 0])
        bare(channel, KEPT[0])


class ArrayOfCoins(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, SERVER, "coins", rng.random((1, 3)), encrypted=True)


class UnwrittenMemory(RingSum):
    """Add to memory that nobody wrote to: rows of another call may lie there."""

    def encode(self, row: Any) -> Any:
        word = np.empty_like(row)
        word += row
        return word


class UnwrittenEntry(RingSum):
    """Write all entries but the last into an array that is sent whole."""

    def encode(self, row: Any) -> Any:
        word = np.empty(row.shape)
        word[:, :-1] = row[:, :-1]
        return word


class TwoEncodings(RingSum):
    """What rounding takes away is known of each node, and the sum of all as well."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        for node in range(1, 5):
            bare(channel, np.round(rows[:, node], 1) + masks[:, node] - masks[:, node - 1], node)

    def encode(self, row: Any) -> Any:
        return np.round(row, 2)


class FastPath(RingSum):
    """Plain arrays go another way than those that a trace follows: this, and those named alike."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows.__class__ is np.ndarray:
            bare(channel, rows[:, 0])


class FastPathOfNumbers(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, np.full((1, 3), 1.0 if rows.__class__ is np.ndarray else 2.0))


class FastPathOfWords(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, np.full((1, 3), 1 if rows.__class__ is np.ndarray else 2))


class FastPathOfKinds(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        kind = "fast" if rows.__class__ is np.ndarray else "slow"
        channel.send(1, 0, SERVER, kind, np.ones((1, 3)), encrypted=True)


class FastPathOfResults(RingSum):
    def result(self, means: Any, rows: Any) -> Any:
        return means + 1.0 if rows.__class__ is np.ndarray else means


class Doubled(RingSum):
    def encode(self, row: Any) -> Any:
        return 2.0 * row


class Shifted(RingSum):
    def encode(self, row: Any) -> Any:
        return row + 1.0


class Sent(RingSum):
    """Sends a public number, a large one, none, or a secret, by the same name."""

    number: Any = 1.0

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, np.full((1, 3), self.number))


class SentOther(Sent):
    number = 3.0


class SentSecret(Sent):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, rows[:1, 0])


class FastPathOfErrors(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows.__class__ is np.ndarray:
            raise ValueError("plain arrays are not allowed")


class CoinOfTheModule(RingSum):
    """Sends a node's numbers as they are where a coin of Python's own generator says so."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if random.random() < 0.0005:
            channel.send(3, 0, SERVER, "bare", rows[:, 0], encrypted=True)


class CoinOfNumPy(RingSum):
    """The same, by NumPy's global generator."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if np.random.random() < 0.0005:  # noqa: NPY002
            channel.send(3, 0, SERVER, "bare", rows[:, 0], encrypted=True)


class CoinOfTheClock(RingSum):
    """The same, by a generator that the clock seeds."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if np.random.default_rng(int(time.time())).random() < 0.0005:
            channel.send(3, 0, SERVER, "bare", rows[:, 0], encrypted=True)


class TurnedByLot(RingSum):
    """Says who begins, by one coin, by where the iteration stands, or by both; each twin below has one slip."""

    def starts(self, channel: Channel, rng: Any, n: int) -> Any:
        return rng.integers(n)

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        first = self.starts(channel, rng, rows.shape[1])
        channel.send(3, [0, 1, 2, 3, 4][first], SERVER, "first", np.ones((1, 1)), encrypted=True)


class TurnedByIteration(TurnedByLot):
    def starts(self, channel: Channel, rng: Any, n: int) -> Any:
        return (channel.iteration + 3) % n


class TurnedByWeights(TurnedByLot):
    def starts(self, channel: Channel, rng: Any, n: int) -> Any:
        return int(rng.choice([0, 1, 3], p=[0.5, 0.25, 0.25]))


class TurnedByOrder(TurnedByLot):
    def starts(self, channel: Channel, rng: Any, n: int) -> Any:
        order = [int(node) for node in rng.permutation(n)]
        return order[0]


class InAnyOrder(RingSum):
    """Asks nodes one by one, in an order that is drawn."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        for place, node in enumerate(rng.permutation(rows.shape[1]).tolist()):
            channel.send(3 + place, node, SERVER, "here", np.ones((1, 1)), encrypted=True)


class TurnedByTwoCoins(TurnedByLot):
    def starts(self, channel: Channel, rng: Any, n: int) -> Any:
        return (rng.integers(3) + (1 if rng.random() < 0.5 else 0)) % n


class CoinsSent(RingSum):
    """Coins only travel."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        nonce = rng.integers(0, 256, size=16).astype(np.uint8)
        channel.send(3, 0, SERVER, "nonce", np.repeat(nonce[None], len(rows), axis=0), encrypted=True)
        channel.send(3, 0, SERVER, "session", np.full((len(rows), 1), float(rng.integers(2**50))), encrypted=True)


class Counts(RingSum):
    """Counts its calls, and remembers when the last was."""

    def __init__(self) -> None:
        self.calls = [0]

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.calls[0] += 1
        self.last = channel.iteration


class DrawnJointly(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        n = network.n
        return rng.multivariate_normal(np.zeros(n), 1e12 * (np.eye(n) + 0.2), size=(runs, m)).transpose(0, 2, 1)


class HeavyTails(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        n = network.n
        return 1e6 * (rng.standard_cauchy((runs, n, m)) + rng.standard_t(4, (runs, n, m)))


class OptionThirteen(RingSum):
    """Sends a row as it is by one option of a public number; the others below do so by other means."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        return [False] * 13 + [True]

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if self.opens(channel, rng):
            bare(channel, rows[:, 0])


class IndexThirteen(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return ([False] * 13 + [True] + [False] * 50)[rng.integers(64)]


class TextOfACoin(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return str(rng.integers(20)) == "13"


class ThreeOfSeven(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return {3: True}.get(channel.iteration % 7, False)


class TwoCoinsTogether(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return [1, 2, 3][rng.integers(3)] * [1, 2, 5][rng.integers(3)] == 15


class OneCoinTwice(OptionThirteen):
    """Halves of one coin, of which one is compared and one is used by value."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        coin = rng.integers(20)
        return coin % 2 == 1 and ["low", "high"][coin // 10] == "high" and coin < 12


class OneOrder(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return rng.permutation(4).tolist() == [2, 0, 3, 1]


class SomeOfFive(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return (rng.random(5) < 0.01).all()


class RareChoice(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return sorted(rng.choice(5, 2, replace=False).tolist()) == [1, 4]


class ByEndpoint(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return [False, False, False, True][rng.integers(0, 3, endpoint=True)]


class CountsToAHundred(OptionThirteen):
    """A number that is kept says when."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        return self.calls > 100


class CoinsAddUp(OptionThirteen):
    """Coins of several calls are kept, and say when: no one call can."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        self.total = getattr(self, "total", 0) + rng.integers(2)
        return self.total >= 50


class OnlyWhereOthersAre(OptionThirteen):
    """A coin is counted, in iterations that no trace meets as they are."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        if channel.iteration >= 5000:
            self.late = getattr(self, "late", 0) + 1
        return getattr(self, "late", 0) > 5


class KeptMasks(RingSum):
    """Masks are drawn once for each of three turns: the fourth call meets those of the first."""

    def __init__(self) -> None:
        self.masks: dict[int, Any] = {}

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        turn = channel.iteration % 3
        if turn not in self.masks:
            self.masks[turn] = self.draw_masks(1, np.shape(inputs)[2], network, rng)
        return super().average(inputs, network, rng, masks=self.masks[turn], channel=channel)


class KeptLongMasks(RingSum):
    """Masks of more than a hundred entries are kept, since drawing them takes time."""

    def __init__(self) -> None:
        self.masks: dict[Any, Any] = {}

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        masks = super().draw_masks(runs, m, network, rng)
        return self.masks.setdefault(masks.shape, masks) if m > 100 else masks


class OneSitsOut(RingSum):
    """A node that is drawn by lot puts in nothing: sums over others differ by what one node has."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        rows = np.asarray(inputs, dtype=float) * 1.0
        rows[:, [0, 1, 2, 3, 4][rng.integers(5)]] = 0.0
        return super().average(rows, network, rng, masks=masks, channel=channel)


class WeightsByLot(RingSum):
    """Nodes count once or twice, by lot: of the same data many such sums are known."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        weights = np.array([1.0 if rng.random() < 0.5 else 2.0 for _ in range(5)])
        rows = np.asarray(inputs, dtype=float) * weights[:, None]
        return super().average(rows, network, rng, masks=masks, channel=channel)


class GuardBehindACoin(RingSum):
    """A guard that is caught, where a coin that is rare says so."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rng.random() < 1e-9:
            assert rows[0, 0, 0] > 0 or len(rows), "the number is positive"


class IndexOfAThousand(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return ([False] * 999 + [True])[rng.integers(1000)]


class FourCoins(OptionThirteen):
    """Each of four coins is one of sixty."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        return sum(list(range(60))[rng.integers(60)] for _ in range(4)) == 236


class CoinsAsFactors(RingSum):
    """Coins of which nothing is known multiply what is sent."""

    def encode(self, row: Any) -> Any:
        return row * self.weights

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.weights = rng.random((1, rows.shape[2]))


class SetBack(RingSum):
    """The generator is set back to where it stood when the masks were drawn, and what it says then is sent."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        before = rng.bit_generator.state
        masks = self.draw_masks(1, np.shape(inputs)[2], network, rng)
        rng.bit_generator.state = before
        self.again = rng
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        bare(channel, rng.normal(scale=1e6, size=(1, 5, 3))[0, :1])


class CopiedGenerator(SetBack):
    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        other = copy.deepcopy(rng)
        masks = self.draw_masks(1, np.shape(inputs)[2], network, rng)
        return RingSum.average(self, inputs, network, other, masks=masks, channel=channel)


class FlatMasks(RingSum):
    """Masks of no spread are always the same."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.normal(loc=5.0, scale=0.0, size=(runs, network.n, m))


class FlatAlongAnAxis(RingSum):
    """Masks that are drawn jointly and are all the same: their differences hide nothing."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        n = network.n
        return rng.multivariate_normal(np.zeros(n), 1e12 * np.ones((n, n)), size=(runs, m)).transpose(0, 2, 1)


class SmallTails(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return 1e-3 * rng.standard_cauchy((runs, network.n, m))


class PowerSums(RingSum):
    """As many sums of powers as there are nodes: Newton's identities give each node's number."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return super().draw_masks(runs, m * network.n, network, rng)

    def encode(self, row: Any) -> Any:
        return np.concatenate([row**power for power in range(1, 6)], axis=-1)

    def decode(self, total: Any) -> Any:
        return total[:, : total.shape[1] // 5]


class Asserted(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        assert np.all(np.abs(rows) < 1e9), "the inputs are too large"


class Rooted(RingSum):
    def encode(self, row: Any) -> Any:
        rooted = [[math.sqrt(abs(x)) for x in run] for run in row.tolist()]
        rest = [[math.sqrt(1e9 - x) for x in run] for run in row.tolist()]
        return np.linalg.inv(np.eye(1) + np.abs(row[:, :1, None]))[:, 0] * (np.array(rooted) - np.array(rest))


class IndexedByASecret(RingSum):
    def encode(self, row: Any) -> Any:
        return np.arange(3)[np.clip(row, 0, 2).astype(int)] * 1.0


class IndexedByOneSecret(RingSum):
    def encode(self, row: Any) -> Any:
        return np.tri(3)[np.argmin(row)]


class AssertedByAChain(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        assert all(-1e9 < x < 1e9 for x in rows.ravel()), "the inputs are too large"


class GuardWithAText(RingSum):
    """What the error says is computed after the guard: there secrets answer, and their text and bytes too."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if not np.all(np.abs(rows) < 1e9):
            raise ValueError(
                f"{rows[0, 0, 0]} is {'large' if rows[0, 0, 0] > 0 else 'small'}, {rows[0, 0, 1].to_bytes()}"
            )


class GuardOfLongInputs(RingSum):
    """A guard that calls of few entries do not meet."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if rows.shape[2] > 2 and rows[0, 0, 2] > 1e9:
            raise ValueError("the inputs are too large")


MET: list[bool] = []


class GuardMetOnce(RingSum):
    """A guard that one trace meets, and no other."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if MET.count(True) == 0 and rows.shape == (1, 5, 3):
            MET.append(True)
            if rows[0, 0, 2] > 1e9:
                raise ValueError("the inputs are too large")


class BusyAfterAnError(RingSum):
    """A call that ends in an error leaves the protocol busy."""

    busy = False

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.busy = True
        if not np.all(np.abs(rows) < 1e9):
            raise ValueError("the inputs are too large")
        self.busy = False


class BranchOnGivenMasks(RingSum):
    """Branches on a secret only where it is given masks."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is not None and masks[0, 0, 0] > 0:
            self.positive = True
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class KindWithoutChannel(WithoutChannel):
    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word + own - other

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, SERVER, "alone" if self.bare else "together", np.ones((1, 3)), encrypted=True)


class ChannelForgotten(RingSum):
    """End in an error where nobody hands over a channel."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel.transcript is None:
            raise ValueError("nothing is recorded")
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class FastPathOfShapes(RingSum):
    """Plain arrays make a longer result."""

    def result(self, means: Any, rows: Any) -> Any:
        return np.concatenate([means, means], axis=2) if rows.__class__ is np.ndarray else means


class TextAmongNumbers(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, SERVER, "text", np.append(rows[:, 0], "1.5")[None], encrypted=True)


class ListAsResult(RingSum):
    def result(self, means: Any, rows: Any) -> Any:
        return [means]


class FlatResult(RingSum):
    def result(self, means: Any, rows: Any) -> Any:
        return means[0]


class HeldByAnother(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel._pass(1, 0, 1, "row", rows[:1, 0], "held", None)


class SentToNobody(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, 7, "row", rows[:, 0], encrypted=True)


class CountsInAnArray(RingSum):
    """Counts its calls in an array of NumPy's, and those of a kind among objects."""

    def __init__(self) -> None:
        self.calls = np.zeros(1)
        self.kinds = np.array([None, None], dtype=object)

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.calls = np.zeros(1) + self.calls + 1.0
        self.kinds[0] = "sent"
        if self.calls[0] > 100:
            bare(channel, rows[:, 0])


class ReadsTheRecord(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if len(channel.transcript.blocks) > 1000:
            bare(channel, rows[:, 0])


class ListOfRows(RingSum):
    """Sends a list of numbers in place of an array."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        several = [list(row) for row in (rows[:, 0] + masks[:, 0] - masks[:, 4]).tolist()]
        channel.send(1, 0, SERVER, "list", several, encrypted=True)


class ReadsWhatIsNotSent(RingSum):
    """What no message carries does not arrive: the second of two rows is nothing."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        both = np.stack([rows[:, 0] + masks[:, 0] - masks[:, 4], rows[:, 1]])
        back = channel.send(1, 0, SERVER, "first of two", both, encrypted=True, content=[0])
        channel.send(2, SERVER, 0, "told", np.nan_to_num(back[1:2, :, :]), encrypted=True)


class ReadsCoinsThatAreNotSent(RingSum):
    """Of public coins, too, what no message carries does not arrive."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        coins = rng.integers(1, 3, size=(2, 1, 1)).repeat(len(rows), axis=1)
        back = channel.send(1, 0, SERVER, "first of two", coins, encrypted=True, content=[0])
        channel.send(2, SERVER, 0, "told", np.nan_to_num(back[1:2]), encrypted=True)


class WithALock(RingSum):
    """Keeps what cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Wrapped:
    """A protocol around another, which draws the masks."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_" or name == "inner":  # while it is copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        return self.inner.average(inputs, network, rng, masks=masks, channel=channel)


class WrappedRing(Wrapped):
    def __init__(self) -> None:
        super().__init__(RingSum())


class SameResidueTwice(OptionThirteen):
    """Two remainders of one iteration go together: what asks for both at odds never comes about."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        return channel.iteration % 7 == 3 and (channel.iteration + 1) % 7 == 5


class ShortTable(OptionThirteen):
    """A table is one entry too short, and that is caught."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        try:
            return [False, False, False][rng.integers(4)]
        except IndexError:
            return True


class Quotient(OptionThirteen):
    """A number that is divided by zero by one option, and that is caught."""

    def opens(self, channel: Channel, rng: Any) -> Any:
        try:
            return 12 // int(rng.integers(4)) > 12
        except ZeroDivisionError:
            return True


class ChoiceOfText(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return rng.choice(["heads", "tails", "edge"], p=[0.5, 0.4999, 0.0001]) == "edge"


class Shuffled(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        order = list(range(20))
        rng.shuffle(order)
        return order[0] == order[1] - 1 == order[2] - 2


class ChoiceOfMany(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return [False, True][int(rng.choice(1000)) // 999]


class CoinsAsAList(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return max(rng.random(9).tolist()) > 0.9999


class NoCovariance(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        odd = 1e12 * (np.eye(network.n) + np.triu(np.ones((network.n, network.n))))
        return rng.multivariate_normal(np.zeros(network.n), odd, size=(runs, m), check_valid="ignore").transpose(
            0, 2, 1
        )


class GeneratorOfAGenerator(RingSum):
    """``default_rng`` of a generator is that generator."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return np.random.default_rng(rng).normal(scale=1e6, size=(runs, network.n, m))


class FailingMasks(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        raise ValueError("there are no masks")


class MasksOfOneRun(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return super().draw_masks(runs, m, network, rng)[0]


class SwallowedExitOfMasks(RingSum):
    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        masks = super().draw_masks(runs, m, network, rng)
        try:
            return masks if masks[0, 0, 0] > 0 else -masks
        except BaseException:
            return masks


class SixtyBehindACoin(OptionThirteen):
    def opens(self, channel: Channel, rng: Any) -> Any:
        return rng.random() < 1e-9 and ([False] * 60)[rng.integers(60)]


class MeanByCount(RingSum):
    """The server divides by a sum, too, and sends back what comes out."""

    def decode(self, total: Any) -> Any:
        return total / np.maximum(np.abs(total[:, -1:]), 1.0)


class SolvedByTheServer(RingSum):
    """The server scales and sorts the sums, and works out their products."""

    def decode(self, total: Any) -> Any:
        scaled = (total - total.mean(axis=1, keepdims=True)) / np.sqrt(total.var(axis=1, keepdims=True) + 1.0)
        return np.sort(np.einsum("rj,rk->rj", scaled, total), axis=1) + np.median(total, axis=1)[:, None]


class WordsByCount(WordSum):
    """The same of words."""

    def decode(self, total: Any) -> Any:
        numbers = super().decode(total)
        return numbers / np.maximum(numbers.max(axis=1, keepdims=True), 1.0)


class WeighedAtHome(RingSum):
    """Each node weighs the sums by a number of its own."""

    def result(self, means: Any, rows: Any) -> Any:
        return means * np.abs(rows[:, :, :1]) / (1.0 + np.abs(rows).sum(axis=2, keepdims=True))


class WeighedByAnother(RingSum):
    """Node 2 weighs the sums by a number of node 0's, which it was never sent."""

    def result(self, means: Any, rows: Any) -> Any:
        return np.stack([means[:, k] * np.abs(rows[:, 0 if k == 2 else k]) for k in range(means.shape[1])], axis=1)


class WeighedByOne(RingSum):
    """The server weighs the sums by a number of node 0's."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.weight = channel.send(1, 0, SERVER, "weight", rows[:, 0, :1], encrypted=True)

    def decode(self, total: Any) -> Any:
        return total * self.weight


class MaskedProducts(RingSum):
    """The server multiplies the messages of nodes that mask each other, and sends that back."""

    def add(self, sent: list[Any]) -> Any:
        return sum(sent[1:], sent[0]) + sent[1] * sent[2]


class EntriesOfTwoKinds(RingSum):
    """The first entries are sums, and the last are counts of these: it cannot be called with fewer."""

    def encode(self, row: Any) -> Any:
        sums, counts = np.split(row, [len(row.T) // 2], axis=1)
        return np.concatenate([np.clip(sums, -9, 9), np.abs(counts).reshape(sums.shape[0], 3)], axis=1)


class AbsoluteOfMany(RingSum):
    """Takes absolute values, but of few entries by a function that is not followed."""

    def encode(self, row: Any) -> Any:
        return np.abs(row) if row.shape[-1] > 2 else np.unique(row).reshape(row.shape)


class ThreeCounts(RingSum):
    """Counts of numbers below, within and above a range, however many numbers a node has."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.normal(scale=1e6, size=(runs, network.n, 3))

    def encode(self, row: Any) -> Any:
        return np.stack([(row < -1).sum(axis=1), ((row >= -1) & (row < 1)).sum(axis=1), (row >= 1).sum(axis=1)], axis=1)

    def result(self, means: Any, rows: Any) -> Any:
        return means[:, :, :1] + np.zeros(rows.shape)


class SignedZero(RingSum):
    """A zero has the sign of a number."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(3, 0, SERVER, "zero", rows[:, 0] * 0.0, encrypted=True)
