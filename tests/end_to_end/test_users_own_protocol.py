"""A user's own protocol, written from the interface alone: a right one is measured, a wrong one is never cleared.

Each wrong protocol gives away more than the audit's exact evidence would show if it took the protocol at its word: its
masks are not what they should be, or what its nodes know does not stand in the transcript. Honest rows are then known,
or all but known; *holds* would be a false all-clear.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise, with_steps

import secmix
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.report import Report
from secmix.errors import SecmixError
from secmix.protocols import Plain, SecureSum, SumProtocol
from secmix.transcript import Channel

pytestmark = pytest.mark.build

NETWORK = {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]}
EXACT = ["structure", "gaussian"]


def audit(protocol: SumProtocol | None, adversary: Adversary, **changes: Any) -> Report:
    """With 20 rows a node, no reading of the sums gives rows away; with one row, the unknowns may be solved for."""
    content: dict[str, Any] = {
        "network": NETWORK,
        "runs": 200,
        "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
        "model": {"iterations": 3},
        "measure": {"evidence": EXACT, "sigmas": [1.0, 1e6]},
        "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
        **changes,
    }
    own = None if protocol is None else {"mine": protocol}
    return secmix.audit(content, protocols=own, adversaries={"theirs": adversary})


def standings(report: Report) -> dict[int, str]:
    return {node.node: node.standing for node in report.cells[0].nodes}


# (a) Right.


@pytest.mark.parametrize("outsider", [Eavesdropper(), CuriousServer()])
def test_a_right_protocol_shows_no_more_than_the_sum(outsider: Adversary) -> None:
    report = audit(Pairwise(), outsider)
    assert report.verdict == "holds"
    assert report.cells[0].leaked == ["x0 + x1 + x2 + x3 + x4"]
    for finding in report.findings:
        assert finding.normalised_leakage == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize(
    ("corrupt", "leaked", "revealed"),
    [({1, 3}, ["x0 + x2 + x4", "x1", "x3"], set()), ({1, 2, 4}, ["x0", "x1", "x2", "x3", "x4"], {0, 3})],
)
def test_a_right_protocol_before_colluders(corrupt: set[int], leaked: list[str], revealed: set[int]) -> None:
    report = audit(Pairwise(), HonestButCurious(corrupt))
    assert report.cells[0].leaked == leaked
    assert {node for node, standing in standings(report).items() if standing == "revealed"} == revealed
    assert report.verdict == ("violated" if revealed else "holds")


MODULE = '''
import numpy as np
from secmix.protocols import Plain

class Open(Plain):
    """The plain protocol under another name."""
'''


def test_a_protocol_named_in_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_protocol_in_toml.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(
        "runs = 200\n[data]\nname = 'wine'\nfeatures = 2\n[network]\nkind = 'cycle'\n"
        "[measure]\nevidence = ['structure']\n"
        "[protocol]\nname = 'own_protocol_in_toml:Open'\nencrypted = true\n[adversary]\nname = 'curious_server'\n"
    )
    report = secmix.audit(path, tmp_path / "out", allow_code=True)
    assert report.verdict == "violated"
    assert report.cells[0].protocol == "Open, encrypted = True"
    assert (tmp_path / "out" / "report.html").is_file()


def test_own_parts_go_with_a_sweep_of_something_else() -> None:
    report = audit(Pairwise(), Eavesdropper(), sweep={"data.rows_per_node": [10, 20]})
    assert [cell.protocol for cell in report.cells] == [f"mine, data.rows_per_node = {k}" for k in (10, 20)]
    assert report.verdict == "holds"


def test_a_protocol_and_an_adversary_may_have_the_same_label() -> None:
    report = secmix.audit(
        {
            "network": NETWORK,
            "runs": 200,
            "model": {"iterations": 1},
            "data": {"name": "wine", "features": 2},
            "measure": {"evidence": ["structure"]},
        },
        protocols={"mine": Plain()},
        adversaries={"mine": CuriousServer()},
    )
    assert report.verdict == "violated"


def test_a_class_in_place_of_an_object_is_refused_in_words() -> None:
    scenario = {"network": {"kind": "cycle", "nodes": 4}}
    with pytest.raises(SecmixError, match=r"'mine' is the class Plain; give an object: Plain\(\)"):
        secmix.audit(scenario, protocols={"mine": Plain})
    with pytest.raises(SecmixError, match=r"'e' is the class Eavesdropper; give an object: Eavesdropper\(\)"):
        secmix.audit(scenario, protocols={"mine": Plain()}, adversaries={"e": Eavesdropper})


def squares(protocol: Any, hidden: np.ndarray, s: np.ndarray, r: np.ndarray, rng: Any) -> np.ndarray:
    return hidden + s**2 - s


@pytest.mark.parametrize("policy", [{}, {"policy": {"max_revealed_nodes": 0}}], ids=["shares", "revealed nodes only"])
def test_what_a_node_makes_of_its_own_vector_alone_may_be_summed(policy: Any) -> None:
    report = audit(with_steps(Pairwise, 1e6, sent=squares), Eavesdropper(), **policy)
    assert report.verdict == "holds"
    assert "What is summed is an encoding of each node's own data" in report.cells[0].proof


# (b) Wrong. What finds each fault is tested there (``guarantees/test_soundness.py``); here, that nobody is cleared.


def small(protocol: Any, runs: int, m: int, network: Any, rng: Any) -> np.ndarray:
    return 1e-9 * Pairwise.draw_masks(protocol, runs, m, network, rng)


def small_on_node_0(protocol: Any, runs: int, m: int, network: Any, rng: Any) -> np.ndarray:
    masks = Pairwise.draw_masks(protocol, runs, m, network, rng)
    masks[:, (network.edges == 0).any(axis=1)] *= 1e-9
    return masks


def the_same_on_every_line(protocol: Any, runs: int, m: int, network: Any, rng: Any) -> np.ndarray:
    return np.repeat(rng.normal(scale=protocol.sigma, size=(runs, 1, m)), len(network.edges), axis=1)


def the_same_in_every_call(protocol: Any, runs: int, m: int, network: Any, rng: Any) -> np.ndarray:
    drawn = protocol.__dict__.setdefault("drawn", {})
    if (runs, m) not in drawn:
        drawn[runs, m] = Pairwise.draw_masks(protocol, runs, m, network, rng)
    return drawn[runs, m].copy()


@pytest.mark.parametrize("policy", [{}, {"policy": {"max_revealed_nodes": 0}}], ids=["shares", "revealed nodes only"])
@pytest.mark.parametrize(
    "steps",
    [
        {"draw_masks": small},
        {"draw_masks": small_on_node_0},
        {"draw_masks": the_same_on_every_line},
        {"draw_masks": the_same_in_every_call},
    ],
    ids=lambda steps: next(iter(steps.values())).__name__,
)
def test_what_is_wrong_is_not_cleared(steps: Any, policy: Any) -> None:
    sigma = 1.0 if policy and small in steps.values() else 1e6
    assert audit(with_steps(Pairwise, sigma, **steps), Eavesdropper(), **policy).verdict != "holds"


def sends_more_numbers(protocol: Any, hidden: np.ndarray, s: np.ndarray, r: np.ndarray, rng: Any) -> np.ndarray:
    return np.concatenate([hidden, s], axis=2)


def test_a_node_that_appends_its_vector_to_the_masked_one_is_convicted() -> None:
    report = audit(with_steps(Pairwise, sent=sends_more_numbers), Eavesdropper())
    assert set(standings(report).values()) == {"revealed"}
    assert report.verdict == "violated"


# What the transcript does not say.


class Untold(Pairwise):
    """Keeps quiet, in the transcript, of what nodes hold and agree on: its interface asks for messages only."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        quiet = _Quiet(channel or Channel())
        return super().average(inputs, network, rng, masks=masks, channel=quiet)


