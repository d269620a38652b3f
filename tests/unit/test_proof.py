"""Proofs are shared by the cells of an audit, and never by protocols that differ in their code alone."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise

import secmix
from secmix.adversaries import Eavesdropper
from secmix.auditing.proof import _says_itself, forget
from secmix.kernel import prove, proving
from secmix.kernel.tracing.checks import other_calls
from secmix.network import Network
from secmix.protocols import PDMM, SecureSum
from secmix.protocols.sums import pdmm_rounds


def verdict_of(protocol: Any) -> str:
    content = {
        "network": {"kind": "complete", "nodes": 5},
        "runs": 100,
        "data": {"name": "breast_cancer", "features": 1, "rows_per_node": 20},
        "model": {"components": 1, "iterations": 1},
        "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
        "policy": {"max_revealed_nodes": 0},
    }
    report = secmix.audit(content, protocols={"mine": protocol}, adversaries={"out": Eavesdropper()})
    return f"{report.verdict}: {report.cells[0].proof}"


NOTEBOOK = ModuleType("a_notebook")
NOTEBOOK.Pairwise = Pairwise
sys.modules["a_notebook"] = NOTEBOOK


def define(lines: str) -> Any:
    """Define the class Mine of one module, as somebody does again and again in a notebook."""
    exec(f"class Mine(Pairwise):\n{lines}", vars(NOTEBOOK))
    return NOTEBOOK.Mine


@pytest.mark.build
def test_a_class_that_is_defined_anew_is_proved_anew() -> None:
    right = define("    pass")
    assert verdict_of(right()).startswith("holds: Proved")
    wrong = define("    def sent(self, hidden, s, r, rng):\n        return s if s[0, 0, 0] < -50 else hidden")
    assert "Not proved: a branch on a secret" in verdict_of(wrong())


@pytest.mark.build
@pytest.mark.parametrize("settings", [{}, {"schedule": "synchronous"}, {"loss": 0.1}])
def test_rounds_of_pdmm_may_be_rehearsed_in_the_trace(settings: dict[str, Any]) -> None:
    """As in the first call of a process, and in every call in which messages are lost."""
    pdmm_rounds._planned_without_coins.cache_clear()
    path = Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])  # of unequal degrees
    inputs = np.random.default_rng(0).normal(size=(3, 1, 4, 2))
    assert prove(PDMM(**settings), path, list(inputs)).open == ""


@pytest.mark.build
def test_a_method_that_is_replaced_is_proved_anew() -> None:
    right = define("    pass")
    assert verdict_of(right()).startswith("holds: Proved")
    right.sent = lambda self, hidden, s, r, rng: s if s[0, 0, 0] < -50 else hidden
    assert "Not proved: a branch on a secret" in verdict_of(right())


@dataclass(frozen=True)
class FromSeeds(Pairwise):
    """Draws seeds of two words in place of masks, and has a size of masks to set."""

    sigma: float = 1e6

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> Any:
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        masks = [[np.random.default_rng(seed).normal(0, self.sigma, m) for seed in run] for run in seeds]
        return super().average(inputs, network, rng, masks=np.stack(masks), channel=channel)


@pytest.mark.build
def test_seeds_are_proved_where_the_size_of_masks_can_be_set() -> None:
    """No curve over that size is drawn: nothing is read off unit masks where seeds are drawn."""
    assert verdict_of(FromSeeds()).startswith("holds: Proved")


def test_plain_calls_of_a_proof_run_with_the_collector_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library whose objects refer to each other filled the memory in a thousand calls."""
    collecting: list[bool] = []

    def calls(*given: Any, **named: Any) -> str:
        collecting.append(gc.isenabled())
        return other_calls(*given, **named)

    monkeypatch.setattr(proving, "other_calls", calls)
    forget()
    scenario = {"network": {"kind": "cycle", "nodes": 4}, "runs": 100, "data": {"name": "wine", "features": 2}}
    evidence = {"measure": {"evidence": ["structure"]}, "policy": {"max_revealed_nodes": 0}}
    parts = {"protocol": {"name": "secure_sum"}, "adversary": {"name": "curious_server"}}
    secmix.audit({**scenario, **evidence, **parts}, workers=1)
    assert collecting == [True]


class WithALine(Pairwise):
    """Leaves out of what is written down how it sends."""

    def __init__(self, bare: bool) -> None:
        self.bare = bare

    def __getstate__(self) -> dict[str, bool]:
        return {}


def test_protocols_that_write_down_less_than_they_hold_share_no_proof() -> None:
    assert _says_itself(WithALine)
    assert not any(map(_says_itself, (Pairwise, dict, np.ndarray, SecureSum)))


class Weighed(Pairwise):
    """Clips what nodes hold, and weighs it node by node."""

    def average(self, inputs: Any, network: Any, rng: Any, **given: Any) -> Any:
        weights = np.linspace(1.0, 2.0, network.n)[:, None]
        return super().average(np.clip(np.asarray(inputs), -3, 3) * weights, network, rng, **given)


@pytest.mark.build
def test_nodes_that_are_weighed_otherwise_are_said_to_be() -> None:
    scenario = {
        "network": {"kind": "complete", "nodes": 5},
        "runs": 100,
        "data": {"name": "wine", "features": 2},
        "measure": {"evidence": ["structure"]},
    }
    report = secmix.audit(scenario, protocols={"weighed": Weighed()}, adversaries={"ear": Eavesdropper()})
    (why,) = {node.why for node in report.cells[0].nodes}
    assert "nodes encode or weigh what they hold in different ways" in why
    assert "np.clip" in why
