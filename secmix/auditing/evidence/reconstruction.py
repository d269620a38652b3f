"""Reconstruction as evidence: every installed attack from messages to rows, tried on the first runs."""

from __future__ import annotations

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import Reconstruction, Reconstructor, held_in_run
from secmix.auditing.evidence.measured import MOST, recovered
from secmix.auditing.evidence.picture import picture
from secmix.auditing.report import Finding, Picture
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.estimators.decoders import RECOVERED
from secmix.estimators.estimate import wilson
from secmix.scenario import Scenario
from secmix.transcript import View

TRIED = 5
"""Runs on which reconstructions are tried."""


def installed(cell: Scenario) -> dict[str, Reconstructor]:
    """Every installed reconstruction by name; none where the cell does not ask for them."""
    wanted = plugins.available("reconstructions") if "reconstruction" in cell.measure.evidence else ()
    return {name: plugins.load("reconstructions", name) for name in wanted}


def reconstructed(
    attacks: dict[str, Reconstructor],
    cell: Scenario,
    setup: CollaborationSetup,
    view: View,
    rows_by_node: list[Array],
    node: int,
) -> tuple[list[Finding], Picture | None]:
    """What each of the attacks gets of ``node``'s rows in the first runs, and a picture; nothing where none applies."""
    findings, drawn = [], None
    for name, attack in attacks.items():
        found = _tried(attack, cell, setup, view, len(rows_by_node[node]), node)
        if any(one is not None for one in found):
            findings += _judged(name, cell, found, rows_by_node[node], node)
        for one, truth in zip(found, rows_by_node[node], strict=True):
            if drawn is None and one is not None and one.rows is not None and _share_found(one, truth) > 0:
                drawn = picture(cell, setup, [node], truth, np.asarray(one.rows), certified=one.certified)
    return findings, drawn


def _tried(
    attack: Reconstructor, cell: Scenario, setup: CollaborationSetup, view: View, runs: int, node: int
) -> list[Reconstruction | None]:
    d = setup.rows.shape[1]
    found = []
    for run in range(runs):
        rng = np.random.default_rng([cell.seed, 7, node, run])
        held = held_in_run(view, run, node, setup.counts, d, setup.protocol, setup.network, rng)
        try:
            found.append(attack(held))
        except SecmixError:  # what it was given does not suffice
            found.append(None)
    return found


def _judged(name: str, cell: Scenario, found: list[Reconstruction | None], truth: Array, node: int) -> list[Finding]:
    about = {"protocol": cell.protocol.title, "adversary": cell.adversary.title, "node": node}
    runs, count, d = truth.shape
    shares = [_share_found(one, rows) for one, rows in zip(found, truth, strict=True)]
    known = [_share_known(one, rows) for one, rows in zip(found, truth, strict=True)]
    how = next(one.how for one in found if one is not None)
    common = {"evidence": "reconstruction", "view": "cumulative"}
    out = []
    hits = sum(share > 0 for share in shares)
    if any(one is not None and one.rows is not None for one in found):
        rows = f"{round(max(shares) * count)} of its {count} row{'s' * (count > 1)}"
        columns = max(_columns(one) for one in found)
        part = "" if columns == d else f", {columns} of their {d} columns"
        told = [f"{name}: {rows}{part} found to 1e-6, {how}"] if hits else []
        out.append(
            recovered(
                about,
                hits,
                runs,
                **common,
                method=f"{name}: {how}; compared with the truth on {runs} runs",
                unit="share of runs in which one of its rows or more is recovered to 1e-6, up to their order",
                notes=told,
            )
        )
    share = min(known)  # in every run
    if share > 0:
        low = wilson(runs, runs)[0]
        out.append(
            Finding(
                **about,
                **common,
                target="row",
                method=f"{name}: {how}; checked against the truth on {runs} runs",
                value=share,
                unit=f"share of the {d} numbers of each row that exact linear equations take away",
                low=share,
                high=1.0,
                kind="lower bound",
                status="determined" if share >= MOST else "resolved",
                normalised_leakage=share,
                normalised_low=share * low,
                normalised_high=1.0,
                verdict="not refuted",
                notes=[f"{round(share * d)} exact linear equations on each of its {count} rows of {d} numbers: {how}"],
            )
        )
    return out


def _share_found(found: Reconstruction | None, truth: Array) -> float:
    """Which share of the rows is among those found, to 1e-6 of the data's scale, where most of their columns came out.

    A column that did not come out is NaN in every row.
    """
    columns = _columns(found)
    if found is None or found.rows is None or columns < MOST * truth.shape[1]:
        return 0.0
    rows = np.asarray(found.rows)
    out = np.isfinite(rows).all(axis=0)
    apart = np.linalg.norm(truth[:, None, out] - rows[None][..., out], axis=-1).min(axis=1)
    return float((apart < RECOVERED * max(float(np.abs(truth).max()), 1e-3)).mean())


def _columns(found: Reconstruction | None) -> int:
    """How many columns of the rows came out."""
    if found is None or found.rows is None or not len(found.rows):
        return 0
    return int(np.isfinite(np.asarray(found.rows)).all(axis=0).sum())


def _share_known(found: Reconstruction | None, truth: Array) -> float:
    """k/d for the k independent equations that hold for every row of the truth."""
    if found is None or not found.normals.size:
        return 0.0
    off = np.abs(truth @ found.normals.T - found.offsets)
    size = np.linalg.norm(found.normals, axis=1) * max(float(np.linalg.norm(truth, axis=1).max()), 1e-3)
    holding = (off < RECOVERED * size).all(axis=0)
    return int(np.linalg.matrix_rank(found.normals[holding])) / truth.shape[1] if holding.any() else 0.0
