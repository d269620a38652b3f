"""Claims of differential privacy: proved at the limit and not below, refuted with data to paste, or left open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import noisy_protocols as twins
import numpy as np
import pytest
from noisy_protocols import NORM, SCALE, Descent, Sampled, claimed, report
from typer.testing import CliRunner

import secmix
from secmix.adversaries import Adversary, Colluders, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.baseline import counted
from secmix.auditing.noise.privacy_loss import _lower_mean
from secmix.cli.app import app
from secmix.cli.validation import validated
from secmix.errors import ScenarioError
from secmix.privacy import clip, gaussian, gaussian_epsilon
from secmix.protocols import Plain
from secmix.reporting.formats import html, junit, markdown, sarif
from secmix.reporting.words import about_spent
from secmix.scenario import from_dict, parse
from secmix.transcript import SERVER

DELTA = 1e-5
MU = math.sqrt(2) * 2 * NORM / SCALE  # two rounds, a unit exchanged
EPSILON = gaussian_epsilon(MU, DELTA)
NODE: dict[str, Any] = {"epsilon": 1.001 * EPSILON, "delta": DELTA}
ROW: dict[str, Any] = {**NODE, "unit": "row"}


@pytest.fixture(autouse=True)
def few_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay few calls, but in tests that are about how near a reading comes."""
    if "near" not in request.fixturenames:
        monkeypatch.setattr("secmix.auditing.noise.privacy_loss._CALLS", (60, 60))
        monkeypatch.setattr("secmix.auditing.noise.told_apart._MOST", 300)


@pytest.fixture
def near() -> None:
    """Replay as many calls as an audit does."""


# --- the right limit ---


@pytest.mark.parametrize("adversary", [CuriousServer(), Eavesdropper()])
def test_a_claim_holds_at_what_the_noise_keeps_and_is_open_just_below(adversary: Adversary) -> None:
    assert report(Descent(), NODE, adversary).verdict == "holds"
    assert report(Descent(), {**NODE, "epsilon": 0.999 * EPSILON}, adversary).verdict == "inconclusive"


@pytest.mark.usefixtures("near")
def test_what_is_seen_comes_near_to_what_is_proved() -> None:
    node = claimed(Descent(), NODE).nodes[0]
    assert node.proved == pytest.approx(EPSILON)
    assert node.seen is not None
    assert 0.95 * EPSILON < node.seen <= EPSILON


@pytest.mark.parametrize(
    ("protocol", "claim"),
    [
        (Descent(twins.of_rows), {**ROW, "epsilon": gaussian_epsilon(MU / 2, DELTA)}),  # a row more or fewer
        (Descent(), {**NODE, "epsilon": gaussian_epsilon(MU / math.sqrt(2), DELTA)}),  # one round
        (Descent(twins.by_laplace), {"epsilon": 0.5}),  # one round
    ],
)
def test_a_claim_of_less_than_is_spent_is_violated_at_the_line_that_spends_it(
    protocol: Any, claim: dict[str, Any]
) -> None:
    found = claimed(protocol, claim)
    assert found.verdict == "violated"
    node = found.nodes[0]
    assert "is spent by 2 releases at noisy_protocols.py, line " in node.fails
    assert node.paste.startswith("# Rows of node 0")
    names: dict[str, Any] = {}
    exec(node.paste, names)
    assert names["first"] != names["second"]


def test_laplace_noise_is_not_accused_of_the_last_digit() -> None:
    found = claimed(Descent(twins.by_laplace), {"epsilon": 1.0})  # two rounds of 2 C / b = 1/2
    assert found.verdict == "holds"
    assert found.nodes[0].seen == pytest.approx(1.0)
    assert found.nodes[0].confidence == 1.0


def test_what_is_sent_bare_is_infinite_and_named() -> None:
    found = claimed(Descent(beside=twins.loss), {"epsilon": 100.0, "delta": DELTA})
    assert found.verdict == "violated"
    assert found.nodes[0].seen is None
    assert found.nodes[0].proved is None
    assert "'beside from 0 to the server, round 0' differs while the outputs" in found.nodes[0].fails
    assert "it is infinite for node 0" in found.why
    assert "is not counted: where no ε is proved of a node, it may have spent more" in about_spent(found)


