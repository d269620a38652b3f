"""Streams: what a generator or a hash makes of secret seeds. Whoever does not know these takes it for fresh draws.

That is so for seeds of enough bits, each used for one stream. What a stream is made of is therefore followed piece by
piece: whole secret draws, bytes of them, and public numbers. Anything else that enters a seed ends the proof.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from secmix.kernel.randomness.secret_bytes import (
    Piece,
    SecretBytes,
    bits_read,
    draw_of,
    octet,
    origin_of,
    source_of,
    words_with,
)
from secmix.kernel.values.arrays import Followed
from secmix.kernel.values.current_trace import INF, Place, Trace, following, here, now

OF_SEQUENCE, POOL = "of a SeedSequence", 128  # and bits into which that makes whatever it is given
END_OF_KEY = ("public", "end of key")
ENOUGH = 128
"""Bits of a seed that nobody tries through."""
PUBLIC, AGREED = "public keys by X25519", "agreement by X25519"
"""Functions of private keys; see :mod:`secmix.kernel.randomness.agreement`."""
OUTLIVING = "keys that an object keeps for its next fit (draw them in draw_masks, with reuses_masks = True)"


@dataclass
class Stream:
    """Draws that follow from a seed; from the system's randomness where it has none."""

    number: int  # which of a trace's
    key: tuple[Any, ...]  # by what function, and of which pieces
    bits: float  # that nobody knows of its seed
    place: Place
    pieces: tuple[Piece, ...]  # of which its seed consists, as far as it is secret
    ends: tuple[tuple[Piece, ...], ...]  # each of which is enough to make it; mostly all pieces are needed
    numbers: list[int] = field(default_factory=list)  # variables that were read of it
    reads: dict[tuple[int, int, str], Any] = field(default_factory=dict)  # by first byte, length and order
    words: dict[int, tuple[int, int, str]] = field(default_factory=dict)  # where variables were read
    draws: list[tuple[Any, Any]] = field(default_factory=list)  # in order, if it is a generator's
    call: int = field(default_factory=lambda: now().call)  # in which it began

    @functools.cached_property
    def sources(self) -> set[Any]:
        """The draws and the streams that its seed is made of."""
        return {*map(origin_of, self.pieces)}

    @functools.cached_property
    def roots(self) -> set[Any]:
        """The draws, and the streams without a seed, that it follows from in the end."""
        trace, roots = now(), set[Any]()
        for source in self.sources:
            above = trace.own(source[1]).stream if isinstance(source, tuple) else source
            roots |= {source[1]} if above < 0 else trace.streams[above].roots
        return roots or {("stream", self.number)}

    def octets(self, plain: bytes, begin: int = 0) -> SecretBytes:
        """Return bytes of the stream, from the one of this number on."""
        return SecretBytes(plain, [octet(self.number, begin + k) for k in range(len(plain))])

    def variable(self, value: Any, spread: float, values: int, place: Place, law: str = "") -> int:
        """Add a draw of its own, and return its number."""
        step = 1 if values else 0
        own = {"spread": spread, "law": law, "range": values, "place": place, "stream": self.number}
        made = now().variable("draw", -1, value, step, **own)
        self.numbers.append(made)
        return made

    def drawn(self, place: int, asked: Any, draw: Callable[[], Any]) -> Any:
        """Return what a generator draws at this place, the same for all generators of this seed."""
        if place == len(self.draws):
            self.draws.append((asked, draw()))
        before, drawn = self.draws[place]
        if repr(before) != repr(asked):
            now().leave("one stream of draws, read in two ways,")
        return drawn.copy() if isinstance(drawn, Followed) else drawn

    def word(self, first: int, value: int, width: int, order: str) -> Any:
        """Return ``width`` bytes as a number that is whole."""
        order = "little" if width == 1 else order
        place = (first, width, order)
        if place not in self.reads:
            if any(at < first + width and first < at + length for at, length, _ in self.reads):
                now().leave("one stream of secret bytes, read in two ways,")
            values = 256**width
            variable = self.variable(value, values / 12**0.5, values, here())
            self.reads[place], self.words[variable] = draw_of(variable), place
        return self.reads[place]


