"""The audits whose cost is measured: one size grows, the rest stays as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """One size that grows.

    Attributes
    ----------
    title, letter : str
        Heading of its table, and what its size counts.
    sizes : tuple of int
        Rising; the smallest is taken for what an audit costs whatever its size.
    changes : function of a size to the tables of a scenario, with the keys that it changes
    exact : bool
        Whether evidence is exact (``structure``, ``gaussian``); else it is what a scenario that names none gets.
    note : str
        What its table has to be read with; a sentence of the report, if there is any.
    """

    title: str
    letter: str
    sizes: tuple[int, ...]
    changes: Callable[[int], Settings]
    exact: bool = True
    note: str = ""

    def scenario(self, size: int, seed: int) -> Settings:
        """Return the scenario of one size: five nodes, two of them curious, and what the size changes."""
        settings: Settings = {
            "title": f"{self.title}: {size}",
            "runs": 500,
            "seed": seed,
            "network": {"kind": "complete", "nodes": 5},
            "data": {"name": "gaussian", "features": 2, "rows": 400},
            "model": {"iterations": 3},
            "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.5},
            "protocol": {"name": "secure_sum"},
            "adversary": {"name": "honest_but_curious", "corrupt": [1, 3]},
        }
        if self.exact:
            settings["measure"] = {"evidence": ["structure", "gaussian"]}
        for table, keys in self.changes(size).items():
            settings[table] = settings[table] | keys if isinstance(keys, dict) else keys
        return settings


def _columns(size: int) -> Settings:
    return {"data": {"features": size}}


def _nodes(size: int) -> Settings:
    return {"network": {"nodes": size}, "data": {"rows": max(400, 4 * size)}}


def _pdmm(size: int) -> Settings:
    return _nodes(size) | {"network": {"kind": "cycle", "nodes": size}, "protocol": {"name": "pdmm", "sigma": 1e4}}


def _pdmm_tuned(size: int) -> Settings:
    settings = _pdmm(size)
    return settings | {"protocol": settings["protocol"] | {"c": round(0.08 * size, 2)}}


def _pdmm_near(size: int) -> Settings:
    near = {"kind": "random_geometric", "nodes": size, "radius": round(2.5 / math.sqrt(size), 3)}
    return _pdmm(size) | {"network": near}


def _aggregation(size: int) -> Settings:
    return _nodes(size) | {"protocol": {"name": "secure_aggregation"}}


def _aggregation_near(size: int) -> Settings:
    """Join each node to the log2 n next ones on a circle, so that it has twice as many neighbours."""
    steps = range(1, round(math.log2(size)) + 1)
    edges = [[node, (node + step) % size] for node in range(size) for step in steps]
    return _aggregation(size) | {"network": {"kind": "edges", "nodes": size, "edges": edges}}


def _runs(size: int) -> Settings:
    return {"runs": size}


_SWEEPS = (
    "At the same penalty, c = 0.4, PDMM takes a number of sweeps that grows with n² on a cycle of n nodes: 456 of 20, "
    "2,835 of 50 and 11,202 of 100, more than `max_sweeps` allows. That is the algorithm, not the audit, which follows "
    "every message. With c = 0.08·n it takes about 3·n: 71, 157 and 297."
)
_COEFFICIENTS = (
    "1,000 nodes have 9,013 edges here: one averaging sends 7.2 million messages, made of 19,026 inputs and masks. "
    "Their coefficients are 1.1 TB, more than probes or a proof carry, and the audit is refused before it begins."
)
SERIES = {
    "columns-default": Series("Columns, default evidence", "columns", (2, 5, 10, 30, 50, 100), _columns, exact=False),
    "columns-exact": Series("Columns, exact evidence", "columns", (2, 5, 10, 30, 50, 100, 784), _columns),
    "nodes": Series(
        "Nodes of a secure summation, exact evidence", "nodes", (10, 30, 100, 300, 500, 1000, 2000), _nodes
    ),
    "pdmm": Series("Nodes of PDMM on a cycle, exact evidence", "nodes", (5, 10, 15, 20, 30, 40), _pdmm),
    "pdmm-tuned": Series(
        "Nodes of PDMM on a cycle with c = 0.08·n, exact evidence",
        "nodes",
        (20, 50, 100, 1000),
        _pdmm_tuned,
        note=_SWEEPS,
    ),
    "pdmm-near": Series(
        "Nodes of PDMM, joined within a radius of 2.5/√n, exact evidence",
        "nodes",
        (20, 50, 100, 1000),
        _pdmm_near,
        note=_COEFFICIENTS,
    ),
    "aggregation": Series(
        "Nodes of secure aggregation, all joined, exact evidence", "nodes", (5, 10, 20), _aggregation
    ),
    "aggregation-near": Series(
        "Nodes of secure aggregation, each with 2·log₂ n neighbours, exact evidence",
        "nodes",
        (20, 50, 100),
        _aggregation_near,
    ),
    "runs": Series("Runs, exact evidence", "runs", (500, 10_000, 1_000_000), _runs),
}
QUICK = {"columns-exact": (2,)}
"""Sizes of a run that only shows that it works."""