def test_noise_of_a_generator_that_the_protocol_keeps_accuses_nobody() -> None:
    """Copies for independent runs would draw the same noise, and tell apart what a deployment does not."""

    @dataclass
    class OwnNoise(Descent):
        generator: Any = field(default_factory=np.random.default_rng)

        def noisy(self, sent: Any, rng: np.random.Generator) -> Any:
            return sent + SCALE * self.generator.standard_normal(sent.shape)

    def clipped(self: Descent, t: int, node: int, gradients: Any, rng: np.random.Generator) -> Any:
        return clip(gradients.mean(axis=1), NORM, axis=-1)

    found = claimed(OwnNoise(clipped), {**NODE, "epsilon": 1.0})
    assert found.verdict == "inconclusive"
    assert "the protocol keeps a random generator" in found.nodes[0].method


def test_a_number_of_rows_that_is_public_tells_nothing_of_a_node() -> None:
    counts = Descent(beside=twins.row_count)
    assert claimed(counts, NODE).verdict == "inconclusive"
    public = claimed(counts, {**NODE, "public": ["rows_per_node"]})
    assert public.verdict == "holds"
    assert public.public == ["rows_per_node"]


def test_a_claim_about_a_node_covers_none_that_its_noise_does_not_hide() -> None:
    assert claimed(Descent(twins.of_rows), ROW).verdict == "holds"
    assert claimed(Descent(twins.of_rows), NODE).verdict == "violated"  # rows that all move


def test_gaussian_noise_has_no_epsilon_without_delta() -> None:
    found = claimed(Descent(), {"epsilon": 1.0})
    assert found.verdict == "violated"
    assert "claim a delta above 0" in found.nodes[0].follows


# --- what is not known ---


def test_without_releases_error_rates_are_all_that_is_seen() -> None:
    bare = Descent(lambda self, t, node, gradients, rng: gradients.mean(axis=1))
    found = claimed(bare, {"epsilon": 1.0})
    assert found.verdict == "violated"
    assert found.nodes[0].method.startswith("error rates of the score")
    assert "nothing is clipped or released by clip, gaussian or laplace of secmix.privacy" in found.nodes[0].follows


@pytest.mark.build
def test_outputs_that_the_adversary_does_not_read_have_no_known_loss() -> None:
    found = claimed(Descent(), {**NODE, "epsilon": 0.5 * EPSILON}, HonestButCurious([1], eavesdrops=False))
    assert found.nodes[0].verdict == "inconclusive"
    assert "privacy losses" not in found.nodes[0].method


def test_noise_that_is_drawn_twice_has_no_known_loss() -> None:
    """As independent it would convict: two rounds of one noise hide what both move alike as well as one does."""
    found = claimed(Descent(twins.same_noise_each_round), {**NODE, "epsilon": gaussian_epsilon(MU, DELTA) * 0.99})
    assert "privacy losses" not in found.nodes[0].method


@pytest.mark.build
def test_a_one_time_pad_beside_releases_is_no_infinite_loss() -> None:
    """Padded numbers differ between two data sets with the same pads, which nobody knows."""

    class Padded(Descent):
        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            means = np.stack([part.mean(axis=1) for part in parts])
            channel.send(-1, np.arange(network.n), SERVER, "padded", means + rng.normal(scale=1e9, size=means.shape))
            return super().collaborate(parts, network, rng, channel=channel)

    found = claimed(Padded(), NODE)
    assert found.verdict == "inconclusive"
    assert "privacy losses" not in found.nodes[0].method


def test_doubts_about_the_protocol_clear_no_claim() -> None:
    class Shares(Descent):
        """Passes rows between nodes without a message."""

        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            ends = super().collaborate(parts, network, rng, channel=channel)
            return ends + parts[0].mean(axis=(1, 2))[:, None, None]

    assert claimed(Shares(), NODE).verdict != "holds"


def test_an_adversary_that_deviates_is_not_bounded() -> None:
    assert claimed(Descent(), NODE, Colluders(corrupt=[1], attack="all")).verdict == "inconclusive"


def test_of_sums_no_claim_is_proved() -> None:
    found = secmix.audit(
        {"network": {"kind": "cycle", "nodes": 4}, "data": {"name": "gaussian", "features": 2}, "runs": 100,
         "model": {"iterations": 1}, "claim": {"epsilon": 1.0}, "measure": {"evidence": ["structure"]}},
        protocols={"plain": Plain()}, adversaries={"them": CuriousServer()},
    )  # fmt: skip
    assert found.verdict == "inconclusive"
    assert "write it as a collaboration" in found.cells[0].sentence


