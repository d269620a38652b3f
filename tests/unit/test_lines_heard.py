"""The picture of a cell's network: the lines that its adversary reads, the others in use, and the server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.report import Cell, Report
from secmix.auditing.setup import build_setup
from secmix.protocols import PDMM, Plain, SecureSum
from secmix.reporting import compare, words
from secmix.reporting.figures import network_figure as figures
from secmix.reporting.figures.network_figure import network_alt, network_figure, spots
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Lines, lines_of

CYCLE = [(0, 1), (0, 3), (1, 2), (2, 3)]
SPOKES = [(SERVER, i) for i in range(4)]


def lines(protocol: Any, adversary: Any, network: Network | None = None) -> Lines:
    network = network or Network.cycle(4)
    rng = np.random.default_rng(0)
    _, transcript = protocol.average(rng.standard_normal((1, network.n, 2)), network, rng)
    return lines_of(transcript, adversary.observe(transcript, network), lambda other: adversary.observe(other, network))


@pytest.mark.parametrize(
    ("protocol", "adversary", "read", "used"),
    [
        (Plain(), Eavesdropper(), SPOKES, SPOKES),
        (Plain(encrypted=True), Eavesdropper(), [], SPOKES),
        (Plain(), Eavesdropper(tapped=[(2, SERVER)]), [(SERVER, 2)], SPOKES),
        (Plain(encrypted=True), CuriousServer(), SPOKES, SPOKES),
        (Plain(), HonestButCurious([1], eavesdrops=False), [(SERVER, 1)], SPOKES),
        (SecureSum(encrypted=True), Eavesdropper(), [], CYCLE),
        (SecureSum(encrypted=True), HonestButCurious([1], eavesdrops=False), [(0, 1), (1, 2)], CYCLE),
        (SecureSum(), CuriousServer(), [], CYCLE),
        (PDMM(), Eavesdropper(tapped=[(1, 0)]), [(0, 1)], CYCLE),
    ],
)
def test_lines_on_which_messages_are_read(
    protocol: Any, adversary: Any, read: list[tuple[int, int]], used: list[tuple[int, int]]
) -> None:
    found = lines(protocol, adversary)
    assert (sorted(found.read), sorted(found.used)) == (read, used)


@pytest.mark.parametrize(
    ("protocol", "adversary", "closed"),
    [
        (Plain(), Eavesdropper(), []),
        (Plain(encrypted=True), Eavesdropper(), SPOKES),
        (Plain(encrypted=True), Eavesdropper(tapped=[(2, SERVER)]), [(SERVER, 2)]),
        (Plain(encrypted=True), CuriousServer(), []),
        (SecureSum(encrypted=True), CuriousServer(), []),
        (SecureSum(encrypted=True), HonestButCurious([1]), [(0, 3), (2, 3)]),
        (SecureSum(encrypted=True), HonestButCurious([1], eavesdrops=False), []),
    ],
)
def test_lines_that_only_encryption_closes(protocol: Any, adversary: Any, closed: list[tuple[int, int]]) -> None:
    assert sorted(lines(protocol, adversary).closed) == closed


@pytest.mark.build
def test_what_rests_on_encrypted_lines_says_so() -> None:
    """An eavesdropper who hears nothing was cleared, and nowhere stood that it was so by encryption."""
    plain, plain_server, masked, masked_server = cells()
    rests = "the 4 lines in use are encrypted as the protocol says"
    assert masked.verdict == "holds"
    assert rests in masked.proof
    assert any(rests[1:] in each for each in masked.assumptions)
    assert not any("encrypted" in each.proof for each in (plain, plain_server, masked_server))
    assert "The 4 lines in use are encrypted" in " ".join(collaboration().assumptions)


def test_lines_without_messages_are_not_in_use() -> None:
    found = lines(SecureSum(), Eavesdropper(), Network.complete(4))
    assert len(found.used) == 4


def report() -> Report:
    return secmix.audit({
        "network": {"kind": "complete", "nodes": 4}, "runs": 100, "data": {"name": "wine", "features": 2},
        "model": {"iterations": 1}, "measure": {"evidence": ["structure"]},
        "sweep": {
            "protocol": [{"name": "plain"}, {"name": "secure_sum", "encrypted": True}],
            "adversary": [{"name": "eavesdropper"}, {"name": "curious_server"}],
        },
    })  # fmt: skip


def cells() -> list[Cell]:
    return report().cells


def collaboration() -> Cell:
    return secmix.audit({
        "network": {"kind": "complete", "nodes": 4}, "runs": 100,
        "data": {"name": "breast_cancer", "features": 4, "rows_per_node": 8},
        "measure": {"evidence": ["reconstruction"]}, "protocol": {"name": "federated_pca", "r": 1, "encrypted": True},
        "adversary": {"name": "eavesdropper"},
    }).cells[0]  # fmt: skip


@pytest.mark.build
def test_an_audit_draws_what_each_adversary_reads_and_the_server() -> None:
    open_, plain_server, closed, ring_server = cells()
    together = collaboration()
    assert open_.heard == open_.used == plain_server.heard == SPOKES
    assert closed.heard == ring_server.heard == []
    assert closed.used is not None
    assert len(closed.used) == 4
    assert (together.used, together.heard) == (SPOKES, [])
    # The server is drawn wherever messages go to it, and where it is the adversary.
    drawn = [SERVER in spots(cell) for cell in (open_, plain_server, closed, ring_server, together)]
    assert drawn == [True, True, False, True, True]
    assert words.readable(closed) == "The adversary reads no message on any of the 4 lines in use."
    assert words.readable(open_) == "The adversary reads messages on all 4 lines in use."
    assert "reads messages on all 4 lines" in network_alt(open_)
    assert "reads no message" in network_alt(closed)
    assert network_figure(open_, "n") != network_figure(open_.model_copy(update={"heard": []}), "n")


@pytest.mark.build
def test_lines_read_in_part_are_named() -> None:
    cell = cells()[0].model_copy(update={"heard": [(SERVER, 2)]})
    assert words.readable(cell) == "The adversary reads messages on 1 of the 4 lines in use: server–2."


def test_no_two_spots_coincide_where_a_node_stands_in_the_middle() -> None:
    cell = cells()[0]
    places = [(0.0, 0.0), (1.0, 1.0), (-1.0, -1.0), (0.0, 0.0)]
    found = np.array(list(spots(cell.model_copy(update={"positions": places})).values()))
    apart = np.linalg.norm(found[:, None] - found[None], axis=-1)[~np.eye(len(found), dtype=bool)]
    assert apart.min() > 0.1


def test_of_many_nodes_those_to_look_at_are_drawn_large_and_side_by_side() -> None:
    cell = cells()[0]
    turns = np.exp(2j * np.pi * np.arange(2000) / 2000)
    summary = cell.nodes[0]
    standings = {1: "corrupt", 2: "revealed", 3: "corrupt"}
    changes = {
        "n_nodes": 2000,
        "positions": [(turn.real, turn.imag) for turn in turns],
        "corrupt": [1, 3],
        "nodes": [
            summary.model_copy(update={"node": node, "standing": standings.get(node, "output only")})
            for node in range(2000)
        ],
    }
    many = cell.model_copy(update=changes)
    places = spots(many)
    first, middle, last = (places[node] for node in (1, 2, 3))
    assert min(np.linalg.norm(first - middle), np.linalg.norm(middle - last)) > 0.04
    assert np.linalg.norm(first - last) > np.linalg.norm(middle - last)
    numbers = re.findall(r">(\d+|S)</text>", network_figure(many, "n"))
    assert sorted(numbers) == ["1", "2", "3", "S"]
    revealed = [each.model_copy(update={"standing": "revealed"}) for each in many.nodes]
    assert re.findall(r">(\d+|S)</text>", network_figure(many.model_copy(update={"nodes": revealed}), "n")) == ["S"]


def test_the_page_has_a_key_for_what_is_drawn(tmp_path: Path) -> None:
    secmix.audit({
        "network": {"kind": "complete", "nodes": 4}, "runs": 100, "data": {"name": "wine", "features": 2},
        "model": {"iterations": 1}, "measure": {"evidence": ["structure"]},
        "protocol": {"name": "secure_sum", "encrypted": True}, "adversary": {"name": "eavesdropper"},
    }, tmp_path, formats=["html", "json"])  # fmt: skip
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (caption,) = re.findall(r"<figcaption>.*?</figcaption>", page, flags=re.S)[:1]
    assert "messages it cannot read" in caption
    assert "tapped line" not in caption
    assert "reads messages</span>" not in caption


@pytest.mark.build
def test_many_nodes_that_are_all_joined_are_not_listed_pair_by_pair() -> None:
    joined = [pair for a in range(4) for pair in ((a, b) for b in range(a + 1, 4))]
    whole = report()
    listed = whole.cells[0].model_copy(update={"edges": joined})
    unlisted, without_one = (listed.model_copy(update={"edges": edges}) for edges in (None, joined[1:]))
    assert unlisted.n_edges == 6
    assert "4 nodes and 6 lines" in network_alt(unlisted)
    assert figures.lines(unlisted)["idle"] == set() < figures.lines(listed)["idle"]
    assert figures.lines(unlisted)["read"] == figures.lines(listed)["read"]
    of_listed, of_unlisted, of_fewer = (
        whole.model_copy(update={"cells": [cell]}) for cell in (listed, unlisted, without_one)
    )
    assert compare(of_listed, of_unlisted) == []
    assert compare(of_fewer, of_unlisted)[0].after == "4 nodes, 6 lines, only here 0–1"


@pytest.mark.parametrize(
    ("kind", "nodes", "listed"), [("complete", 447, 99681), ("complete", 448, None), ("cycle", 448, 448)]
)
def test_a_report_lists_lines_unless_they_are_many_and_all(kind: str, nodes: int, listed: int | None) -> None:
    setup = build_setup(
        from_dict({
            "network": {"kind": kind, "nodes": nodes}, "data": {"name": "gaussian", "rows": nodes, "features": 1},
            "protocol": {"name": "plain"}, "adversary": {"name": "eavesdropper"},
        })
    )  # fmt: skip
    assert (setup.edges and len(setup.edges)) == listed
