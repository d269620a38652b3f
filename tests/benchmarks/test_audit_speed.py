"""What an audit spends its time on, as ratios in the same run, on one thread."""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

import secmix
from secmix.auditing.evidence import decoders, ksg
from secmix.estimators.trees import boosted


def least(work, times=3):
    """Processor seconds, the least of a few."""
    taken = []
    for _ in range(times):
        before = time.process_time()
        work()
        taken.append(time.process_time() - before)
    return min(taken)


def test_trees_take_at_most_a_fifth_of_a_general_librarys(benchmark):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1333, 40))
    y = np.abs(x[:, :1]) + 0.3 * rng.standard_normal((1333, 1))
    settings = {"max_iter": 50, "learning_rate": 0.12, "max_leaf_nodes": 8, "max_bins": 63, "max_features": 0.3}

    def theirs():
        HistGradientBoostingRegressor(**settings, early_stopping=False, random_state=0).fit(x, y[:, 0]).predict(x)

    with threadpool_limits(limits=1):
        boosted(x, y, x)  # compiled
        ours, general = least(lambda: boosted(x, y, x)), least(theirs)
        benchmark.pedantic(boosted, args=(x, y, x), rounds=1)
    benchmark.extra_info["of scikit-learn's time"] = ours / general
    if benchmark.enabled:
        assert ours < general / 5


def test_of_nodes_whose_data_are_known_no_time_goes_into_lower_bounds(benchmark, monkeypatch):
    spent = {"in all": 0.0, "lower bounds": 0.0}

    def timed(work, name):
        def run(*arguments):
            before = time.process_time()
            try:
                return work(*arguments)
            finally:
                spent[name] += time.process_time() - before

        return run

    monkeypatch.setattr(decoders, "_by_trees", timed(decoders._by_trees, "lower bounds"))
    monkeypatch.setattr(ksg, "_found", timed(ksg._found, "lower bounds"))
    scenario = {"runs": 500, "data": {"name": "wine", "features": 2}, "network": {"nodes": 5, "kind": "cycle"}}
    scenario |= {"protocol": {"name": "plain"}, "adversary": {"name": "eavesdropper"}}
    benchmark.pedantic(timed(secmix.audit, "in all"), args=(scenario,), rounds=1)
    assert spent["lower bounds"] < 0.01 * spent["in all"]
