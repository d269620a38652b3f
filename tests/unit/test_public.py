"""The public reads the released result alone: what attacks on it find is held against a policy, and nothing clears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from released_means import best_rate

import secmix
from secmix._base.checks import Array
from secmix.adversaries import PublicReader
from secmix.adversaries.reconstructions.interfaces import KnownMessages
from secmix.adversaries.reconstructions.released import reconstruct_released
from secmix.auditing.report import Report
from secmix.data import gaussian, prepared
from secmix.errors import ScenarioError
from secmix.estimators.row_membership import RATE
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.privacy import gaussian_epsilon
from secmix.protocols import DistributedEM, FederatedPCA, FederatedRegression, SecureSum
from secmix.protocols.collaboration import run_by_run
from secmix.protocols.released import RELEASED, FittedMixture, Released
from secmix.reporting import words
from secmix.reporting.formats.markdown import render as markdown
from secmix.reporting.release.of_report import release_page
from secmix.transcript import SERVER, Channel

EVERYTHING = {"max_revealed_nodes": 2, "max_normalised_leakage": 1.0, "max_membership": 1.0}


class MeanOfRows:
    """Send every node's rows to a server, and end with the mean of all of them."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def collaborate(self, parts: Sequence[Array], network: Network, rng: Any, *, channel: Channel) -> Array:
        sums = np.stack([part.sum(axis=1) for part in parts])
        sent = channel.send(0, np.arange(network.n), SERVER, "sum", sums, encrypted=True)
        mean = sent.sum(axis=0) / sum(part.shape[1] for part in parts)
        mean = mean + self.noise * rng.standard_normal(mean.shape)
        return np.repeat(mean[:, None], network.n, axis=1)

    def error(self, results: Array, reference: Array) -> Array:
        return np.abs(results - reference).max(axis=(1, 2))


def audited(protocol: Any, adversary: Any = None, **changes: Any) -> Report:
    scenario: dict[str, Any] = {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "wine", "features": 2, "rows_per_node": 1},
        "runs": 100,
        "policy": EVERYTHING,
        "measure": {"evidence": ["reconstruction"], "effort": "quick"},
    }
    adversaries = {"public": PublicReader() if adversary is None else adversary}
    return secmix.audit({**scenario, **changes}, protocols={"it": protocol}, adversaries=adversaries)


def test_the_public_reads_results_and_no_message():
    channel, rng = Channel(), np.random.default_rng(0)
    parts = [rng.normal(size=(2, 4, 3)) for _ in range(3)]
    network = Network.complete(3)
    results = Released(MeanOfRows()).collaborate(parts, network, rng, channel=channel)
    view = PublicReader().observe(channel.transcript, network)
    assert [origin.kind for origin in view.origins] == [RELEASED] * 3
    assert all((row == results[:, node]).all() for node, row in enumerate(view.rows))
    knowing = PublicReader(knows=[1]).observe(channel.transcript, network)
    assert sum(origin.kind != RELEASED for origin in knowing.origins) == 1
    assert (knowing.rows[0] == parts[1].reshape(2, -1)).all()


def test_runs_that_differ_release_their_results_all_the_same():
    class Sometimes(MeanOfRows):
        def collaborate(self, parts, network, rng, *, channel):
            def once(rows, channel):
                if rows[0][0, 0] > 0:
                    channel.send(0, 0, 1, "more", rows[0][:1])
                return np.repeat(np.mean([part.mean(axis=0) for part in rows], axis=0)[None], network.n, axis=0)

            return run_by_run(once, parts, channel)

    channel, rng = Channel(), np.random.default_rng(0)
    parts = [rng.normal(size=(8, 4, 3)) for _ in range(3)]
    assert len(set((parts[0][:, 0, 0] > 0).tolist())) == 2
    results = Released(Sometimes()).collaborate(parts, Network.complete(3), rng, channel=channel)
    sent = [block for block in channel.transcript if block.line != "held"]
    assert [block.kind for block in sent] == [RELEASED]
    assert (sent[0].payload == results.transpose(1, 0, 2)).all()