class _Quiet:
    """Passes on what the nodes send in the open."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.transcript = channel.transcript

    def hold(self, *_: Any, **__: Any) -> None: ...

    def send(self, *arguments: Any, encrypted: bool = False, **more: Any) -> np.ndarray:
        payload: np.ndarray = arguments[4]
        return payload if encrypted else self.channel.send(*arguments, **more)


class Silent(Plain):
    """Sends nothing at all."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        return super().average(inputs, network, rng, masks=masks, channel=Channel())[0], (
            channel or Channel()
        ).transcript


def test_masks_that_corrupt_nodes_know_but_the_transcript_does_not_are_not_cleared() -> None:
    # All neighbours of node 0 are corrupt: they know every mask on it.
    assert audit(Untold(), HonestButCurious({1, 2, 4})).verdict != "holds"


def test_a_protocol_that_sends_nothing_is_refused_in_words() -> None:
    with pytest.raises(SecmixError, match="channel"):
        audit(Silent(), Eavesdropper())


def fails(protocol: Any, hidden: np.ndarray, s: np.ndarray, r: np.ndarray, rng: Any) -> np.ndarray:
    raise KeyError("mine")


def test_a_protocol_that_fails_is_told_in_words() -> None:
    try:
        report = audit(with_steps(Pairwise, sent=fails), Eavesdropper())
    except SecmixError:
        return
    assert report.verdict == "inconclusive"


class Turning(SecureSum):
    """Secure summation on another random cycle each time: sooner or later a node stands between two corrupt ones."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        order = (0, 2, 1, 3, 4, 5) if rng.random() < 0.15 else (0, 1, 2, 3, 4, 5)
        return SecureSum(cycle=order).average(inputs, network, rng, masks=masks, channel=channel)


def test_what_happens_in_later_runs_only_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from secmix.auditing.observation import observe

    monkeypatch.setattr(observe, "block_size", lambda cell, parts: 10)
    # On the second cycle, node 1 stands between the corrupt 2 and 3; on the first, between 0 and 2.
    report = audit(
        Turning(), HonestButCurious({2, 3}), network={"kind": "complete", "nodes": 6}, model={"iterations": 1}
    )
    assert standings(report)[1] == "revealed"
