"""A cell whose protocol is a collaboration: run as a whole, and judged by what its messages show on real runs.

Nothing here is exact but one thing: who holds no message knows nothing. Everything else reads low, so that a node is
found *revealed* or *partly leaked*, or it stays *inconclusive*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing import verdicts
from secmix.auditing.cells.fields import corrupt_nodes, frame, sentence
from secmix.auditing.evidence.exact import at_least
from secmix.auditing.evidence.measured import sampled, target_of
from secmix.auditing.evidence.reconstruction import TRIED, installed, reconstructed
from secmix.auditing.observation.observe import Seeds, deals, fitting
from secmix.auditing.observation.undeclared_flow import undeclared_flow
from secmix.auditing.report import Cell, Finding, LeakageCurve, NodeSummary, Picture, Robustness
from secmix.auditing.robustness.collaborations import robustness
from secmix.auditing.setup import CollaborationSetup
from secmix.data import deal
from secmix.errors import SecmixError
from secmix.estimators.decoders import reconstruct
from secmix.scenario import Scenario
from secmix.transcript import Channel, View

_COLUMNS = 60  # of a node's messages in one iteration that decoders get
_Seen = dict[int, tuple[Array, dict[int, Array]]]  # by node, its first row and what is held of it by iteration
_LOW = "measured on the node's own messages: more may be known"


@dataclass(frozen=True)
class CollaborationObservation:
    """A cell's runs, seen through the adversary.

    Attributes
    ----------
    rows : dict of node -> (runs, d)
        The first row of each asked node: the target.
    features : dict of node -> dict of iteration -> (runs, p)
        What the adversary holds of it.
    output : (runs, p) or None
        What the adversary ends with by right, being a participant or because all end with the same.
    view, dealt : View, list of (runs, N_i, d)
        Of the first runs, for reconstructions.
    """

    rows: dict[int, Array]
    features: dict[int, dict[int, Array]]
    output: Array | None
    view: View
    rows_by_node: list[Array]


def audit_cell(cell: Scenario, setup: CollaborationSetup, seeds: Seeds, reproduce: str) -> tuple[Cell, list[Finding]]:
    """Run, measure and judge one cell of a collaboration."""
    attacks = installed(cell)
    observation = _watch(cell, setup, seeds)
    hidden = undeclared_flow(cell, setup)
    findings: list[Finding] = []
    summaries: list[NodeSummary] = []
    curves = []
    drawn: Picture | None = None
    for node in setup.asked:
        raw, curve = _measured(cell, observation, node)
        more, seen = reconstructed(attacks, cell, setup, observation.view, observation.rows_by_node, node)
        raw += more
        drawn = drawn or seen
        judged = [verdicts.of_leakage(finding, cell.policy) for finding in raw]
        known = _output_leakage(observation, node)
        summaries.append(verdicts.summary_of_samples(node, judged, known, hidden))
        findings += judged
        curves += [curve] if curve else []
    verdict, summaries = verdicts.of_cell(summaries, cell.policy)
    pushed = robustness(cell, setup)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    findings = verdicts.with_reasons(findings, summaries, {node: [] for node in setup.asked})
    return (
        Cell(
            **frame(cell, setup, reproduce),
            whole=True,
            verdict=verdict,
            sentence=sentence(verdict, summaries, pushed),
            robustness=pushed,
            leaked=[],
            output_error=None,
            nodes=sorted(summaries + corrupt_nodes(setup), key=lambda s: s.node),
            curves=curves,
            sigma_curve=[],
            picture=drawn,
            advice=_advice(setup, summaries, pushed),
            notes=[*_notes(cell, setup), *([hidden] if hidden else [])],
        ),
        findings,
    )


def block_size(cell: Scenario, setup: CollaborationSetup) -> int:
    """Runs in a block, from what a single run sends. Running it finds out whether the parts fit together."""
    rng = np.random.default_rng(cell.seed)
    channel = Channel()
    _run(setup, deal(setup.rows, setup.counts, 1, rng), rng, channel)
    setup.adversary.observe(channel.transcript, setup.network)
    if (able := getattr(setup.adversary, "forgeries", None)) is not None:
        able(channel.transcript)
    return fitting(cell, channel.transcript, 1)


def _run(setup: CollaborationSetup, rows_by_node: list[Array], rng: np.random.Generator, channel: Channel) -> Array:
    results = setup.protocol.collaborate(rows_by_node, setup.network, rng, channel=channel)
    shape = np.shape(results)
    if len(shape) != 3 or shape[:2] != (len(rows_by_node[0]), setup.network.n):
        raise SecmixError(
            f"collaborate returned an array of shape {shape}; due is what each node ends with, (runs, n, p) = "
            f"({len(rows_by_node[0])}, {setup.network.n}, p)"
        )
    return np.asarray(results, dtype=np.float64)


def _watch(cell: Scenario, setup: CollaborationSetup, seeds: Seeds) -> CollaborationObservation:
    blocks: list[tuple[_Seen, Array | None]] = []
    for rows_by_node, seed in deals(cell, setup, block_size(cell, setup), seeds):
        few, seen, output = _block(setup, rows_by_node, seed)
        if not blocks:
            view, first = few, [part[:TRIED] for part in rows_by_node]
        blocks.append((seen, output))
    rows = {i: np.concatenate([seen[i][0] for seen, _ in blocks]) for i in setup.asked}
    features = {
        i: {t: np.concatenate([seen[i][1][t] for seen, _ in blocks]) for t in blocks[0][0][i][1]} for i in setup.asked
    }
    outputs = [output for _, output in blocks]
    output = None if any(o is None for o in outputs) else np.concatenate([o for o in outputs if o is not None])
    return CollaborationObservation(rows, features, output, view, first)


def _block(
    setup: CollaborationSetup, rows_by_node: list[Array], seed: np.random.SeedSequence
) -> tuple[View, _Seen, Array | None]:
    """Copies of what is needed of a block, lest the whole transcript stay in memory behind it."""
    channel = Channel()
    results = _run(setup, rows_by_node, np.random.default_rng(seed), channel)
    view = setup.adversary.observe(channel.transcript, setup.network)
    few = View(view.origins, tuple(row[:TRIED].copy() for row in view.rows))
    return few, _seen(setup, rows_by_node, view), _output(setup, results)


def _seen(setup: CollaborationSetup, rows_by_node: list[Array], view: View) -> _Seen:
    """Each asked node's first row, and its own messages by iteration; those of others where it sends none."""
    seen = {}
    for node in setup.asked:
        told = [origin.sender == node and origin.line != "held" for origin in view.origins]
        if not any(told):
            told = [origin.line != "held" for origin in view.origins]
        mine: dict[int, list[Array]] = {}
        for row, origin, use in zip(view.rows, view.origins, told, strict=True):
            if use:
                mine.setdefault(origin.iteration, []).append(row)
        features = {t: np.concatenate(rows, axis=1)[:, :_COLUMNS].copy() for t, rows in mine.items()}
        seen[node] = (rows_by_node[node][:, 0].copy(), features)
    return seen