@pytest.mark.parametrize("protocol", [MeanOfRows(), SecureSum(), FederatedRegression(rounds=2)])
def test_a_row_follows_from_a_result_where_all_others_are_known(protocol):
    changes = {"policy": {"max_revealed_nodes": 0}, "model": {"components": 1, "iterations": 1}}
    report = audited(protocol, PublicReader(knows=[0, 2]), **(changes if isinstance(protocol, SecureSum) else {}))
    (node,) = [node for node in report.cells[0].nodes if node.standing != "corrupt"]
    assert (node.node, node.standing) == (1, "revealed")
    fails = audited(protocol, PublicReader(knows=[0]), **(changes if isinstance(protocol, SecureSum) else {}))
    standings = {node.standing for node in fails.cells[0].nodes if node.standing != "corrupt"}
    # The covariance of two rows beside their mean tells both; a mean or a linear model of two rows tells neither.
    assert standings == ({"revealed"} if isinstance(protocol, SecureSum) else {"inconclusive"})


def test_a_mixture_of_few_rows_gives_all_of_them():
    rng, network = np.random.default_rng(0), Network.complete(3)
    start = Mixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [np.eye(2), np.eye(2)])
    em = FittedMixture(DistributedEM(2, sums=SecureSum(), reg_covar=0.01, max_iter=3, tol=None, init=start))
    parts = [rng.normal(size=(1, 1, 2)) for _ in range(3)]
    channel = Channel()
    Released(em).collaborate(parts, network, rng, channel=channel)
    view = PublicReader().observe(channel.transcript, network)
    messages = tuple((origin, row[0]) for origin, row in zip(view.origins, view.rows, strict=True))
    found = reconstruct_released(KnownMessages(0, messages, 1, 2, em, network, rng, counts=(1, 1, 1)))
    assert found is not None
    assert not found.certified
    truth = np.concatenate([part[0] for part in parts])
    nearest = np.abs(truth[:, None] - found.rows[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-5
    few = tuple((origin, row[:5]) for origin, row in messages)  # with fewer numbers than unknown ones nothing is tried
    assert reconstruct_released(KnownMessages(0, few, 1, 2, em, network, rng, counts=(1, 1, 1))) is None


@pytest.mark.build
def test_rows_span_a_released_subspace_that_has_room_for_all():
    report = audited(
        FederatedPCA(3, rule="power_method", iterations=3),
        data={"name": "wine", "features": 5, "rows_per_node": 1},
    )
    values = {f.value for f in report.findings if f.evidence == "reconstruction"}
    assert values == {0.4}  # two equations on five numbers


def test_membership_in_an_audit_is_that_of_theory():
    n, d = 6, 2
    settings = {"rows": 3000, "components": 1, "separation": 0.0}
    data = {"name": "gaussian", "features": d, "rows_per_node": n // 3, **settings}
    report = audited(MeanOfRows(), data=data, measure={"evidence": ["reconstruction"]})
    rows = prepared(gaussian(features=d, **settings), standardise=True, features=None)
    inverse = np.linalg.inv(np.cov(rows, rowvar=False))
    best = best_rate(n, d, float(np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows).max())))
    found = [finding for finding in report.findings if finding.evidence == "membership"]
    assert [finding.node for finding in found] == [0, 1, 2]
    for finding in found:
        assert finding.low is not None
        assert finding.high is not None
        assert 5 * RATE < finding.low <= best <= finding.high


def test_nothing_clears_the_public_whatever_is_allowed():
    report = audited(MeanOfRows(noise=1e9))
    assert report.verdict == "inconclusive"
    assert {node.verdict for node in report.cells[0].nodes} == {"inconclusive"}
    assert "accuse and never clear" in report.cells[0].nodes[0].why


class NoisyMean(MeanOfRows):
    """The mean of rows shortened to length 1, with Gaussian noise: a row exchanged moves it by 2/n at most."""

    def collaborate(self, parts, network, rng, *, channel):
        short = [part / np.maximum(np.linalg.norm(part, axis=2, keepdims=True), 1.0) for part in parts]
        return super().collaborate(short, network, rng, channel=channel)


@pytest.mark.build
def test_a_result_with_noise_of_proven_epsilon_tells_no_more_than_that():
    delta, knowing = 1e-5, PublicReader(knows=[0, 2])  # all other rows are known: the strongest public
    most = np.exp(gaussian_epsilon(2 / 3 / 0.8, delta)) * RATE + delta
    lows = []
    for noise in (0.8, 0.008):
        report = audited(NoisyMean(noise), knowing, measure={"evidence": ["reconstruction"]})
        (finding,) = [f for f in report.findings if f.evidence == "membership"]
        lows.append(finding.low or 0.0)
    assert lows[0] <= most < 0.5 < lows[1]


@pytest.mark.build
def test_a_limit_on_membership_is_asked_of_the_public_alone():
    policy = {"max_membership": 0.02}
    both = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "wine", "features": 2, "rows_per_node": 2},
            "runs": 100,
            "model": {"components": 1, "iterations": 1},
            "policy": policy,
            "measure": {"evidence": ["structure"]},
            "protocol": {"name": "plain", "encrypted": True},
            "sweep": {"adversary": [{"name": "eavesdropper"}, {"name": "public"}]},
        }
    )
    public, other = both.cells
    assert (public.adversary, public.public, public.number) == ("public", True, 2)  # it comes first
    assert public.verdict == "violated"
    assert {node.standing for node in public.nodes} == {"partly leaked"}
    assert {words.is_share(node) for node in public.nodes} == {False}  # a rate of membership is no share of leakage
    assert "| see why | in " in markdown(both)
    assert other.verdict == "not asked"
    page = release_page(both)
    first, second = page.outputs[0].readers
    assert "the public" in first.who
    assert first.verdict == "violated"
    assert any("true-positive rate" in text and "--cell 2" in text for text in first.found)
    assert second.verdict == "not asked"
    memory = next(each for each in page.questions if "memorised" in each.question)
    assert any("false alarms" in text for text in memory.answer)


