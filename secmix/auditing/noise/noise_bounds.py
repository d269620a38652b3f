"""Bounds that noise proves of a collaboration: explained variance and epsilon, held against the limits of a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing import decide
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.noise.replays.playback import NodeReplays, Playback, play_back
from secmix.auditing.noise.replays.played_calls import title
from secmix.auditing.noise.replays.reach import Reach
from secmix.auditing.noise.replays.sampled import play_back_sampled
from secmix.auditing.proof import NOISE
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import SecmixError
from secmix.kernel import Clearance, Open, clear_bounds
from secmix.privacy import explained_variance_bound, releases_epsilon
from secmix.privacy.protocol_runs import NEIGHBOURS
from secmix.scenario import PolicySpec, PrivacyTerms, terms_of
from secmix.scenario.claim_spec import Relation, Unit


@dataclass(frozen=True)
class NoiseBound:
    """Proof of one node by noise."""

    why_open: str = ""  # why it proves nothing; empty if it does
    explained: float = 1.0  # the most that anybody explains of the variance of any function of the unit
    epsilon: float | None = None  # at the delta of the terms; None where they set no limit to it
    releases: str = ""  # which releases the unit reaches, in words
    premises: tuple[str, ...] = ()  # what is taken for granted, in sentences


def noise_bounds(case: CellContext, terms: PrivacyTerms | None = None) -> dict[int, NoiseBound]:
    """Return the bound that noise proves for each node asked about, computed once; empty if nothing is released.

    The ``terms`` are by default those of the cell.
    """
    terms = terms or terms_of(case.cell.policy, case.cell.claim)
    by_terms: dict[PrivacyTerms, dict[int, NoiseBound]] = case.fitted.setdefault(NOISE, {})
    if terms not in by_terms:
        by_terms[terms] = _bounds(case, case.setup, terms) if isinstance(case.setup, CollaborationSetup) else {}
    return by_terms[terms]


def noise_clearance(case: CellContext, node: int) -> Clearance | Open | None:
    """Ask the kernel whether what noise proves of a node keeps the policy; None where nothing is released."""
    bound, policy, claim = noise_bounds(case).get(node), case.cell.policy, case.cell.claim
    if bound is not None and claim is not None and terms_of(policy, claim) == claim.terms:
        return claim_cleared(bound, claim.terms)  # the policy says nothing that noise could keep
    return None if bound is None else cleared(bound, policy)


def claim_cleared(bound: NoiseBound, terms: PrivacyTerms) -> Clearance | Open:
    """Hold the epsilon of a bound against a claimed one."""
    if bound.why_open:
        return Open(bound.why_open)
    epsilon = math.inf if bound.epsilon is None else bound.epsilon
    if math.isinf(epsilon) and not terms.delta:
        return Open("Gaussian noise has no epsilon at delta = 0: claim a delta above 0")
    limits = [(epsilon_in_words(terms), epsilon, terms.limit or 0.0)]
    return clear_bounds(limits, source="; ".join([bound.releases, *bound.premises]))


def cleared(bound: NoiseBound, policy: PolicySpec) -> Clearance | Open:
    """Hold a bound against all limits of a policy on what is known of a node; of none it clears nobody."""
    if bound.why_open:
        return Open(bound.why_open)
    unit, limit = policy.noise_unit, policy.max_normalised_leakage
    limits: list[tuple[str, float, float]] = []
    if policy.max_revealed_nodes is not None and unit == "row":
        return Open('max_revealed_nodes asks about nodes, of which noise that hides a row says nothing: unit = "row"')
    if limit is None and policy.max_revealed_nodes is not None:
        limit = decide.NEARLY
    if limit is not None:
        limits.append((f"the explained variance of any function of a {unit}", bound.explained, limit))
    if policy.max_epsilon is not None:
        epsilon = math.inf if bound.epsilon is None else bound.epsilon
        if math.isinf(epsilon) and not policy.delta:
            return Open("Gaussian noise has no epsilon at delta = 0: set delta beside max_epsilon")
        limits.append((epsilon_in_words(terms_of(policy, None)), epsilon, policy.max_epsilon))
    if policy.max_normalised_leakage is None and policy.max_epsilon is None:
        return Open("noise bounds what is known: set max_normalised_leakage or max_epsilon to say how much may be")
    return clear_bounds(limits, source="; ".join([bound.releases, *bound.premises]))


def epsilon_in_words(terms: PrivacyTerms) -> str:
    """Name epsilon with its delta and what neighbours differ by."""
    return f"epsilon at delta = {terms.delta:g} ({NEIGHBOURS[terms.unit, terms.relation]})"


def _bounds(case: CellContext, setup: CollaborationSetup, terms: PrivacyTerms) -> dict[int, NoiseBound]:
    traits = AdversaryTraits.of(setup.adversary)
    built = setup.protocol if case.built is None else case.built
    try:
        played = play_back(setup, built, case.cell.seed, terms)
        if played.why_open:  # with every draw, but maybe not with the noise
            played = play_back_sampled(setup, built, case.cell.seed, terms)
    except Exception as error:  # the protocol's objects may raise anything, also when they are copied or compared
        return {node: NoiseBound(f"playing back failed with {type(error).__name__}") for node in setup.asked}
    if traits.active or traits.serves or traits.against:
        why = "releases were played back among nodes that follow the protocol, and this adversary does not"
        return {node: NoiseBound(why) for node in played.nodes}
    return {node: _bound(played, replays, terms) for node, replays in played.nodes.items()}


def _bound(played: Playback, replays: NodeReplays, terms: PrivacyTerms) -> NoiseBound:
    if replays.why_open:
        return NoiseBound(replays.why_open)
    exchanged, neighbours = _reaches(replays, terms.relation)
    for place, reach in {**neighbours, **exchanged}.items():
        if math.isinf(reach.ratio):
            return NoiseBound(f"{title(place, played.releases[place])}: {reach.why}")
    epsilon = None
    try:
        if terms.limit is not None:
            epsilon = releases_epsilon(**_by_kind(played, neighbours), delta=terms.delta)
    except SecmixError as error:
        return NoiseBound(f"epsilon could not be worked out: {error}")
    explained = explained_variance_bound(**_by_kind(played, exchanged))
    words = "; ".join([_in_words(played, exchanged, neighbours), *[replays.sampled] * bool(replays.sampled)])
    return NoiseBound("", explained, epsilon, words, _premises(replays, terms.unit))


def _reaches(replays: NodeReplays, relation: Relation) -> tuple[dict[int, Reach], dict[int, Reach]]:
    """Return how far releases move where a unit is exchanged, and where it changes as the policy's relation says.

    An exchange is a removal and an addition: it moves a release twice as far at most, and never less than one of both
    for every clip that is credited.
    """
    exchanged, other = dict(replays.reaches["replace"]), replays.reaches["add-or-remove"]
    for place, reach in other.items():
        twice = Reach(2 * reach.ratio, reach.why)
        exchanged[place] = max(exchanged.get(place, twice), reach)
    if relation == "replace":
        return exchanged, exchanged
    return exchanged, {place: other.get(place, reach) for place, reach in exchanged.items()}


def _by_kind(played: Playback, reaches: Mapping[int, Reach]) -> dict[str, list[float]]:
    return {
        kind: [reach.ratio for place, reach in reaches.items() if played.releases[place].noise == kind]
        for kind in ("gaussian", "laplace")
    }


def _in_words(played: Playback, exchanged: Mapping[int, Reach], neighbours: Mapping[int, Reach]) -> str:
    """Describe the releases that the unit reaches: by line, how many, what noise and how far they move."""
    by_line: dict[tuple[Any, ...], int] = {}
    for place, reach in sorted(exchanged.items()):
        release = played.releases[place]
        clip = "" if release.clip is None else f"{release.clip.words} at most {release.clip.norm:g}"
        far = f"{reach.ratio * release.scale:.3g}"
        if (other := neighbours[place].ratio * release.scale) < reach.ratio * release.scale:
            far += f" for a row exchanged, {other:.3g} for one added or removed"
        far += f" ({reach.why})" * bool(reach.why)
        key = (release.place, release.noise.capitalize(), release.scale, clip, far)
        by_line[key] = by_line.get(key, 0) + 1
    return "; ".join(
        f"{count} release{'s' * (count > 1)} at {place}: {noise} noise of scale {scale:g} on a {clip}, "
        f"sensitivity {far}"
        for (place, noise, scale, clip, far), count in by_line.items()
    )


def _premises(replays: NodeReplays, unit: Unit) -> tuple[str, ...]:
    often = 3 / replays.replays
    row_premise = "of one row, all others being known: rows that go together tell of each other"
    return (
        f"all that is sent follows from the releases: it was the same to the last bit in {replays.replays} replays "
        f"with other data, which miss what happens in less than {often:.0%} of the calls",
        "real arithmetic: what the last bits of noisy numbers tell is not counted",
        "the data take part in one call, in which every draw is as good as random and its seed is nobody's",
        *[row_premise] * (unit == "row"),
    )
