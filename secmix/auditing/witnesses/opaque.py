"""Cheap tests of what is sealed: whether words come out of what passes, without the secret key.

Tried are: the same word sealed twice (Goldwasser, Micali 1984, section 5: what is deterministic is not secure), what
passes modulo the numbers of the public key (two Paillier ciphertexts of equal rest have the same randomness), factors
of those numbers, and secret keys among what passes. Where sealing is deterministic, whoever has the public key counts
up to each word, by baby and giant steps (Shanks 1971). They show leaks, and never that there are none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix.protocols.cipher import Cipher

Words = NDArray[Any]
"""Whole numbers (runs, n, m)."""
Parts = tuple[Any, ...]
"""What passes of one word: whole numbers and bytes."""

BITS = 2048
"""Of a modulus whose factors are the key: fewer are no longer advised (Barker 2020, NIST SP 800-57, table 2)."""
_SMALL_PRIMES, _FERMAT = 2**16, 10_000
_BABY, _GIANT = 2**18, 2**9  # steps: words up to 2^27 on either side of zero come out
_KEYS = 64  # numbers among what passes that are tried as keys


@dataclass(frozen=True)
class Opened:
    """What comes out of what passes, without the key.

    Attributes
    ----------
    how : str
    words : (runs, n, m)
        The words; of those that are known beside another alone, what they are more than that.
    beside : (runs, n, m)
        -1 where the word itself is known; else the place, among n m, of the word beside which it is known: its own
        where nothing is.
    """

    how: str
    words: Words
    beside: Words


@dataclass
class Trial:
    """What cheap tests of one cipher found.

    Attributes
    ----------
    doubts : list of str
        Why what is sealed may tell more than its length; none where nothing was found.
    opened : Opened or None
    tried : int
        Words that were sealed.
    """

    doubts: list[str] = field(default_factory=list)
    opened: Opened | None = None
    tried: int = 0


def tried(cipher: Cipher, words: Words) -> Trial:
    """Seal words (runs, n, m), and hold cheap tests against what passes.

    Raises
    ------
    Exception
        Of whatever kind, where a function of the library fails.
    """
    sealed = [cipher.encrypt(word) for word in words.ravel().tolist()]
    passed = [parts_of(each) for each in sealed]
    trial = Trial(_other_sums(cipher, words, sealed), tried=len(passed))
    if keys := _weak_keys(cipher, trial, passed):
        opened = [cipher.decrypt(each) for each in sealed]
        trial.opened = _known(f"the secret key, which are {keys}", opened, words)
    if same := _deterministic(cipher, words, passed):
        trial.doubts.append("the same word sealed twice gives the same bytes: whoever has the public key tries words")
        if len(same) == len(passed[0]):
            trial.opened = trial.opened or _counted_up(cipher, words, passed)
    for modulus in cipher.public:
        if found := _same_randomness(cipher, modulus, words, passed):
            trial.doubts += [] if same else ["words are sealed with the same randomness as others"]
            trial.opened = trial.opened or found
    return trial


def _known(how: str, found: Sequence[Any], words: Words) -> Opened:
    return Opened(how, np.array(found, dtype=object).reshape(words.shape), np.full(words.shape, -1))


def parts_of(sealed: Any) -> Parts:
    """Return the whole numbers and bytes that pass of one word.

    >>> parts_of((7, b"ab"))
    (7, b'ab')
    """
    several = sealed if isinstance(sealed, (tuple, list)) else (sealed,)
    return tuple(each if isinstance(each, (bytes, str)) else int(each) for each in several)


def _other_sums(cipher: Cipher, words: Words, sealed: Sequence[Any]) -> list[str]:
    """Say where what is added under the seal opens to another sum."""
    place, step = np.arange(words.size).reshape(words.shape), words.shape[2]
    for entry in range(step):
        total = sealed[place[0, 0, entry]]
        for node in range(1, words.shape[1]):
            total = cipher.add(total, sealed[place[0, node, entry]])
        if cipher.decrypt(total) != sum(words[0, :, entry].tolist()):
            return [f"what is added under the seal opens to another sum, in entry {entry}: {cipher.place}"]
    return []


# ---------------------------------------------------------------------- keys


def _weak_keys(cipher: Cipher, trial: Trial, passed: Sequence[Parts]) -> str:
    """Name factors of the public numbers that are found; note in ``trial`` what else is wrong with these."""
    numbers = dict.fromkeys(each for parts in passed for each in numbers_in(parts))
    for modulus in cipher.public:
        if modulus.bit_length() < BITS:
            trial.doubts.append(
                f"the public key has a number of {modulus.bit_length()} bits, of {BITS} that it must have: its factors "
                "are the secret key"
            )
        if found := factor(modulus) or _among(modulus, numbers):
            trial.doubts.append(f"the secret key follows from the public one: {found[1]}")
            return f"factors of the public key ({found[1]})"
    return ""


def numbers_in(parts: Parts) -> Iterator[int]:
    """Yield what passes as whole numbers; bytes both ways round.

    >>> list(numbers_in((5, bytes([1, 0]))))
    [5, 256, 1]
    """
    for each in parts:
        if isinstance(each, int):
            yield each
        elif isinstance(each, bytes):
            yield from (int.from_bytes(each, "big"), int.from_bytes(each, "little"))


def factor(modulus: int) -> tuple[int, str] | None:
    """Return a factor that anybody finds, and how: a small one, or one of two that are close together.

    Fermat's method writes n as a difference of two squares.

    >>> factor(3 * 1000003), factor(1000003 * 1000033)
    ((3, 'it divides by 3'), (1000003, 'its two factors are close together'))
    """
    if modulus % 2 == 0:
        return 2, "it divides by 2"
    for small in range(3, min(_SMALL_PRIMES, math.isqrt(modulus) + 1), 2):
        if modulus % small == 0:
            return small, f"it divides by {small}"
    middle = math.isqrt(modulus - 1) + 1
    for a in range(middle, middle + _FERMAT):
        b = math.isqrt(a * a - modulus)
        if b * b == a * a - modulus:
            return (a - b, "its two factors are close together") if a - b > 1 else None
    return None


def _among(modulus: int, numbers: Sequence[int] | dict[int, None]) -> tuple[int, str] | None:
    """Find a factor with a number that passes: one that shares a factor, or is a multiple of the group's order."""
    for count, number in enumerate(numbers):
        shared = math.gcd(number, modulus)
        if 1 < shared < modulus:
            return shared, "a number that passes shares it"
        # The order of the group, from which factors follow (Miller 1976), is no longer than a power of the modulus.
        short = 1 < number < modulus and number.bit_length() > modulus.bit_length() // 4
        if count < _KEYS and short and pow(2, number, modulus) == 1:
            return number, "a number that passes is a multiple of the order of its group"
    return None