def _output(setup: CollaborationSetup, results: Array) -> Array | None:
    if setup.corrupt:
        return results[:, min(setup.corrupt)]
    same = np.allclose(results, results[:, :1], rtol=1e-9, atol=0.0)
    return results[:, 0] if same else None


def _measured(
    cell: Scenario, observation: CollaborationObservation, node: int
) -> tuple[list[Finding], LeakageCurve | None]:
    wanted = set(cell.measure.evidence) & {"ksg", "decoders"}
    about: dict[str, Any] = {"protocol": cell.protocol.title, "adversary": cell.adversary.title, "node": node}
    target = target_of("row", observation.rows[node])
    if not wanted or target is None:
        return [], None
    findings, curve = sampled(observation.features[node], target, wanted, cell.measure.neighbours, about)
    empty = not observation.features[node]  # only who holds nothing is known to know nothing
    return [f if empty else at_least(f, [_LOW]) for f in findings], curve


def _output_leakage(observation: CollaborationObservation, node: int) -> float:
    """Normalised leakage of what the adversary ends with by right, at most; 0 where that is nothing."""
    target = target_of("row", observation.rows[node])
    if observation.output is None or target is None:
        return 0.0
    return reconstruct(target.values, observation.output[:, :_COLUMNS]).explained[2]


def _notes(cell: Scenario, setup: CollaborationSetup) -> list[str]:
    notes = [
        f"{cell.runs} runs; in each, rows are dealt anew without replacement from {setup.source}",
        "the protocol is no sum, so no exact evidence applies: what is shown is there, but there may be more",
    ]
    if "reconstruction" not in cell.measure.evidence:
        notes.append("attacks made for its kinds of message were not tried: evidence 'reconstruction' was left out")
    return notes


def _advice(setup: CollaborationSetup, nodes: list[NodeSummary], pushed: Robustness | None) -> list[str]:
    told = []
    if any(s.standing == "revealed" for s in nodes):
        told.append(
            "Give each node more rows than its messages have numbers to tell of them, or add noise to what is sent: as "
            "they are, the messages determine rows."
        )
    if not setup.corrupt and any(s.standing in ("revealed", "partly leaked") for s in nodes):
        told.append("Encrypt the lines: that keeps outsiders out, though not the participants.")
    if pushed is not None and pushed.verdict == "violated":
        told.append("Combine what arrives by a rule with a proven bound, where there is one, or admit fewer strangers.")
    return told