def test_rows_that_all_take_part_leave_nothing_to_compare_with():
    report = audited(MeanOfRows(), data={"name": "wine", "features": 2, "rows_per_node": [60, 60, 58]})
    assert not [f for f in report.findings if f.evidence == "membership"]
    assert any("every row takes part in every run" in note for note in report.cells[0].notes)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ScenarioError, match="fits no mixture that could be released"):
        audited(SecureSum(), model={"components": 1, "hold_parameters": True})


def test_what_is_advised_against_the_public_is_not_to_encrypt():
    report = audited(MeanOfRows(), PublicReader(knows=[0, 2]), policy={"max_revealed_nodes": 0})
    (said,) = report.cells[0].advice
    assert "before it is released" in said


def test_who_would_collude_is_not_asked_of_a_result():
    scenario = {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "wine", "features": 2},
        "protocol": {"name": "secure_sum"},
        "adversary": {"name": "public"},
    }
    (reason,) = {node.colluders.reason for node in secmix.exposure(scenario).nodes}
    assert "reads the released result alone" in reason


class OwnMeans:
    """Every node ends with the mean of its own rows, many times over: results differ from node to node."""

    copies = 900

    def collaborate(self, parts, network, rng, *, channel):
        means = np.stack([part.mean(axis=1) for part in parts], axis=1)
        return np.tile(means, (1, 1, self.copies))

    def error(self, results, reference):
        return np.abs(results - reference).max(axis=(1, 2))


def test_long_results_of_nodes_are_compared_with_those_of_the_same_node():
    groups = {"name": "wine", "features": 2, "rows_per_node": [40, 2, 2]}
    report = audited(OwnMeans(), data=groups)
    lows = {f.node: f.low or 0.0 for f in report.findings if f.evidence == "membership"}
    # A row of forty hardly shows and one of two does; means of two told from those of forty would always be.
    assert lows[0] < 0.1 < lows[1] < 0.6
