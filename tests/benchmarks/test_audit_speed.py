"""What an audit spends its time on, as ratios in the same run, on one thread."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import secmix
from secmix.adversaries import HonestButCurious
from secmix.auditing import proof
from secmix.auditing.evidence import ksg
from secmix.kernel import Clearance, clear, prove, proving
from secmix.network import Network
from secmix.protocols import PDMM, SecureSum
from secmix.scenario.catalogue import find

pytestmark = pytest.mark.build


def least(work, times=3):
    """Processor seconds, the least of a few."""
    taken = []
    for _ in range(times):
        before = time.process_time()
        work()
        taken.append(time.process_time() - before)
    return min(taken)


def timed(work, spent, name):
    """``work``, whose processor seconds are added to ``spent[name]``."""

    def run(*arguments, **more):
        before = time.process_time()
        try:
            return work(*arguments, **more)
        finally:
            spent[name] += time.process_time() - before

    return run


def test_of_nodes_whose_data_are_known_no_time_goes_into_lower_bounds(benchmark, monkeypatch):
    spent = {"in all": 0.0, "lower bounds": 0.0}
    monkeypatch.setattr(ksg, "_measured", timed(ksg._measured, spent, "lower bounds"))
    scenario = {"runs": 500, "data": {"name": "wine", "features": 2}, "network": {"nodes": 5, "kind": "cycle"}}
    scenario |= {"protocol": {"name": "plain"}, "adversary": {"name": "eavesdropper"}}
    scenario["measure"] = {"evidence": ["structure", "gaussian", "decoders", "ksg"]}
    benchmark.pedantic(timed(secmix.audit, spent, "in all"), args=(scenario,), rounds=1)
    assert spent["lower bounds"] < 0.01 * spent["in all"]


def test_proofs_make_the_main_job_a_third_longer_at_most(benchmark, monkeypatch):
    spent = {"in all": 0.0, "proofs": 0.0}
    monkeypatch.setattr(proof, "prove", timed(proof.prove, spent, "proofs"))
    scenario = find("passive-neighbours").scenario.to_dict()
    cell = None if benchmark.enabled else 3
    small = scenario | ({} if benchmark.enabled else {"runs": 100})
    benchmark.pedantic(timed(secmix.audit, spent, "in all"), args=(small,), kwargs={"cell": cell}, rounds=1)
    assert spent["proofs"] > 0
    share = spent["proofs"] / (spent["in all"] - spent["proofs"])
    benchmark.extra_info["of the time without them"] = share
    if benchmark.enabled:
        assert share < 1 / 3


@pytest.mark.parametrize(
    ("protocol", "network"),
    [
        (SecureSum(), Network.cycle(5)),
        (PDMM(), Network.cycle(5)),
        (PDMM(), Network.complete(5)),
        (SecureSum(), Network.complete(20)),
        (PDMM(), Network.complete(20)),
    ],
    ids=["sum 5", "PDMM ring 5", "PDMM complete 5", "sum 20", "PDMM complete 20"],
)
def test_a_proof_is_worked_out_once_for_all_adversaries(benchmark, protocol, network):
    if not benchmark.enabled and network.n > 5:
        pytest.skip("seconds of work; run with --benchmark-enable")
    inputs = [np.random.default_rng(call).standard_normal((1, network.n, 12)) for call in range(3)]
    spent = {"proof": 0.0, "an adversary": 0.0}
    with threadpool_limits(limits=1):
        found = benchmark.pedantic(timed(prove, spent, "proof"), args=(protocol, network, inputs), rounds=1)
        known = timed(clear, spent, "an adversary")(found, network, HonestButCurious([1]))
    assert isinstance(known, Clearance)
    benchmark.extra_info |= {f"processor seconds of {what}": taken for what, taken in spent.items()}
    if benchmark.enabled:
        assert spent["an adversary"] < spent["proof"]


def test_projections_shorten_the_proof_of_a_large_protocol(benchmark, monkeypatch):
    if not benchmark.enabled:
        pytest.skip("half a minute of work; run with --benchmark-enable")
    network = Network.random_geometric(60, np.random.default_rng(0), radius=0.32)
    inputs = [np.random.default_rng(call).standard_normal((1, network.n, 4)) for call in range(3)]
    protocol, spent = PDMM(sigma=1e4, tol=1e-6), {"by projections": 0.0, "in full": 0.0}
    with threadpool_limits(limits=1):
        benchmark.pedantic(timed(prove, spent, "by projections"), args=(protocol, network, inputs), rounds=1)
        monkeypatch.setattr(proving, "_LARGE", math.inf)
        timed(prove, spent, "in full")(protocol, network, inputs)
    benchmark.extra_info |= {f"processor seconds {how}": taken for how, taken in spent.items()}
    assert spent["by projections"] < 0.8 * spent["in full"]
