"""What is worse than before, for a baseline and for two reports; and which coalition or measure counts first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secmix.auditing.advice import try_in_turn
from secmix.auditing.cell_parts import NodeSummary, Robustness, RobustnessPoint, Standing, Verdict
from secmix.auditing.decide import of_coalition
from secmix.auditing.exposure.coalitions import Exposure, Least, NodeExposure
from secmix.auditing.exposure.policy import judge
from secmix.auditing.worse import is_less_robust, leaks_more
from secmix.protocols import Advice

OUTPUT: Standing = "no more than the output itself reveals"


def node(standing: Standing, worst: float, verdict: Verdict = "violated") -> NodeSummary:
    return NodeSummary(node=0, standing=standing, worst=worst, why="", verdict=verdict)


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (node(OUTPUT, 0.2, "holds"), node(OUTPUT, 0.2, "inconclusive"), True),
        (node("revealed", 1.0), node("inconclusive", 0.2, "inconclusive"), False),
        (node("inconclusive", 1.0), node("revealed", 1.0), True),
        (node("inconclusive", 0.4), node("partly leaked", 0.4), False),
        (node(OUTPUT, 0.4), node("partly leaked", 0.4), True),
        (node(OUTPUT, 0.4), node("bounded by noise", 0.4), True),
        (node("bounded by noise", 0.4), node("partly leaked", 0.4), True),
        (node("bounded by noise", 0.4), node(OUTPUT, 0.4), False),
        (node("partly leaked", 0.4), node("partly leaked", 0.409), False),
        (node("partly leaked", 0.4), node("partly leaked", 0.411), True),
    ],
)
def test_a_node_is_worse_off(before: NodeSummary, after: NodeSummary, worse: bool) -> None:
    assert leaks_more(before, after) == worse


def robust(*errors: float | None, verdict: Verdict = "violated") -> Robustness:
    points = [
        RobustnessPoint(colluders=k, fraction=k / 5, found=error, proven=None, found_by="ipm")
        for k, error in enumerate(errors, 1)
    ]
    breakdown = next((k for k, error in enumerate(errors) if error is None), len(errors)) / 5
    return Robustness(
        colluders=1, breakdown=breakdown, breakdown_proven=0.0, spread="honest spreads", points=points, damages=[],
        verdict=verdict, why="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (robust(0.2, 0.4), robust(0.209, 0.4), False),  # the luck of the search
        (robust(0.2, 0.4), robust(0.22, 0.4), True),
        (robust(2e-16, 0.4), robust(5e-16, 0.4), False),  # rounding
        (robust(0.2, 0.4), robust(0.2, None), True),
        (robust(0.2, None), robust(None, None), True),
        (robust(0.2, None), robust(0.2), False),  # less was looked for, and nothing broke
        (robust(0.2, verdict="holds"), robust(0.2, verdict="inconclusive"), True),
    ],
)
def test_colluders_push_farther(before: Robustness, after: Robustness, worse: bool) -> None:
    assert is_less_robust(before, after) == worse


@pytest.mark.parametrize(
    ("cost", "at_least", "known", "open_", "accused"),
    [
        (2.0, 2.0, True, False, "violated"),
        (2.0, 2.0, False, False, "inconclusive"),
        (3.0, 3.0, True, False, None),
        (None, 2.0, False, True, "inconclusive"),
        (None, 3.0, False, True, None),
        (None, float("inf"), False, True, "inconclusive"),
        (None, float("inf"), False, False, None),
    ],
)
def test_the_least_coalition_accuses(
    cost: float | None, at_least: float, known: bool, open_: bool, accused: str | None
) -> None:
    assert of_coalition(cost, at_least, 3, known=known, open_=open_) == accused


def test_a_coalition_whose_rows_come_out_counts_before_a_smaller_one_that_is_counted() -> None:
    counted = NodeExposure(0, Least("found", frozenset({1}), 1.0, 1.0), known="counted")
    recovered = NodeExposure(1, Least("found", frozenset({2, 3}), 2.0, 2.0), known="recovered")
    found = Exposure("rows", None, 4.0, (counted, recovered), "a test")
    verdict, why, nodes, weakest = judge([found], 3)
    assert (verdict, weakest) == ("violated", nodes[1])
    assert why.startswith("Nodes 2 and 3 suffice")
    assert judge([replace(found, blurred=True)], 3).verdict == "inconclusive"
    assert judge([replace(found, nodes=())], 3).verdict == "inconclusive"


def test_of_the_steps_of_one_measure_the_first_that_helps_is_enough() -> None:
    steps = [Advice("", {"model.iterations": left}) for left in (3, 2, 1)]
    others = [Advice("Say less."), Advice("Say nothing."), Advice("", {"protocol": {"name": "pdmm"}})]
    tried = try_in_turn([*steps, *others], lambda advice: advice.change.get("model.iterations"), lambda left: left == 2)
    assert tried == [2, None, None, None]
    assert try_in_turn(steps, lambda advice: advice.change["model.iterations"], lambda left: False) == [1]
