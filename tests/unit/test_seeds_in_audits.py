"""Protocols whose masks follow from seeds, in an audit."""

from __future__ import annotations

import hashlib
from typing import Any
from unittest import mock

import numpy as np
import pytest
from example_protocols import with_steps
from soundness.honest.bare import sometimes
from soundness.honest.seeds import ciphers, known, reused, short, small
from soundness.right.expanded import KeptKeys, Normal, Own, Seeded, words

import secmix
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.counterexamples import evidence

pytestmark = pytest.mark.build

SCENARIO: dict[str, Any] = {
    "network": {"kind": "complete", "nodes": 5},
    "runs": 100,
    "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
    "model": {"components": 1, "iterations": 2},
    "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
}


def audit(protocol: Any, adversary: Any, nodes: int = 5, **policy: Any) -> Any:
    scenario = {**SCENARIO, "network": {"kind": "complete", "nodes": nodes}, "policy": SCENARIO["policy"] | policy}
    return secmix.audit(scenario, protocols={"it": protocol}, adversaries={"who": adversary})


def test_a_protocol_of_seeds_has_no_curve_over_sizes_of_masks() -> None:
    report = secmix.audit(SCENARIO, protocols={"it": Seeded()}, adversaries={"server": CuriousServer()})
    assert report.verdict == "holds", report.cells[0].notes
    assert report.cells[0].sigma_curve == []


@pytest.mark.parametrize(("colluders", "verdict"), [({1, 2, 3, 4}, "violated"), ({1, 2, 3}, "holds")])
def test_a_node_that_all_others_collude_against_is_revealed_by_the_average(colluders: set[int], verdict: str) -> None:
    [cell] = audit(Seeded(), HonestButCurious(colluders)).cells
    assert cell.verdict == verdict
    is_told = cell.nodes[0].why.startswith("all other nodes collude: the average, less what they put in, is its input")
    assert is_told == (verdict == "violated")


class SpentMasks(Seeded):
    """Takes masks to be spent after 5,000 rounds: every pair asks for itself."""

    reuses_masks = True

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Any:
        if channel.iteration >= 5000:
            return np.zeros(m, np.uint64)
        return words(np.random.default_rng([*seed, channel.iteration]), m)


def test_an_iteration_on_which_more_hangs_than_is_traced_is_called() -> None:
    [cell] = audit(SpentMasks(), CuriousServer(), nodes=3).cells
    assert cell.verdict == "violated"
    assert "in iteration 5000 its input is sent unmasked" in cell.nodes[0].why


class LabelledByText(Seeded):
    """Each pair keeps its seed for a training; the label of a round is written as text."""

    reuses_masks = True

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Any:
        key = hashlib.sha256(seed.tobytes() + f"round {channel.iteration}".encode()).digest()
        return words(np.random.default_rng(list(key)), m)


def test_where_only_other_iterations_are_open_the_advice_is_to_ask_for_these() -> None:
    several = ("all", "traced")
    asked = [audit(LabelledByText(), CuriousServer(), nodes=3, covers=each).cells[0] for each in several]
    assert [cell.verdict for cell in asked] == ["inconclusive", "holds"]
    [advice] = asked[0].advice
    assert 'covers = "traced"' in advice
    assert not asked[1].advice


def test_what_is_below_the_masks_is_read() -> None:
    [cell] = audit(small.HighHalf(), CuriousServer(), nodes=3).cells
    assert cell.verdict == "violated"
    assert "a linear function of the rest modulo 1.09951e+12 gives" in cell.nodes[0].why


