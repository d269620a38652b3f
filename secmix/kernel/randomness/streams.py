"""Streams: what a generator or a hash makes of secret seeds. Whoever does not know these takes it for fresh draws.

That is so for seeds of enough bits, each used for one stream. What a stream is made of is therefore followed piece by
piece: whole secret draws, bytes of them, and public numbers. Anything else that enters a seed ends the proof.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from secmix.kernel.randomness.coins import ITSELF, Public
from secmix.kernel.values.arrays import Followed, array_of, as_words, concrete, is_secret, values
from secmix.kernel.values.current_trace import DRAWS, INF, Place, Trace, following, here, may_be_caught, may_stop, now
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number, function, wrapped

OF_SEQUENCE = "of a SeedSequence"
END_OF_KEY = ("public", "end of key")
ENOUGH = 128
"""Bits of a seed that nobody tries through."""
PUBLIC, AGREED = "public keys by X25519", "agreement by X25519"
"""Functions of private keys; see :mod:`secmix.kernel.randomness.agreement`."""
Piece = tuple[Any, ...]
"""Of a seed: ("public", number), ("iteration", byte, of how many, call), ("draw", variable, modulo this), or ("byte",
of a stream or a draw, which); of what is no seed: (WORD, number, byte, kind)."""
WORD = "word"
"""A number that was computed, as its bytes pass: they may be put together again, and nothing else is made of them."""
_READ_AGAIN = frozenset("u1 u2 u4 u8 i1 i2 i4 i8 f8".split())  # noqa: SIM905
OUTLIVING = "keys that an object keeps for its next fit (draw them in draw_masks, with reuses_masks = True)"
_BY_ORDER = "struct.pack of secrets, or of the iteration, but by '<' or '>' and a letter for each"
_COMPUTED = "the bytes of a secret that was computed or cut (make seeds of draws as they were drawn)"


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
        return {*map(_origin, self.pieces)}

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
        return SecretBytes(plain, [("byte", self.number, begin + k) for k in range(len(plain))])

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
            self.reads[place], self.words[variable] = _draw(variable), place
        return self.reads[place]


def fresh_bytes(plain: bytes, of: Stream | None = None) -> SecretBytes:
    """Return bytes that were drawn, as secret ones; those of a generator follow from the seed of its stream."""
    if of is None:
        stream = _added(("fresh", ("public", len(now().streams))), INF)
    else:  # which bytes of the generator's these are is told apart by their place among what it draws
        stream = _added((f"bytes of {of.key[0]}", ("byte", of.number, -1 - len(of.draws))), of.bits)
        stream.place = of.place
    return stream.octets(plain)


def system_bytes(count: int) -> SecretBytes:
    """Return secret bytes of the system's."""
    now().system_seeds += 1
    return fresh_bytes(np.random.default_rng([11, now().system_seeds]).bytes(count))


