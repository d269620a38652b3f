"""What a cell's adversary gets of sealed words without the key, in the audited runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.random import stream
from secmix.auditing.evidence.interface import Case
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness import Check
from secmix.auditing.witnesses.finding import in_all_runs
from secmix.auditing.witnesses.opaque import Opened, Trial, Words, tried
from secmix.protocols.cipher import Cipher
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import SEALED, SERVER, Channel

_KEY = "what is sealed was tried"
_FIRST = 160  # words that are sealed in a first trial
_RUNS, _SECONDS = 30, 10.0  # of the trial that convicts


@dataclass(frozen=True)
class _Try:
    """A cipher, and what came of it."""

    cipher: Cipher
    trial: Trial
    seconds: float  # for each word
    read: tuple[int, ...]  # the nodes whose sealed words the adversary is sent or hears


def sealed_check(case: Case) -> Check | None:
    """Say what cheap tests of what is sealed find; None where nothing is, or the adversary has the key."""
    found = _tried(case)
    if found is None:
        return None
    where, count = found.cipher.place, found.trial.tried
    if found.trial.doubts:
        return Check("what is sealed", "failed", f"{found.trial.doubts[-1]} ({where})")
    said = f"Cheap tests of {count} sealed words find nothing ({where})."
    assumes = f"What is sealed ({where}) is taken to be opaque to who lacks the key: it is tried, and not followed."
    return Check("what is sealed", "passed", said, assumes=assumes)


def sealed_findings(case: Case, nodes: list[int]) -> list[Finding]:
    """Return what of the words of ``nodes`` comes out of what passes, without the key."""
    found = _tried(case)
    if found is None or found.trial.opened is None or not found.read:
        return []
    words = _words(case, found.cipher)[:, found.read]
    runs, n, m = words.shape
    entries = m if found.seconds * _RUNS * n * m <= _SECONDS else min(m, 2)
    some = words[: max(2, min(runs, _RUNS, int(_SECONDS / (found.seconds * n * entries)))), :, :entries]
    opened = tried(found.cipher, some).opened
    if opened is None:
        return []
    places = {node: place for place, node in enumerate(found.read) if node in nodes}
    return [each for node, place in places.items() for each in _finding(case.about(node), place, some, opened, m)]


def _tried(case: Case) -> _Try | None:
    """Try the cipher of a cell once; None where there is none, or its adversary has the key or reads nothing sealed."""
    if _KEY not in case.fitted:
        cipher = _cipher(case)
        read = None if cipher is None else _read(case)
        case.fitted[_KEY] = None if cipher is None or read is None else _first_trial(case, cipher, read)
    found: _Try | None = case.fitted[_KEY]
    return found


def _first_trial(case: Case, cipher: Cipher, read: tuple[int, ...]) -> _Try:
    words = _words(case, cipher)
    _, n, m = words.shape
    entries = min(m, max(1, _FIRST // (2 * n)))
    begin = time.process_time()
    try:
        cipher.encrypt(1)
        seconds = max(time.process_time() - begin, 1e-6)
        return _Try(cipher, tried(cipher, words[:2, :, :entries]), seconds, read)
    except Exception as error:  # a stranger's functions may fail in any way
        return _Try(cipher, Trial([f"trying it ends in {type(error).__name__}"]), 1.0, read)


def _cipher(case: Case) -> Cipher | None:
    setup = case.setup
    if not isinstance(setup, SumSetup) or not isinstance(case.observation, SumObservation):
        return None
    protocol: Any = case.built if case.built is not None else setup.protocol
    found = SumTraits.of(protocol).cipher(setup.network)
    return None if found is None or setup.corrupt & set(found.holders) else found


def _read(case: Case) -> tuple[int, ...] | None:
    """Return the nodes of whose sealed words the adversary reads what passes; None where it reads nothing sealed."""
    setup, channel = case.setup, Channel()
    assert isinstance(setup, SumSetup)
    protocol: Any = case.built if case.built is not None else setup.protocol
    rng = stream(case.cell.seed, "soundness", "sealed")
    protocol.average(np.zeros((1, setup.network.n, 1)), setup.network, rng, channel=channel)
    origins = setup.adversary.observe(channel.transcript, setup.network).origins
    senders = {each.sender for each in origins if each.kind.endswith(SEALED)} - setup.corrupt
    return tuple(sorted(senders - {SERVER})) if senders else None


def _words(case: Case, cipher: Cipher) -> Words:
    assert isinstance(case.observation, SumObservation)
    first = max(min(case.observation.iterations), 0)
    return np.asarray(cipher.words(case.observation.inputs[first].transpose(1, 0, 2)))


def _finding(about: dict[str, Any], node: int, words: Words, opened: Opened, m: int) -> list[Finding]:
    """Say what comes out of the words (runs, n, entries) at one place, of ``m`` in all; nothing unless it is right."""
    runs, _, entries = words.shape
    flat = words.reshape(runs, -1)
    beside = opened.beside.reshape(runs, -1)
    mine = np.arange(node * entries, (node + 1) * entries)
    told = beside[:, mine] != mine
    truth = flat - np.where(beside < 0, 0, np.take_along_axis(flat, np.maximum(beside, 0), axis=1))
    right = (opened.words.reshape(runs, -1) == truth)[:, mine] | ~told
    if not told.any(axis=1).all() or not right.all():
        return []
    whole = bool((beside[:, mine] < 0).all())
    within = bool(((beside[:, mine] // entries == node) | (beside[:, mine] < 0))[told].all())
    # A word beside those of g - 1 other nodes: of equal and independent ones that is all but one part in g.
    share = 1.0 if whole or within else 1 - 1 / words.shape[1]
    what = "its input is" if whole and entries == m else f"of its input {entries} of {m} entries are"
    what = what if whole else "differences of its input's entries and others are"
    notes = [f"{what} computed without the key from what passes sealed, by {opened.how}"]
    method = f"what passes sealed, opened without the key in {runs} runs"
    error = 0.0, "largest error in words"
    return [in_all_runs(about, runs, notes, method=method, error=error, whole=whole and entries == m, share=share)]
