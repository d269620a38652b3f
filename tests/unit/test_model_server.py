"""A server that sends models of its choice: what it sends, to whom, and which rows that gives it."""

from __future__ import annotations

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, ModelServer
from secmix.errors import SecmixError
from secmix.protocols import FederatedRegression, run_by_run
from secmix.transcript import SERVER, Channel

RELU = FederatedRegression("relu", hidden=64)


class OneByOne:
    """A server that sends each node a message of its own, in parts, and gets back what arrived."""

    def collaborate(self, parts, network, rng, *, channel):
        def once(rows, on):
            ends = []
            for i in range(network.n):
                arrived = on.send(0, SERVER, i, "train: arrays/0", np.full((1, 2), 7.0), encrypted=True)
                config = on.send(0, SERVER, i, "train: config", np.full((1, 1), 7.0), encrypted=True)
                ends.append([*arrived[0], *config[0]])
            return np.array(ends)

        return run_by_run(once, parts, channel)

    def error(self, results, reference):
        return np.abs(results - reference).max(axis=(1, 2))


def served(server, protocol, n=3):
    channel, parts = Channel(), [np.ones((2, 1, 2))] * n
    ends = server.serves(protocol).collaborate(parts, Network.complete(n), np.random.default_rng(0), channel=channel)
    return ends, channel.transcript


def test_all_nodes_get_the_model_or_one_alone():
    ends, transcript = served(ModelServer(), OneByOne())
    assert ends[0].tolist() == [[0.0, 0.0, 7.0]] * 3
    assert all(not block.payload.any() for block in transcript if block.kind == "train: arrays/0")
    ends, _ = served(ModelServer(only=1), OneByOne())
    assert ends[1].tolist() == [[7.0] * 3, [0.0, 0.0, 7.0], [7.0] * 3]
    with pytest.raises(SecmixError, match="one model to all nodes"):
        served(ModelServer(only=1), FederatedRegression())
    with pytest.raises(SecmixError, match="made for federated_regression"):
        ModelServer("bins").serves(FederatedRegression())


def test_bins_give_a_server_most_of_twenty_rows_that_an_honest_one_does_not_get():
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "breast_cancer", "features": 4, "rows_per_node": 20},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"max_revealed_nodes": 0},
        },
        protocols={"FedAvg": RELU},
        adversaries={"curious": CuriousServer(), "active": ModelServer("bins")},
    )
    cells = {cell.adversary: cell for cell in report.cells}
    assert cells["curious"].verdict == "inconclusive"
    assert cells["active"].verdict == "violated"
    assert "neighbours differ by the row" in cells["active"].nodes[0].why
    assert all(check.outcome != "failed" for cell in cells.values() for check in cell.checks)
    [finding] = [f for f in report.findings if f.adversary == "active"]
    assert int(finding.notes[0].split(": ")[1].split()[0]) >= 10
