"""Cheap tests of ciphertexts: whether words follow from them without the secret key.

Tested are: the same word encrypted twice (Goldwasser, Micali 1984, section 5: deterministic encryption is not secure),
ciphertexts modulo the numbers of the public key (two Paillier ciphertexts of equal residue have the same randomness),
factors of those numbers, and secret keys among the messages. If encryption is deterministic, the public key suffices to
count up to each word, by baby and giant steps (Shanks 1971). The tests show leaks, but never that there are none.
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
"""Integers (runs, n, m)."""
Parts = tuple[Any, ...]
"""The ciphertext of one word: integers and bytes."""

BITS = 2048
"""Least length of a modulus whose factors are the key (Barker 2020, NIST SP 800-57, table 2)."""
_SMALL_PRIMES, _FERMAT = 2**16, 10_000
_BABY, _GIANT = 2**18, 2**9  # steps: words up to 2^27 in absolute value come out
_KEYS = 64  # sent numbers that are tried as keys


@dataclass(frozen=True)
class Opened:
    """Words that follow from ciphertexts without the key."""

    how: str
    words: Words  # (runs, n, m): the words; for those known relative to another word, the difference from it
    # (runs, n, m): -1 if the word itself is known; otherwise the place, among n m, of the word relative to which it is
    # known: its own place if nothing is known
    beside: Words


@dataclass
class CipherTrial:
    """Results of the cheap tests of one cipher."""

    # why ciphertexts may reveal more than their length; empty if no test found anything
    faults: list[str] = field(default_factory=list)
    opened: Opened | None = None
    tried: int = 0  # number of words that were encrypted


def tried(cipher: Cipher, words: Words) -> CipherTrial:
    """Encrypt words (runs, n, m), and test the ciphertexts.

    Raises Exception: of any kind, if a function of the library fails.
    """
    sealed = [cipher.encrypt(word) for word in words.ravel().tolist()]
    passed = [parts_of(ciphertext) for ciphertext in sealed]
    trial = CipherTrial(_other_sums(cipher, words, sealed), tried=len(passed))
    if keys := _weak_keys(cipher, trial, passed):
        decrypted = [cipher.decrypt(ciphertext) for ciphertext in sealed]
        trial.opened = _known(f"the secret key, which are {keys}", decrypted, words)
    if deterministic_parts := _deterministic(cipher, words, passed):
        trial.faults.append(
            "encrypting the same word twice gives the same bytes: anybody with the public key can try words"
        )
        if len(deterministic_parts) == len(passed[0]):
            trial.opened = trial.opened or _counted_up(cipher, words, passed)
    for modulus in cipher.public:
        if opened := _same_randomness(cipher, modulus, words, passed):
            trial.faults += [] if deterministic_parts else ["words are encrypted with the same randomness as others"]
            trial.opened = trial.opened or opened
    return trial


def _known(how: str, values: Sequence[Any], words: Words) -> Opened:
    return Opened(how, np.array(values, dtype=object).reshape(words.shape), np.full(words.shape, -1))


def parts_of(sealed: Any) -> Parts:
    """Split the ciphertext of one word into integers and bytes.

    >>> parts_of((7, b"ab"))
    (7, b'ab')
    """
    parts = sealed if isinstance(sealed, (tuple, list)) else (sealed,)
    return tuple(part if isinstance(part, (bytes, str)) else int(part) for part in parts)


def _other_sums(cipher: Cipher, words: Words, sealed: Sequence[Any]) -> list[str]:
    """Check that sums of ciphertexts decrypt to the sum of the words; return the reason if not."""
    place, step = np.arange(words.size).reshape(words.shape), words.shape[2]
    for entry in range(step):
        total = sealed[place[0, 0, entry]]
        for node in range(1, words.shape[1]):
            total = cipher.add(total, sealed[place[0, node, entry]])
        if cipher.decrypt(total) != sum(words[0, :, entry].tolist()):
            return [f"the sum of ciphertexts decrypts to a wrong sum in entry {entry}: {cipher.place}"]
    return []


# ---------------------------------------------------------------------- keys


def _weak_keys(cipher: Cipher, trial: CipherTrial, passed: Sequence[Parts]) -> str:
    """Search for factors of the public numbers, and name them; add other faults of the key to ``trial``."""
    numbers = dict.fromkeys(number for parts in passed for number in numbers_in(parts))
    for modulus in cipher.public:
        if modulus.bit_length() < BITS:
            trial.faults.append(
                f"the public key has a modulus of {modulus.bit_length()} bits, expected at least {BITS}: its factors "
                "are "
                "the secret key"
            )
        if factored := factor(modulus) or _among(modulus, numbers):
            trial.faults.append(f"the secret key follows from the public one: {factored[1]}")
            return f"factors of the public key ({factored[1]})"
    return ""


def numbers_in(parts: Parts) -> Iterator[int]:
    """Yield the integers of a ciphertext; bytes in both byte orders.

    >>> list(numbers_in((5, bytes([1, 0]))))
    [5, 256, 1]
    """
    for part in parts:
        if isinstance(part, int):
            yield part
        elif isinstance(part, bytes):
            yield from (int.from_bytes(part, "big"), int.from_bytes(part, "little"))


def factor(modulus: int) -> tuple[int, str] | None:
    """Find a factor that is easy to find, and say how: a small one, or one of two that are close together.

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
    """Find a factor with a sent number: one that shares a factor, or is a multiple of the group order."""
    for count, number in enumerate(numbers):
        shared = math.gcd(number, modulus)
        if 1 < shared < modulus:
            return shared, "a sent number shares it"
        # The order of the group, from which factors follow (Miller 1976), is no longer than a power of the modulus.
        short = 1 < number < modulus and number.bit_length() > modulus.bit_length() // 4
        if count < _KEYS and short and pow(2, number, modulus) == 1:
            return number, "a sent number is a multiple of the order of its group"
    return None


