"""Ask the kernel what it proves of a cell; where it proves nothing, nobody is cleared."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.collaboration_observation import CollaborationObservation
from secmix.auditing.observation.reading import reading_of
from secmix.auditing.observation.sum_observation import SumObservation, share_behind_masks
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.auditing.soundness.linear_masks import LinearMasks
from secmix.kernel import Clearance, KnownSums, Open, Proof, clear, clear_unheard, prove
from secmix.kernel.tracing.world import modules_of
from secmix.network import Network, listed, nodes_in_words
from secmix.protocols import PDMM
from secmix.protocols.released import Released

_KEY, _TRACED, NOISE = "proof", "what was traced", "noise"  # keys of what is known of a cell
_CALLS = 3
_MOST_CACHED = 3  # proofs: the cells of a report that share one follow one another
_CACHED = type(functools.cache(len))  # which has no name
_PROOFS: dict[tuple[tuple[type, ...], bytes], Proof] = {}
_VISIBLE = 0.9  # of the variance: the kernel reckons with the largest number of the data, the runs with the usual one
_TOO_WIDE = "a proof follows every number that is sent, and so many do not fit either"
_MARGIN = 1e-6  # between shares that algebra finds in two ways


def proof_of(case: CellContext) -> Clearance | Open | None:
    """Return the kernel's answer for this cell, worked out once; None where no proof is asked."""
    if _KEY not in case.fitted:
        observation = case.observation
        if isinstance(case.setup, CollaborationSetup) and isinstance(case.setup.protocol, Released):
            case.fitted[_KEY] = None  # no theorem speaks of what a result tells
        elif isinstance(observation, CollaborationObservation):
            views = [group.view for group in observation.groups]
            case.fitted[_KEY] = clear_unheard(views, case.cell.runs, same_in=observation.identical_calls)
        else:
            assert isinstance(case.setup, SumSetup)
            assert isinstance(observation, SumObservation)
            reason = _not_traced(case.setup)
            case.fitted[_KEY] = Open(reason) if reason else _proved(case, case.setup, observation)
    outcome: Clearance | Open | None = case.fitted[_KEY]
    return outcome


def sends_alike(case: CellContext) -> bool:
    """Say whether it is proved that all runs send the same messages, but for the numbers; whoever looks."""
    setup, observation = case.setup, case.observation
    if not isinstance(setup, SumSetup) or not isinstance(observation, SumObservation) or _not_traced(setup):
        return False
    proof = _trace(case, setup, observation)
    return not proof.open and not proof.covers


def _not_traced(setup: SumSetup) -> str:
    """Say why the kernel does not follow a protocol: what is traced takes more memory an entry than runs do."""
    return setup.unproved or _TOO_WIDE * bool(setup.too_wide)


def traced(case: CellContext) -> Proof | None:
    """Return what the kernel traced of this cell's protocol, whoever looks; None where nothing was."""
    proof_of(case)
    outcome: Proof | None = case.fitted.get(_TRACED)
    return outcome


def without_proof(case: CellContext) -> CellContext:
    """Return ``case`` without a proof: it shows what is revealed and clears nobody."""
    case.fitted[_KEY] = None
    return case


def with_proof_of(case: CellContext, other: CellContext) -> CellContext:
    """Return ``other``, runs of the same cell, with the proof of ``case``."""
    other.fitted.update({key: case.fitted[key] for key in (_KEY, _TRACED, NOISE) if key in case.fitted})
    return other


def _proved(case: CellContext, setup: SumSetup, observation: SumObservation) -> KnownSums | Open:
    proof = _trace(case, setup, observation)
    return clear(proof, setup.network, setup.adversary, calls=len(observation.iterations))


def _trace(case: CellContext, setup: SumSetup, observation: SumObservation) -> Proof:
    """Return the proof of a cell's protocol, whoever looks, made once for the case."""
    if _TRACED not in case.fitted:
        case.fitted[_TRACED] = _traced_anew(case, setup, observation)
    proof: Proof = case.fitted[_TRACED]
    return proof


def _traced_anew(case: CellContext, setup: SumSetup, observation: SumObservation) -> Proof:
    active = AdversaryTraits.of(setup.adversary).active
    protocol = case.built if case.built is not None else setup.protocol
    if isinstance(protocol, LinearMasks):  # the kernel follows the draws themselves
        protocol = protocol.inner
    played = protocol if active is None else active(protocol)
    iterations = observation.iterations if case.cell.policy.covers == "traced" else []
    calls = _calls_in_order(observation) if iterations else _calls(observation)
    return _proof(played, setup.network, calls, case.cell.seed, iterations)


def _calls_in_order(observation: SumObservation) -> list[Array]:
    """Return the inputs of all iterations, (1, n, m) each, and then those of another run.

    They are those of the first iteration, which no adversary changes, where a later one sums as many entries.
    """
    several = [_traced_inputs(observation, t) for t in observation.iterations]
    several = [several[0] if each.shape[2] == several[0].shape[2] else each for each in several]
    return [each[(k + after) % len(each)][None] for after in (0, 1) for k, each in enumerate(several)]