# ---------------------------------------------------------------------- the same twice


def _deterministic(cipher: Cipher, words: Words, passed: Sequence[Parts]) -> list[int]:
    """Return which parts are the same whenever a word is sealed, and differ from word to word."""
    again = [parts_of(cipher.encrypt(word)) for word in words.ravel()[:2].tolist()]
    same = [
        k
        for k in range(len(passed[0]))
        if all(each[k : k + 1] == before[k : k + 1] for each, before in zip(again, passed, strict=False))
    ]
    return [k for k in same if len({each[k] for each in passed}) > 1]


def _counted_up(cipher: Cipher, words: Words, passed: Sequence[Parts]) -> Opened | None:
    """Seal one, and add on, until what passes comes out: with nothing but the public key."""
    one, total = cipher.encrypt(1), cipher.encrypt(0)
    baby: dict[int, int] = {}  # by hashes, as ciphertexts are long: who takes one for another finds a wrong word
    for count in range(_BABY):
        if baby.setdefault(hash(parts_of(total)), count) != count:
            return None  # it does not tell words apart
        total = cipher.add(total, one)
    found: dict[Parts, Any] = {}
    for sign in (-1, 1):  # steps down from words above, and up from those below
        step = cipher.encrypt(sign * _BABY)
        moved = {each: _whole(each) for each in passed if each not in found}
        for count in range(_GIANT):
            here = {each: baby.get(hash(parts_of(at))) for each, at in moved.items()}
            found |= {each: word - sign * count * _BABY for each, word in here.items() if word is not None}
            moved = {each: cipher.add(at, step) for each, at in moved.items() if each not in found}
            if not moved:
                break
    if len(found) < len(set(passed)):
        return None
    how = "sealing words one after the other with the public key, until the same bytes come out"
    return _known(how, [found[each] for each in passed], words)


def _whole(parts: Parts) -> Any:
    return parts[0] if len(parts) == 1 else parts


# ---------------------------------------------------------------------- the same randomness


def _same_randomness(cipher: Cipher, modulus: int, words: Words, passed: Sequence[Parts]) -> Opened | None:
    """Divide words that have one rest modulo a public number: what is left is their difference.

    Of Paillier's cipher with base n + 1 the quotient of two such is 1 + n d modulo n². Words of a run are taken, and
    a zero that whoever has the public key seals.
    """
    zero, each_run = next(numbers_in(parts_of(cipher.encrypt(0))), 0), words[0].size
    numbers = [next(numbers_in(each), 0) for each in passed]
    out, beside = [0] * len(numbers), [k % each_run for k in range(len(numbers))]
    for start in range(0, len(numbers), each_run):
        first = {zero % modulus: (-1, zero)}
        for k in range(start, start + each_run):
            at, other = first.setdefault(numbers[k] % modulus, (k - start, numbers[k]))
            if at != k - start and (d := _difference(numbers[k], other, modulus)) is not None:
                out[k], beside[k] = d, at
    if beside == [k % each_run for k in range(len(numbers))]:
        return None
    how = "dividing what is sealed with the same randomness"
    return Opened(how, np.array(out, dtype=object).reshape(words.shape), np.array(beside).reshape(words.shape))


def _difference(number: int, other: int, modulus: int) -> int | None:
    square = modulus * modulus
    if math.gcd(other, modulus) != 1:
        return None
    left = (number * pow(other, -1, square) - 1) % square
    if left % modulus:
        return None
    d = left // modulus
    return d - modulus if d > modulus // 2 else d
