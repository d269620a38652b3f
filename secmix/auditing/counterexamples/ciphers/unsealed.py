"""Words that a cell's adversary computes from ciphertexts without the key, in the audited runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.random import stream
from secmix.auditing.counterexamples.ciphers.opaque import CipherTrial, Opened, Words, tried
from secmix.auditing.counterexamples.finding import in_all_runs
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness import Check
from secmix.protocols.cipher import Cipher
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SEALED, SERVER, Channel

_KEY = "tests of the cipher"
_FIRST = 160  # words that are encrypted in the first trial
_RUNS, _SECONDS = 30, 10.0  # of the trial that shows a violation


@dataclass(frozen=True)
class _Try:
    """A cipher, and the results of its tests."""

    cipher: Cipher
    trial: CipherTrial
    seconds: float  # per word
    read: tuple[int, ...]  # nodes whose ciphertexts the adversary reads


def sealed_check(case: CellContext) -> Check | None:
    """Report what cheap tests of the cipher find; None if there is none, or the adversary has the key."""
    tested = _tried(case)
    if tested is None:
        return None
    where, count = tested.cipher.place, tested.trial.tried
    if tested.trial.faults:
        return Check("cipher", "failed", f"{tested.trial.faults[-1]} ({where})")
    sentence = f"Cheap tests of {count} ciphertexts found nothing ({where})."
    assumes = f"Ciphertexts ({where}) are assumed to be opaque without the key: the cipher is tested, but not traced."
    return Check("cipher", "passed", sentence, assumes=assumes)


def sealed_findings(case: CellContext, nodes: list[int]) -> list[Finding]:
    """Find words of ``nodes`` that follow from ciphertexts without the key."""
    tested = _tried(case)
    if tested is None or tested.trial.opened is None or not tested.read:
        return []
    words = _words(case, tested.cipher)[:, tested.read]
    runs, n, m = words.shape
    entries = m if tested.seconds * _RUNS * n * m <= _SECONDS else min(m, 2)
    selected = words[: max(2, min(runs, _RUNS, int(_SECONDS / (tested.seconds * n * entries)))), :, :entries]
    opened = tried(tested.cipher, selected).opened
    if opened is None:
        return []
    positions = {node: place for place, node in enumerate(tested.read) if node in nodes}
    return [
        finding
        for node, place in positions.items()
        for finding in _finding(case.about(node), place, selected, opened, m)
    ]


def _tried(case: CellContext) -> _Try | None:
    """Test the cipher of a cell once; None if there is none, or its adversary has the key or reads no ciphertext."""
    if _KEY not in case.fitted:
        cipher = _cipher(case)
        read = None if cipher is None else _read(case)
        case.fitted[_KEY] = None if cipher is None or read is None else _first_trial(case, cipher, read)
    tested: _Try | None = case.fitted[_KEY]
    return tested


def _first_trial(case: CellContext, cipher: Cipher, read: tuple[int, ...]) -> _Try:
    words = _words(case, cipher)
    _, n, m = words.shape
    entries = min(m, max(1, _FIRST // (2 * n)))
    begin = time.process_time()
    try:
        cipher.encrypt(1)
        seconds = max(time.process_time() - begin, 1e-6)
        return _Try(cipher, tried(cipher, words[:2, :, :entries]), seconds, read)
    except Exception as error:  # the library's functions may raise anything
        return _Try(cipher, CipherTrial([f"testing the cipher ends in {type(error).__name__}"]), 1.0, read)


def _cipher(case: CellContext) -> Cipher | None:
    setup = case.setup
    if not isinstance(setup, SumSetup) or not isinstance(case.observation, SumObservation):
        return None
    protocol: Any = case.built if case.built is not None else setup.protocol
    cipher = SumTraits.of(protocol).cipher(setup.network)
    return None if cipher is None or setup.corrupt & set(cipher.holders) else cipher


def _read(case: CellContext) -> tuple[int, ...] | None:
    """Find the nodes whose ciphertexts the adversary reads; None if it reads none."""
    setup, channel = case.setup, Channel()
    assert isinstance(setup, SumSetup)
    protocol: Any = case.built if case.built is not None else setup.protocol
    rng = stream(case.cell.seed, "soundness", "sealed")
    protocol.average(np.zeros((1, setup.network.n, 1)), setup.network, rng, channel=channel)
    origins = setup.adversary.observe(channel.transcript, setup.network).origins
    senders = {origin.sender for origin in origins if origin.kind.endswith(SEALED)} - setup.corrupt
    return tuple(sorted(senders - {SERVER})) if senders else None


def _words(case: CellContext, cipher: Cipher) -> Words:
    assert isinstance(case.observation, SumObservation)
    first = max(min(case.observation.iterations), 0)
    return np.asarray(cipher.words(case.observation.inputs[first].transpose(1, 0, 2)))


def _finding(about: dict[str, Any], node: int, words: Words, opened: Opened, m: int) -> list[Finding]:
    """Make the finding of the words (runs, n, entries) of one node, of ``m`` in all; empty unless they are right."""
    runs, _, entries = words.shape
    flat = words.reshape(runs, -1)
    beside = opened.beside.reshape(runs, -1)
    own = np.arange(node * entries, (node + 1) * entries)
    known = beside[:, own] != own
    truth = flat - np.where(beside < 0, 0, np.take_along_axis(flat, np.maximum(beside, 0), axis=1))
    right = (opened.words.reshape(runs, -1) == truth)[:, own] | ~known
    if not known.any(axis=1).all() or not right.all():
        return []
    complete = bool((beside[:, own] < 0).all())
    within = bool(((beside[:, own] // entries == node) | (beside[:, own] < 0))[known].all())
    # Relative to the words of g - 1 other nodes, all but one part in g is known of equal and independent words.
    share = 1.0 if complete or within else 1 - 1 / words.shape[1]
    what = "its input is" if complete and entries == m else f"of its input {entries} of {m} entries are"
    what = what if complete else "differences of its input's entries and others are"
    notes = [f"{what} computed without the key from ciphertexts, by {opened.how}"]
    method = f"ciphertexts opened without the key in {runs} runs"
    error = 0.0, "largest error in words"
    return [
        in_all_runs(about, runs, notes, method=method, error=error, complete=complete and entries == m, share=share)
    ]
