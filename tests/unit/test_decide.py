"""Verdicts: whatever may read low never clears, and more evidence never improves a verdict."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import secmix
from secmix.auditing.cell_parts import NodeSummary, Verdict
from secmix.auditing.decide import (
    ORDER,
    Premises,
    Privacy,
    decides,
    is_revealed,
    of_findings,
    of_leakage,
    of_nodes,
    worst,
)
from secmix.auditing.evidence.decoding import recovered
from secmix.auditing.report import Finding
from secmix.kernel import Clearance, Open, clear_bounds
from secmix.scenario import PolicySpec

CLEARED = clear_bounds([("what is known", 0.0, 1.0)])
share = st.floats(0, 1)
limits = st.one_of(
    st.builds(lambda n: PolicySpec(max_revealed_nodes=n), st.integers(0, 3)),
    st.builds(lambda x: PolicySpec(max_normalised_leakage=x), share),
    st.builds(lambda n, x: PolicySpec(max_revealed_nodes=n, max_normalised_leakage=x), st.integers(0, 3), share),
)


def finding(node: int = 0, evidence: str = "gaussian", kind: str = "exact", status: str = "resolved",
            low: float = 0.1, value: float = 0.1, high: float = 0.1) -> Finding:  # fmt: skip
    return Finding.model_validate(
        {
            "protocol": "p", "adversary": "a", "node": node, "evidence": evidence, "view": "single", "target": "input",
            "method": "a test", "value": value, "unit": "nats", "low": low, "high": high, "kind": kind,
            "status": status, "normalised_leakage": value, "normalised_low": low, "normalised_high": high,
        }
    )  # fmt: skip


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    low, value, high = sorted(draw(st.tuples(share, share, share)))
    evidence, kind = draw(
        st.sampled_from(
            [("structure", "exact"), ("gaussian", "exact"), ("gaussian", "lower bound"), ("ksg", "estimate"),
             ("ksg", "lower bound"), ("linear decoder", "upper bound"),
             ("direct reading", "lower bound")]
        )
    )  # fmt: skip
    if kind == "exact":
        low = high = value
    status = draw(st.sampled_from(["resolved", "unresolved"])) if evidence == "ksg" else "resolved"
    if draw(st.integers(0, 9)) == 0:
        low, value, high, status = 1.0, 1.0, 1.0, "determined"
    return finding(0, evidence, kind, status, low, value, high)


def decided(
    found: list[Finding],
    policy: PolicySpec | None = None,
    doubts: list[str] | None = None,
    clearance: Clearance | Open | None = CLEARED,
) -> Privacy:
    nodes = sorted({0, *(f.node for f in found)})
    known = Premises(clearance=clearance, output_share=0.2, unmet=doubts or [])
    return of_findings(found, dict.fromkeys(nodes, known), policy or PolicySpec(max_revealed_nodes=0))


def judged(found: list[Finding], policy: PolicySpec, doubts: list[str]) -> NodeSummary:
    return decided(found, policy, doubts).nodes[0]


def test_evidence_that_was_asked_for_and_not_finished_is_not_called_unasked() -> None:
    late = Premises(clearance=None, output_share=0.2, unmeasured=["not measured: structure: the time limit had passed"])
    [node] = of_findings([], {0: late}, PolicySpec(max_revealed_nodes=0)).nodes
    assert node.verdict == "inconclusive"
    assert node.why == "no exact evidence was finished; not measured: structure: the time limit had passed"
    [unasked] = decided([], clearance=None).nodes
    assert "was asked for" in unasked.why


@given(st.lists(findings(), min_size=1, max_size=5), findings(), limits)
@example([finding(kind="lower bound", low=0.0, value=1.0, high=1.0)], finding(evidence="structure", low=0.5, value=0.5,
         high=0.5), PolicySpec(max_revealed_nodes=0))  # fmt: skip
@example([finding(evidence="structure", low=0.0, value=0.0, high=0.0)], finding(low=0.0, value=0.0, high=0.0),
         PolicySpec(max_normalised_leakage=0.0))  # fmt: skip
def test_more_evidence_never_improves_a_verdict(found: list[Finding], more: Finding, policy: PolicySpec) -> None:
    # Without exact evidence, or under a limit on leakage without an upper bound of it, a node is inconclusive; with
    # them it may be cleared. So there are both from the start.
    start = [*(finding(evidence=evidence, low=0.0, value=0.0, high=0.0) for evidence in ("structure", "gaussian"))]
    start += found
    before, after = judged(start, policy, []), judged([*start, more], policy, [])
    assert ORDER.index(after.verdict) >= ORDER.index(before.verdict)
    assert after.worst >= before.worst


@given(st.lists(findings(), min_size=1, max_size=5), findings(), limits)
@example([finding(status="determined", low=1.0, value=1.0, high=1.0)], finding(evidence="ksg", status="unresolved"),
         PolicySpec(max_normalised_leakage=1.0))  # fmt: skip
def test_no_finding_changes_what_is_said_of_a_settled_node(
    found: list[Finding], more: Finding, policy: PolicySpec
) -> None:
    before, after = judged(found, policy, []), judged([*found, more], policy, [])
    if decides(found, policy):
        assert (after.verdict, after.standing, after.worst) == (before.verdict, before.standing, before.worst)
        assert before.standing == "revealed"


def test_a_node_is_settled_only_where_the_limit_is_exceeded_too() -> None:
    known = finding(status="determined", low=1.0, value=1.0, high=1.0)
    assert decides([known], PolicySpec(max_revealed_nodes=3))
    assert decides([known], PolicySpec(max_normalised_leakage=0.5))
    assert not decides([known], PolicySpec(max_normalised_leakage=1.0))
    assert not decides([finding(value=0.9, high=0.9, low=0.9)], PolicySpec(max_normalised_leakage=0.5))


@given(st.lists(findings(), min_size=1, max_size=5), limits)
def test_doubts_never_improve_a_verdict_and_never_clear(found: list[Finding], policy: PolicySpec) -> None:
    doubted, sure = judged(found, policy, ["a doubt"]), judged(found, policy, [])
    assert ORDER.index(doubted.verdict) >= ORDER.index(sure.verdict)
    if policy.max_revealed_nodes in (None, 0):
        assert doubted.verdict != "holds"


@given(st.lists(findings(), min_size=1, max_size=5), share, share)
def test_a_stricter_limit_never_improves_a_verdict(found: list[Finding], one: float, other: float) -> None:
    strict, lax = (PolicySpec(max_normalised_leakage=x) for x in sorted((one, other)))
    assert ORDER.index(judged(found, strict, []).verdict) >= ORDER.index(judged(found, lax, []).verdict)


@given(st.lists(findings(), max_size=5), limits)
def test_a_node_of_whom_nothing_is_known_is_not_cleared(found: list[Finding], policy: PolicySpec) -> None:
    node = judged(found, policy, [])
    if node.standing == "inconclusive" and not (policy.max_revealed_nodes or 0):
        assert node.verdict != "holds"
    if node.standing == "revealed" and policy.max_revealed_nodes == 0:
        assert node.verdict == "violated"
    if any(of_leakage(f, policy).verdict == "violated" for f in found):
        assert node.verdict == "violated"


@given(st.lists(findings(), min_size=1, max_size=5), share)
def test_no_leakage_above_the_limit_is_cleared(found: list[Finding], limit: float) -> None:
    policy = PolicySpec(max_normalised_leakage=limit)
    for f in found:
        verdict = of_leakage(f, policy).verdict
        if f.normalised_low > limit:
            assert verdict == "violated"
        elif (
            f.normalised_leakage > limit
            or f.status == "unresolved"
            or (f.kind == "estimate" and f.normalised_high > limit)
        ):
            assert verdict == "inconclusive"


@pytest.mark.parametrize("standings", [["revealed"], ["revealed", "inconclusive"], ["inconclusive", "inconclusive"]])
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_limit_on_revealed_nodes_counts_those_who_may_be(standings: list[str], limit: int) -> None:
    found = []
    for node, standing in enumerate(standings):
        revealing = finding(node, status="determined", low=1, value=1, high=1)
        found += [revealing if standing == "revealed" else finding(node, "linear decoder", "upper bound")]
    verdict = decided(found, PolicySpec(max_revealed_nodes=limit)).verdict
    expected: Verdict = "holds"
    if standings.count("revealed") > limit:
        expected = "violated"
    elif len(standings) > limit:
        expected = "inconclusive"
    assert verdict == expected


def test_an_input_known_to_a_millionth_is_revealed() -> None:
    # Explained variance 1 - 1e-14: the relative error is 1e-7, less than a row counts as recovered at.
    assert is_revealed(finding(low=1 - 1e-14, value=1 - 1e-14, high=1 - 1e-14))
    assert is_revealed(finding(evidence="structure", low=1.0, value=1.0, high=1.0))
    assert is_revealed(finding(evidence="linear decoder", status="determined"))
    assert not is_revealed(finding(low=0.99, value=0.99, high=0.99))


def test_reasons_go_to_the_findings() -> None:
    (told,) = decided([finding(evidence="structure")], doubts=["a doubt"]).findings
    assert told.verdict == "inconclusive"
    assert "a doubt" in told.notes
    (told,) = decided([finding(status="determined", low=1, value=1, high=1)]).findings
    assert told.verdict == "violated"


@given(st.lists(findings(), max_size=5), limits, st.sampled_from([None, Open("line 3")]))
def test_nothing_holds_without_a_clearance(found: list[Finding], policy: PolicySpec, clearance: Open | None) -> None:
    privacy = decided(found, policy, clearance=clearance)
    if not policy.max_revealed_nodes:  # a limit of one permits that this very node is known
        assert privacy.verdict in ("violated", "inconclusive")
        assert privacy.nodes[0].verdict == privacy.verdict


def test_where_the_proof_ends_comes_before_what_was_not_measured() -> None:
    line = "not proved: masks follow from a seed of 40 bits"
    known = Premises(clearance=None, output_share=0.2, unmet=["a doubt"], unproved=[line], exact=False)
    policy = PolicySpec(max_normalised_leakage=0.8)
    open_ = of_findings([finding(kind="lower bound")], {0: known}, policy).nodes[0]
    assert open_.standing == "inconclusive"
    assert open_.why.split("; ")[:3] == [line, "the premises of the exact evidence do not hold", "a doubt"]


def test_a_sum_that_tells_too_much_is_named_with_the_limit() -> None:
    known = Premises(clearance=CLEARED, output_share=0.9)
    policy = PolicySpec(max_normalised_leakage=0.8)
    told = of_findings([finding(low=0.9, value=0.9, high=0.9)], {0: known}, policy).nodes[0]
    assert told.verdict == "violated"
    more = "more than the 80% that the policy allows: sum over more nodes"
    assert told.why == f"known is a sum it is part of, 90% of its variance, {more}"


def test_a_bound_on_an_encoding_above_what_the_average_tells_is_held_against_the_limit() -> None:
    known = Premises(clearance=CLEARED, output_share=0.2)
    bound = finding(evidence="encoding", kind="upper bound", low=0.0, value=0.25, high=0.25)
    for limit, verdict in ((0.8, "holds"), (0.2, "inconclusive")):
        bounded = of_findings([bound], {0: known}, PolicySpec(max_normalised_leakage=limit)).nodes[0]
        assert (bounded.standing, bounded.verdict) == ("partly leaked", verdict)
    assert bounded.why.startswith("at most 25% of its variance is known; the output alone gives 20%")
    alone = bound.model_copy(update={"status": "unresolved"})
    assert of_findings([alone], {0: known}, PolicySpec(max_revealed_nodes=0)).nodes[0].verdict == "inconclusive"


def test_what_the_policy_does_not_limit_is_not_asked() -> None:
    privacy = decided([finding()], PolicySpec(min_breakdown=0.2), clearance=None)
    assert privacy.verdict == privacy.nodes[0].verdict == "not asked"


def test_one_module_makes_what_holds() -> None:
    """Elsewhere the word is compared, counted and printed; only the function that asks for a clearance returns it."""
    makers = set()
    package = Path(secmix.__file__).parent
    for path in (path for path in package.rglob("*.py") if package / "reporting" not in path.parents):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if '"holds"' in text else ():
            made = node.value if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign | ast.keyword) else None
            if made is not None and any(
                isinstance(part, ast.Constant) and part.value == "holds" for part in _chosen(made)
            ):
                makers.add(path.name)
    assert makers == {"decide.py"}


def _chosen(made: ast.expr) -> list[ast.expr]:
    """Return what an expression may come to."""
    if isinstance(made, ast.IfExp):
        return [*_chosen(made.body), *_chosen(made.orelse)]
    return [part for each in made.elts for part in _chosen(each)] if isinstance(made, ast.Tuple) else [made]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "not asked"),
        (["not asked", "holds"], "holds"),
        (["inconclusive", "holds"], "inconclusive"),
        (["inconclusive", "violated", "not asked"], "violated"),
    ],
)
def test_the_worst_verdict_counts(verdicts: list[Verdict], expected: Verdict) -> None:
    assert worst(verdicts) == expected


def test_a_policy_that_asks_about_nobody_is_not_kept() -> None:
    assert of_nodes([], PolicySpec(max_revealed_nodes=0))[0] == "inconclusive"


def test_a_node_carries_the_counts_of_the_finding_that_reveals_it() -> None:
    about = {"protocol": "p", "adversary": "a", "node": 0}
    solved = recovered(
        about, 4, 5, evidence="inversion", view="cumulative", method="solving", unit="share of runs", notes=["solved"]
    )
    told = decided([finding(), solved], clearance=None).nodes[0]
    assert (told.standing, told.hits, told.runs, told.certain) == ("revealed", 4, 5, False)
    exact = finding(evidence="structure", status="determined", low=1.0, value=1.0, high=1.0)
    told = decided([exact, solved], clearance=None).nodes[0]
    assert (told.hits, told.runs, told.certain) == (None, None, True)
    estimated = finding(kind="estimate", status="determined", low=1.0, value=1.0, high=1.0)
    assert not decided([estimated], clearance=None).nodes[0].certain
    part = finding(evidence="structure", low=0.5, value=0.5, high=0.5)
    assert not decided([part], clearance=None).nodes[0].certain


def test_attacks_count_their_runs() -> None:
    found = secmix.audit({
        "network": {"kind": "cycle", "nodes": 4}, "runs": 120, "data": {"name": "wine", "features": 2},
        "protocol": {"name": "plain"}, "adversary": {"name": "curious_server"}, "model": {"iterations": 2},
        "measure": {"evidence": ["decoders"]},
    }).findings  # fmt: skip
    attacks = [each for each in found if each.evidence in ("linear decoder", "direct reading")]
    assert attacks
    assert {each.runs for each in attacks} == {120}
    for each in attacks:
        assert each.hits is not None
        if each.evidence == "direct reading":
            assert each.hits == round(120 * each.normalised_leakage)