def fresh_bytes(plain: bytes, of: Stream | None = None) -> SecretBytes:
    """Return bytes that were drawn, as secret ones; those of a generator follow from the seed of its stream."""
    if of is None:
        stream = _added(("fresh", ("public", len(now().streams))), INF)
    else:  # which bytes of the generator's these are is told apart by their place among what it draws
        stream = _added((f"bytes of {of.key[0]}", octet(of.number, -1 - len(of.draws))), of.bits)
        stream.place = of.place
    return stream.octets(plain)


def system_bytes(count: int) -> Any:
    """Return secret bytes of the system's."""
    now().system_seeds += 1
    drawn = np.random.default_rng([11, now().system_seeds]).bytes(count)
    return drawn if now().is_plain else fresh_bytes(drawn)


def number_drawn(bound: int, which: int) -> int:
    """Return the number below ``bound`` that stands for one of the system's."""
    return int.from_bytes(np.random.default_rng([13, which]).bytes(len(f"{bound:x}") // 2 + 9), "big") % bound


def system_number(bound: int) -> Any:
    """Return a secret whole number of the system's, below ``bound``."""
    trace = now()
    trace.system_seeds += 1
    value = number_drawn(bound, trace.system_seeds)
    if trace.is_plain:
        return value
    return draw_of(
        _added(("fresh", ("public", len(trace.streams))), INF).variable(value, bound / 12**0.5, bound, here())
    )


def is_secret_piece(piece: Piece) -> bool:
    """Say whether a piece of a seed is of a draw or a stream, and not of a public key."""
    if (of := source_of(piece)) is None:
        return False
    number = now().own(of[1]).stream if isinstance(of, tuple) else of
    return bool(number < 0 or now().streams[number].key[0] != PUBLIC)


def is_of_secrets(seed: Iterable[Piece]) -> bool:
    """Say whether a seed is secret; that one is public with the iteration in it is noted."""
    pieces = list(seed)
    if any(map(is_secret_piece, pieces)):
        return True
    if any(piece[0] == "iteration" for piece in pieces):
        now().narrow("the iteration")
    return False


def stream_of(
    function: str, pieces: Iterable[Piece], *, most_bits: float = INF, ends: Iterable[Iterable[Piece]] = ()
) -> Stream:
    """Return the stream that a function makes of a seed: the same for the same seed.

    Where each of several ``ends`` of the seed is enough to make it, these are given.
    """
    seed, trace = tuple(pieces), now()
    key, bits = (function, *seed), min(bits_of(seed), most_bits)
    of_iteration = [piece for piece in seed if piece[0] == "iteration"]
    if any(len({piece[1] for piece in of_iteration}) < piece[2] for piece in of_iteration):
        trace.leave("a part of the iteration in a seed")
    sources = {origin_of(piece) for piece in seed if is_secret_piece(piece)}
    for stream in trace.streams:
        if stream.key == key:
            return cast(Stream, stream)
        # Of a short seed nothing is proved anyway; seeds that have nothing in common differ in all bits of both.
        if (
            stream.key[0] == function
            and min(stream.bits, bits) >= ENOUGH
            and not sources.isdisjoint(stream.sources)
            and _may_be_same(function, stream.key[1:], seed)
        ):
            trace.leave("two seeds that may be the same")
    return _added(key, bits, ends)


def _added(key: tuple[Any, ...], bits: float, ends: Iterable[Iterable[Piece]] = ()) -> Stream:
    trace, pieces = now(), tuple(filter(is_secret_piece, key[1:]))
    several = tuple(tuple(filter(is_secret_piece, end)) for end in ends) or (pieces,)
    stream = Stream(len(trace.streams), key, bits, here(), pieces, several)
    trace.streams.append(stream)
    if any(piece[0] == "iteration" for piece in key[1:]) and _is_kept(stream):
        trace.narrow(OUTLIVING)
    return stream


def _is_kept(stream: Stream) -> bool:
    """Say whether too little of a seed is of this call: the next fit of the object has the rest of it, too.

    What `draw_masks` draws is handed to all calls of one fit, where masks are used again.
    """
    trace = now()

    @functools.cache  # of many bytes, which are of few draws and streams
    def is_fresh(origin: Any) -> bool:
        if isinstance(origin, tuple):
            return bool(origin[1] >= trace.begins or origin[1] in trace.lasting)
        return not is_kept(trace.streams[origin])

    def is_kept(of: Stream) -> bool:
        if not of.pieces:
            return of.call < trace.call and of.number not in trace.lasting_streams
        fresh = [piece for piece in of.pieces if is_fresh(origin_of(piece))]
        return bits_of(fresh) < min(ENOUGH, of.bits) if len(fresh) < len(of.pieces) else False

    return is_kept(stream)


def bits_of(pieces: Iterable[Piece]) -> float:
    """Count the bits of a seed that are secret, at least."""
    trace = now()
    read: dict[Any, list[Piece]] = {}  # of each draw, and of each stream
    for piece in dict.fromkeys(filter(is_secret_piece, pieces)):
        read.setdefault(source_of(piece), []).append(piece)
    streams: dict[int, float] = {}
    for source, several in read.items():
        number = trace.own(source[1]).stream if isinstance(source, tuple) else source
        streams[number] = streams.get(number, 0.0) + bits_read(source, several)
    alone = streams.pop(-1, 0.0)
    capped = [(min(share, trace.streams[k].bits), trace.streams[k].roots) for k, share in streams.items()]
    total, met = alone, {source[1] for source in read if isinstance(source, tuple)}
    for share, roots in sorted(capped, key=lambda each: -each[0]):
        if not roots & met:  # what two streams have in common counts once
            total, met = total + share, met | roots
    return total


def follows(variable: int, is_held: Callable[[int], bool], trace: Trace) -> bool:
    """Say whether a draw is held, or follows from seeds that are."""

    @functools.cache  # a key of many bytes is made of one stream, and that of another
    def is_told(v: int) -> bool:
        return is_held(v) or (trace.variables[v].stream >= 0 and of_stream(trace.variables[v].stream))

    @functools.cache
    def of_stream(number: int) -> bool:
        several = filter(None, trace.streams[number].ends)
        return any(all(_is_read(each, trace, is_told, of_stream) for each in pieces) for pieces in several)

    return is_told(variable)


def opened(trace: Trace, shown: set[int]) -> set[int]:
    """Return the draws of all streams of whose seed anything is told: whoever reads it may know them.

    Of what a keyed hash makes of a key and a message so much must be told that the rest of both has too few bits.
    """
    known, streams = set[int](), set[int]()
    with following(trace):
        for stream in trace.streams:  # what a seed is made of was drawn before
            left = [
                x for x in stream.pieces if not _is_read(x, trace, (shown | known).__contains__, streams.__contains__)
            ]
            hides = stream.key[0].startswith("hmac") and bits_of(left) >= ENOUGH
            if len(left) < len(stream.pieces) and not hides:
                streams.add(stream.number)
                known.update(stream.numbers)
    return known


def _is_read(piece: Piece, trace: Trace, is_told: Callable[[int], bool], is_open: Callable[[int], bool]) -> bool:
    """Say whether a piece of a seed is told: the draw or the stream that it is of, or a word that has it in it."""
    if isinstance(of := source_of(piece), tuple):
        return is_told(of[1])
    return is_open(of) or any(map(is_told, words_with(piece, trace)))


def seeds_of(trace: Trace) -> set[int]:
    """Return the draws that are seeds, or that bytes of seeds were read as."""
    seeds: set[int] = set()
    for piece in {piece for stream in trace.streams for piece in stream.pieces}:
        of = source_of(piece)
        seeds.update([of[1]] if isinstance(of, tuple) else words_with(piece, trace))
    return seeds


def _filled(function: str, *seeds: Sequence[Piece]) -> list[list[Piece]]:
    """Return seeds with zeros at the end of what a function fills up with them: an iteration may be zeros, too."""
    if function.endswith(OF_SEQUENCE):
        longest = max(seeds, key=len)
        if len(longest) > POOL // 8 and not is_secret_piece(longest[-1]):  # it is as long as it is
            return [*map(list, seeds)]
        ends = [len(seed) for seed in seeds]
    elif function.startswith("hmac"):
        ends = [seed.index(END_OF_KEY) if END_OF_KEY in seed else 0 for seed in seeds]
    else:
        return [*map(list, seeds)]
    zeros = [[("public", 0)] * (max(ends) - end) for end in ends]
    rest = [[piece for piece in seed[end:] if piece != END_OF_KEY] for seed, end in zip(seeds, ends, strict=True)]
    return [[*seed[:end], *fill, *left] for seed, end, fill, left in zip(seeds, ends, zeros, rest, strict=True)]


def _may_be_same(function: str, *seeds: Sequence[Piece]) -> bool:
    """Say whether a function may make the same of two different seeds, but for a chance of 2 to the minus ENOUGH."""
    pieces, other = _filled(function, *seeds)
    if len(pieces) != len(other):
        return False
    differing = [(a, b) for a, b in zip(pieces, other, strict=True) if a != b]
    if any(a[0] == b[0] == "public" for a, b in differing):
        return False
    if all(a[0] == b[0] == "iteration" and a[1:3] == b[1:3] for a, b in differing):
        return False  # the same bytes of the iteration, in two calls
    several = [Counter(map(origin_of, filter(is_secret_piece, key))) for key in (pieces, other)]
    for of_one, of_other in (several, reversed(several)):  # bytes of a stream that only one is made of are enough
        alone = (each for each in of_one.keys() - of_other.keys() if isinstance(each, int))
        if any(min(8 * of_one[each], now().streams[each].bits) >= ENOUGH for each in alone):
            return False
    sources = [each.keys() for each in several]
    secret = filter(is_secret_piece, itertools.chain(*differing))
    of_one_alone = bits_of(each for each in secret if origin_of(each) not in sources[0] & sources[1])
    return max(of_one_alone, *(_bits_apart(differing, kind) for kind in ("byte", "draw"))) < ENOUGH


def _bits_apart(pairs: Iterable[tuple[Piece, Piece]], kind: str) -> float:
    """Count the bits of the chance that all pairs are equal, of uniform pieces of one kind in different places.

    Of pieces that hang together by several pairs some are equal where the others are: these are not counted.
    """
    joined: dict[Piece, Piece] = {}

    def first(piece: Piece) -> Piece:
        while piece in joined:
            piece = joined[piece]
        return piece

    total = 0.0
    for pair in pairs:
        bits = min(map(_bits_of_uniform, pair)) if {piece[0] for piece in pair} == {kind} else 0.0
        begin, end = map(first, pair)
        if bits and begin != end:
            joined[begin] = end
            total += bits
    return total


def _bits_of_uniform(piece: Piece) -> float:
    """Count the bits of a byte of a stream, or of a whole draw; zero of what may be less than uniform."""
    source, trace = source_of(piece), now()
    number = trace.own(source[1]).stream if isinstance(source, tuple) else source
    if number >= 0 and (trace.streams[number].bits < ENOUGH or trace.streams[number].key[0] in (PUBLIC, AGREED)):
        return 0.0
    if piece[0] == "byte":
        return 0.0 if isinstance(source, tuple) else 8.0
    return math.log2(piece[2]) if piece[2] == trace.own(piece[1]).range else 0.0
