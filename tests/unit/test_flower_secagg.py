"""Flower's SecAgg+ under audit: repeatable, its server never cleared; what masks do not cover is said and measured."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.soundness.collaborations.undeclared import passed_outside
from secmix.errors import SecmixError
from secmix.protocols.interfaces import Revealed
from secmix.transcript import SERVER, Channel, Origin

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")
from secmix.protocols.flower import FlowerApp, secagg_advice, system
from secmix.protocols.flower.grid import ChannelGrid
from secmix.protocols.flower.system import drawing_from

PROJECT = Path(__file__).parents[1] / "flower_projects" / "secaggplus"
DATA = "secaggplus_app.client_app:load_data"
REPLY = "train reply: secaggplus_configs/masked_params"
N = 3


def made(**config):
    return FlowerApp(project=PROJECT, data=DATA, config=config)


def parts_of(runs, seed=0):
    return [np.random.default_rng([seed, i]).standard_normal((runs, 4, 3)) for i in range(N)]


def run(app, parts, seed=0, channel=None):
    channel = channel or Channel()
    ends = app.collaborate(parts, Network.complete(N), np.random.default_rng(seed), channel=channel)
    return ends, channel.transcript


def heard_by(adversary, transcript):
    origins = adversary.observe(transcript, Network.complete(N)).origins
    own = adversary.corrupt_nodes(Network.complete(N))
    return [each for each in origins if each.line != "held" and each.sender not in own]


def test_keys_are_drawn_anew_in_each_run_and_are_the_same_for_the_same_seed():
    (_, one), (_, two), (_, other) = (run(made(), parts_of(2), seed) for seed in (0, 0, 1))
    assert [block.frame for block in one] == [block.frame for block in two]
    assert all(np.array_equal(a.payload, b.payload) for a, b in zip(one, two, strict=True))
    keys = [next(b.payload[0] for b in t if b.kind == "train reply: secaggplus_configs, bytes") for t in (one, other)]
    assert not np.array_equal(keys[0][0], keys[0][1])
    assert not np.array_equal(keys[0], keys[1])


def test_the_masks_cancel_in_the_model_that_comes_next():
    parts = parts_of(1)
    ends, transcript = run(made(**{"num-server-rounds": 2}), parts)
    rows = np.concatenate(parts, axis=1)[0]
    y = rows[:, -1]
    step = 0.1 * np.array([*(y @ rows[:, :-1]), y.sum()]) / len(rows)
    assert np.abs(ends - step).max() < 1e-3  # SecAgg+ rounds to whole numbers, and so does its weight of a client
    masked = [block.payload[0, 0] for block in transcript if block.kind == f"{REPLY}[1]"]
    assert len(masked) == 2 * N
    assert np.concatenate(masked).max() > 2**24  # a residue modulo 2³², and no model


def test_nothing_passes_outside_the_channel():
    assert passed_outside(made(), Network.complete(N), parts_of(1), parts_of(1, seed=1), 5) is None


def test_what_the_channel_delivers_goes_on_be_it_masked_numbers_or_bytes():
    class Falsifying(Channel):
        def __init__(self, kind, factor):
            super().__init__()
            self.false, self.factor = kind, factor

        def send(self, round, sender, receiver, kind, payload, **how):
            arrived = super().send(round, sender, receiver, kind, payload, **how)
            return self.factor * arrived if kind == self.false and sender == 0 else arrived

    app = made(**{"num-server-rounds": 2})
    honest, _ = run(app, parts_of(1))
    false, _ = run(app, parts_of(1), channel=Falsifying(f"{REPLY}[1]", 0.5))
    assert np.abs(false - honest)[..., :2].max() > 1  # half a residue is any model
    with pytest.raises(
        SecmixError, match="nobody asked secaggplus_app"
    ):  # keys that are none: no client comes so far as to train
        run(app, parts_of(1), channel=Falsifying("train reply: secaggplus_configs, bytes", 0))


def test_the_server_is_never_cleared_and_the_report_says_what_masks_do_not_cover():
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": N},
            "data": {"name": "wine", "features": 3, "rows_per_node": 1},
            "runs": 100,
            "measure": {"nodes": [0], "evidence": ["reconstruction"]},
            "policy": {"max_normalised_leakage": 0.1},
        },
        protocols={"SecAgg+": made(**{"num-server-rounds": 1})},
        adversaries={"server": CuriousServer(), "client": HonestButCurious([1])},
    )
    cells = {cell.adversary: cell for cell in report.cells}
    assert "masked or encrypted, and opaque to this adversary" in cells["server"].nodes[0].why
    assert "these are low" not in report.model_dump_json()
    assert cells["server"].verdict == "inconclusive"
    # Of one round a client hears keys and shares of them alone, which are drawn whatever the rows are.
    assert cells["client"].verdict == "holds"
    for who in ("server", "client"):
        notes = "\n".join(cells[who].notes)
        assert "outside" not in notes
        assert "taken for granted" in notes
        assert "each mask of SecAgg+ is made of a seed of 32 bits here, as measured" in notes
        assert ("it would have to find them together, among 2^64" in notes) == (who == "server")
        assert ("reads no masked model on which it could try seeds" in notes) == (who == "client")
        assert ("fitres.metrics, fitres.num_examples as they are" in notes) == (who == "server")


def models_of(rows):
    """The model that each row alone leads to in one round, by the app's own step: a multiple of (x, 1)."""
    return 0.1 * rows[..., -1:] * np.concatenate([rows[..., :-1], np.ones((*rows.shape[:-1], 1))], axis=-1)


