"""The first paragraph of a report: who learns what about whom, how sure, what to do, in words that anybody knows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from secmix.adversaries import CuriousServer, Eavesdropper, MaliciousServer, ModelServer
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.cell_parts import (
    ENCRYPTION_ASSUMES,
    Coalitions,
    NodeSummary,
    Robustness,
    RobustnessPoint,
    Standing,
    Trial,
    Verdict,
)
from secmix.auditing.report import Cell, Report
from secmix.reporting.formats import html, markdown
from secmix.reporting.summary import summary
from secmix.reporting.words import tally

JARGON = re.compile(
    r"subspace|vector|\bnodes?\b|leak|normalis|entropy|mutual|informati|policy is|Monte|sigma|σ|Hamilton|\bnats\b|"
    r"estimat|coalition|adversar|inversion|structure|evidence|transcript|protocol|Gaussian|linear",
    flags=re.IGNORECASE,
)


def node(number: int, standing: Standing, verdict: Verdict, evidence: str = "structure", **decided: Any) -> NodeSummary:
    return NodeSummary(
        node=number, standing=standing, worst=0.5, worst_evidence=evidence, why="why", verdict=verdict, **decided
    )


def cell(protocol: str, adversary: str, verdict: Verdict, nodes: list[NodeSummary], **more: Any) -> Cell:
    content: dict[str, Any] = {
        "protocol": protocol,
        "adversary": adversary,
        "verdict": verdict,
        "sentence": "its summed vector lies in the leaked subspace",
        "n_nodes": 5,
        "edges": [(0, 1)],
        "positions": [(0.0, 0.0)] * 5,
        "corrupt": [1, 3],
        "tapped": [],
        "leaked": [],
        "output_error": 0.0,
        "nodes": nodes,
        "curves": [],
        "sigma_curve": [],
        "advice": [],
        "notes": [],
        "reproduce": "secmix audit x",
    }
    return Cell(**{**content, **more})


def report(*cells: Cell) -> Report:
    verdicts = [each.verdict for each in cells]
    order: list[Verdict] = ["violated", "inconclusive", "holds"]
    worst = next(verdict for verdict in order if verdict in verdicts)
    return Report(
        secmix_version="0", versions={}, title="A", description="", verdict=worst, sentence="technical", policy={},
        findings=[], cells=list(cells), not_tried=[], scenario={"runs": 300}, seed=0, reproduce="secmix audit x",
    )  # fmt: skip


def trial(outcome: Any, plain: str, effect: Any = "") -> Trial:
    return Trial(advice="Do.", change={"runs": 100}, outcome=outcome, effect=effect, found="Tried.", plain=plain)


REVEALED = [
    node(0, "partly leaked", "holds"),
    node(2, "revealed", "violated", certain=True),
    node(4, "revealed", "violated", certain=True),
]
PARTLY = [node(i, "partly leaked", "violated") for i in (0, 2, 4)]
CLEAR = [node(i, "no more than the output itself reveals", "holds") for i in (0, 2, 4)]
OPEN = [node(i, "inconclusive", "inconclusive") for i in (0, 2, 4)]


def test_who_learns_what_about_whom_how_sure_and_what_to_do() -> None:
    mend = [trial("no use", "wish"), trial("helps", "use new masks", "closed"), trial("open", "hope")]
    found = report(
        cell("Ring", "Neighbours", "violated", REVEALED, trials=mend),
        cell("Masks", "Neighbours", "inconclusive", OPEN),
        cell("Ring", "Listener", "holds", CLEAR, corrupt=[]),
    )
    assert " ".join(summary(found)) == (
        "“Neighbours” (2 of the 5 participants, who pool what they read) can compute the private data of 2 of 3 "
        "other participants under “Ring”. Whether it learns anything it should not under “Masks” could not be "
        "decided. It is proved that “Listener” (an outsider who reads the lines) learns nothing beyond the result "
        "itself under “Ring”. This is certain: it follows by calculation from what is sent. Where something could not "
        "be decided, it may be worse than what was found. What is proved rests on assumptions that are listed below "
        "with "
        "each combination. Measures were tried. These closed the leak that was found: use new masks (under “Ring”). "
        "Audit again after a change; details are below."
    )


def test_what_only_encryption_keeps_out_is_said_beside_it() -> None:
    assumed = [f"The 5 lines in use are {ENCRYPTION_ASSUMES}."]
    kept_out = cell("Ring", "Listener", "holds", CLEAR, corrupt=[], assumptions=assumed)
    said = "learns nothing beyond the result itself under “Ring”, if lines that should be encrypted are."
    assert said in " ".join(summary(report(kept_out)))
    assert "encrypted" not in " ".join(summary(report(cell("Ring", "Listener", "holds", CLEAR, corrupt=[]))))


def solved(*counts: tuple[int | None, int | None]) -> list[NodeSummary]:
    return [node(i, "revealed", "violated", "inversion", hits=hits, runs=runs) for i, (hits, runs) in enumerate(counts)]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (solved((5, 5)), "This was tried: in 5 of 5 trial runs of the real programme the data came out."),
        (solved((5, 5), (3, 5), (5, 5)), "in 3 of 5 or 5 of 5 trial runs of the real programme"),
        (solved((3, 5), (4, 5), (5, 5), (1000, 2000)), "in 50 to 100 % of the trial runs of the real programme"),
        (solved((5, 5), (None, None)), "in trial runs of the real programme the data came out"),
        (
            [*REVEALED, *solved((4, 5))],
            "Some of this follows by calculation from what is sent; the rest was tried: in 4 of",
        ),
    ],
)
def test_counts_are_those_of_the_findings_that_decide(nodes: list[NodeSummary], said: str) -> None:
    text = " ".join(summary(report(cell("P", "A", "violated", nodes))))
    assert said in text
    assert "300" not in text  # the runs of the audit, which no attack was judged on


def test_what_leaks_in_part_is_not_called_certain() -> None:
    partly = cell("Q", "A", "violated", PARTLY)
    text = " ".join(summary(report(partly)))
    assert "learns part" in text
    assert "certain" not in text
    assert "more may be learnt than was found" in text
    both = " ".join(summary(report(cell("P", "A", "violated", REVEALED), partly)))
    assert "This is certain" not in both
    assert "Whose data can be computed is certain" in both


def test_a_measure_that_helps_against_one_is_not_told_as_if_it_helped_against_all() -> None:
    found = report(
        cell("Open", "Listener", "violated", REVEALED, trials=[trial("helps", "encrypt the lines")]),
        cell("Open", "Server", "violated", REVEALED, trials=[trial("no use", "encrypt the lines")]),
    )
    assert "encrypt the lines (against “Listener”)" in " ".join(summary(found))


def test_what_closed_a_leak_is_told_apart_from_what_only_reduced_it() -> None:
    one = [trial("helps", "mask", "closed"), trial("helps", "encrypt", "closed"), trial("helps", "trim", "bounded")]
    other = [trial("helps", "mask", "reduced"), trial("helps", "encrypt", "closed"), trial("helps", "add rows")]
    found = report(
        cell("P", "A", "violated", REVEALED, trials=one),
        cell("Q", "A", "violated", REVEALED, trials=other),
    )
    assert (
        "Measures were tried. These closed the leak that was found: encrypt; mask (under “P”). "
        "These bound the error by proof: trim (under “P”). "
        "These only reduced the leak: mask (under “Q”). These helped: add rows (under “Q”). "
        "Audit again"
    ) in " ".join(summary(found))


@pytest.mark.parametrize("evidence", ["structure", "inversion", "decoder"])
@pytest.mark.parametrize(
    ("verdict", "nodes"),
    [("violated", REVEALED), ("inconclusive", OPEN), ("holds", CLEAR), ("inconclusive", [])],
)
def test_it_has_no_jargon_and_never_clears(verdict: Verdict, nodes: list[NodeSummary], evidence: str) -> None:
    mine = [each.model_copy(update={"worst_evidence": evidence}) for each in nodes]
    for more in ({}, {"server": True, "corrupt": []}, {"corrupt": [1]}):
        text = " ".join(summary(report(cell("P", "A", verdict, mine, **more))))
        assert not JARGON.search(text.replace("for this policy", "")), text
        assert not re.search(r"\bsafe\b|secure|guarantee", text, flags=re.IGNORECASE)
        assert ("rests on assumptions" in text) == (verdict == "holds")
        assert len(text) < 900
        if verdict == "inconclusive":
            assert "could not be decided" in text
            assert "nothing beyond" not in text


def test_a_cell_that_is_inconclusive_is_never_told_as_clear() -> None:
    # Its nodes may look well while the cell itself does not: a run that failed, or what colluders do.
    text = " ".join(summary(report(cell("P", "A", "inconclusive", CLEAR))))
    assert "nothing beyond" not in text


def test_the_page_and_the_markdown_begin_with_it() -> None:
    found = report(cell("Ring", "Neighbours", "violated", REVEALED, trials=[trial("no use", "wish")]))
    page, text = html.render(found), markdown.render(found)
    short = summary(found)
    assert page.index("can compute the private data") < page.index("technical")
    assert text.index("can compute the private data") < text.index("technical")
    assert short[0].split(". ")[0] in text
    assert "Tried, and of no use: 1" in page
    assert "### Tried, and of no use\n\n- Do. Tried." in text


@pytest.mark.parametrize(
    ("least", "who"), [(2, "2 participants who act together"), (1, "one participant alone"), (0, "an outsider")]
)
def test_who_suffices_is_said_once_for_all_cells_of_a_protocol(least: int, who: str) -> None:
    found = Coalitions(
        min_colluders=3, least=least, limit=4, nodes=[], weakest=None, command="", method="", notes=[],
        verdict="violated", why="",
    )  # fmt: skip
    cells = [cell("Ring", name, "violated", nodes, coalitions=found) for name, nodes in (("A", REVEALED), ("B", CLEAR))]
    short = summary(report(*cells))
    text = " ".join(short)
    assert text.count(f"Under “Ring” {who} can learn somebody's data; the policy asks for more.") == 1
    # Of an adversary that learns nothing, its name is said.
    assert any(said.startswith("It is proved that “B”") for said in short)


def test_an_active_server_is_no_outsider() -> None:
    """Seen in a report: "Server with bins (an outsider who listens to the lines)"."""
    servers = (CuriousServer(), ModelServer(model="zero"), MaliciousServer(victim=0))
    assert all(AdversaryTraits.of(one).server for one in servers)
    assert not AdversaryTraits.of(Eavesdropper()).server


def test_each_number_of_the_first_page_leads_to_where_it_comes_from() -> None:
    least = Coalitions(
        verdict="violated",
        why="why",
        min_colluders=3,
        limit=3,
        least=2,
        nodes=[],
        weakest=None,
        method="m",
        command="",
        notes=[],
    )
    found = report(
        cell("P", "A", "violated", [*REVEALED, *solved((4, 5))]),
        cell("Q", "A", "violated", solved((3, 5), (5, 5)), coalitions=least),
        cell("P", "B", "inconclusive", OPEN, corrupt=[]),
    )
    found = found.model_copy(
        update={"sentence": "The policy is violated in 2 of 3 combinations: P. Of the rest, 1 could not be decided."}
    )
    page = html.render(found)
    top = page[page.index('<div class="sentence">') : page.index('<dl class="facts">')]
    links = dict(re.findall(r'<a href="#([^"]+)">([^<]*)</a>', top))
    assert re.findall(r"\d", re.sub(r"<a .*?</a>|<[^>]*>|&#\d+;", "", top)) == []
    assert {links[f"cell-{k}"] for k in ("1-node-0", "2-node-0", "2-node-1")} == {"4 of 5", "3 of 5", "5 of 5"}
    assert links["cell-2-coalitions"] == "2 participants"
    assert "cell-1-network" in links
    for anchor in links:
        assert f'id="{anchor}"' in page


def withstands(proven: list[float | None], **more: Any) -> Robustness:
    points = [
        RobustnessPoint(colluders=k, fraction=k / 5, found=0.1, proven=bound, found_by="")
        for k, bound in enumerate(proven, 1)
    ]
    content = {"colluders": 1, "breakdown": 0.4, "breakdown_proven": 0.4, "spread": "s", "damages": [], "why": ""}
    return Robustness(**{**content, "points": points, "verdict": "holds", **more})


REVEALED_UNASKED = [each.model_copy(update={"verdict": "not asked"}) for each in REVEALED]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"min_breakdown": 0.3}, ["whatever up to 2 of the 5 participants send, an average is off by at most 0.750"]),
        ({"max_error_ratio": 0.6}, ["whatever up to 1 of the 5 participants send, an average is off by at most 0.500"]),
        ({"min_breakdown": 0.3, "max_error_ratio": 0.6}, ["at most 0.500 times the largest", "at most 0.750 times"]),
    ],
)
def test_what_is_proved_of_colluders_stands_first_with_its_number_and_what_it_assumes(
    policy: dict[str, float], said: list[str]
) -> None:
    cells = [
        cell("Trimmed", "A", "holds", REVEALED_UNASKED, robustness=withstands([0.5, 0.75])),
        cell("Median", "A", "holds", REVEALED_UNASKED, robustness=withstands([0.25, 0.5])),
    ]
    found = report(*cells).model_copy(update={"policy": policy})
    first = summary(found)[0]
    assert all(words in first for words in said)
    assert "under “Trimmed” and “Median”, if the theorems of the rules apply to the code that runs." in first
    assert "2 of 3 other participants under “Trimmed” and “Median”, which the policy does not limit." in first
    assert 'href="#cell-1-robustness">0.' in html.render(found)
    assert 'id="cell-1-robustness"' in html.render(found)


def test_what_is_violated_stands_before_what_is_proved() -> None:
    pushed = withstands([None, None], verdict="violated")
    cells = [
        cell("Plain", "A", "violated", REVEALED_UNASKED, robustness=pushed),
        cell("Trimmed", "A", "holds", REVEALED_UNASKED, robustness=withstands([0.5, 0.75])),
    ]
    first = summary(report(*cells).model_copy(update={"policy": {"min_breakdown": 0.3}}))[0]
    assert first.index("can change the joint result more than allowed under “Plain”") < first.index("It is proved that")


def test_a_bound_without_a_number_is_told_without_one_and_none_that_is_not_proved() -> None:
    def first(robustness: Robustness, verdict: Verdict, **more: Any) -> str:
        found = report(cell("P", "A", verdict, CLEAR, robustness=robustness, **more))
        return summary(found.model_copy(update={"policy": {"min_breakdown": 0.3}}))[0]

    assert "an average is off by at most a bounded amount under “P”" in first(withstands([0.5, None]), "holds")
    whole = first(withstands([0.5, 2.0]), "holds", is_collaboration=True)
    assert "the joint result of the audited runs is off by at most 2.00 times the median difference" in whole
    assert "theorems" not in first(withstands([0.5, 0.75], verdict="inconclusive"), "inconclusive")


def test_no_change_is_missing_where_none_was_looked_for() -> None:
    """An audit that was ended said that it knows no change that would mend it."""
    ended = cell("Ring", "Neighbours", "inconclusive", OPEN, unmeasured=["the time limit had passed"])
    assert "Part of this audit was not done" in summary(report(ended))[-1]
    assert "None is proposed, since part of this combination was not audited." in markdown.render(report(ended))
    undecided = report(cell("Ring", "Neighbours", "inconclusive", OPEN))
    assert summary(undecided)[-1].startswith("No fault was shown, so no change was tried")
    assert "No fault was shown, so no change was tried: why" in markdown.render(undecided)
    violated = report(cell("Ring", "Neighbours", "violated", REVEALED))
    assert "no change that would help" in summary(violated)[-1]
    assert "Nothing that this audit can name." in html.render(violated)
    assert "Nothing for this policy." in html.render(report(cell("Ring", "Neighbours", "holds", CLEAR)))


def test_a_combination_that_was_never_begun_reveals_not_nobody_but_is_not_measured() -> None:
    late = "the time limit had passed"
    never = [node(k, "inconclusive", "inconclusive").model_copy(update={"why": late}) for k in (0, 2)]
    unbegun = cell("pdmm", "server", "inconclusive", never, unmeasured=[late], output_error=None)
    assert tally(unbegun) == "not measured"
    assert "Output error" not in markdown.render(report(unbegun)).split("How to read")[0]
    assert "Output error</a>" not in html.render(report(unbegun))
    begun = [node(0, "revealed", "violated"), never[1]]
    assert tally(cell("pdmm", "server", "violated", begun, unmeasured=[late])) == "1 of 2 honest nodes revealed"


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"corrupt": [1]}, "participant 1"),
        ({"corrupt": [1], "tapped": [(0, 2)]}, "participant 1, who taps lines"),
        ({"corrupt": [1], "server": True}, "the server and participant 1, who pool what they read"),
        ({"corrupt": [1, 3], "server": True}, "the server and 2 of the 5 participants, who pool what they read"),
        ({"corrupt": [1, 3], "tapped": [(0, 2)]}, "2 of the 5 participants, who pool what they read and tap lines"),
        ({"corrupt": [], "server": True}, "the server"),
    ],
)
def test_an_adversary_is_said_with_all_that_it_controls(part: dict[str, Any], words: str) -> None:
    first = summary(report(cell("p", "them", "violated", [node(0, "revealed", "violated")], **part)))[0]
    assert first.startswith(f"“them” ({words}) can compute")