def _calls(observation: SumObservation) -> list[Array]:
    """Return the inputs of three calls at least, (1, n, m) each: what a protocol keeps shows after the third.

    They are those of the first iteration in several runs, which no adversary changes; an iteration that sums another
    number of entries is called too.
    """
    first, *others = (_traced_inputs(observation, t) for t in observation.iterations)
    others = [each[:1] for each in others if each.shape[2] != first.shape[2]]
    runs = [first[k % len(first)][None] for k in range(_CALLS)]
    return [runs[0], *others, *runs[1:]] if others else runs


def _traced_inputs(observation: SumObservation, iteration: int) -> Array:
    """Return what nodes sum in an iteration of each run that a proof follows, (runs, n, m)."""
    return observation.inputs[iteration][:, : observation.first_runs or None].transpose(1, 0, 2)


def _proof(protocol: Any, network: Network, calls: list[Array], seed: int, iterations: list[int]) -> Proof:
    """Return the proof of a protocol on a network, made once for all adversaries of an audit."""
    kinds, data = tuple(type(each) for each in _parts(protocol)), [each.tobytes() for each in calls]
    if any(_says_itself(kind) for kind in kinds):
        return _made_in_room(protocol, network, calls, seed, iterations)
    try:
        pickled = pickle.dumps((protocol, network.n, network.edges.tobytes(), data, seed, iterations))
    except Exception:  # a user's object may refuse in any way
        return _made_in_room(protocol, network, calls, seed, iterations)
    # Bytes name a class; its identity distinguishes it from another of that name.
    key = kinds, hashlib.sha256(pickled).digest()
    if key not in _PROOFS:
        while len(_PROOFS) >= _MOST_CACHED:
            _PROOFS.pop(next(iter(_PROOFS)))
        _PROOFS[key] = _made_in_room(protocol, network, calls, seed, iterations)
    return _PROOFS[key]


def _made_in_room(protocol: Any, network: Network, calls: list[Array], seed: int, iterations: list[int]) -> Proof:
    """Prove; a trace takes much memory, and none of what messages of many runs took."""
    _return_freed_memory()
    caches = [(cache, cache.cache_info().misses) for cache in _caches(protocol)]
    proof = prove(protocol, network, calls, seed=seed, iterations=iterations)
    for cache, misses in caches:
        if cache.cache_info().misses != misses:  # it may hold numbers of a trace, with which plain calls cannot go on
            cache.cache_clear()
    _return_freed_memory()
    return proof


def _caches(protocol: Any) -> list[Any]:
    """List the functions with a cache in the modules of a protocol's code, and in their classes."""
    spaces = [vars(sys.modules[name]) for name in modules_of(protocol) if not name.startswith("secmix.")]
    classes = [vars(each) for space in spaces for each in space.values() if isinstance(each, type)]
    return [each for space in (*spaces, *classes) for each in space.values() if isinstance(each, _CACHED)]