@pytest.mark.parametrize(("n", "corrupt"), [(3, [1, 2]), (4, [2, 3])])
def test_colluders_take_their_own_models_from_the_sum_and_no_more(n, corrupt):
    """All others and the server know the one that remains, to the row; of two, they know the sum."""
    parts = [np.random.default_rng([7, i]).standard_normal((1, 1, 3)) for i in range(n)]
    app = made(**{"num-server-rounds": 2})  # the second begins with the average of the first
    ends = app.collaborate(parts, Network.complete(n), np.random.default_rng(0), channel=Channel())
    models = models_of(np.concatenate(parts, axis=1)[0])
    honest = [i for i in range(n) if i not in corrupt]
    remaining = n * ends[0, 0] - models[corrupt].sum(axis=0)
    assert remaining == pytest.approx(models[honest].sum(axis=0), abs=3e-3)  # SecAgg+ rounds
    if len(honest) == 1:
        assert remaining[:-1] / remaining[-1] == pytest.approx(parts[0][0, 0, :-1], abs=0.1)


@pytest.mark.parametrize(("n", "corrupt"), [(3, [1, 2]), (4, [2, 3])])
def test_who_remains_among_colluders_is_never_cleared(n, corrupt):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": n},
            "data": {"name": "wine", "features": 3, "rows_per_node": 1},
            "runs": 100,
            "measure": {"nodes": [0], "evidence": ["decoders", "reconstruction"]},
            "policy": {"max_normalised_leakage": 0.1},
        },
        protocols={"SecAgg+": made(**{"report-loss": False})},
        adversaries={"server and others": CuriousServer(corrupt)},
    )
    assert report.cells[0].verdict in {"violated", "inconclusive"}
    assert ("only node 0 is honest" in "\n".join(report.cells[0].notes)) == (n - len(corrupt) == 1)


@pytest.mark.parametrize(("reported", "runs", "verdict"), [(True, 500, "violated"), (False, 100, "inconclusive")])
def test_the_loss_beside_masked_models_is_found_and_masks_are_not_read(reported, runs, verdict):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": N},
            "data": {"name": "wine", "features": 3, "rows_per_node": 1},
            "runs": runs,
            "measure": {"nodes": [0], "evidence": ["ksg", "reconstruction"]},
            "policy": {"max_normalised_leakage": 0.01},
        },
        protocols={"app": made(**{"num-server-rounds": 1, "report-loss": reported})},
        adversaries={"server": CuriousServer()},
    )
    assert report.verdict == verdict
    assert ("beside their masked models (fitres.metrics" in "\n".join(report.cells[0].advice)) == reported


def test_a_strategy_that_waits_for_more_clients_is_refused_at_once():
    with pytest.raises(SecmixError, match="waits for more nodes than the 3"):
        run(made(**{"least-clients": 10}), parts_of(1))


def test_clients_who_fail_under_masks_are_named_first(monkeypatch):
    """They answer with keys and shares before they fail, all under one kind of message."""
    app = made()
    monkeypatch.setattr("secaggplus_app.client_app.step", lambda model, rows: model[0] + "no number")
    with pytest.raises(SecmixError, match=r"^every client app answered with an error.*: node 0 answers 'train' with "):
        run(app, parts_of(2))


