"""Releases played back: right protocols are bounded by noise, and each wrong twin is refused with its fault."""

from __future__ import annotations

import math
import re
from typing import Any

import noisy_protocols as twins
import numpy as np
import pytest
from noisy_protocols import ADDED, NODE, NORM, ROW, SCALE, WRONG, Descent, setup_of

from secmix.auditing.noise.noise_bounds import NoiseBound, _bound
from secmix.auditing.noise.replays.playback import Playback, play_back
from secmix.privacy import clip, explained_variance_bound, gaussian, gaussian_epsilon
from secmix.protocols import run_by_run
from secmix.scenario import PolicySpec, PrivacyTerms, terms_of
from secmix.transcript import SERVER

DELTA = NODE["delta"]
OF_NODES = PrivacyTerms()


def played(protocol: Any, terms: PrivacyTerms = OF_NODES, rows: int = 5) -> Playback:
    return play_back(setup_of(protocol, rows), protocol, 1, terms)


def bounds(protocol: Any, policy: dict[str, Any], rows: int = 5) -> list[NoiseBound]:
    terms = terms_of(PolicySpec(**policy), None)
    found = played(protocol, terms, rows)
    assert sorted(found.nodes) == [0, 1, 2]
    return [_bound(found, replays, terms) for replays in found.nodes.values()]


# --- right twins: the bound is that of the closed form, for the releases that reach the unit ---


@pytest.mark.build
@pytest.mark.parametrize(
    ("step", "policy", "sensitivity"),
    [
        (twins.of_node, NODE, 2 * NORM),
        (twins.noise_of_the_system, NODE, 2 * NORM),
        (twins.of_node, ROW, 2 * NORM),
        (twins.of_node, ADDED, 2 * NORM),
        (twins.of_rows, ROW, 2 * NORM),
        (twins.of_rows, ADDED, NORM),
        (twins.mean_of_rows, NODE, 2 * NORM),
        (twins.mean_of_rows, ROW, 2 * NORM / 5),
        (twins.mean_of_rows, ADDED, 2 * NORM),
    ],
)
def test_a_right_protocol_is_bounded_by_what_its_noise_hides(step: Any, policy: Any, sensitivity: float) -> None:
    mu = sensitivity / SCALE
    for bound in bounds(Descent(step, rounds=3), policy):
        assert bound.why_open == ""
        assert bound.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(3) * mu, DELTA))
        exchanged = 2 * mu if (step, policy) == (twins.of_rows, ADDED) else mu
        assert bound.explained == pytest.approx(explained_variance_bound(gaussian=[exchanged] * 3))
        assert f"sensitivity {exchanged * SCALE:.3g}" in bound.releases


def test_one_release_for_all_nodes_moves_by_the_vector_of_one() -> None:
    class Together(Descent):
        """Noise on the gradients of all nodes in one step, as vectorised code adds it."""

        def noisy(self, sent: Any, rng: Any) -> Any:
            return gaussian(clip(sent, NORM, axis=-1), SCALE, rng)

    for bound in bounds(Together(lambda self, t, node, gradients, rng: gradients.mean(axis=1)), NODE):
        assert bound.explained == pytest.approx(explained_variance_bound(gaussian=[2 * NORM / SCALE] * 2))


def test_a_protocol_that_is_written_for_one_run_is_bounded_alike() -> None:
    class Once(Descent):
        """Clips whole arrays of one run."""

        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            own = rng.spawn(network.n)

            def once(rows: Any, on: Any) -> Any:
                sent = [gaussian(clip(part.mean(axis=0), NORM), SCALE, own[i]) for i, part in enumerate(rows)]
                arrived = [on.send(0, i, SERVER, "mean", vector[None])[0] for i, vector in enumerate(sent)]
                return np.repeat(np.mean(arrived, axis=0)[None], network.n, axis=0)

            return run_by_run(once, parts, channel)

    for bound in bounds(Once(), NODE):
        assert bound.epsilon == pytest.approx(gaussian_epsilon(2 * NORM / SCALE, DELTA))


def test_laplace_noise_has_its_own_bound() -> None:
    for bound in bounds(Descent(twins.by_laplace), {"max_epsilon": 4.0}):
        assert bound.epsilon == pytest.approx(2 * 2 * NORM / SCALE)
        assert bound.explained == pytest.approx(explained_variance_bound(laplace=[2 * NORM / SCALE] * 2))


