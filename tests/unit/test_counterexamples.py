"""Counterexamples: from 100 runs on, for every adversary that reads as much, on every branch that is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise, Words, with_steps

import secmix
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.counterexamples import evidence
from secmix.errors import DataError

pytestmark = pytest.mark.filterwarnings("default")  # whole words wrap around

SCENARIO: dict[str, Any] = {
    "network": {"kind": "complete", "nodes": 4},
    "runs": 100,
    "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
    "model": {"components": 1, "iterations": 1},
    "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
}
SERVER, NEIGHBOUR, OUTSIDER = CuriousServer(), HonestButCurious({1}), Eavesdropper()


def cell(protocol: Any, adversary: Any = SERVER, **more: Any) -> Any:
    report = secmix.audit({**SCENARIO, **more}, protocols={"it": protocol}, adversaries={"who": adversary})
    return report.cells[0]


def why(found: Any, node: int = 0) -> str:
    return next(each.why for each in found.nodes if each.node == node)


def sends(words: Any) -> Any:
    """Whole words of which ``words(hidden, bare, s, channel)`` go to the server."""
    return with_steps(Words, chosen=lambda self, channel, hidden, bare, s: words(hidden, bare, s, channel))


def half_bare(hidden: Any, bare: Any, *_: Any) -> Any:
    out = hidden.copy()
    out[0, :, ::2] = bare[0, :, ::2]
    return out


def first_bare(hidden: Any, bare: Any, *_: Any) -> Any:
    out = hidden.copy()
    out[0] = bare[0]
    return out


@pytest.mark.parametrize("runs", [100, 130])
def test_half_a_vector_in_the_clear_is_told_in_a_hundred_runs(runs: int) -> None:
    found = cell(sends(half_bare), runs=runs)
    assert found.verdict == "violated"
    assert "of its input are sent unmasked: masked from 0 to the server" in why(found)


def test_what_needs_other_decoders_is_told_in_a_hundred_runs_too() -> None:
    """Numbers of two messages together, of which the proof says nothing."""

    def after(self: Any, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        masks = r[:3].sum(axis=0)  # node 0 is first on the first three edges
        channel.send(8, 0, -1, "digest", np.sign(masks) * np.sqrt(np.abs(masks) ** 2))

    found = cell(with_steps(Pairwise, 1e3, after=after))
    assert found.verdict == "violated"
    assert not [each for each in found.notes if each.startswith("not measured")]


@pytest.mark.build
def test_what_is_estimated_is_measured_again_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(evidence, "in_long_use", lambda reading: looked.append(reading) or [])

    def after(self: Any, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> None:
        channel.send(8, 0, -1, "digest", np.rint(4.0 * s[0]))

    protocol = with_steps(Pairwise, 1e3, after=after)
    report = secmix.audit(SCENARIO, protocols={"it": protocol}, adversaries={"who": SERVER})
    assert report.verdict == "violated"
    notes = [note for finding in report.findings for note in finding.notes]
    assert any(note.startswith("measured again on 100 fresh runs") for note in notes)
    assert len(looked) == 1


@pytest.mark.build
@pytest.mark.parametrize("adversary", [SERVER, NEIGHBOUR, OUTSIDER], ids=["server", "neighbour", "outsider"])
def test_what_one_adversary_decodes_every_one_does_that_reads_it(adversary: Any) -> None:
    found = cell(sends(first_bare), adversary)
    assert found.verdict == "violated"
    assert "its input is sent unmasked: masked from 0 to the server, round 0" in why(found)


WAYS: dict[str, tuple[Any, str]] = {
    "an iteration": (
        lambda h, b, s, c: b if c.iteration == 5000 else h,
        "in iteration 5000 its input is sent unmasked",
    ),
    "one of many": (lambda h, b, s, c: b if c.iteration % 10000 == 9999 else h, "in iteration 9999 its input is"),
    "after a warm-up": (
        lambda h, b, s, c: b if c.iteration > 30 and (c.iteration - 30) % 70 == 0 else h,
        "iteration 100 ",
    ),
    "a code": (lambda h, b, s, c: np.where(s == -999, b, h), "are -999 (test_counterexamples.py, line"),
    "a code that is asked for": (lambda h, b, s, c: b if (s == -999).any() else h, "are -999 (test_counterexamples"),
    "too large": (lambda h, b, s, c: np.where(np.abs(s) > 900, b, h), "are above 900 (test_counterexamples.py, line"),
    "too small": (lambda h, b, s, c: b if s[0].min() < -900 else h, "are below -900 (test_counterexamples.py, line"),
    "next to nothing": (lambda h, b, s, c: np.where(np.abs(s) < 0.125, b, h), "are within ±0.125"),
    "a word": (lambda h, b, s, c: np.where(np.rint(s * 2.0**20) > 2.0**30, b, h), "are above 1024"),
}


EVERYDAY = {"an iteration", "a code", "next to nothing"}


@pytest.mark.build
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.build] * (name not in EVERYDAY)) for name in WAYS]
)
def test_a_way_out_that_the_trace_names_is_taken(name: str) -> None:
    words, said = WAYS[name]
    found = cell(sends(words))
    assert found.verdict == "violated"
    assert said in why(found)


RIGHT: dict[str, Any] = {
    "turns": lambda h, b, s, c: h + np.uint64(0) if c.iteration == 5000 else h,
    "branches": lambda h, b, s, c: h + np.uint64(0) if np.abs(s).max() > 60 else h,
    "a code for zero": lambda h, b, s, c: h - np.where(s == -999, b, np.uint64(0)),
    "a level no mask reaches": lambda h, b, s, c: h + np.uint64(0) if s.max() > 1e11 else h,
}


@pytest.mark.build
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("adversary", [SERVER, NEIGHBOUR], ids=["server", "neighbour"])
def test_a_way_out_that_hides_as_well_accuses_nobody(name: str, adversary: Any) -> None:
    assert cell(sends(RIGHT[name]), adversary).verdict in ("holds", "inconclusive")


@pytest.mark.build
@pytest.mark.parametrize("level", [60.0, 1e11, 1e23])
def test_masks_that_are_small_beside_a_made_input_accuse_nobody(level: float) -> None:
    def sent(self: Any, hidden: Any, s: Any, r: Any, rng: Any) -> Any:
        return hidden + 0.0 if (s == level).any() or (s > level).any() else hidden

    assert cell(with_steps(Pairwise, sent=sent)).verdict == "inconclusive"


@pytest.mark.build
def test_what_cannot_be_measured_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*args: Any) -> Any:
        raise DataError("59 rows are too few")

    monkeypatch.setattr(evidence, "decode", refuses)
    branch = sends(lambda h, b, s, c: h + np.uint64(0) if s.max() > 0 else h)
    assert "not measured: counterexamples, DataError: 59 rows are too few" in cell(branch).notes


@pytest.mark.build
def test_a_call_that_refuses_a_code_ends_no_other_look() -> None:
    def refuses(h: Any, b: Any, s: Any, c: Any) -> Any:
        if np.abs(s).max() > 1e5:
            raise ValueError("too large")
        return h + np.uint64(0) if (s == 1e6).any() else h

    found = cell(sends(refuses))
    assert not [each for each in found.notes if each.startswith("not measured")]
