"""Claims of differential privacy: what follows from the code, what is seen when it runs, and where a claim fails.

How it is got: Releases are played back, which proves an epsilon of all that the adversary reads, or says at which line
or message the proof ends. From below epsilon is bounded by the privacy loss of replays, and where that says little by
how often messages tell two data sets apart. The level of the audit is divided among all of these looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.random import stream
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing import decide
from secmix.auditing.cell_parts import NodeClaim, PrivacyClaim
from secmix.auditing.evidence.interface import CellContext, level_shares
from secmix.auditing.noise.noise_bounds import NoiseBound, claim_cleared, epsilon_in_words, noise_bounds
from secmix.auditing.noise.privacy_loss import LossBound, loss_bound
from secmix.auditing.noise.replays.playback import bare_message
from secmix.auditing.noise.replays.played_calls import PURPOSE, Player
from secmix.auditing.noise.spent_by_node import spending
from secmix.auditing.noise.told_apart import Pair, most_distinguishable
from secmix.auditing.proof import proof_of
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.kernel import Clearance, Open
from secmix.privacy import LowerBound
from secmix.scenario import ClaimSpec

_READINGS = 2  # of each node: by privacy losses, and by error rates
_NODES = 5  # of which epsilon is read from below
_RUNS = 1200  # on each of two data sets: half of them show an epsilon of up to 5
_PASTED = 40  # numbers of a data set that are written out


def claim_of(case: CellContext) -> PrivacyClaim | None:
    """Hold the claim of a scenario against a cell; None where there is none, or it is about other adversaries."""
    claim = case.cell.claim
    if claim is None:
        return None
    words = epsilon_in_words(claim.terms)
    about = f"{words} of at most {claim.epsilon:g} is claimed"
    nodes: list[NodeClaim] = []
    if not claim.is_against(case.cell.adversary, _kind(case)):
        verdict, why = "not asked", f"{about}, and not against this adversary"
    elif isinstance(case.setup, CollaborationSetup):
        looked_at = _looked_at(case, claim)
        nodes = [_of_node(case, claim, node, look=node in looked_at) for node in case.setup.asked]
        verdict = decide.worst(node.verdict for node in nodes) if nodes else "inconclusive"
        why = f"{about}: {_why(nodes)}"
    else:
        verdict, why = "inconclusive", f"{about}: of a protocol that sums none is proved; write it as a collaboration"
    return PrivacyClaim(
        epsilon=claim.epsilon,
        delta=claim.delta,
        terms=words,
        public=list(claim.public),
        looks=_looks(case),
        nodes=nodes,
        spent=spending(case, claim.terms) if nodes else [],
        verdict=verdict,
        why=why,
    )


def _kind(case: CellContext) -> str:
    if AdversaryTraits.of(case.setup.adversary).server:
        return "server"
    return "nodes" if case.setup.corrupt else "outsider"


def _looks(case: CellContext) -> int:
    return _READINGS * min(max(len(case.setup.asked), 1), _NODES)


def _looked_at(case: CellContext, claim: ClaimSpec) -> list[int]:
    """Return the nodes whose epsilon is read from below; those without a proof come first."""
    bounds = noise_bounds(case, claim.terms)
    return sorted(case.setup.asked, key=lambda node: isinstance(_proof(case, bounds.get(node), claim), Clearance))[
        :_NODES
    ]


def _why(nodes: list[NodeClaim]) -> str:
    """Say why a claim holds, fails or is open, by the node that is worst off."""
    if not nodes:
        return "no honest node was asked about"
    worst = max(nodes, key=lambda node: (decide.ORDER.index(node.verdict), node.seen is None, node.seen or 0.0))
    if worst.verdict == "violated":
        seen = "infinite" if worst.seen is None else f"at least {worst.seen:.3g}"
        return f"it is {seen} for node {worst.node} ({worst.fails})"
    if worst.verdict == "holds":
        return f"at most {max(node.proved or 0.0 for node in nodes):.3g} is proved, for every node"
    return f"not proved for node {worst.node}: {worst.follows}"


@dataclass(frozen=True)
class _Bound:
    """A lower bound of epsilon, with what it was got by."""

    epsilon: float
    confidence: float
    method: str
    pair: Pair | None = None
    differs: str = ""
    score: str = ""


def _of_node(case: CellContext, claim: ClaimSpec, node: int, *, look: bool) -> NodeClaim:
    """Hold a claim against what is proved of one node and, with ``look``, against runs."""
    bound = noise_bounds(case, claim.terms).get(node)
    proof = _proof(case, bound, claim)
    lower = _Bound(0.0, 1.0, f"not seen: {_NODES} other nodes were looked at")
    if look:
        lower = _lower_bound(case, claim, node, proved=isinstance(proof, Clearance))
    verdict = decide.of_claim(proof, lower.epsilon, claim.epsilon)
    proved = 0.0 if bound is None and isinstance(proof, Clearance) else None
    if bound is not None and not bound.why_open and bound.epsilon is not None and math.isfinite(bound.epsilon):
        proved = bound.epsilon
    return NodeClaim(
        node=node,
        proved=proved,
        follows=_follows(proof, bound),
        seen=lower.epsilon if math.isfinite(lower.epsilon) else None,
        confidence=lower.confidence,
        method=lower.method,
        neighbours=lower.pair.words if lower.pair else "",
        paste=_paste(lower),
        fails=_fails(lower, bound, proof, proved) if verdict == "violated" else "",
        verdict=verdict,
    )


def _proof(case: CellContext, bound: NoiseBound | None, claim: ClaimSpec) -> Clearance | Open:
    if unmet := [*case.observation.unmet_premises, *case.in_doubt]:
        return Open("; ".join(unmet))
    if isinstance(outcome := proof_of(case), Clearance):
        return outcome
    if bound is None:
        return Open(
            "nothing is clipped or released by clip, gaussian or laplace of secmix.privacy, whose noise alone is "
            f"proved: {_bare(case)}"
        )
    return claim_cleared(bound, claim.terms)


def _bare(case: CellContext) -> str:
    """Name the first message that depends on data, of a protocol that releases nothing."""
    setup: Any = case.setup
    player = Player.of(case)
    first, other = (setup.sample_rows(1, stream(case.cell.seed, PURPOSE, "rows", key)) for key in (0, 1))
    return bare_message(player, player.record(first, 0), other)


def _follows(proof: Clearance | Open, bound: NoiseBound | None) -> str:
    """Say what is proved from, or why nothing is."""
    if isinstance(proof, Open):
        return "; ".join([proof.reason, *([bound.releases] if bound and not bound.why_open else [])])
    return "; ".join([proof.says, *proof.assumes])


def _lower_bound(case: CellContext, claim: ClaimSpec, node: int, *, proved: bool) -> _Bound:
    """Return the largest lower bound of two readings; the second is tried where the first leaves the claim open."""
    level = level_shares(case.cell).epsilon / _looks(case)
    best, missed = _Bound(0.0, 1 - level, ""), []
    for read in (_by_losses, _by_runs):
        try:
            reading = read(case, claim, node, level)
        except SecmixError as error:
            missed.append(str(error))
        except Exception as error:  # the protocol's code may raise anything on unusual rows
            missed.append(f"a call ends with {type(error).__name__}")
        else:
            best = max(reading, best, key=lambda seen: seen.epsilon)
            if proved or best.epsilon > claim.epsilon:
                break
    return best if best.method else _Bound(0.0, 1 - level, f"not seen: {'; '.join(missed)}")


def _by_losses(case: CellContext, claim: ClaimSpec, node: int, level: float) -> _Bound:
    bound: LossBound = loss_bound(case, node, claim.terms, level)
    method = f"privacy losses of {bound.calls} calls and their replays on neighbouring data"
    score = "the privacy loss: log p(o | first) / p(o | second) of all outputs o of releases"
    if bound.differs:
        score = f"whether '{bound.differs}' is what the first data set gives, with the outputs that are read"
    return _Bound(bound.epsilon, bound.confidence, method, bound.pair, bound.differs, score)


def _by_runs(case: CellContext, claim: ClaimSpec, node: int, level: float) -> _Bound:
    bound: LowerBound
    pair, bound = most_distinguishable(case, node, claim.terms, level, least=_RUNS)
    method = f"error rates of the score '{bound.score}' over {bound.runs} runs on each of two data sets, "
    method += f"which show {bound.ceiling:.3g} at most"
    score = f"{bound.score}, learnt on half of {bound.runs} runs: at most {bound.false_positive:.3g} false alarms and "
    return _Bound(
        bound.epsilon, bound.confidence, method, pair, "", f"{score}{bound.miss:.3g} misses on the other half"
    )


def _fails(lower: _Bound, bound: NoiseBound | None, proof: Clearance | Open, proved: float | None) -> str:
    """Say where a claim fails: at a message, at a line, or at what the releases spend together."""
    parts = [f"'{lower.differs}' differs while the outputs of all releases are the same"] if lower.differs else []
    if isinstance(proof, Open) and (bound is None or bound.why_open):
        parts.append(proof.reason)
    elif bound is not None and proved is not None:
        parts.append(f"{proved:.3g} is spent by {bound.releases}")
    return "; ".join(parts) or "messages tell the two data sets apart"


def _paste(bound: _Bound) -> str:
    """Write the two data sets of the node and the score as Python, without numbers that are the same in both."""
    if bound.pair is None:
        return ""
    sides = [np.asarray(parts[bound.pair.node][0], dtype=float) for parts in bound.pair.sides]
    lines = [f"{name} = {_rows(rows)}" for name, rows in zip(("first", "second"), sides, strict=True)]
    return "\n".join([f"# Rows of node {bound.pair.node}: {bound.pair.words}.", *lines, f"# Score: {bound.score}."])


def _rows(rows: np.ndarray) -> str:
    """Write rows (N, d) as a list; equal ones once, and of many the first."""
    if len(rows) > 1 and (rows == rows[0]).all():
        return f"[{rows[0].tolist()}] * {len(rows)}"
    shown = rows[: max(_PASTED // rows.shape[1], 1)].tolist()
    return f"{shown}  # and {len(rows) - len(shown)} more rows" if len(shown) < len(rows) else f"{shown}"