WRONG: dict[str, tuple[Any, Any, str]] = {
    "one for all entries": (reused.OneForAll, CuriousServer(), "entries of 'masked' have one mask (expanded.py, line "),
    "in two rounds": (
        reused.FirstSeeds,
        CuriousServer(),
        "its mask of iteration 0 is used again in iteration 1 (expanded.py",
    ),
    "normal, in two rounds": (
        reused.FirstNormal,
        Eavesdropper(),
        "its mask of iteration 0 is used again in iteration 1",
    ),
    "started again": (reused.Restarted, Eavesdropper(), "do not restart a stream; shown in 40 of 40 runs"),
    "heard": (
        known.InTheClear,
        Eavesdropper(),
        "the adversary reads the seeds of its masks in 'seed' (expanded.py, line",
    ),
    "relayed": (known.Relayed, CuriousServer(), "share a seed between its two nodes only"),
    "of a hash, told": (known.BytesAnnounced, Eavesdropper(), "the adversary reads the seeds of its masks in 'opened'"),
    "of a session": (known.Session, CuriousServer(), "its masks follow from numbers that are read (default_rng(["),
    "of public numbers": (known.RoundAndNode, Eavesdropper(), "numbers that are public (default_rng(0) in iteration 0"),
    "short": (short.Remainder, HonestButCurious({1, 2, 3}), "a seed of 12 bits (short.py, line "),
    "short, before a server": (short.OneMaster, CuriousServer(), "all 4,096 were tried"),
    "short, normal": (short.NormalOfItsOwn, Eavesdropper(), "draw seeds of at least 128 bits"),
    "short, a byte of a hash": (small.OneByte, HonestButCurious({1, 2, 3}), "a seed of 8 bits (bases.py, line "),
    "short, cut to a byte": (small.Folded, HonestButCurious({1, 2, 3}), "a seed of 8 bits (bases.py, line "),
    "short, of RandomState": (ciphers.Folded, Eavesdropper(), "a seed of 32 bits (ciphers.py, line "),
    "short, of RandomState, folded by xor": (
        ciphers.FoldedByXor,
        Eavesdropper(),
        "a seed of 32 bits (RandomState, ciphers.py, line ",
    ),
    "of RandomState, the rank": (
        ciphers.StateOfRank,
        Eavesdropper(),
        "public (RandomState(42) in iteration 0; ciphers",
    ),
    "of Random, both ranks": (ciphers.PythonOfPair, CuriousServer(), "public (Random(1) in iteration 0; ciphers.py"),
    "of Random, started again": (ciphers.Halves, CuriousServer(), "entries of 'masked' have one mask (ciphers.py"),
}
if ciphers.HAS_CIPHERS:
    WRONG |= {
        "of AES, one nonce": (
            ciphers.NonceForAll,
            CuriousServer(),
            "its mask of iteration 0 is used again in iteration 1",
        ),
        "of AES, the round": (
            ciphers.CountedTwice,
            Eavesdropper(),
            "its mask of iteration 0 is used again in iteration 1",
        ),
        "of ChaCha20, one key": (
            ciphers.OneKey,
            HonestButCurious({1}),
            "reads the seeds of its masks in 'secret' (ciphers",
        ),
    }


OF_FIVE = {"of a hash, told", "of a session", "short, before a server"}
"""Protocols that name their fifth node; three show what the others do, and have a third of the pairs."""


@pytest.mark.parametrize("name", WRONG)
def test_masks_that_fall_off_are_shown_and_their_line_is_named(name: str) -> None:
    protocol, adversary, said = WRONG[name]
    few = name not in OF_FIVE and not isinstance(adversary, HonestButCurious)
    report = audit(protocol(), adversary, nodes=3 if few else 5)
    assert report.verdict == "violated"
    assert said in report.cells[0].nodes[0].why
    decoded = next(each for each in report.findings if each.evidence == "counterexample" and each.node == 0)
    assert (decoded.runs, decoded.hits) == (40, 40)


@pytest.mark.parametrize("kind", [Seeded, Own, Normal, KeptKeys])
def test_masks_of_secret_seeds_do_not_fall_off(kind: Any) -> None:
    """Counterexamples are looked for although all is proved: a stranger's protocol may be as right, and not proved."""
    with mock.patch.object(evidence, "_reasons", return_value=["asked for"]):
        assert audit(kind(), Eavesdropper()).verdict in ("holds", "inconclusive")


@pytest.mark.parametrize(("bits", "time"), [(27, "56 minutes"), (32, "30 hours")])
def test_a_seed_that_takes_long_is_told_from_a_sample(bits: int, time: str) -> None:
    report = audit(with_steps(short.Short, bits=bits), HonestButCurious({1, 2, 3}))
    assert report.verdict == "violated"
    why = report.cells[0].nodes[0].why
    assert f"its masks follow from a seed of {bits} bits (expanded.py, line " in why
    assert (
        f"told from 1,024 others, and trying all takes about {time}, and 'masked' without its masks is its input" in why
    )


def test_a_seed_that_nobody_tries_is_named_with_its_bits() -> None:
    report = audit(with_steps(short.Short, bits=40), HonestButCurious({1, 2, 3}))
    assert report.verdict == "inconclusive"
    assert "masks follow from a seed of 40 bits, of 128 that it must have" in report.cells[0].proof


class CodedInWords(sometimes.Coded):
    """Compares words with the word of a missing value."""

    def chosen(self, channel: Any, hidden: Any, words: Any, s: Any) -> Any:
        return np.where(words == self.encode(np.array(sometimes.MISSING)), words, hidden)


def test_a_word_that_others_are_compared_with_is_read_in_twos_complement_and_in_units_of_the_inputs() -> None:
    [cell] = audit(CodedInWords(), CuriousServer()).cells
    assert cell.verdict == "violated"
    assert cell.nodes[0].why.startswith("if entries of its input are -999 (test_seeds_in_audits.py, line ")