@pytest.mark.build
def test_only_releases_count_that_the_unit_reaches() -> None:
    assert len(played(Descent(rounds=3)).releases) == 9
    assert bounds(Descent(rounds=3), NODE)[0].releases.startswith("3 releases at noisy_protocols.py")


@pytest.mark.build
def test_a_row_counts_in_every_release_that_it_may_be_in() -> None:
    rounds = 30  # one row in each, and fewer replays than rows
    found = bounds(Descent(twins.batches, rounds=rounds), ROW, rows=rounds)
    assert "16 replays" in found[0].premises[0]
    for bound in found:
        assert bound.explained == pytest.approx(explained_variance_bound(gaussian=[2 * NORM / SCALE] * rounds))


@pytest.mark.build
def test_the_number_of_replays_is_a_printed_premise() -> None:
    found = played(Descent())
    replays = found.nodes[0].replays
    assert replays >= 16
    premises = bounds(Descent(), ROW)[0].premises
    assert f"in {replays} replays" in premises[0]
    assert "all others being known" in premises[-1]


def test_without_releases_nothing_is_said() -> None:
    silent = Descent(lambda self, t, node, gradients, rng: gradients.mean(axis=1))
    assert played(silent) == Playback((), {}, 1)


# --- wrong twins ---


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_twin_is_refused_with_what_gives_it_away(name: str) -> None:
    step, policy, words = WRONG[name]
    found = [bound.why_open for bound in bounds(Descent(step), policy)]
    assert all(found)
    assert any(re.search(words, why) for why in found), found


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize(
    ("beside", "policy"),
    [(twins.loss, NODE), (twins.row_count, NODE), (twins.row_count, ADDED), (twins.weight, ROW)],
)
def test_what_is_sent_bare_beside_a_release_is_named(beside: Any, policy: Any, encrypted: bool) -> None:
    step = twins.of_rows if "unit" in policy else twins.of_node
    for node, bound in enumerate(bounds(Descent(step, beside=beside, encrypted=encrypted), policy)):
        assert f"'beside' from node {node} to the server in round 0 changes with the data" in bound.why_open


def test_what_is_never_the_same_is_named() -> None:
    found = bounds(Descent(beside=twins.clock), NODE)
    assert "'beside' from node 0 to the server in round 0 changes in a call on the same data" in found[0].why_open


def test_what_others_hold_or_end_with_must_not_change() -> None:
    class Held(Descent):
        """The server holds what no message brought it, or every node ends with it."""

        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            ends = super().collaborate(parts, network, rng, channel=channel)
            raw = np.mean([part.mean(axis=(1, 2)) for part in parts], axis=0)[:, None]
            if self.encrypted:
                return ends + raw[:, :, None]
            channel.hold(9, SERVER, "total", raw)
            return ends

    assert all("'total' held by the server in round 9" in bound.why_open for bound in bounds(Held(), NODE))
    assert all("the result of another node" in bound.why_open for bound in bounds(Held(encrypted=True), NODE))


def test_a_node_may_hold_and_end_with_its_own() -> None:
    class Own(Descent):
        """Every node holds its rows and ends with a model that is fitted to them."""

        def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
            for node, part in enumerate(parts):
                channel.hold(-1, node, "rows", part.reshape(len(part), -1))
            ends = super().collaborate(parts, network, rng, channel=channel)
            return ends + np.stack([part.mean(axis=(1, 2)) for part in parts], axis=1)[:, :, None]

    assert not any(bound.why_open for policy in (NODE, ADDED) for bound in bounds(Own(), policy))


def test_a_public_number_of_rows_tells_nothing_of_one_that_is_exchanged() -> None:
    assert not any(bound.why_open for bound in bounds(Descent(twins.of_rows, beside=twins.row_count), ROW))


def test_rows_that_move_each_other_all_count() -> None:
    for bound in bounds(Descent(twins.centred_before_clip, rounds=1), ROW):
        assert "5 clipped vectors count, since several of them move at a time" in bound.releases
        assert bound.explained == pytest.approx(explained_variance_bound(gaussian=[5 * 2 * NORM / SCALE]))
