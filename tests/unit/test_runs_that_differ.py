"""Runs of a collaboration whose messages differ: grouped, each group judged, and the difference taken as seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from soundness.corpus import ALL
from soundness.verdict import audited

from secmix._base.checks import Array
from secmix.adversaries import Attack, Colluders, CuriousServer, Eavesdropper
from secmix.api import audit
from secmix.auditing.observation.collaboration_observation import COLUMNS, _columns, block_size
from secmix.auditing.report import Report
from secmix.auditing.setup import CollaborationSetup, build_setup
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import run_by_run
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Channel, Origin

Speakers = Callable[[list[Array], np.random.Generator], Sequence[int]]


@dataclass(frozen=True)
class Sampled:
    """In each run some nodes send their first row to the server, which sends the mean back to everybody."""

    speakers: Speakers
    what: Callable[[Array], Array] = lambda rows: rows[0]
    unit = "standard deviations"

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        def once(rows: list[Array], on: Channel) -> Array:
            chosen = self.speakers(rows, rng)
            sent = [on.send(0, i, SERVER, "row", self.what(rows[i])[None], encrypted=True)[0] for i in chosen]
            mean = np.mean(sent, axis=0) if len(sent) else np.zeros(rows[0].shape[1])
            nodes = np.arange(network.n)
            back = np.zeros(network.n, dtype=int)
            mean = on.send(1, SERVER, nodes, "mean", mean[None], encrypted=True, content=back)[0]
            return np.repeat(mean[None], network.n, axis=0)

        return run_by_run(once, parts, channel)

    def error(self, results: Array, reference: Array) -> Array:
        """Largest difference."""
        return np.abs(results - reference).max(axis=(1, 2))


def report(protocol: Any, adversary: Any, runs: int = 200, **changes: Any) -> Report:
    scenario = {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "wine", "features": 2, "rows_per_node": 2},
        "runs": runs,
        "measure": {"evidence": ["decoders", "reconstruction"]},
        "policy": {"max_revealed_nodes": 0},
        **changes,
    }
    return audit(scenario, protocols={"mine": protocol}, adversaries={"theirs": adversary})


def by_a_coin(rows: list[Array], rng: np.random.Generator) -> Sequence[int]:
    return [int(rng.random() < 0.4)]


def by_the_sign(rows: list[Array], rng: np.random.Generator) -> Sequence[int]:
    return [0, 1, 2] if rows[0][0, 0] < 0 else [1, 2]


def test_each_group_of_sampled_nodes_is_judged_by_itself() -> None:
    found = report(Sampled(by_a_coin), CuriousServer())
    standing = {node.node: node for node in found.cells[0].nodes}
    assert found.verdict == "violated"
    assert [standing[i].standing == "revealed" for i in range(3)] == [True, True, False]
    assert "of 200 runs" in standing[1].why
    first, second = (int(standing[i].why.split(" of 200 runs")[0].split()[-1]) for i in (0, 1))
    assert first + second == 200
    notes = " ".join(found.cells[0].notes)
    assert "2 groups of runs" in notes
    assert f"group 2: {second} runs; sender of message 0 differs from that in group 1" in notes
    assert "row of node" not in notes.split("group 1")[0]


def test_who_speaks_is_itself_something_seen() -> None:
    found = report(Sampled(by_the_sign), Eavesdropper(), policy={"max_normalised_leakage": 0.3})
    told = {f.node: f for f in found.findings if f.evidence == "frames"}
    assert told[0].normalised_low > 0.3  # a sign explains 2/π of a Gaussian's variance
    assert told[1].normalised_low < 0.1
    assert told[0].verdict == "violated"
    assert {n.node: n.standing for n in found.cells[0].nodes}[0] == "partly leaked"


def test_a_first_run_in_which_all_nodes_fail_is_tried_again() -> None:
    tried = []

    def but_at_first(rows: list[Array], rng: np.random.Generator) -> Sequence[int]:
        tried.append(rows)
        if len(tried) < 4:
            raise SecmixError("all nodes fail")
        return by_the_sign(rows, rng)

    network = {"kind": "complete", "nodes": 3}
    data = {"name": "wine", "features": 2, "rows_per_node": 2}
    parts = {"protocol": {"name": "p", "label": "p"}, "adversary": {"name": "a", "label": "a"}}
    cell = from_dict({"network": network, "data": data, "runs": 200, **parts})
    setup = build_setup(cell, {("protocol", "p"): Sampled(but_at_first), ("adversary", "a"): Eavesdropper()})
    assert isinstance(setup, CollaborationSetup)
    assert block_size(cell, setup) >= 1
    assert len(tried) == 4


def test_a_run_that_fails_on_all_rows_ends_the_audit() -> None:
    def never(rows: list[Array], rng: np.random.Generator) -> Sequence[int]:
        raise SecmixError("all nodes fail")

    with pytest.raises(SecmixError, match="all nodes fail"):
        report(Sampled(never), Eavesdropper())


def test_a_blind_adversary_does_not_see_it() -> None:
    blind = Eavesdropper(sees_metadata=False)
    found = report(Sampled(by_the_sign), blind, policy={"max_normalised_leakage": 0.3})
    assert not [f for f in found.findings if f.evidence == "frames"]


def test_groups_of_too_few_runs_are_never_cleared() -> None:
    def anyhow(rows: list[Array], rng: np.random.Generator) -> Sequence[int]:
        return rng.permutation(3)[: rng.integers(1, 4)]  # 15 ways: some 7 runs each

    cell = report(Sampled(anyhow), Eavesdropper(), runs=100).cells[0]
    assert cell.verdict == "inconclusive"
    assert any("too few to fit decoders on" in note for note in cell.notes)


def test_sampling_that_all_groups_bear_out_clears_who_hears_nothing() -> None:
    """With one draw of who speaks, other rows change nothing that an outsider notices."""

    @dataclass(frozen=True)
    class Constant(Sampled):
        """Sampled anew in every call, alike in all its runs."""

        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Array:
            who = self.speakers([], rng)
            return Sampled(lambda rows, rng: who, self.what).collaborate(parts, network, rng, channel=channel)

    assert report(Constant(by_a_coin), Eavesdropper(), runs=100).verdict == "holds"


def test_runs_of_other_messages_are_no_failure_under_attack() -> None:
    shift = Attack(["row"], lambda messages: messages.own + 10.0)
    robustness = report(Sampled(by_a_coin), Colluders([1], shift), policy={"max_error_ratio": 3}).cells[0].robustness
    assert robustness is not None
    assert robustness.verdict == "violated"
    typical = float(robustness.spread.split()[9])
    # Where node 1 speaks the mean is off by ten, else by nothing; a run with other messages is not a broken one.
    assert robustness.points[0].found == pytest.approx(10.0 / typical, rel=0.01)
    assert robustness.damages[0].model is not None


@pytest.mark.build
def test_a_message_shorter_than_what_is_summed_is_judged_too() -> None:
    outcome = audited(next(case for case in ALL if case.name == "length"))
    assert outcome.verdict == "violated"
    assert "length from 0 to the server, round 8, entry 0 tells entry 11 of its input" in outcome.reason


def test_long_messages_and_keys_do_not_crowd_out_short_ones() -> None:
    rows = {"keys, bytes": 500, "arrays/0": 100, "loss": 2, "note, bytes": 5, "arrays/1": 3}
    messages = [
        (Origin(0, 1, kind, "plain", 0, (SERVER,)), np.full((4, width), float(place)))
        for place, (kind, width) in enumerate(rows.items())
    ]
    columns = _columns(messages)
    assert columns.shape == (4, COLUMNS)
    assert [int((columns[0] == place).sum()) for place in range(5)] == [0, 55, 2, 0, 3]
    assert [int((_columns(messages[::2])[0] == place).sum()) for place in (0, 2, 4)] == [55, 2, 3]
