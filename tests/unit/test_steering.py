"""Steering: colluders and a malicious server isolate rows in the sums of the real protocol."""

from __future__ import annotations

import numpy as np
import pytest

import secmix
from secmix import Mixture, Network
from secmix.adversaries import HonestButCurious, MaliciousServer, Steering, detectability
from secmix.adversaries.inversion.isolation import isolated_rows
from secmix.errors import NetworkError, SecmixError
from secmix.mixture import local_statistics
from secmix.protocols import PDMM, Defences, DistributedEM, Plain, SecureSum

pytestmark = pytest.mark.delicate

START = Mixture([0.5, 0.5], [[0.0, 0.0], [2.0, 0.0]], np.repeat(np.eye(2)[None], 2, axis=0))


def rows_of(n, each=1, runs=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((runs, each, 2)) + np.array([2.0 * (i % 2), 0.0]) for i in range(n)]


def steer(adversary, sums, parts, rounds, network=None, **settings):
    steered = adversary.active(sums)
    settings = {"reg_covar": 1e-2, "tol": None, "init": START} | settings
    em = DistributedEM(2, sums=steered, max_iter=rounds, **settings)
    network = network or Network.complete(len(parts))
    return steered, em.run(parts, network=network, rng=np.random.default_rng(1))


def right(isolated, truth):
    """How far each isolated row is from the nearest true one."""
    return [float(np.linalg.norm(truth - each.row, axis=1).min()) for each in isolated]


@pytest.mark.parametrize(
    "sums",
    [Plain(encrypted=True), SecureSum(), SecureSum(arithmetic="modular"), PDMM()],
    ids=["plain", "sum", "modular", "pdmm"],
)
def test_one_corrupt_node_isolates_row_after_row_in_every_protocol(sums):
    parts = rows_of(8)
    steered, _ = steer(Steering(corrupt=[0], victim=3), sums, parts, 20)
    truth = np.concatenate(parts[1:], axis=1)
    for run, isolated in enumerate(steered.isolated):
        assert len(isolated) >= 4
        # Fixed-point sums are exact to their grid, and counts to 1e-6 leave as much.
        assert max(right(isolated, truth[run])) < 1e-5
        assert len({tuple(each.row.round(4)) for each in isolated}) == len(isolated)


def test_who_knows_about_where_the_row_is_gets_it_sooner():
    parts = rows_of(16, runs=6)
    truth = parts[3][:, 0]
    found = {"blind": [], "told": []}
    for run in range(6):
        mine = [part[run : run + 1] for part in parts]
        for name, near in (("blind", None), ("told", truth[run] + 0.01)):
            steered, _ = steer(Steering(corrupt=[0], victim=3, near=near), SecureSum(), mine, 30)
            rounds = [e.rounds for e in steered.isolated[0] if np.linalg.norm(e.row - truth[run]) < 1e-5]
            found[name].append(rounds[0] if rounds else 31)
    assert np.median(found["told"]) < np.median(found["blind"])


def test_a_ball_isolates_the_row_it_is_laid_about_and_costs_no_likelihood():
    drops, hits = [], 0
    for seed in range(4):
        parts = rows_of(8, runs=1, seed=seed)
        near = parts[3][0, 0] + [0.1, -0.1]
        ball = Steering(corrupt=[0], victim=3, near=near, shape="ball")
        steered, run = steer(ball, SecureSum(), parts, 20, reg_covar=1e-4)
        hits += any(np.linalg.norm(each.row - parts[3][0, 0]) < 1e-4 for each in steered.isolated[0])
        planes, quick = steer(Steering(corrupt=[0], victim=3), SecureSum(), parts, 20, reg_covar=1e-4)
        honest = range(1, 8)
        drops.append(
            (detectability(run, parts, honest).worst_drop[0], detectability(quick, parts, honest).worst_drop[0])
        )
        assert planes.isolated[0]
    assert hits >= 3  # with one seed another row lies 0.06 away
    assert max(quiet for quiet, _ in drops) < 3.0 < 30.0 < min(loud for _, loud in drops)


def test_a_covariance_floor_stops_the_ball_and_blurs_the_planes():
    parts = rows_of(12, runs=1)
    near = parts[3][0, 0] + [0.1, -0.1]
    floor = Defences(covariance_floor=0.5)
    for adversary in (Steering([0], 3, near=near, shape="ball"), Steering([0], 3)):
        open_, _ = steer(adversary, SecureSum(), parts, 20, reg_covar=1e-4)
        closed, _ = steer(adversary, SecureSum(), parts, 20, reg_covar=1e-4, defences=floor)
        assert len(closed.isolated[0]) < len(open_.isolated[0])


def test_nodes_that_check_their_likelihood_send_nothing_to_a_cut():
    parts = rows_of(8, runs=1)
    guard = Defences(likelihood_drop=5.0)
    steered, _ = steer(Steering([0], 3), Plain(), parts, 20, defences=guard)
    assert right(steered.isolated[0], np.concatenate(parts[1:], axis=1)[0]) == []


def test_honest_em_raises_the_likelihood_and_steering_shows():
    parts = rows_of(8)
    em = DistributedEM(2, sums=Plain(), max_iter=10, tol=None, init=START, reg_covar=1e-2)
    honest = detectability(em.run(parts, network=Network.complete(8), rng=np.random.default_rng(0)), parts, range(8))
    assert honest.worst_drop.max() < 0.1
    assert honest.shifts.shape == (10, 3)
    assert honest.likelihood.shape == (11, 3)


