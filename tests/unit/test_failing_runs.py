"""A run that fails is inconclusive, and says why and where, without the values that a message may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from example_protocols import Pairwise, with_steps

import secmix
from secmix.adversaries import CuriousServer
from secmix.auditing.report import Cell
from secmix.transcript import SERVER

HIDDEN = "pri" + "vate"  # in no line of code that a report quotes


def audited(protocol: Any) -> Cell:
    scenario = {
        "network": {"kind": "complete", "nodes": 4},
        "data": {"name": "wine", "features": 2, "rows_per_node": 3},
        "model": {"components": 2, "iterations": 2},
        "runs": 100,
        "measure": {"nodes": [0], "evidence": ["structure", "gaussian"]},
        "policy": {"max_revealed_nodes": 0},
    }
    return secmix.audit(scenario, protocols={"p": protocol}, adversaries={"a": CuriousServer()}).cells[0]


def test_an_error_of_the_protocol_is_named_with_its_line() -> None:
    calls = []

    def body(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) > 6:
            raise KeyError(f"{HIDDEN} {given[1]}")
        return Pairwise.body(self, *given)

    cell = audited(with_steps(Pairwise, body=body))
    assert cell.verdict == "inconclusive"
    line = body.__code__.co_firstlineno + 3
    assert [note for note in cell.notes if f"KeyError at test_failing_runs.py, line {line}" in note]
    assert HIDDEN not in str(cell)


def test_a_protocol_that_renumbers_the_iterations_is_told_so() -> None:
    def body(self: Any, channel: Any, *given: Any) -> Any:
        channel.iteration -= 7
        return Pairwise.body(self, channel, *given)

    cell = audited(with_steps(Pairwise, body=body))
    assert cell.verdict == "inconclusive"
    assert "must not change channel.iteration" in " ".join(cell.notes)


def test_a_message_that_is_the_same_in_all_runs_stands_beside_others_where_seeds_are_drawn() -> None:
    def body(self: Any, channel: Any, s: Any, r: Any, network: Any, rng: Any) -> Any:
        key = rng.bytes(16)
        channel.send(9, 0, SERVER, "key", np.frombuffer(key, np.uint8)[None, None])
        np.random.default_rng(int.from_bytes(key, "little"))
        return Pairwise.body(self, channel, s, r, network, rng)

    cell = audited(with_steps(Pairwise, body=body))
    assert "run failed" not in " ".join(cell.notes)