def _return_freed_memory() -> None:
    """Return to the system what was freed, where the C library keeps it: glibc does so for arrays of middling size.

    Python's own objects never use it again. On other systems nothing is done.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _says_itself(kind: type) -> bool:
    """Say whether a class of a protocol's says itself what of its objects is written down: that may not be all."""
    names = ("__getstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
    own = kind.__module__.partition(".")[0] not in ("builtins", "numpy", "secmix", *sys.stdlib_module_names)
    return own and any(getattr(kind, name, None) is not getattr(object, name, None) for name in names)


def _parts(protocol: Any) -> Iterator[Any]:
    """Yield a protocol, what it is made of, and that of the one within it."""
    while protocol is not None:
        yield protocol
        yield from getattr(protocol, "__dict__", {}).values()
        protocol = getattr(protocol, "inner", None)


def forget() -> None:
    """Forget all proofs: code may have changed since the last audit."""
    _PROOFS.clear()


def as_proved(observation: SumObservation, setup: SumSetup, proof: KnownSums) -> SumObservation:
    """Return ``observation`` with the sums that ``proof`` says are known for readings, or with its doubts.

    Of equal and independent nodes a function of one explains no more of their sum, whatever they encode, than one part
    in so many (Efron, Stein 1981, The jackknife estimate of variance: first-order terms of a symmetric function).
    """
    if not proof.symmetric or observation.joint is not None or setup.is_unequal:
        return replace(observation, unmet_premises=[*observation.unmet_premises, *observation.unread])
    # The kernel reckons with the largest number of the calls that it traced; the widest entry may be wider.
    traced_size = max(float(np.abs(each).max()) for each in _calls(observation))
    wider = max(1.0, *(width / traced_size for width in observation.widest.values())) if traced_size else 1.0
    behind = {node: share * wider**2 / (1 + share * (wider**2 - 1)) for node, share in proof.behind_masks.items()}
    reading = reading_of(proof.sums, setup.network.n, setup.corrupt)
    encoded = "; ".join(map(str, proof.encoders))
    return replace(
        observation,
        readings=dict.fromkeys(observation.readings, reading),
        others=[],
        encoded=encoded,
        numbers=proof.numbers,
        behind=behind,
    )


def narrowed_by(case: CellContext) -> list[str]:
    """List what a proof hangs on that may be otherwise in other calls than those that were traced."""
    outcome = proof_of(case)
    covers = outcome.covers if isinstance(outcome, KnownSums) else ()
    return [each for each in covers if not _holds_for_all_coins(case, each)]


def unproved(case: CellContext, node: int) -> list[str]:
    """Say why no proof clears ``node``; nothing where one does."""
    outcome = proof_of(case)
    if isinstance(outcome, Open):
        return [f"not proved: {outcome.reason}"]
    if not isinstance(outcome, KnownSums):
        return []
    if narrow := narrowed_by(case):
        return [f"proved for what was traced, not for every call: {'; '.join(narrow)}"]
    assert isinstance(case.observation, SumObservation)
    read = max(float(np.max(reading.subspace.explained(node))) for _, reading in case.observation.all_readings)
    share = outcome.exact.get(node, 0.0)
    if share > read + _MARGIN and outcome.encoders and not outcome.symmetric:
        where = "; ".join(map(str, outcome.encoders[:2]))
        return [
            f"nodes encode or weigh what they hold in different ways: of such a sum no theorem says enough ({where})"
        ]
    if share > read + _MARGIN:
        return [f"the proof finds {share:.0%} of what it sends known, the audited runs {read:.0%}"]
    behind = outcome.behind_masks.get(node, 0.0)
    if behind > _VISIBLE > read:
        assert isinstance(case.setup, SumSetup)
        visible = share_behind_masks(case.setup, case.observation, node)
        if visible < _VISIBLE:
            small = "masks of the size that the code draws may leave"
            return [f"{small} {behind:.0%} visible, in the audited runs {visible:.0%}"]
    limit = case.cell.policy.max_normalised_leakage
    unmet = [*case.observation.mask_shape, *case.observation.unread]
    if unmet and limit is not None and behind > limit:
        return [f"{unmet[0]}; with such masks up to {behind:.0%} may be visible"]
    if outcome.uneven:
        return ["several combinations of inputs are known, and not all of them are plain sums"]
    return []


def _holds_for_all_coins(case: CellContext, use: str) -> bool:
    """Check for a theorem by which what is known does not depend on public coins, which the kernel traced as drawn.

    It is PDMM's: a flow along the edges of a piece hides every change of its inputs that keeps their sum, whoever is
    active in a round and whatever is lost (see ``PDMM.exposure_graph``).
    """
    assert isinstance(case.setup, SumSetup)
    protocol = case.setup.protocol
    return (
        use.startswith("public coins")
        and type(protocol) is PDMM
        and protocol.exposure_graph(case.setup.network) is not None
    )


def iterations_in_words(outcome: Clearance | Open | None) -> str:
    """Name the iterations that a proof covers; nothing if it covers all.

    >>> iterations_in_words(None)
    ''
    """
    several = outcome.iterations if isinstance(outcome, KnownSums) else ()
    if not several:
        return ""
    first, last = several[0], several[-1]
    return f"in iteration {first}, and no other" if first == last else f"in iterations {first} to {last}, and no others"


def in_words(outcome: Clearance | Open | None, beside: str = "") -> str:
    """Put the proof into words, for a report; ``beside`` is assumed too."""
    if outcome is None:
        return ""
    if isinstance(outcome, Open):
        return f"Not proved: {outcome.reason}."
    assumed = "; ".join([*outcome.assumes, *[beside] * bool(beside)])
    if not isinstance(outcome, KnownSums):
        return f"{outcome.says}. Assumed: {assumed}."
    alone = sorted(node for each in outcome.sums if len(each) == 1 for node in each)
    sums = [listed(each) for each in sorted(map(sorted, outcome.sums)) if len(each) > 1]
    known = "; ".join(
        [
            *[f"the vector of {nodes_in_words(alone)}"] * bool(alone),
            *(f"the sum over nodes {each}" for each in sums),
        ]
    )
    where = "; ".join(map(str, outcome.encoders))
    encoded = f" What is summed is an encoding of each node's own data ({where})." if where else ""
    covers = iterations_in_words(outcome) or "in every iteration"
    if outcome.covers:
        covers = f"for the calls that were traced ({'; '.join(outcome.covers)})"
    return (
        f"Proved for this network, {covers}: every message that this adversary reads follows from linear functions of "
        "what each node encodes from its own data and of masks, and all that follows from them is "
        f"{known or 'nothing'}."
        f"{encoded} Assumed: {assumed}."
    )
