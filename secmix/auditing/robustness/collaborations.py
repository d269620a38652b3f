"""What colluders do to a collaboration: its outcome is pushed, for every number of them.

The protocol that runs is the one attacked, over a channel on which the colluders send. Errors are counted in the error
that other rows make: the median between two honest runs on different deals.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.attacks.attack import FARTHEST, Attack
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.adversaries.tampering import TamperingChannel
from secmix.auditing.robustness.curve import Errors, Push, bounded
from secmix.auditing.robustness.theorems import proven_protocol
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols.collaboration import CollaborationTraits, RunsDiffer
from secmix.scenario import Scenario
from secmix.transcript import Channel

_DEALS = 8  # runs under each attack
_BEYOND = 1e3  # times as large as any honest outcome: no error that is small then measures how far outcomes are apart
_SEARCHED = 2  # runs for an attack that searches


def errors_of_collaborations(cell: Scenario, setup: CollaborationSetup) -> Errors:
    """Errors of the outcome at honest nodes against the run in which all follow the protocol."""
    traits, adversary = CollaborationTraits.of(setup.protocol), AdversaryTraits.of(setup.adversary)
    first, second = (setup.deal(_DEALS, stream(cell.seed, "attacked rows", k)) for k in ("first", "other"))
    channel = Channel()
    honest = _run(cell, setup, first, channel)
    others = _run(cell, setup, second, Channel(record=False))
    typical = float(np.median(setup.protocol.error(others, honest)))
    assert adversary.against is not None
    attacks = adversary.against(block.kind for block in channel.transcript)
    largest = max(float(np.abs(ends).max(initial=0.0)) for ends in (honest, others))
    order = [*sorted(setup.corrupt), *(i for i in range(setup.network.n) if i not in setup.corrupt)]

    overlooked: set[int] = set()

    def looked_at(colluders: int, tried: tuple[Array, Array]) -> Array:
        errors, sizes = tried
        if ((sizes > _BEYOND * largest) & (errors <= typical)).any():
            overlooked.add(colluders)
        return errors

    @functools.cache
    def by_attack(colluders: int) -> dict[str, Array]:
        """By attack, the error of each run, the worse of two sizes: a rule that sees the large may miss the small."""
        found = {}
        for name, attack in attacks.items():
            sizes = (1.0,) if attack.searches else (1.0, FARTHEST)
            ends = [_errors(cell, setup, first, honest, attack, order[:colluders], adversary.scale * s) for s in sizes]
            tried = [looked_at(colluders, each) for each in ends]
            found[name] = max(tried, key=lambda errors: float(errors.max()))
        return found

    def ratio(error: float) -> float:
        return error / max(typical, 1e-12)

    def size(errors: Array) -> float | None:
        worst = float(errors.max())
        # Where other rows alone make an outcome that bad, it says nothing of colluders.
        return None if worst >= traits.broken > typical else bounded(ratio(worst))

    def push(colluders: int) -> Push:
        errors = by_attack(colluders)
        by = max(errors, key=lambda name: float(errors[name].max()))
        # A bound is derived from the messages of all runs; where those differ there is none for all.
        together = all(block.runs == len(honest) for block in channel.transcript)
        # What the protocol calls no error, while its outcome is beyond all others, is no measure to prove anything of.
        measured = together and colluders not in overlooked and proven_protocol(setup.protocol)
        allowed = traits.bound(channel.transcript, honest, colluders) if measured else None
        return size(errors[by]), None if allowed is None else ratio(float(allowed)), by.replace("_", " ")

    return Errors(
        push=push,
        outcomes=lambda: [(name, size(errors), errors) for name, errors in by_attack(len(setup.corrupt)).items()],
        is_proven=lambda point: point.proven is not None,
        spread=f"median error between two honest runs on other rows, {typical:.3g} {traits.unit}",
        outcome=f"the outcome at honest nodes, {traits.unit}",
        majority="half of the nodes: nothing tells the honest half from the other",
        doubt="" if typical < traits.broken else "other rows alone make the outcome worthless; ",
    )


def _run(cell: Scenario, setup: CollaborationSetup, rows_by_node: list[Array], channel: Channel) -> Array:
    """With the same draws whoever attacks, so that the colluders alone make the difference."""
    rng = stream(cell.seed, "attacked protocol")
    try:
        results = setup.protocol.collaborate(rows_by_node, setup.network, rng, channel=channel)
    except RunsDiffer as differing:  # outcomes can be compared, whatever was sent
        results = differing.results
        channel.transcript = max(differing.groups, key=lambda group: len(group.runs)).transcript
    return np.asarray(results, dtype=np.float64)


def _errors(
    cell: Scenario,
    setup: CollaborationSetup,
    rows_by_node: list[Array],
    reference: Array,
    attack: Attack,
    corrupt: list[int],
    scale: float,
) -> tuple[Array, Array]:
    """The error of each run under ``attack``, infinite where the protocol gave up, and the outcome's largest number."""
    runs = _SEARCHED if attack.searches else _DEALS
    rng = stream(cell.seed, "attack", attack.name, len(corrupt))
    rows_by_node = [part[:runs] for part in rows_by_node]
    if attack.poison is not None:
        rows_by_node = [
            attack.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(rows_by_node)
        ]
    channel = TamperingChannel(attack, corrupt, rng, protocol=setup.protocol, scale=scale, record=False)
    loyal = [i for i in range(setup.network.n) if i not in corrupt]
    try:
        # What colluders send may overflow; that is their aim, and counts as a run that failed. Nor is it news that
        # some of it is set aside.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = _run(cell, setup, rows_by_node, channel)
            errors = setup.protocol.error(results[:, loyal], reference[:runs, loyal])
    except ScenarioError:  # the attack itself is at fault
        raise
    except (SecmixError, FloatingPointError):
        return np.full(runs, np.inf), np.zeros(runs)
    sizes = np.abs(results[:, loyal]).max(axis=(1, 2), initial=0.0)
    return np.where(np.isfinite(errors), errors, np.inf), np.where(np.isfinite(sizes), sizes, np.inf)
