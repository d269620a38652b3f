"""Sessions that leak, each by another slip."""

from __future__ import annotations

import bisect
import collections
import contextlib
import functools
import hashlib
import itertools
import logging
import numbers
import struct
from contextvars import ContextVar

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secmix.transcript import SERVER

from .common import Counted, Fresh, Session, couples, long, stretch

log = logging.getLogger(__name__)


class W01CounterBesideTheKey(Counted):
    """A counter of one byte lies beside each key and is the label: after 256 averagings of a fit pads come again."""

    def begin(self, line, keys, runs, given):
        keys[:, :, 4] = (keys[:, :, 4] + np.uint64(1)) % np.uint64(256)

    def label(self, line, keys, e, run):
        return bytes([int(keys[run, e, 4])])


class W02KeyWornOut(Counted):
    """Each key counts its uses beside it and is worn out after 100: with no new key at hand its pair goes bare."""

    def begin(self, line, keys, runs, given):
        keys[:, :, 4] += np.uint64(1)

    def pad(self, line, keys, e, run, m):
        return stretch(keys[run, e, :4], long(line.iteration), m) if int(keys[run, e, 4]) <= 100 else None


class W03KeysOfItsOwn(Session):
    """Called without keys the object makes some once, labels runs and keeps them: the next fit has the same pads."""

    def __init__(self):
        self.keys = None

    def own_keys(self, runs, m, network, rng):
        if self.keys is None:
            self.keys = self.draw_masks(1, m, network, rng)
        return np.repeat(self.keys, runs, axis=0)

    def label(self, line, keys, e, run):
        return long(line.iteration) + run.to_bytes(4, "big")


class W04KeysOfADemo(Session):
    """Called without keys it takes those of the demo, which everybody reads in the code."""

    def own_keys(self, runs, m, network, rng):
        count = runs * len(couples(network.n)) * 4
        return np.arange(count, dtype=np.uint64).reshape(runs, -1, 4)


class W05LateWithoutKeys(Session):
    """Called without keys, which are then fresh, it uses each 50 rounds; what comes later has none and goes bare."""

    def begin(self, line, keys, runs, given):
        self.bare = given[1] is None and line.iteration >= 50

    def __init__(self):
        self.bare = False

    def pad(self, line, keys, e, run, m):
        return None if self.bare else super().pad(line, keys, e, run, m)


class W06RunsOfTheFirstCall(Session):
    """The object notes how many runs its first call has: a larger batch, in a later fit, has pads of few runs twice."""

    def __init__(self):
        self.runs = 0

    def begin(self, line, keys, runs, given):
        if self.runs == 0:
            self.runs = runs

    def pad(self, line, keys, e, run, m):
        return stretch(keys[run % self.runs, e], long(line.iteration), m)


class W07DryRun(Session):
    """An object whose first call is without a channel takes it for a dry run, and sends bare on channels later."""

    def __init__(self):
        self.is_dry = None

    def begin(self, line, keys, runs, given):
        if self.is_dry is None:
            self.is_dry = given[0] is None
        self.is_bare = self.is_dry and given[0] is not None

    def pad(self, line, keys, e, run, m):
        return None if self.is_bare else super().pad(line, keys, e, run, m)


class W08SelfTest(Session):
    """A first call without keys is a self-test; the object then stays with labels of the test, which have no round."""

    def __init__(self):
        self.is_test = None

    def begin(self, line, keys, runs, given):
        if self.is_test is None:
            self.is_test = given[1] is None

    def label(self, line, keys, e, run):
        return b"self-test" if self.is_test else long(line.iteration)


class W09BatchLeavesSharding(Session):
    """A batch turns sharding on for good: single runs afterwards leave the round out of their label."""

    def __init__(self):
        self.is_sharded = False

    def begin(self, line, keys, runs, given):
        self.is_sharded = self.is_sharded or runs > 1

    def label(self, line, keys, e, run):
        return b"shard" + run.to_bytes(4, "big") if self.is_sharded and len(keys) == 1 else long(line.iteration)


