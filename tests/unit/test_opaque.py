"""Cheap tests of ciphertexts: each known way to get Paillier's cipher wrong is found, and the right one is not."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pytest
from paillier_library import SMALL, Paillier

from secmix.auditing.counterexamples.ciphers import opaque
from secmix.protocols.cipher import Cipher

WORDS = np.random.default_rng(0).integers(-(2**20), 2**20, size=(2, 3, 2))
BITS = "the public key has a modulus of 196 bits, expected at least 2048: its factors are the secret key"


def tried(encrypt: Any, key: Paillier = SMALL, **more: Any) -> opaque.CipherTrial:
    given = {"add": key.add, "decrypt": key.decrypt, "public": (key.n,)} | more
    return opaque.tried(Cipher(np.asarray, encrypt, holders=(0,), **given), WORDS)


def known(trial: opaque.CipherTrial) -> np.ndarray:
    """Which words came out, or their differences."""
    assert trial.opened is not None
    flat, beside = WORDS.reshape(len(WORDS), -1), trial.opened.beside.reshape(len(WORDS), -1)
    others = np.where(beside < 0, 0, np.take_along_axis(flat, beside, axis=1))
    own = beside == np.arange(flat.shape[1])
    assert (trial.opened.words.reshape(flat.shape)[~own] == (flat - others)[~own]).all()
    return ~own


def test_nothing_is_found_of_the_right_one_but_the_length_of_its_key() -> None:
    trial = tried(SMALL.encrypt)
    assert (trial.faults, trial.opened, trial.tried) == ([BITS], None, WORDS.size)


def test_without_blinding_words_are_counted_up_to() -> None:
    trial = tried(lambda word: SMALL.encrypt(word, 1))
    assert "encrypting the same word twice gives the same bytes" in trial.faults[-1]
    assert known(trial).all()
    assert "one after the other" in trial.opened.how


def test_without_the_numbers_of_the_key_they_are_counted_up_to_as_well() -> None:
    trial = tried(lambda word: SMALL.encrypt(word, 1).to_bytes(64, "big"), public=(), add=_adding, decrypt=_opening)
    assert known(trial).all()


def _adding(one: bytes, other: bytes) -> bytes:
    return SMALL.add(int.from_bytes(one, "big"), int.from_bytes(other, "big")).to_bytes(64, "big")


def _opening(sealed: bytes) -> int:
    return SMALL.decrypt(int.from_bytes(sealed, "big"))


def test_one_randomness_for_all_words_cancels_against_a_zero() -> None:
    r = secrets.randbelow(SMALL.n - 1) + 1
    assert known(tried(lambda word: SMALL.encrypt(word, r))).all()


def test_randomness_that_comes_again_tells_differences() -> None:
    few = [secrets.randbelow(SMALL.n - 1) + 1 for _ in range(5)]
    order = iter(range(10**6))
    trial = tried(lambda word: SMALL.encrypt(word, few[next(order) % len(few)]))
    assert "words are encrypted with the same randomness as others" in trial.faults
    assert 0 < known(trial).mean() < 1


@pytest.mark.parametrize("beside", [SMALL.p, (SMALL.p - 1) * (SMALL.q - 1)], ids=["a factor", "the order"])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_secret_key_among_what_passes_opens_all(beside: int, as_bytes: bool) -> None:
    sent: Any = beside.to_bytes(32, "little") if as_bytes else beside
    trial = tried(
        lambda word: (SMALL.encrypt(word), sent),
        add=lambda one, other: (SMALL.add(one[0], other[0]), sent),
        decrypt=lambda sealed: SMALL.decrypt(sealed[0]),
    )
    assert "the secret key follows from the public one" in trial.faults[-1]
    assert known(trial).all()


@pytest.mark.parametrize(
    ("key", "words"),
    [(Paillier(65521, 2**107 - 1), "it divides by 65521"), (Paillier(10**9 + 7, 10**9 + 9), "are close together")],
)
def test_a_key_whose_factors_anybody_finds_opens_all(key: Paillier, words: str) -> None:
    trial = tried(key.encrypt, key)
    assert words in trial.faults[-1]
    assert known(trial).all()


def test_what_opens_to_another_sum_is_doubted() -> None:
    assert "decrypts to a wrong sum in entry 0" in tried(SMALL.encrypt, add=lambda one, other: one).faults[0]


def test_a_part_that_tells_some_of_a_word_is_doubted() -> None:
    trial = tried(
        lambda word: (SMALL.encrypt(word), int(word).bit_length()),
        add=lambda one, other: (SMALL.add(one[0], other[0]), 0),
        decrypt=lambda sealed: SMALL.decrypt(sealed[0]),
    )
    assert "encrypting the same word twice" in trial.faults[-1]
    assert trial.opened is None
