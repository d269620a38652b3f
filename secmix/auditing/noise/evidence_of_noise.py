"""Noise: an upper bound on what anybody knows of a node, whose data reach messages through noisy releases alone.

How it is got: The collaboration runs on recorded draws, and each release (``secmix.privacy.gaussian``, ``laplace``) is
noted with its noise, its scale and the clip of the very array that gets the noise. It runs again with another value of
a row, or other rows of the node, while the releases return what they did before: all that is sent must be the same to
the last bit, and so must scale, norm, shape, number and order of the releases. Noise must differ by call, round and
node, and come from the generator that the protocol is given; with other draws, too, what is sent beside the releases
must be the same. Without playing back, messages must differ. Then no
function of the row or node has more than 1 − B² of its variance explained by anything that is computed from the
messages, where B is the least Bhattacharyya affinity between what two values of it lead to (Gaussian noise:
1 − exp(−Σ μ²/4)).

What it assumes: What is sent follows from the releases in all calls as it did in the replays, whose number is printed;
real arithmetic; data that take part in one call. A bound for a row is about one row where all others are known, and
clears no node.
"""

from __future__ import annotations

from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.noise.noise_bounds import NoiseBound, epsilon_in_words, noise_bounds
from secmix.auditing.proof import proof_of
from secmix.auditing.report import Finding
from secmix.kernel import Clearance
from secmix.scenario import terms_of


def _applies(case: CellContext) -> bool:
    """Say whether anything is released with noise, to an adversary who reads any of it."""
    return not isinstance(proof_of(case), Clearance) and bool(noise_bounds(case))


def _gather(case: CellContext) -> Gathered:
    bounds = noise_bounds(case)
    return Gathered([_finding(case, node, bound) for node, bound in bounds.items() if not bound.why_open])


def _finding(case: CellContext, node: int, bound: NoiseBound) -> Finding:
    terms = terms_of(case.cell.policy, case.cell.claim)
    epsilon = [] if bound.epsilon is None else [f"{epsilon_in_words(terms)} is at most {bound.epsilon:.4g}"]
    return Finding(
        **case.about(node),
        evidence=NOISE_BOUND,
        view="cumulative",
        target="row",
        method="1 − B², of the affinities of all releases that its data reach, which were played back on other data",
        value=bound.explained,
        unit=f"share of the variance of any function of a {terms.unit}, at most",
        low=0.0,
        high=bound.explained,
        kind="upper bound",
        status="resolved",
        normalised_leakage=bound.explained,
        normalised_low=0.0,
        normalised_high=bound.explained,
        confidence=1.0,
        notes=[bound.releases, *epsilon],
    )


NOISE_BOUND = "noise bound"

EVIDENCE = Evidence(
    "noise",
    (
        Kind(
            NOISE_BOUND,
            "Upper bound from noise",
            "If all that a node sends follows from releases with noise: an upper bound on the share of the variance of "
            "any function of a row, or of all rows of the node, that anybody explains from all messages. Proved in "
            "real arithmetic, on the premise that what was the same in all replays always is.",
        ),
    ),
    _applies,
    _gather,
    rank=2,
    bounds_leakage=True,
    always=True,
    judges="all runs",
    collaborations_only=True,
)
"""Bounds a collaboration, of which no exact evidence exists."""
