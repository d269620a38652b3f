"""After an audit the caches of functions hold plain numbers again: a trace puts its own there."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise

import secmix
from secmix.adversaries import CuriousServer


@functools.cache
def page(entries: int) -> Any:
    """Return masks of a page of runs, which take long to draw."""
    return np.random.default_rng().normal(scale=1e6, size=(3, 10, entries))


@functools.cache
def weights(nodes: int) -> Any:
    """Return a table of public numbers."""
    return np.ones(nodes)


class Paged(Pairwise):
    """Takes masks of three runs from a page, and draws those of others."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, nodes, entries = np.shape(inputs)
        if masks is None and runs == 3:
            masks = page(entries)
        return super().average(inputs * weights(nodes)[:, None], network, rng, masks=masks, channel=channel)


@pytest.mark.build
def test_a_cache_that_a_trace_filled_is_emptied() -> None:
    weights(4)
    network = secmix.Network.complete(5)
    report = secmix.audit(
        {"network": {"kind": "complete", "nodes": 5}, "runs": 100, "data": {"name": "wine", "features": 2},
         "model": {"iterations": 1}, "measure": {"evidence": ["structure", "gaussian"]}},
        protocols={"paged": Paged()}, adversaries={"server": CuriousServer()},
    )  # fmt: skip
    assert report.verdict != "holds"
    rows = np.random.default_rng(0).normal(size=(3, 5, 2))
    averages, _ = Paged().average(rows, network, np.random.default_rng(1))
    assert np.allclose(averages, rows.mean(axis=1, keepdims=True))
    assert type(page(2)) is type(weights(5)) is np.ndarray