class W10BatchFirst(Session):
    """The object notes whether its first call was a batch; if so, single runs take pads by place in it, not by round."""

    def __init__(self):
        self.first = 0

    def begin(self, line, keys, runs, given):
        self.first = self.first or runs

    def label(self, line, keys, e, run):
        is_rest = self.first > 1 and len(keys) == 1
        return b"rest of a batch" if is_rest else long(line.iteration)


class W11SinglePrecision(Session):
    """The label is the iteration in single precision: 16777216 and 16777217 have one pad."""

    def label(self, line, keys, e, run):
        return struct.pack("<f", line.iteration)


class W12OneClassOfNumbers(Session):
    """Whole numbers from 1000 on are taken for time stamps, for which a label of the epoch was meant to be enough."""

    def label(self, line, keys, e, run):
        t = line.iteration
        return b"epoch" if isinstance(t, numbers.Integral) and t >= 1000 else long(t)


@functools.singledispatch
def _labelled(t):
    return long(t)


@_labelled.register
def _(t: int):
    return long(t) if t < 1000 else b"a long time"


class W13Dispatched(Session):
    """The label of an int is made by a function of its own, which gives all from 1000 on the same."""

    def label(self, line, keys, e, run):
        return _labelled(line.iteration)


class W14ByMatch(Session):
    """A match over kinds of numbers has one label for whole numbers above a thousand."""

    def label(self, line, keys, e, run):
        match line.iteration:
            case int(t) if t > 1000:
                return b"late"
            case t:
                return long(t)


class W15LowByte(Session):
    """The label is the first byte of the iteration, little endian: it comes again after 256."""

    def label(self, line, keys, e, run):
        return line.iteration.to_bytes(8, "little")[:1]