# ---------------------------------------------------------------------- deterministic encryption


def _deterministic(cipher: Cipher, words: Words, passed: Sequence[Parts]) -> list[int]:
    """Find the parts that are the same whenever a word is encrypted, and differ from word to word."""
    again = [parts_of(cipher.encrypt(word)) for word in words.ravel()[:2].tolist()]
    repeated_parts = [
        k
        for k in range(len(passed[0]))
        if all(after[k : k + 1] == before[k : k + 1] for after, before in zip(again, passed, strict=False))
    ]
    return [k for k in repeated_parts if len({parts[k] for parts in passed}) > 1]


def _counted_up(cipher: Cipher, words: Words, passed: Sequence[Parts]) -> Opened | None:
    """Encrypt one, and add it until the ciphertexts come out, with nothing but the public key."""
    unit, total = cipher.encrypt(1), cipher.encrypt(0)
    baby: dict[int, int] = {}  # by hashes, as ciphertexts are long: a collision gives a wrong word
    for count in range(_BABY):
        if baby.setdefault(hash(parts_of(total)), count) != count:
            return None  # it does not distinguish words
        total = cipher.add(total, unit)
    opened: dict[Parts, Any] = {}
    for sign in (-1, 1):  # steps down from words above, and up from those below
        step = cipher.encrypt(sign * _BABY)
        moved = {parts: _joined(parts) for parts in passed if parts not in opened}
        for count in range(_GIANT):
            reached = {parts: baby.get(hash(parts_of(at))) for parts, at in moved.items()}
            opened |= {parts: word - sign * count * _BABY for parts, word in reached.items() if word is not None}
            moved = {parts: cipher.add(at, step) for parts, at in moved.items() if parts not in opened}
            if not moved:
                break
    if len(opened) < len(set(passed)):
        return None
    how = "encrypting words one after the other with the public key, until the same bytes come out"
    return _known(how, [opened[parts] for parts in passed], words)


def _joined(parts: Parts) -> Any:
    return parts[0] if len(parts) == 1 else parts


# ---------------------------------------------------------------------- the same randomness


def _same_randomness(cipher: Cipher, modulus: int, words: Words, passed: Sequence[Parts]) -> Opened | None:
    """Divide ciphertexts with equal residues modulo a public number, which gives the difference of their words.

    In Paillier's cipher with base n + 1, the quotient of two such ciphertexts is 1 + n d modulo n². Words of a run are
    compared, and an encryption of zero, which needs the public key only.
    """
    zero, per_run = next(numbers_in(parts_of(cipher.encrypt(0))), 0), words[0].size
    numbers = [next(numbers_in(parts), 0) for parts in passed]
    out, beside = [0] * len(numbers), [k % per_run for k in range(len(numbers))]
    for start in range(0, len(numbers), per_run):
        first = {zero % modulus: (-1, zero)}
        for k in range(start, start + per_run):
            at, other = first.setdefault(numbers[k] % modulus, (k - start, numbers[k]))
            if at != k - start and (d := _difference(numbers[k], other, modulus)) is not None:
                out[k], beside[k] = d, at
    if beside == [k % per_run for k in range(len(numbers))]:
        return None
    how = "dividing ciphertexts with the same randomness"
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