def test_what_changes_with_a_number_of_rows_that_is_the_same_counts_for_nobody() -> None:
    """A mean over all rows moves with their number, which neighbours with a row exchanged have in common."""

    class Shared(Descent):
        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            self.kept["rows"] = sum(part.shape[1] for part in parts)
            return super().collaborate(parts, network, rng, channel=channel)

        def noisy(self, sent: Any, rng: Any) -> Any:
            return sent / self.kept["rows"]

    found = claimed(Shared(twins.of_rows), ROW)
    assert found.nodes[0].proved == pytest.approx(EPSILON)


@pytest.mark.build
def test_of_many_nodes_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secmix.auditing.noise.privacy_claims._NODES", 1)
    found = claimed(Descent(), NODE, measure={"evidence": ["decoders"]})
    assert found.verdict == "holds"
    assert found.looks == 2
    assert [node.seen == 0.0 for node in found.nodes] == [False, True, True]
    assert found.nodes[2].method == "not seen: 1 other nodes were looked at"


# --- against whom, and beside a policy ---


@pytest.mark.build
@pytest.mark.parametrize("against", [["them"], ["server"], ["outsider", "server"]])
def test_a_claim_is_against_names_or_kinds(against: list[str]) -> None:
    assert claimed(Descent(), {**NODE, "against": against}).verdict == "holds"


def test_a_claim_against_others_asks_nothing() -> None:
    found = report(Descent(), {**NODE, "against": ["outsider"]})
    assert found.cells[0].verdict == "not asked"
    assert found.verdict == "inconclusive"
    assert found.sentence.startswith("The claim asks nothing")


@pytest.mark.build
def test_a_claim_and_a_policy_must_both_hold() -> None:
    lax, strict = ({"max_normalised_leakage": limit} for limit in (0.9, 0.01))
    assert report(Descent(), NODE, policy=lax).verdict == "holds"
    assert report(Descent(), NODE, policy=strict).verdict == "inconclusive"
    assert report(Descent(), {**NODE, "epsilon": 0.5 * EPSILON}, policy=lax).verdict == "violated"


def test_a_claim_alone_is_written_and_read_without_a_policy() -> None:
    scenario = from_dict({"network": {"kind": "cycle", "nodes": 4}, "claim": NODE})
    assert "policy" not in scenario.to_dict()
    assert from_dict(scenario.to_dict()) == scenario
    assert [cell.claim for cell in scenario.cells()] == [scenario.claim]


