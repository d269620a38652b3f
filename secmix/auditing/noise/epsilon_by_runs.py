"""Epsilon from below: a collaboration runs often on two neighbouring data sets, and its messages tell them apart.

How it is got: In the neighbours one row, or all rows of a node, take values far out, of other signs or zero, so that
clips shorten them; a few such pairs are tried in short, and the one that moves the messages most is run often, each run
by a call of its own. One half of the runs chooses a score and a threshold, the other half counts its errors, and by
Clopper and Pearson (1934) these bound epsilon at the policy's delta. The level holds over all nodes.

What it assumes: Only that runs are independent. It is a lower bound: other neighbours or scores may tell more, so it
can show that epsilon exceeds a limit and never that it does not.
"""

from __future__ import annotations

from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, level_shares
from secmix.auditing.noise.noise_bounds import epsilon_in_words
from secmix.auditing.noise.told_apart import PURPOSE, most_distinguishable
from secmix.auditing.proof import proof_of
from secmix.auditing.report import Finding
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.kernel import Clearance
from secmix.scenario import terms_of

NAME = PURPOSE


def _applies(case: CellContext) -> bool:
    """Check whether a policy limits epsilon, and the adversary of a collaboration may read anything."""
    asks = isinstance(case.setup, CollaborationSetup) and case.cell.policy.max_epsilon is not None
    return asks and not isinstance(proof_of(case), Clearance)


def _gather(case: CellContext) -> Gathered:
    findings, missed = [], []
    for node in case.setup.asked:
        try:
            findings.append(_finding(case, node))
        except SecmixError as error:
            missed.append(f"{NAME} of node {node}: {error}")
        except Exception as error:  # the protocol's code may raise anything on unusual rows
            missed.append(f"{NAME} of node {node}: a call ends with {type(error).__name__}")
    return Gathered(findings, missed=tuple(missed))


def _finding(case: CellContext, node: int) -> Finding:
    terms = terms_of(case.cell.policy, None)
    pair, bound = most_distinguishable(case, node, terms, level_shares(case.cell).epsilon / len(case.setup.asked))
    words = f"{epsilon_in_words(terms)} is at least {bound.epsilon:.3g}, the limit {terms.limit:g}"
    return Finding(
        **case.about(node),
        evidence=NAME,
        view="cumulative",
        target="row",
        method=f"error rates of the score '{bound.score}', chosen on one half of the runs and counted on the other",
        value=bound.epsilon,
        unit="epsilon, at least",
        low=bound.epsilon,
        high=None,
        kind="lower bound",
        status="resolved",
        normalised_leakage=0.0,
        normalised_low=0.0,
        normalised_high=1.0,
        confidence=bound.confidence,
        notes=[words, f"{pair.words}; {bound.runs} runs on each of the two, which show {bound.ceiling:.3g} at most"],
    )


EVIDENCE = Evidence(
    "epsilon",
    (
        Kind(
            NAME,
            "Lower bound of epsilon",
            "The collaboration runs many times on two data sets that differ in one row, or in all rows of a node, and "
            "its messages tell them apart so often that epsilon is at least this. Other neighbours may tell more.",
        ),
    ),
    _applies,
    _gather,
    rank=9,
    always=True,
    bounds_epsilon=True,
    judges="all runs",
    collaborations_only=True,
)
