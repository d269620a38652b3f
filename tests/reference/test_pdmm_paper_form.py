"""PDMM beside a literal reading of Li 2022, Algorithm 1, equations (8) and (9)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import networks, penalties, seeds

from secmix.protocols import PDMM


class Paper:
    """One node after another, one number a node, in the letters of the paper."""

    def __init__(self, s, network, c, lam, y=None):
        self.s, self.network, self.c = s, network, c
        self.y = np.zeros(network.n) if y is None else y.copy()
        self.lam = {(int(i), int(j)): value for (i, j), value in zip(network.arcs, lam, strict=True)}

    def activate(self, i):
        """Equation (8) at node i, its broadcast, and equation (9) for each neighbour."""
        near, c = self.network.neighbours(i), self.c
        total = sum(c * self.y[j] - B(i, j) * self.lam[j, i] for j in near)
        self.y[i] = (self.s[i] + total) / (1 + c * len(near))
        for j in near:
            self.lam[i, j] = self.lam[j, i] + c * B(i, j) * (self.y[i] - self.y[j])
        return self.y[i]


def B(i, j):
    return 1.0 if i > j else -1.0


@pytest.mark.parametrize("schedule", ["coloured", "asynchronous"])
@given(network=networks(), seed=seeds, c=penalties, sigma=st.sampled_from([1e-3, 1.0, 1e3]))
def test_every_broadcast_is_that_of_equations_8_and_9(schedule, network, seed, c, sigma):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=network.n)
    protocol = PDMM(schedule=schedule, c=c, sigma=sigma)
    masks = protocol.draw_masks(1, 1, network, rng)
    averages, transcript = protocol.average(s[None, :, None], network, rng, masks=masks)
    paper = Paper(s, network, c, masks[0, :, 0])
    rounds = [block for block in transcript if block.kind == "y"]
    assert rounds
    for block in rounds:
        for content in range(len(block.payload)):
            node = int(block.sender[block.content == content][0])
            assert_allclose(block.payload[content, 0, 0], paper.activate(node), atol=1e-12 * (1 + 10 * sigma))
    assert_allclose(averages[0, :, 0], paper.y, atol=1e-12 * (1 + 10 * sigma))


@given(networks(), seeds, penalties)
def test_another_start_is_another_mask(network, seed, c):
    """Algorithm 1 starts y⁽⁰⁾ arbitrarily: that is λ⁽⁰⁾ of the arc from j to i moved by B_{j|i} c y_j⁽⁰⁾."""
    rng = np.random.default_rng(seed)
    s, y, lam = rng.normal(size=network.n), rng.normal(scale=9.0, size=network.n), rng.normal(size=len(network.arcs))
    masks = np.array([[[value + B(j, i) * c * y[j]] for value, (j, i) in zip(lam, network.arcs, strict=True)]])
    averages, transcript = PDMM(schedule="asynchronous", c=c).average(s[None, :, None], network, rng, masks=masks)
    paper = Paper(s, network, c, lam, y)
    for block in (block for block in transcript if block.kind == "y"):
        assert_allclose(block.payload[0, 0, 0], paper.activate(int(block.sender[0])), atol=1e-10)
    assert_allclose(averages[0, :, 0], s.mean(), atol=1e-8)


@given(networks(), seeds, penalties)
def test_the_paper_form_itself_ends_at_the_mean(network, seed, c):
    rng = np.random.default_rng(seed)
    s, lam = rng.normal(size=network.n), rng.normal(size=len(network.arcs))
    paper = Paper(s, network, c, lam)
    for _ in range(400):
        for node in range(network.n):
            paper.activate(node)
    assert_allclose(paper.y, s.mean(), atol=1e-6)


@given(networks(), seeds, penalties)
def test_initial_duals_are_sent_once_and_encrypted_and_primals_in_the_clear(network, seed, c):
    rng = np.random.default_rng(seed)
    _, transcript = PDMM(c=c).average(rng.normal(size=(1, network.n, 2)), network, rng)
    sent = [block for block in transcript if block.line != "held"]
    assert [block.kind for block in sent if block.line == "encrypted"] == ["lambda"]
    assert sent[0].kind == "lambda"
    arcs = np.column_stack([sent[0].sender, sent[0].receiver])
    assert sorted(map(tuple, arcs.tolist())) == sorted(map(tuple, network.arcs.tolist()))
    assert {block.kind for block in sent[1:]} == {"y"}