# --- what the table may say ---


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({}, "'claim.epsilon' is missing"),
        ({"epsilon": 0.0}, "claim.epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "claim.delta"),
        ({"epsilon": 1.0, "unit": "person"}, "claim.unit"),
        ({"epsilon": 1.0, "sigma": 1.0}, "unknown key 'claim.sigma'; known: against, delta, epsilon"),
        ({"epsilon": 1.0, "neighbours": "add-or-remove"}, 'goes with unit = "row"'),
        (
            {"epsilon": 1.0, "unit": "row", "neighbours": "add-or-remove", "public": ["rows_per_node"]},
            "differ in their number of rows",
        ),
        ({"epsilon": 1.0, "against": ["servre"]}, "no adversary is called 'servre'; did you mean 'server'"),
    ],
)
def test_a_claim_that_does_not_fit_is_refused(claim: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        report(Descent(), claim)


def test_an_error_in_a_claim_names_its_line() -> None:
    with pytest.raises(ScenarioError, match="line 4"):
        parse('[network]\nkind = "cycle"\n[claim]\nepsilon = -1.0\n')


@pytest.mark.build
def test_a_claim_in_a_file_is_validated_and_gives_the_exit_status(tmp_path: Path) -> None:
    path = tmp_path / "noisy.toml"
    about = """
runs = 100
network = { kind = "complete", nodes = 3 }
protocol = { name = "federated_pca", r = 1 }
adversary = { name = "curious_server" }
data = { name = "gaussian", features = 3, rows_per_node = 5 }
measure = { evidence = ["decoders"], nodes = [0] }
[claim]
epsilon = 1.0
"""
    path.write_text(about + 'against = ["sever"]\n')
    (fault,), _ = validated(str(path))
    assert "line 10" in fault
    assert "did you mean 'server'" in fault
    path.write_text(about + 'against = ["server"]\n')
    faults, summary = validated(str(path))
    assert not faults
    assert "claim: epsilon = 1, delta = 0" in " ".join(summary.split())
    assert (
        CliRunner().invoke(app, ["audit", str(path), "--out", str(tmp_path / "out"), "--workers", "1"]).exit_code == 1
    )


# --- reports ---


@pytest.mark.build
def test_every_format_says_what_was_proved_seen_and_where_it_fails() -> None:
    found = report(Descent(), {**NODE, "epsilon": 0.5 * EPSILON})
    for page in (markdown.render(found), html.render(found)):
        text = " ".join(page.replace("\\", "").split())
        for words in (
            "what follows from the code: of epsilon at delta = 1e-05 (all rows of a node exchanged) at most",
            "what was seen: privacy losses of 60 calls",
            "divided among 2 such looks",
            "where the claim fails:",
            "# Rows of node 0",
            "The claim of differential privacy against “them” (the server) is refuted",
        ):
            assert words in text, words
    assert 'name="claim of differential privacy"' in junit.render(found)
    assert '"ruleId": "secmix/claim"' in sarif.render(found)


@pytest.mark.build
def test_a_claim_that_was_violated_before_does_not_count_against_a_baseline() -> None:
    found = report(Descent(), {**NODE, "epsilon": 0.5 * EPSILON})
    assert counted(found, found).verdict == "no worse"
    before = report(Descent(), NODE)
    again = counted(found, before).cells[0].claim
    assert again is not None
    assert again.since_baseline == "worse"


# --- what was spent ---


@pytest.mark.build
def test_what_a_node_spent_follows_from_the_rounds_in_which_it_took_part() -> None:
    found = claimed(Sampled(twins.of_rows, rounds=6), {"epsilon": 3.0, "delta": DELTA, "unit": "row"})
    (spent,) = found.spent
    assert 0 < spent.least_rounds < spent.most_rounds < 6
    assert len(spent.rounds) == spent.most_rounds
    exact = [gaussian_epsilon(math.sqrt(k) * 2 * NORM / SCALE, DELTA) for k in range(1, spent.most_rounds + 1)]
    assert spent.epsilon == pytest.approx(exact)
    assert found.verdict != "holds"  # nothing is credited for the sample, which messages show


def test_what_is_not_clipped_spends_without_bound() -> None:
    (spent,) = claimed(Descent(twins.clip_of_a_copy), NODE).spent
    assert spent.epsilon == [None, None]


@pytest.mark.build
def test_in_all_as_much_is_spent_as_is_proved() -> None:
    found = claimed(Descent(twins.by_laplace, rounds=3), {"epsilon": 2.0})
    assert found.spent[0].epsilon == pytest.approx([0.5, 1.0, 1.5])
    assert found.nodes[0].proved == pytest.approx(1.5)
    assert "it may have spent more" not in about_spent(found)
    assert "0: 0.5, 2: 1, 4: 1.5" in markdown.render(report(Descent(twins.by_laplace, rounds=3), {"epsilon": 2.0}))


# --- the reading by privacy losses ---


def test_the_lower_limit_of_a_mean_is_below_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    laws = [lambda n: rng.random(n), lambda n: (rng.random(n) < 0.02).astype(float), lambda n: rng.beta(0.2, 2.0, n)]
    for law in laws:
        mean = law(200_000).mean()
        above = sum(_lower_mean(law(100), 1.0, 0.1) > mean for _ in range(400))
        assert above <= 40 + 19  # three standard deviations of a binomial


@pytest.mark.build
@pytest.mark.parametrize("step", [twins.of_node, twins.of_rows, twins.by_laplace])
def test_no_right_protocol_is_seen_above_what_its_noise_keeps(step: Any) -> None:
    """At the level of an audit, over eight seeds: a claim that is proved is never refuted."""
    delta = 0.0 if step is twins.by_laplace else DELTA
    exact = 1.0 if step is twins.by_laplace else EPSILON
    for seed in range(8):
        found = claimed(Descent(step), {"epsilon": exact, "delta": delta, "unit": "row"}, seed=seed)
        assert found.verdict == "holds"
        assert (found.nodes[0].seen or math.inf) <= exact * (1 + 1e-6)


def test_noise_whose_scale_follows_from_data_has_a_loss_of_its_own() -> None:
    def widened(self: Descent, t: int, node: int, gradients: Any, rng: np.random.Generator) -> Any:
        return gaussian(0 * gradients.mean(axis=1), 1.0 + float(np.abs(gradients).max() > 1e3), rng)

    found = claimed(Descent(widened), {"epsilon": 0.05})
    assert found.verdict == "violated"  # σ of 1 and 2 are told apart, whatever is released
