"""What the information bound costs an audit, as a ratio to the same audit without it, in one process.

``pytest tests/benchmarks --benchmark-enable`` measures it at 500 runs; where benchmarks are disabled, a small audit
only shows that asking for it changes no other evidence and clears nobody.
"""

from __future__ import annotations

import time

import pytest

import secmix
from secmix.auditing.report import Report

pytestmark = pytest.mark.build

EVIDENCE = ["structure", "gaussian", "decoders", "ksg"]


def audited(evidence: list[str], runs: int) -> tuple[Report, float]:
    scenario = {
        "network": {"kind": "complete", "nodes": 5},
        "runs": runs,
        "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 3},
        "model": {"iterations": 2},
        "protocol": {"name": "secure_sum"},
        "adversary": {"name": "honest_but_curious", "corrupt": [1]},
        "measure": {"evidence": evidence, "sigmas": [1e6], "nodes": [0]},
        "policy": {"max_normalised_leakage": 0.9},
    }
    start = time.perf_counter()
    return secmix.audit(scenario), time.perf_counter() - start


def test_the_price_of_the_information_bound(benchmark):
    runs = 500 if benchmark.enabled else 100
    audited(EVIDENCE, runs)  # compiles what is compiled
    without, before = audited(EVIDENCE, runs)
    report, after = benchmark.pedantic(audited, ([*EVIDENCE, "information"], runs), rounds=1)
    bounds = [finding for finding in report.findings if finding.evidence == "information bound"]
    assert len(bounds) == 1
    assert bounds[0].kind == "lower bound"
    assert bounds[0].high is None
    assert [f for f in report.findings if f not in bounds] == without.findings
    assert report.verdict == without.verdict
    if benchmark.enabled:
        benchmark.extra_info["times as long as without"] = after / before