def test_a_server_isolates_the_rows_of_a_node_that_holds_many():
    parts = rows_of(4, each=6)
    steered, run = steer(MaliciousServer(victim=2), Plain(), parts, 16)
    for i, isolated in enumerate(steered.isolated):
        assert len(isolated) >= 3
        assert max(right(isolated, parts[2][i])) < 1e-5
    # What the transcript shows is what the nodes got.
    answers = [b for b in run.transcript if b.kind == "average" and b.iteration == 3]
    shared = answers[0].payload[0]
    table = shared.reshape(3, 2, 6)
    means = table[:, :, 1:3] / table[:, :, :1]
    assert np.allclose(means, run.mixtures[4].means[:, 1])
    assert np.ptp(means[:, :, 0], axis=1).max() > 1.0


@pytest.mark.parametrize("sums", [SecureSum(), PDMM()])
def test_where_there_is_no_server_it_cannot_steer(sums):
    with pytest.raises(SecmixError, match="no server"):
        steer(MaliciousServer(victim=2), sums, rows_of(4), 3)


def test_the_sums_of_the_start_are_left_alone():
    parts = rows_of(8, runs=1)
    steered, run = steer(Steering([0], 3), SecureSum(), parts, 12, init="kmeans")
    assert min(run.transcript.iterations) < 0
    assert steered.isolated[0]


def test_it_sees_what_honest_but_curious_nodes_see():
    parts = rows_of(5)
    adversary = Steering([0, 2], 3)
    _, run = steer(adversary, SecureSum(), parts, 4)
    network = Network.complete(5)
    assert adversary.observe(run.transcript, network).sources == (
        HonestButCurious([0, 2]).observe(run.transcript, network).sources
    )
    assert adversary.corrupt_nodes(network) == {0, 2}


def test_a_steered_protocol_keeps_its_settings_and_its_copies():
    import copy
    import pickle

    steered = Steering([0], 3).active(PDMM(sigma=7.0, masks="reused"))
    assert steered.sigma == 7.0
    assert steered.reuses_masks
    assert pickle.loads(pickle.dumps(steered)).sigma == copy.deepcopy(steered).sigma == 7.0
    with pytest.raises(AttributeError):
        _ = steered.nothing_of_the_kind


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"victim": 0}, "one of the corrupt nodes"),
        ({"shape": "cube"}, "'half_space' or 'ball'"),
        ({"shape": "ball"}, "a ball needs near"),
        ({"components": 1}, "components must be at least 2"),
        ({"force": 0.0}, "force must be above 0"),
        ({"weight": 1.0}, "weight is the share"),
        ({"center": "middle"}, "'new' or 'old'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SecmixError, match=message):
        Steering(**{"corrupt": [0], "victim": 3} | settings)


def test_a_victim_or_a_hint_that_does_not_fit_is_refused():
    with pytest.raises(NetworkError, match="victim"):
        Steering([0], 9).corrupt_nodes(Network.complete(4))
    with pytest.raises(SecmixError, match="near has 3 numbers, a row has 2"):
        steer(Steering([0], 3, near=[0.0, 0.0, 0.0]), Plain(), rows_of(5), 3)


def test_rows_that_stand_alone_are_read_and_others_are_not():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((9, 2))
    wide = Mixture([0.5, 0.5], [[0.0, 0.0], [1.0, 1.0]], np.repeat(np.eye(2)[None], 2, axis=0))
    narrow = Mixture([0.5, 0.5], [rows[4], [0.0, 0.0]], [1e-6 * np.eye(2), np.eye(2)])
    sums = np.stack([local_statistics(rows, m, likelihood=False).reshape(2, 6) for m in (wide, narrow)])
    assert isolated_rows(sums[:1], [wide]).shape == (0, 2)
    found = isolated_rows(sums, [wide, narrow])
    assert found.shape == (1, 2)
    assert np.abs(found[0] - rows[4]).max() < 1e-8
    # One row between two planes: alone in neither sum, alone in their difference.
    order = rows[np.argsort(rows[:, 0])]
    cuts = [
        Mixture([0.5, 0.5], [[m - 9.0, 0.0], [m + 9.0, 0.0]], np.repeat(1e-3 * np.eye(2)[None], 2, axis=0))
        for m in (0.5 * (order[3, 0] + order[4, 0]), 0.5 * (order[4, 0] + order[5, 0]))
    ]
    sums = np.stack([local_statistics(rows, m, likelihood=False).reshape(2, 6) for m in cuts])
    found = isolated_rows(sums, cuts)
    assert found.shape == (1, 2)
    assert np.abs(found[0] - order[4]).max() < 1e-8


@pytest.mark.build
def test_an_audit_finds_what_steering_reveals():
    report = secmix.audit(
        {
            "runs": 100,
            "network": {"kind": "complete", "nodes": 7},
            "data": {"name": "breast_cancer", "features": 2},
            "model": {"iterations": 18},
            "measure": {"evidence": ["structure", "inversion"]},
            "protocol": {"name": "secure_sum", "cycle": [0, 1, 2, 3, 4, 5, 6]},
            "adversary": {"name": "secmix.adversaries:Steering", "corrupt": [0], "victim": 3},
        },
        allow_code=True,
    )
    found = [f for f in report.findings if f.evidence == "inversion" and "are alone" in f.method]
    assert {f.node for f in found} == {1, 2, 3, 4, 5, 6}
    assert max(f.value for f in found) >= 0.5
    assert report.verdict == "violated"
    assert any(s.standing == "revealed" and "was alone" in s.why for s in report.cells[0].nodes)
