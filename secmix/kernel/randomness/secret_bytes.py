"""Secret bytes: those of draws and of streams, and what is made of bytes: seeds and keys, words, numbers.

Each byte keeps what it is a piece of. So bytes may be cut, joined and read again, as numbers or as words; whatever else
is made of them ends the proof. No other file of the kernel knows how a byte is written down.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from secmix.kernel.randomness.coins import Public, is_iteration
from secmix.kernel.values.arrays import Followed, array_of, as_words, concrete, is_secret, values
from secmix.kernel.values.current_trace import DRAWS, INF, Trace, may_be_caught, may_stop, now
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number, function, wrapped

Piece = tuple[Any, ...]
"""Of a seed: ("public", number), ("iteration", byte, of how many, call), ("draw", variable, modulo this), or ("byte",
of a stream or a draw, which); of what is no seed: (WORD, number, byte, kind)."""
WORD = "word"
"""A number that was computed, as its bytes pass: they may be put together again, and nothing else is made of them."""
_READ_AGAIN = frozenset("u1 u2 u4 u8 i1 i2 i4 i8 f8".split())  # noqa: SIM905
_BY_ORDER = "struct.pack of secrets, or of the iteration, but by '<' or '>' and a letter for each"
_COMPUTED = "the bytes of a secret that was computed or cut (make seeds of draws as they were drawn)"


def octet(of: Any, place: int) -> Piece:
    """Return the byte at a place of a draw, the least significant first, or of the stream of a number."""
    return ("byte", of, place)


def octets_of_draw(variable: Any, count: int) -> list[Piece]:
    """Return the first bytes of a draw."""
    return [octet(("draw", variable), k) for k in range(count)]


def is_octet(piece: Piece) -> bool:
    """Say whether a piece is a byte of a draw or of a stream."""
    return bool(piece[0] == "byte")


def source_of(piece: Piece) -> Any:
    """Return the draw, or the number of the stream, that a piece is of; None where it is of neither."""
    if piece[0] == "draw":
        return piece[:2]
    return piece[1] if is_octet(piece) else None


def origin_of(piece: Piece) -> Any:
    """Return what a secret piece is of in the end: a word that was read is the stream's."""
    source = source_of(piece)
    number = _stream_read(source[1]) if isinstance(source, tuple) else source
    return source if number < 0 else number


def _stream_read(variable: int) -> int:
    """Return the stream that a draw is a word of, which was read of its bytes; below zero where it is none."""
    number = now().own(variable).stream
    return number if number >= 0 and variable in now().streams[number].words else -1


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
    number, place = byte_of_stream(piece) if is_octet(piece) else (-1, 0)
    return piece if number < 0 else octet(number, place)


def words_with(piece: Piece, trace: Trace) -> Iterator[int]:
    """Yield the draws that bytes of a stream were read as, where the piece is one of these bytes."""
    for (at, width, _), word in trace.streams[piece[1]].reads.items():
        if at <= piece[2] < at + width:
            yield from word.form


def bits_read(source: Any, pieces: Iterable[Piece]) -> float:
    """Count the bits that pieces of one draw, or of one stream, have at least: residues may say the same twice."""
    octets: float = 8.0 * sum(map(is_octet, pieces))
    if not isinstance(source, tuple):
        return octets
    bits: float = math.log2(now().own(source[1]).range)
    residues: float = math.log2(math.lcm(*(piece[2] for piece in pieces if piece[0] == "draw")))
    return min(max(octets - (8 * math.ceil(bits / 8) - bits), residues), bits)


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
    pieces = [*octets_of_draw(variable, width), *[None] * (length - width)] if variable is not None else []
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
    """Return the draw that a number is, neither shifted nor multiplied; None where it is none.

    What shares of it are joined to, modulo what it is drawn below, is the draw again.
    """
    if not isinstance(number, Number) or not number.form or len(number.form) != 1:
        return None
    variable = next(iter(number.form))
    own, modulus = now().own(variable), number.modulus
    is_whole = own.kind == "draw" and own.range and own.value == number.value and number.terms[variable] == 1
    is_joined = modulus == own.range and 0 < number.below <= own.range
    return variable if is_whole and (modulus == INF or is_joined) else None


def secret_pieces(number: Number) -> list[Piece]:
    """Return the draw that a number is, or is the rest of, or the bytes of draws that lie side by side in it."""
    if (piece := residue(number)) is not None:
        return _as_octets(piece)
    if isinstance(number.key, tuple) and number.key[0].startswith(_PART):
        first, end = map(int, number.key[0].removeprefix(_PART).split(":"))
        return octets_of_draw(bare(number.key[1]), end)[first:]
    pieces: list[Piece] = []
    left = number.value if number.modulus == INF else None
    for variable, coefficient in sorted(number.terms.items(), key=operator.itemgetter(1)):
        own = now().own(variable)
        if own.kind != "draw" or not own.range or coefficient < 256 ** len(pieces) or left is None:
            return []
        pieces += [("public", 0)] * (round(math.log(coefficient, 256)) - len(pieces))
        if coefficient != 256 ** len(pieces):
            return []
        pieces += octets_of_draw(variable, -(-(own.range - 1).bit_length() // 8))
        left -= coefficient * own.value
    return pieces if left == 0 else []


def _as_octets(piece: Piece) -> list[Piece]:
    """Return the rest of a draw as its first bytes, if it is those: so bytes that are read as a number are the same."""
    _, variable, modulus = piece
    octets = octets_of_draw(variable, (modulus - 1).bit_length() // 8)
    return octets if modulus == 256 ** len(octets) < now().own(variable).range else [piece]


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
        if [*pieces] == octets_of_draw(of[1], first + len(pieces))[first:]:
            return _part_of(of[1], first, len(pieces))
    elif kind == "byte" and all(piece == octet(of, first + k) for k, piece in enumerate(octets.pieces)):
        return now().streams[of].word(first, value, len(octets), order)
    now().leave("secret bytes of several kinds as one number")
    return value


_PART = "bytes of a draw "


def _part_of(variable: int, first: int, count: int) -> Number:
    """Return some bytes of a draw as a number, which says what it is a piece of."""
    below, name = 256**count, f"{_PART}{first}:{first + count}"
    number = function(name, lambda value: value >> 8 * first & below - 1, draw_of(variable), step=1)
    number.below = below
    return number  # type: ignore[no-any-return]


def _words_of_draws(pieces: Sequence[Piece | None]) -> Any:
    """Return bytes, the least significant first, as the draws that they are all bytes of; None if they are not.

    So many bytes hold a draw that is below 256 to their number: they are then the sum of the draws, each at its place.
    """
    total, at = None, 0
    for of, several in itertools.groupby(pieces, key=lambda piece: piece and piece[1]):
        octets = list(several)
        if not isinstance(of, tuple) or octets != octets_of_draw(of[1], len(octets)):
            return None
        if now().variables[of[1]].range > 256 ** len(octets):
            return None
        total = draw_of(of[1]) if total is None else total + draw_of(of[1]) * 256**at
        at += len(octets)
    return total


def draw_of(variable: int) -> Number:
    own = now().own(variable)
    number = Number(own.value, alone(variable), INF, DRAWS, 1)
    number.below = own.range
    return number


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
