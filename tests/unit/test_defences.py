"""Defences of distributed EM: what nodes send and accept, and what the noise is worth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from secmix import Mixture, Network
from secmix.auditing.setup import build_model, build_setup
from secmix.errors import SecmixError
from secmix.mixture import local_statistics
from secmix.protocols import PDMM, Defences, DistributedEM, Plain, SecureSum, epsilon
from secmix.protocols.em.defences import sensitivity
from secmix.scenario import from_dict

N = 6
RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(3, 8, 2)) + 4 * (i % 2) for i in range(N)]
START = Mixture([0.5, 0.5], [[0.0, 0.0], [4.0, 4.0]], np.repeat(np.eye(2)[None], 2, axis=0))


def run(parts=ROWS, sums=None, seed=1, **settings):
    defences = settings.pop("defences", None)
    settings = {"max_iter": 4, "tol": None, "init": START} | settings
    em = DistributedEM(2, sums=sums or Plain(), defences=defences, **settings)
    return em.run(parts, network=Network.complete(len(parts)), rng=np.random.default_rng(seed))


def sent(outcome, iteration=0):
    """What the nodes sent to the server, (n, runs, m)."""
    blocks = [b for b in outcome.transcript if b.iteration == iteration and b.kind == "input" and b.line != "held"]
    return blocks[0].payload


def same(first, second):
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("weights", "means", "covariances")
    )


def test_without_defences_nothing_changes_to_the_last_digit():
    plain = run()
    loose = run(defences=Defences(min_count=1e-3, covariance_floor=1e-3, likelihood_drop=1e9, clip_radius=1e9))
    assert same(plain.mixtures[-1], loose.mixtures[-1])


@pytest.mark.parametrize("sums", [Plain(), SecureSum(), PDMM()])
def test_a_covariance_is_lifted_to_the_floor_and_a_wide_one_left_alone(sums):
    out = run(sums=sums, defences=Defences(covariance_floor=0.9))
    values = np.linalg.eigvalsh(out.mixtures[1].covariances)
    assert values.min() > 0.9 - 1e-9
    free = run(sums=sums).mixtures[1].covariances
    below = np.linalg.eigvalsh(free).min(axis=-1) < 0.9
    assert below.any()
    assert np.array_equal(out.mixtures[1].covariances[~below], free[~below])


def test_a_component_of_few_rows_keeps_its_place_and_shape():
    far = np.concatenate([ROWS[0][:, :7], np.full((3, 1, 2), 40.0)], axis=1)
    start = Mixture([0.9, 0.1], [[2.0, 2.0], [35.0, 35.0]], np.repeat(9 * np.eye(2)[None], 2, axis=0))
    parts = [far, *ROWS[1:]]
    free = run(parts, init=start)
    assert_allclose(free.mixtures[1].means[0, 0, 1], [40.0, 40.0], atol=1e-6)  # one row, for all to see
    kept = run(parts, init=start, defences=Defences(min_count=2.0)).mixtures[-1]
    assert np.array_equal(kept.means[:, :, 1], np.broadcast_to(start.means[1], kept.means[:, :, 1].shape))
    assert np.array_equal(kept.covariances[0, 0, 1], start.covariances[1])
    assert_allclose(kept.weights[:, :, 1], 1 / (8 * N), rtol=1e-6)
    assert not np.array_equal(kept.means[0, 0, 0], start.means[0])


def test_a_node_whose_likelihood_fell_sends_zeros():
    class Pushed(Plain):
        """Moves the parameters far away in the first round, and back in the second."""

        def average(self, inputs, network, rng, *, masks=None, channel=None):
            averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
            if channel.iteration == 0:
                averages[:, :, [1, 2, 7, 8]] += 300 * averages[:, :, [0, 0, 6, 6]]
            return averages, transcript

    out = run(sums=Pushed(), defences=Defences(likelihood_drop=2.0), hold_parameters=False)
    assert np.abs(sent(out, 0)).min() > 0
    assert not sent(out, 1).any()
    # All abstained: the nodes kept what they had, and still abstain from it.
    assert same(out.mixtures[2], out.mixtures[1])
    assert np.abs(sent(run(sums=Pushed(), defences=Defences(likelihood_drop=1e30)), 1)).max() > 0
    summed = run(sums=Pushed(), defences=Defences(likelihood_drop=2.0), tol=0.0)
    assert np.isfinite(summed.lower_bounds).all()


def test_what_is_sent_is_on_the_grid():
    out = sent(run(defences=Defences(rounding=0.25)))
    assert np.array_equal(out, np.round(out * 4) / 4)
    assert np.abs(out - sent(run())).max() <= 0.125 + 1e-12


def test_rows_are_clipped_before_anything_else():
    out = sent(run(defences=Defences(clip_radius=1.0)))
    shorter = [part / np.maximum(1.0, np.linalg.norm(part, axis=-1, keepdims=True)) for part in ROWS]
    assert_allclose(out, sent(run(shorter)), rtol=1e-12)


@pytest.mark.parametrize("nodes", [None, 2])
def test_the_shares_of_the_noise_add_up_to_what_is_stated(nodes):
    parts = [np.repeat(part[:1], 4000, axis=0) for part in ROWS]
    noisy = sent(run(parts, max_iter=1, defences=Defences(noise_std=3.0, noise_nodes=nodes)))
    noise = noisy - sent(run(parts, max_iter=1))
    assert_allclose(noise[: nodes or N].sum(axis=0).std(), 3.0, rtol=0.02)
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.02


def test_the_guaranteed_noise_is_the_multiple_of_the_sensitivity():
    parts = [np.repeat(part[:1], 2000, axis=0) for part in ROWS]
    clip = Defences(clip_radius=2.0)
    noisy = sent(run(parts, max_iter=1, defences=Defences(clip_radius=2.0, noise_multiplier=0.5)))
    total = (noisy - sent(run(parts, max_iter=1, defences=clip))).sum(axis=0)
    assert_allclose(total.std(), 0.5 * sensitivity(START, 2.0), rtol=0.02)


def test_noisy_sums_still_give_a_mixture():
    out = run(defences=Defences(noise_std=30.0), max_iter=6)
    for theta in out.mixtures:
        assert np.isfinite(theta.means).all()
        assert (theta.weights >= 0).all()
        assert_allclose(theta.weights.sum(axis=-1), 1.0)
        np.linalg.cholesky(theta.covariances)


def test_no_row_within_the_radius_adds_more_than_the_sensitivity():
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(200):
        d, k, radius = rng.integers(1, 5), rng.integers(1, 4), 10 ** rng.uniform(-1, 1)
        theta = Mixture(
            np.full(k, 1 / k),
            rng.normal(size=(k, d)) * 10 ** rng.uniform(-1, 1),
            np.repeat(10 ** rng.uniform(-2, 1) * np.eye(d)[None], k, axis=0),
        )
        away = theta.means[np.argmax(np.linalg.norm(theta.means, axis=1))]
        rows = np.vstack([rng.normal(size=(50, d)), -away])
        rows *= radius / np.linalg.norm(rows, axis=1, keepdims=True)
        size = max(np.linalg.norm(local_statistics(row[None], theta, likelihood=False)) for row in rows)
        assert size <= sensitivity(theta, radius) * (1 + 1e-12)
        largest = max(largest, float(size / sensitivity(theta, radius)))
    assert largest > 0.99  # the bound is met, not just kept


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise_multiplier": 1.0}, "noise_multiplier needs clip_radius"),
        ({"noise_multiplier": 1.0, "noise_std": 1.0, "clip_radius": 1.0}, "not both"),
        ({"noise_multiplier": 1.0, "clip_radius": 1.0, "likelihood_drop": 1.0}, "do not go together"),
        ({"noise_nodes": 2}, "noise_nodes shares out noise"),
        ({"rounding": 0.0}, "rounding must be above 0"),
        ({"min_count": True}, "min_count must be a number"),
        ({"noise_nodes": 0, "noise_std": 1.0}, "noise_nodes must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SecmixError, match=message):
        Defences(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"defences": Defences(rounding=0.1), "init": "kmeans"}, "do not cover the sums that init = 'kmeans'"),
        ({"defences": Defences(noise_std=0.1), "tol": 1e-3}, "set tol = None"),
        ({"defences": Defences(noise_std=0.1, noise_nodes=7)}, "there are 6 nodes"),
        ({"defences": {"rounding": 0.1}}, "defences is a Defences or None"),
    ],
)
def test_defences_that_do_not_cover_what_is_sent_are_refused(settings, message):
    with pytest.raises(SecmixError, match=message):
        run(**settings)


def test_a_scenario_names_them_under_model():
    scenario = from_dict(
        {
            "network": {"kind": "cycle", "nodes": 5},
            "model": {"covariance_floor": 0.2, "noise_std": 0.5, "noise_nodes": 3},
            "protocol": {"name": "plain"},
        }
    )
    model = build_model(scenario, build_setup(scenario), Plain())
    assert model.defences == Defences(covariance_floor=0.2, noise_std=0.5, noise_nodes=3)
    plain = from_dict({"network": {"kind": "cycle", "nodes": 5}})
    assert build_model(plain, build_setup(plain), Plain()).defences is None


@pytest.mark.parametrize(("multiplier", "rounds"), [(1.0, 1), (4.0, 5), (20.0, 12)])
def test_the_stated_epsilon_is_that_of_dp_accounting_for_a_row_added_or_removed(multiplier, rounds):
    dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(multiplier), rounds)
    assert epsilon(multiplier, rounds, 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0])
def test_delta_lies_between_zero_and_one(delta):
    with pytest.raises(SecmixError, match="delta"):
        epsilon(1.0, 1, delta)