def test_a_thread_that_looks_who_is_there_is_no_strategy_that_waits():
    # Flower's old interface leaves one behind where a server app ends with an error.
    grid = ChannelGrid(Channel(), N, None, None)
    with ThreadPoolExecutor(1) as another:
        found = [another.submit(grid.get_node_ids).result() for _ in range(20)]
    assert found == [[1, 2, 3]] * 20
    with pytest.raises(SecmixError, match="waits for more nodes"):
        [grid.get_node_ids() for _ in range(20)]


@pytest.mark.parametrize("adversary", [CuriousServer(), HonestButCurious([1]), CuriousServer([1]), Eavesdropper()])
def test_advice_is_for_who_learns_something_and_for_what_there_is(adversary):
    _, transcript = run(made(), parts_of(1))
    network, heard = Network.complete(N), tuple(heard_by(adversary, transcript))
    corrupt = adversary.corrupt_nodes(network)
    told = made().advise(Revealed((0,), corrupt, network, readable=heard))
    assert made().advise(Revealed((), corrupt, network, readable=heard)) == []
    assert not any("ncrypt the lines" in each for each in told)
    if isinstance(adversary, CuriousServer):
        assert "fitres.metrics, fitres.num_examples" in told[0]
    if isinstance(adversary, Eavesdropper):
        assert "lengths" in told[0]


def test_the_systems_generator_is_afterwards_what_it_was():
    before = os.urandom
    with drawing_from(random.Random(1)):
        first = os.urandom(8)
    with drawing_from(random.Random(1)):
        assert os.urandom(8) == first
    assert os.urandom is before


def folded(seed, size):
    words = np.frombuffer(seed, dtype=np.uint8).reshape(-1, size)
    return np.random.default_rng(np.bitwise_xor.reduce(words, axis=0)).integers(1 << 22, size=8)


@pytest.mark.parametrize(("honest", "told"), [(0, "no masked model"), (1, "knows all seeds"), (2, "could try all of")])
def test_whether_this_adversary_could_try_all_seeds_is_said(monkeypatch, honest, told):
    origins = [Origin(2, 1, REPLY, "encrypted", node, (SERVER,)) for node in range(honest)]
    origins += [Origin(0, 1, "train reply: secaggplus_configs, bytes", "encrypted", 0, (1,))]
    for bits in (32, 64):
        monkeypatch.setattr(secagg_advice, "bits_of_mask_seeds", lambda bits=bits: bits)
        [note] = [each for each in secagg_advice.premises(origins) if f"a seed of {bits} bits" in each]
        assert (told in note) == (honest < 2 or bits == 32)
        assert ("could not try" in note) == (honest > 1 and bits == 64)
    assert secagg_advice.is_opaque(origins) == (honest != 1)


@pytest.mark.parametrize(
    ("masks", "bits"), [(None, None), (lambda *_: 7, 0), (lambda rng, most: rng.integers(1 << 10, size=64), 10)]
)
def test_how_many_bits_masks_span_is_measured(monkeypatch, masks, bits):
    utils = pytest.importorskip("flwr.common.secure_aggregation.secaggplus_utils")
    if masks is not None:
        monkeypatch.setattr(
            utils,
            "pseudo_rand_gen",
            lambda seed, most, sizes: [np.broadcast_to(masks(np.random.default_rng(list(seed)), most), sizes[0])],
        )
    assert system.bits_of_masks() == bits


def test_how_long_the_seed_of_a_mask_is_is_measured(monkeypatch):
    """A Flower that mends it is not spoken ill of."""
    utils = pytest.importorskip("flwr.common.secure_aggregation.secaggplus_utils")
    assert system.bits_of_mask_seeds() == 32
    monkeypatch.setattr(
        utils,
        "pseudo_rand_gen",
        lambda seed, most, sizes: [
            np.random.default_rng(int.from_bytes(seed, "little")).integers(most, size=size) for size in sizes
        ],
    )
    assert system.bits_of_mask_seeds() is None
    monkeypatch.setattr(utils, "pseudo_rand_gen", lambda seed, most, sizes: [folded(seed, 8)])
    assert system.bits_of_mask_seeds() == 64