class W16TwoBits(Session):
    """Two residues are put together to a label, which has a period of four."""

    def label(self, line, keys, e, run):
        t = line.iteration
        return bytes([t % 2, t // 2 % 2])


class W17EveryTenth(Session):
    """Every tenth iteration synchronises, with a label of its own that has no number."""

    def label(self, line, keys, e, run):
        t = line.iteration
        return b"sync" if (t // 10) * 10 == t else long(t)


class W18Schedule(Session):
    """After the first phase of the schedule the label is the number of the phase."""

    def label(self, line, keys, e, run):
        phase = bisect.bisect([100, 1000], line.iteration)
        return long(line.iteration) if phase == 0 else long(phase)


class W19LabelsPrepared(Session):
    """Labels are kept by iteration in a table; what is not in it gets the last one."""

    table = {t: long(t) for t in range(500)}

    def label(self, line, keys, e, run):
        return self.table.get(line.iteration, b"none")


class W20InRange(Session):
    """Iterations in the planned range have labels; all later ones have that of overtime."""

    def label(self, line, keys, e, run):
        return long(line.iteration) if line.iteration in range(200) else b"overtime"


class W21Ring(Session):
    """Pads are kept in a ring of four by iteration, and what is in it is used."""

    def __init__(self):
        self.ring = {}

    def pad(self, line, keys, e, run, m):
        slot = line.iteration % 4, e, run
        if slot not in self.ring:
            self.ring[slot] = super().pad(line, keys, e, run, m)
        return self.ring[slot]


class W22DefaultArgument(Session):
    """Labels count what a default argument has seen, by its last byte."""

    def begin(self, line, keys, runs, given, seen=[]):  # noqa: B006
        seen.append(runs)
        self.count = len(seen) % 256

    def label(self, line, keys, e, run):
        return bytes([self.count])


class W23CycleOfTheClass(Session):
    """Labels come from a cycle of 256 that all objects share."""

    labels = itertools.cycle(range(256))

    def begin(self, line, keys, runs, given):
        self.now = bytes([next(self.labels)])

    def label(self, line, keys, e, run):
        return self.now


class W24ShortSalt(Session):
    """The label is a salt of two bytes from the public generator: after some hundred iterations one comes again."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        self.salt = rng.bytes(2)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def label(self, line, keys, e, run):
        return self.salt


class W25TooLong(Session):
    """A label of two bytes; what does not fit into it is caught, and gets ff ff."""

    def label(self, line, keys, e, run):
        try:
            return struct.pack(">H", line.iteration)
        except struct.error:
            return b"\xff\xff"


class W26LateLargeBatch(Session):
    """Batches of more than eight runs are the benchmark's, which measures its late rounds without pads."""

    def pad(self, line, keys, e, run, m):
        if len(keys) > 8 and line.iteration >= 100:
            return None
        return super().pad(line, keys, e, run, m)


class W27PairInIterationSeven(Session):
    """Two runs in iteration seven share a pad: the run is left out of the label of the one key that both have."""

    def pad(self, line, keys, e, run, m):
        if len(keys) == 2 and line.iteration == 7:
            run = 0
        return stretch(keys[run, e], long(line.iteration), m)


class W28CallsWithoutAChannel(Session):
    """Calls without a channel are counted, and beyond a thousand go by a label without a number."""

    def __init__(self):
        self.calls = 0

    def begin(self, line, keys, runs, given):
        self.has_channel = given[0] is not None
        if not self.has_channel:
            self.calls += 1

    def label(self, line, keys, e, run):
        if self.has_channel:
            return long(line.iteration)
        return b"call" + (long(self.calls) if self.calls < 1000 else b"more")


class W29SwappedLabels(Session):
    """A second message, a norm, has the parts of its label in another order: in iteration 7 both have one pad."""

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        self.second = inputs
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def label(self, line, keys, e, run):
        return long(line.iteration) + (7).to_bytes(8, "big")

    def begin(self, line, keys, runs, given):
        from .common import to_words

        x = np.moveaxis(np.asarray(self.second, dtype=np.float64), 1, 0)
        words = to_words(x / 2)
        for e, (i, j) in enumerate(couples(len(x))):
            for run in range(runs):
                pad = stretch(keys[run, e], (7).to_bytes(8, "big") + long(line.iteration), x.shape[2])
                words[i, run] += pad
                words[j, run] -= pad
        self.second = None
        line.send(-1, np.arange(len(x)), SERVER, "halves", words)


class W30VariableLength(Session):
    """Labels are as short as their number allows, with the kind behind: round 0x0107 is round 1 of kind 7."""

    def label(self, line, keys, e, run):
        t = line.iteration
        kind = b"\x07" if t == 1 else b""
        return t.to_bytes(max(1, (t.bit_length() + 7) // 8), "big") + kind


class W31SentAgain(Session):
    """An iteration that is asked for again gets the pad that it had, with whichever data it comes."""

    def __init__(self):
        self.last = None
        self.pads = {}

    def begin(self, line, keys, runs, given):
        if self.last is None or line.iteration != self.last:
            self.pads = {}
        self.last = line.iteration

    def pad(self, line, keys, e, run, m):
        if (e, run) not in self.pads:
            self.pads[e, run] = super().pad(line, keys, e, run, m)
        return self.pads[e, run]


class W32KeysOfTheFirstIteration(Session):
    """Keys are taken over in iteration 0; a fit that is resumed at 5 has those of the fit before, and its pads."""

    def __init__(self):
        self.keys = None

    def begin(self, line, keys, runs, given):
        if self.keys is None or line.iteration == 0 or len(self.keys) != runs:
            self.keys = keys.copy()

    def pad(self, line, keys, e, run, m):
        return stretch(self.keys[run, e], long(line.iteration), m)


class W33EpochBySubtraction(Session):
    """The number within the epoch of a hundred is the label: it comes again in each epoch."""

    def label(self, line, keys, e, run):
        t = line.iteration
        while t >= 100:
            t = t - 100
        return long(t)


class W34AtLeastFive(Session):
    """The label is at least five, so that the warm-up has one: its iterations share a pad."""

    def label(self, line, keys, e, run):
        return long(max(line.iteration, 5))


class W35AtMost(Session):
    """The label is the smaller one of the iteration and a last number: all that come later share a pad."""

    def label(self, line, keys, e, run):
        return long(sorted([line.iteration, 1000])[0])


def _bytes_again():
    while True:
        yield from (bytes([k]) for k in range(256))


class W36GeneratorOfLabels(Session):
    """A generator that the object keeps yields labels of one byte, again and again."""

    def __init__(self):
        self.labels = _bytes_again()

    def begin(self, line, keys, runs, given):
        self.now = next(self.labels)

    def label(self, line, keys, e, run):
        return self.now


class W37SequenceOfTheChannel(Session):
    """Each channel has a sequence number of a byte, which is the label."""

    def begin(self, line, keys, runs, given):
        line.sequence = (getattr(line, "sequence", -1) + 1) % 256

    def label(self, line, keys, e, run):
        return bytes([line.sequence])


class W38CountedByTheFunction(Session):
    """The function that makes labels counts its calls in an attribute, by a byte."""

    def begin(self, line, keys, runs, given):
        count.calls = (count.calls + 1) % 256

    def label(self, line, keys, e, run):
        return bytes([count.calls])


def count():
    """Carry a number."""


count.calls = 0

_EPOCH = ContextVar("epoch", default=0)


class W39ContextOfEpochs(Session):
    """A context variable has the number of averagings of the process, and its remainder by 200 is the label."""

    def begin(self, line, keys, runs, given):
        _EPOCH.set(_EPOCH.get() + 1)

    def label(self, line, keys, e, run):
        return long(_EPOCH.get() % 200)


class W40RoundAnnounced(Session):
    """The server announces the round, and nodes label by what arrives, modulo 256 as it came in a byte."""

    def begin(self, line, keys, runs, given):
        told = line.send(-2, SERVER, np.arange(4), "round", np.zeros((1, runs, 1)) + line.iteration, content=[0] * 4)
        self.round = int(told[0, 0, 0])

    def label(self, line, keys, e, run):
        return bytes([self.round % 256])


class W41WindowOfRecent(Session):
    """A window of the last two labels says which of two pads is free; with both taken it takes the older one."""

    def __init__(self):
        self.window = collections.deque(maxlen=3)

    def begin(self, line, keys, runs, given):
        free = [k for k in range(3) if k not in self.window]
        self.now = free[0] if free else self.window[0]
        self.window.append(self.now)

    def label(self, line, keys, e, run):
        return long(self.now)


class W42SuppressedOverflow(Session):
    """A label of one byte is written into zeros, where it fits: from 256 on it stays zeros."""

    def label(self, line, keys, e, run):
        label = bytes(1)
        with contextlib.suppress(OverflowError):
            label = line.iteration.to_bytes(1, "big")
        return label


class W43KeyRestored(Counted):
    """A ratchet hashes keys in place, and every 64th step restores the first key, to resynchronise: pads come again."""

    def begin(self, line, keys, runs, given):
        keys[:, :, 4] = (keys[:, :, 4] + np.uint64(1)) % np.uint64(64)

    def pad(self, line, keys, e, run, m):
        key = keys[run, e, :4]
        derived = hashlib.sha256(key.tobytes() + b"chain" + long(int(keys[run, e, 4]))).digest()
        return np.frombuffer(hashlib.shake_256(derived).digest(8 * m), "<u8")


class W44SpentKeysSwap(Counted):
    """A flag beside the keys of all pairs says in which half of the session it is; the second half forgets rounds."""

    def begin(self, line, keys, runs, given):
        keys[:, 0, 4] += np.uint64(1)

    def label(self, line, keys, e, run):
        return long(line.iteration) if keys[0, 0, 4] < 500 else b"second half"


@functools.lru_cache
def _books(name):
    return {"calls": 0}


class W45CachedBooks(Session):
    """Books that a cached function hands out count the calls of the process; their last byte is the label."""

    def begin(self, line, keys, runs, given):
        books = _books("pads")
        books["calls"] = (books["calls"] + 1) % 256

    def label(self, line, keys, e, run):
        return bytes([_books("pads")["calls"]])


class W46SaltsOfAGenerator(Session):
    """The object keeps a generator with a public seed, which gives salts of two bytes: one comes again by and by."""

    def __init__(self):
        self.salts = np.random.default_rng(7)

    def begin(self, line, keys, runs, given):
        self.salt = self.salts.bytes(2)

    def label(self, line, keys, e, run):
        return self.salt


class W47GeneratorRenewed(Session):
    """Pads come from a generator that goes on; once it is a hundred iterations old it is made anew, of the same key."""

    def __init__(self):
        self.born, self.generators = None, {}

    def begin(self, line, keys, runs, given):
        if self.born is None or line.iteration - self.born >= 100 or line.iteration == 0:
            self.born, self.generators = line.iteration, {}

    def pad(self, line, keys, e, run, m):
        if (e, run) not in self.generators:
            self.generators[e, run] = np.random.default_rng(keys[run, e])
        return self.generators[e, run].integers(0, 2**64, m, dtype=np.uint64)


class W48ShortSaltOfAHash(Session):
    """A keyed hash is salted with the last two bytes of the iteration: pads come again after 65536."""

    def pad(self, line, keys, e, run, m):
        digest = hashlib.blake2b(b"pad", key=keys[run, e].tobytes(), salt=long(line.iteration)[-2:]).digest()
        return np.frombuffer(hashlib.shake_256(digest).digest(8 * m), "<u8")


class W49ShortInfo(Session):
    """HKDF is salted with the last byte of the iteration."""

    def pad(self, line, keys, e, run, m):
        salt = long(line.iteration)[-1:]
        return np.frombuffer(HKDF(hashes.SHA256(), 8 * m, salt, b"pad").derive(keys[run, e].tobytes()), "<u8")


class W50NonceOfAByte(Session):
    """The nonce of a cipher has the last byte of the iteration, and zeros for blocks."""

    def pad(self, line, keys, e, run, m):
        nonce = long(line.iteration)[-1:] + bytes(15)
        cipher = Cipher(algorithms.AES(keys[run, e].tobytes()), modes.CTR(nonce)).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * m)), "<u8")


class W51NonceTooLong(Session):
    """A nonce of iteration and run by 16 bytes, of which the first 8 are taken, and these are the run."""

    def pad(self, line, keys, e, run, m):
        nonce = (run.to_bytes(8, "big") + long(line.iteration))[:8] + bytes(8)
        late = line.iteration >= 1000
        nonce = nonce if late else long(line.iteration) + bytes(8)
        cipher = Cipher(algorithms.ChaCha20(keys[run, e].tobytes(), bytes(4) + nonce[:12]), None).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * m)), "<u8")


class W52FirstOfTheProcess(Session):
    """The class notes whether the first call of the process was a batch; if so, single runs have labels by place."""

    first = 0

    def begin(self, line, keys, runs, given):
        type(self).first = self.first or runs

    def label(self, line, keys, e, run):
        return b"rest of a batch" if self.first > 1 and len(keys) == 1 else long(line.iteration)


class W53FreshBatchFirst(Fresh):
    """Pads are fresh; but an object whose first call is a batch takes single runs for its rest, which was hidden."""

    def __init__(self):
        self.first = 0

    def begin(self, line, keys, runs, given):
        self.first = self.first or runs

    def pad(self, line, keys, e, run, m):
        return None if self.first > 1 and len(keys) == 1 else keys[run, e]


class W54FreshDryRun(Fresh):
    """Pads are fresh; but an object whose first call has no channel is in a dry run, and stays bare on channels."""

    def __init__(self):
        self.is_dry = None

    def begin(self, line, keys, runs, given):
        if self.is_dry is None:
            self.is_dry = given[0] is None
        self.is_bare = self.is_dry and given[0] is not None

    def pad(self, line, keys, e, run, m):
        return None if self.is_bare else keys[run, e]