def number_drawn(bound: int, which: int) -> int:
    """Return the number below ``bound`` that stands for one of the system's."""
    return int.from_bytes(np.random.default_rng([13, which]).bytes(len(f"{bound:x}") // 2 + 9), "big") % bound


def system_number(bound: int) -> Any:
    """Return a secret whole number of the system's, below ``bound``."""
    trace = now()
    trace.system_seeds += 1
    value = number_drawn(bound, trace.system_seeds)
    return _draw(_added(("fresh", ("public", len(trace.streams))), INF).variable(value, bound / 12**0.5, bound, here()))


class SecretBytes:
    """Bytes of which some are secret: of draws, or of a stream. It is no ``bytes``, which C would read in silence."""

    __hash__ = None  # type: ignore[assignment]
    as_it_passes = None  # a channel asks the trace, which ends the proof

    def __init__(self, plain: bytes, pieces: Sequence[Piece | None]) -> None:
        self.plain, self.pieces = plain, tuple(pieces)

    def __len__(self) -> int:
        return len(self.plain)

    def __add__(self, other: Any) -> Any:
        more = as_bytes(other)
        return SecretBytes(self.plain + more.plain, self.pieces + more.pieces)

    def __radd__(self, other: Any) -> Any:
        return as_bytes(other) + self

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return SecretBytes(self.plain[index], self.pieces[index])
        place = range(len(self))[index]
        return number_of(self[place : place + 1], "little")

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: Any) -> bool:
        now().leave("a comparison of secret bytes")
        return bool(self.plain == getattr(other, "plain", other))

    def __getattr__(self, name: str) -> Any:
        now().leave(f".{name} of secret bytes")
        return getattr(self.plain, name)

    def __str__(self) -> str:
        now().leave("the text of secret bytes")
        return str(self.plain)

    __repr__ = __str__

    def __reduce__(self) -> Any:
        now().leave("a pickle of secret bytes")
        return bytes, (self.plain,)

    def __deepcopy__(self, memo: Any) -> SecretBytes:
        return self


def as_bytes(value: Any) -> SecretBytes:
    """Return public bytes, and numbers in an array of bytes, as those that may be secret."""
    if isinstance(value, Followed):
        value = bytes_of_words(value)
    if isinstance(value, SecretBytes):
        return value
    if is_secret(value):
        now().leave("the bytes of secrets in a plain array")
    plain = bytes(value)
    return SecretBytes(plain, [None] * len(plain))


def bytes_of(number: Any, length: int, order: Any, *, signed: bool = False) -> SecretBytes:
    """Return a whole draw in so many bytes, of which a sign may take a bit; anything else ends the proof."""
    most = 256**length // (1 + signed)
    if isinstance(number, Public):
        if not is_iteration(number) or (length < 4 and may_be_caught()):  # it may be too long for few bytes
            return as_bytes(number.used().to_bytes(length, order))
        places = range(length) if order == "little" else range(length - 1, -1, -1)
        at = [("iteration", k, length, now().call) for k in places]
        return SecretBytes(number.value.to_bytes(length, order), at)
    if not isinstance(number, Number):
        return as_bytes(int(number).to_bytes(length, order))
    _, variable, modulus = residue(number) or ("", None, 256**length + 1)
    width = length if bare(number) is not None else (modulus.bit_length() - 1) // 8  # of a rest the last bytes
    is_computed = modulus > 256**length or (width < length and modulus != 256**width)
    if is_computed and (signed or not 0 < number.below <= most):
        now().leave(_COMPUTED)
    if not 0 < number.below <= most:
        may_stop(f"{length} bytes of a secret that may not fit into them")
    if is_computed:
        octets = _octets_of(number, f"u{length}", number.value.to_bytes(length, "little"))
        return octets if order == "little" else octets[::-1]
    pieces = [("byte", ("draw", variable), k) if k < width else None for k in range(length) if variable is not None]
    octets = SecretBytes(number.value.to_bytes(length, "little"), pieces)
    return octets if order == "little" else octets[::-1]


def struct_packed(layout: Any, *numbers: Any) -> Any:
    """Stand for ``struct.pack``: whole numbers, and bytes, one after the other, where some are not public."""
    numbers = tuple(each.item() if isinstance(each, Followed) and each.size == 1 else each for each in numbers)
    if not any(isinstance(each, (Public, Number, SecretBytes)) for each in numbers):
        return struct.pack(layout, *numbers)
    order, codes = _fields(layout)
    if len(codes) != len(numbers):
        now().leave(_BY_ORDER)
    octets = as_bytes(b"")
    for code, number in zip(codes, numbers, strict=True):
        size = struct.calcsize(order + code)
        if isinstance(number, (Public, Number)) and code in tuple("bBhHiIlLqQ"):
            octets = octets + bytes_of(number, size, "little" if order == "<" else "big", signed=code.islower())
        elif isinstance(number, SecretBytes) and code == f"{len(number)}s":
            octets = octets + number
        else:
            octets = octets + struct.pack(order + code, values(number, "struct.pack() of a secret"))
    return octets if any(octets.pieces) else octets.plain


def struct_unpacked(layout: Any, octets: Any) -> Any:
    """Stand for ``struct.unpack``: whole numbers, and bytes, where some are not public."""
    octets = as_bytes(octets) if isinstance(octets, (SecretBytes, Followed)) else octets
    if not isinstance(octets, SecretBytes) or not any(octets.pieces):
        return struct.unpack(layout, getattr(octets, "plain", octets))
    order, codes = _fields(layout)
    if struct.calcsize(layout) != len(octets):
        return struct.unpack(layout, octets.plain)  # which raises an error
    numbers: list[Any] = []
    at = 0
    for code in codes:
        size = struct.calcsize(order + code)
        part, at = octets[at : at + size], at + size
        if not any(part.pieces):
            numbers += struct.unpack(order + code, part.plain)
        elif code[-1] == "s":
            numbers.append(part)
        elif code == "d" and order == "<":
            numbers.append(_word_as(part, np.dtype("<f8")))
        elif code in tuple("bBhHiIlLqQ"):
            number = number_of(part, "little" if order == "<" else "big")
            numbers.append(wrapped(number, np.dtype(f"i{size}")) if code.islower() else number)
        else:
            now().leave("struct.unpack of secrets by another letter")
    return tuple(numbers)


def _fields(layout: Any) -> tuple[str, list[str]]:
    """Return the order of bytes of a layout, and a letter for each number, of bytes with how many they are."""
    if layout[:1] not in tuple("<>!"):
        now().leave(_BY_ORDER)
    fields = re.findall(r"(\d*)([a-zA-Z?])", layout[1:])
    return layout[0], [x for n, code in fields for x in ([n + code] if code == "s" else [code] * int(n or 1))]


def bytes_of_words(array: Followed) -> Any:
    """Return the bytes of an array as they lie in memory; those of what was computed are read as that alone."""
    if not is_secret(array):
        return concrete(array).tobytes()
    kind, words = array.kind, as_words(array).reading.ravel().tolist()
    if kind.str[1:] not in _READ_AGAIN or kind.byteorder == ">":
        now().leave(f"the bytes of secrets as {kind}")
    return functools.reduce(operator.add, (_octets_as(kind, x) for x in words))


def _octets_as(kind: np.dtype[Any], word: Any) -> SecretBytes:
    plain = np.array(word.value if isinstance(word, Number) else word, kind).tobytes()
    if not isinstance(word, Number):
        return as_bytes(plain)
    if len(plain) == 1 and id(word) in now().octets:
        return SecretBytes(plain, [now().octets[id(word)][1]])
    is_draw = residue(word) is not None and word.below > 0
    return bytes_of(word, len(plain), "little") if is_draw else _octets_of(word, kind.str[1:], plain)


def _octets_of(word: Number, kind: str, plain: bytes) -> SecretBytes:
    """Return the bytes of a word that was computed, of which nothing is made but that word, and messages."""
    trace = now()
    place = trace.places.setdefault(id(word), len(trace.words))
    trace.words += [word][place < len(trace.words) :]
    return SecretBytes(plain, [(WORD, place, k, kind) for k in range(len(plain))])


def _read(pieces: Sequence[Piece | None]) -> Any:
    """Return the word that some bytes are, or the number that a single byte of it is; None where they are no word's."""
    if not pieces or pieces[0] is None or pieces[0][0] != WORD:
        return None
    _, place, k, kind = pieces[0]
    word, length = now().words[place], int(kind[1:])
    if [*pieces] == [(WORD, place, at, kind) for at in range(length)]:
        return word
    if len(pieces) > 1:
        now().leave(_COMPUTED)
    if word.depends & DRAWS:  # it tells no more than the word, which may be a residue
        octet = Number(_plain(word.value, kind)[k], None, 0, word.depends, 1, pure=False)
        octet.made_of = (word,)
    else:
        octet = function(f"byte {k} of {kind}", lambda x: _plain(x, kind)[k], word, step=1)
    octet.below = 256
    now().octets[id(octet)] = octet, pieces[0]
    return octet


def _plain(value: Any, kind: str) -> bytes:
    return np.array(value, kind).tobytes() if kind in _READ_AGAIN else value.to_bytes(int(kind[1:]), "little")


def is_iteration(number: Any) -> bool:
    """Say whether a public number is the iteration itself: it is never the same in two calls.

    What was made of it may be: a half of it, its last byte, the smaller of it and another.
    """
    return isinstance(number, Public) and number.of is ITSELF


def residue(number: Number) -> Piece | None:
    """Return the draw that a number is, or is the rest of, as a piece of a seed; None where it is none."""
    variable, modulus = bare(number), number.modulus
    if variable is not None:
        return ("draw", variable, now().own(variable).range)
    if modulus in (0, INF) or not number.form or [each % modulus for each in number.terms.values()] != [1]:
        return None
    variable = next(iter(number.form))
    own = now().own(variable)
    fits = own.range and own.range % modulus == 0 and own.value % modulus == number.value
    return ("draw", variable, int(modulus)) if fits else None


def bare(number: Any) -> int | None:
    """Return the draw that a number is, neither shifted nor multiplied; None where it is none."""
    if not isinstance(number, Number) or number.modulus != INF or not number.form or len(number.form) != 1:
        return None
    variable = next(iter(number.form))
    own = now().own(variable)
    is_whole = own.kind == "draw" and own.range and own.value == number.value and number.terms[variable] == 1
    return variable if is_whole else None


def secret_pieces(number: Number) -> list[Piece]:
    """Return the draw that a number is, or is the rest of, or the bytes of draws that lie side by side in it."""
    if (piece := residue(number)) is not None:
        return [piece]
    if isinstance(number.key, tuple) and number.key[0].startswith(_BYTE):
        return [("byte", ("draw", bare(number.key[1])), int(number.key[0].removeprefix(_BYTE)))]
    pieces: list[Piece] = []
    left = number.value if number.modulus == INF else None
    for variable, coefficient in sorted(number.terms.items(), key=operator.itemgetter(1)):
        own = now().own(variable)
        if own.kind != "draw" or not own.range or coefficient < 256 ** len(pieces) or left is None:
            return []
        pieces += [("public", 0)] * (round(math.log(coefficient, 256)) - len(pieces))
        if coefficient != 256 ** len(pieces):
            return []
        pieces += [("byte", ("draw", variable), k) for k in range(-(-(own.range - 1).bit_length() // 8))]
        left -= coefficient * own.value
    return pieces if left == 0 else []


def number_of(octets: SecretBytes, order: str) -> Any:
    """Return bytes as a whole number that is not negative."""
    value = int.from_bytes(octets.plain, "little" if order == "little" else "big")
    if not any(octets.pieces):
        return value
    pieces = octets.pieces if order == "little" else octets.pieces[::-1]
    if (word := _read(pieces)) is not None:
        if len(pieces) > 1 and pieces[0][3][0] == "f":  # type: ignore[index]
            now().leave("the bits of a secret")
        return wrapped(word, np.dtype(f"u{len(pieces)}")) if pieces[0][3][0] == "i" else word  # type: ignore[index]
    kind, of, first = octets.pieces[0][:3] if octets.pieces[0] else ("public", None, 0)
    if isinstance(of, tuple):
        words = _words_of_draws(pieces)
        if words is not None:
            return words
        if len(pieces) == 1:
            return _byte_of(of[1], first)
    elif kind == "byte" and all(piece == ("byte", of, first + k) for k, piece in enumerate(octets.pieces)):
        return now().streams[of].word(first, value, len(octets), order)
    now().leave("secret bytes of several kinds as one number")
    return value


_BYTE = "byte "


def _byte_of(variable: int, place: int) -> Number:
    """Return a byte of a draw as a number, which says what it is a piece of."""
    number = function(f"{_BYTE}{place}", lambda value: value >> 8 * place & 255, _draw(variable), step=1)
    number.below = 256
    return number  # type: ignore[no-any-return]


def _words_of_draws(pieces: Sequence[Piece | None]) -> Any:
    """Return bytes, the least significant first, as the draws that they are all bytes of; None if they are not.

    So many bytes hold a draw that is below 256 to their number: they are then the sum of the draws, each at its place.
    """
    total, at = None, 0
    for of, several in itertools.groupby(pieces, key=lambda piece: piece and piece[1]):
        octets = list(several)
        if not isinstance(of, tuple) or octets != [("byte", of, k) for k in range(len(octets))]:
            return None
        if now().variables[of[1]].range > 256 ** len(octets):
            return None
        total = _draw(of[1]) if total is None else total + _draw(of[1]) * 256**at
        at += len(octets)
    return total


def _draw(variable: int) -> Number:
    own = now().own(variable)
    number = Number(own.value, alone(variable), INF, DRAWS, 1)
    number.below = own.range
    return number


def is_secret_piece(piece: Piece) -> bool:
    """Say whether a piece of a seed is of a draw or a stream, and not of a public key."""
    if piece[0] not in ("draw", "byte"):
        return False
    of = _source(piece)
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
    sources = {_origin(piece) for piece in seed if is_secret_piece(piece)}
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
        fresh = [piece for piece in of.pieces if is_fresh(_origin(piece))]
        return bits_of(fresh) < min(ENOUGH, of.bits) if len(fresh) < len(of.pieces) else False

    return is_kept(stream)


def bits_of(pieces: Iterable[Piece]) -> float:
    """Count the bits of a seed that are secret, at least."""
    trace = now()
    read: dict[Any, list[Piece]] = {}  # of each draw, and of each stream
    for piece in dict.fromkeys(filter(is_secret_piece, pieces)):
        read.setdefault(_source(piece), []).append(piece)
    streams: dict[int, float] = {}
    for source, several in read.items():
        number = trace.own(source[1]).stream if isinstance(source, tuple) else source
        streams[number] = streams.get(number, 0.0) + _bits_read(source, several)
    alone = streams.pop(-1, 0.0)
    capped = [(min(share, trace.streams[k].bits), trace.streams[k].roots) for k, share in streams.items()]
    total, met = alone, {source[1] for source in read if isinstance(source, tuple)}
    for share, roots in sorted(capped, key=lambda each: -each[0]):
        if not roots & met:  # what two streams have in common counts once
            total, met = total + share, met | roots
    return total


def _bits_read(source: Any, pieces: Iterable[Piece]) -> float:
    """Count the bits that pieces of one draw, or of one stream, have at least: residues may say the same twice."""
    octets: float = 8.0 * sum(piece[0] == "byte" for piece in pieces)
    if not isinstance(source, tuple):
        return octets
    bits: float = math.log2(now().own(source[1]).range)
    residues: float = math.log2(math.lcm(*(piece[2] for piece in pieces if piece[0] == "draw")))
    return min(max(octets - (8 * math.ceil(bits / 8) - bits), residues), bits)


def _source(piece: Piece) -> Any:
    """Return the draw or the stream that a secret piece is of."""
    return ("draw", piece[1]) if piece[0] == "draw" else piece[1]


def _origin(piece: Piece) -> Any:
    """Return the draw or the stream that a secret piece is of in the end: a word that was read is the stream's."""
    source = _source(piece)
    number = _stream_read(source[1]) if isinstance(source, tuple) else source
    return source if number < 0 else number


def _stream_read(variable: int) -> int:
    """Return the stream that a draw is a word of, which was read of its bytes; below zero where it is none."""
    number = now().own(variable).stream
    return number if number >= 0 and variable in now().streams[number].words else -1


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
    if isinstance(of := _source(piece), tuple):
        return is_told(of[1])
    reads = (x for (at, width, _), x in trace.streams[of].reads.items() if at <= piece[2] < at + width)
    return is_open(of) or any(is_told(v) for x in reads for v in x.form)


def byte_of_stream(piece: Piece) -> tuple[int, int]:
    """Return of which stream a byte is, and which of it; below zero of none: it may be one of a word that was read."""
    if piece[0] == WORD:
        return -1, 0
    if not isinstance(of := piece[1], tuple):
        return of, piece[2]
    if (number := _stream_read(of[1])) < 0:
        return -1, 0
    first, width, order = now().streams[number].words[of[1]]
    return number, first + (piece[2] if order == "little" else width - 1 - piece[2])


def in_one_way(piece: Piece) -> Piece:
    """Return a byte of a word that was read of a stream as that of the stream: it is the same byte."""
    number, place = byte_of_stream(piece) if piece[0] == "byte" else (-1, 0)
    return piece if number < 0 else ("byte", number, place)


def seeds_of(trace: Trace) -> set[int]:
    """Return the draws that are seeds, or that bytes of seeds were read as."""
    seeds: set[int] = set()
    for piece in {piece for stream in trace.streams for piece in stream.pieces}:
        if isinstance(of := _source(piece), tuple):
            seeds.add(of[1])
        else:
            reads = trace.streams[of].reads.items()
            seeds.update(v for (at, n, _), x in reads if at <= piece[2] < at + n for v in x.form)
    return seeds


def _filled(function: str, *seeds: Sequence[Piece]) -> list[list[Piece]]:
    """Return seeds with zeros at the end of what a function fills up with them: an iteration may be zeros, too."""
    if function.endswith(OF_SEQUENCE):
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
    several = [Counter(map(_origin, filter(is_secret_piece, key))) for key in (pieces, other)]
    for of_one, of_other in (several, reversed(several)):  # bytes of a stream that only one is made of are enough
        alone = (each for each in of_one.keys() - of_other.keys() if isinstance(each, int))
        if any(min(8 * of_one[each], now().streams[each].bits) >= ENOUGH for each in alone):
            return False
    sources = [each.keys() for each in several]
    secret = filter(is_secret_piece, itertools.chain(*differing))
    return bits_of(each for each in secret if _origin(each) not in sources[0] & sources[1]) < ENOUGH


def words_of(octets: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """Stand for ``np.frombuffer``: words of secret bytes."""
    if not isinstance(octets, SecretBytes):
        return np.frombuffer(values(octets, "the memory of secrets"), dtype, count, offset)
    kind = np.dtype(dtype)
    width = kind.itemsize
    size = (len(octets) - offset) // width if count < 0 else count
    parts = [octets[offset + k * width : offset + (k + 1) * width] for k in range(size)]
    words = np.empty(size, object)
    if kind.kind not in "iu":
        words[:] = [_word_as(part, kind) for part in parts]
        return array_of(words, kind)
    words[:] = [number_of(part, "big" if kind.byteorder == ">" else "little") for part in parts]
    found = array_of(words, np.dtype(f"{kind.byteorder}u{width}"))
    return found if kind.kind == "u" else found.view(kind)


def _word_as(octets: SecretBytes, kind: np.dtype[Any]) -> Any:
    """Return the word of a kind that was made these bytes."""
    if not any(octets.pieces):
        return np.frombuffer(octets.plain, kind)[0].item()
    if any(piece is None or piece[0] != WORD or f"<{piece[3]}" != kind.str for piece in octets.pieces):
        now().leave(f"secret bytes as {kind}")
    return _read(octets.pieces)


def words_as_bytes(self: Followed, order: Any = "C") -> Any:
    """Stand for ``numpy.ndarray.tobytes``."""
    if order not in ("C", None) and is_secret(self):
        now().leave("the bytes of secrets in another order")
    return bytes_of_words(self)


def to_bytes(self: Any, length: int = 1, byteorder: str = "big", *, signed: bool = False) -> Any:
    """Stand for ``int.to_bytes``."""
    if signed:
        now().leave("the signed bytes of a secret")
    return bytes_of(self, length, byteorder)


def from_bytes(octets: Any, byteorder: str = "big", *, signed: bool = False) -> Any:
    """Stand for ``int.from_bytes``."""
    if not isinstance(octets, (SecretBytes, Followed)):
        return int.from_bytes(octets, byteorder, signed=signed)  # type: ignore[arg-type]
    if signed:
        now().leave("secret bytes as a signed number")
    return number_of(as_bytes(octets), byteorder)


Number.tobytes = lambda self, order="C": self._left("the bytes of a secret")  # type: ignore[attr-defined]
Number.to_bytes = to_bytes  # type: ignore[attr-defined]
Public.to_bytes = to_bytes  # type: ignore[attr-defined]
Followed.tobytes = words_as_bytes  # type: ignore[method-assign,assignment]


def as_pieces(several: Iterable[Any]) -> list[Piece]:
    """Return the pieces of bytes, with numbers for those that are public."""
    several = list(several)
    if any(piece and piece[0] == WORD for each in several for piece in each.pieces):
        now().leave(_COMPUTED)
    return [
        in_one_way(piece) if piece else ("public", each.plain[k])
        for each in several
        for k, piece in enumerate(each.pieces)
    ]
