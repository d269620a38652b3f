"""Damage of colluders in a collaboration: the error of its outcome, for every number of colluders.

The protocol runs over a channel on which colluders replace messages. The unit of errors is the error that other rows
make: the median between two honest runs on different rows.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.against_rules.spending import SearchBudget, spent
from secmix.adversaries.attacks.attack import FARTHEST, Attack
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.adversaries.tampering import TamperingChannel
from secmix.auditing.robustness.error_curve import Errors, Push, bounded
from secmix.auditing.robustness.theorems import proven_protocol
from secmix.auditing.setup import CollaborationSetup
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols.collaboration import CollaborationTraits, RunsDiffer
from secmix.scenario import Scenario
from secmix.transcript import Channel

_RUNS_OF_ATTACK = 8  # runs under each attack
_BEYOND = 1e3  # outcomes larger than honest ones by this factor must have a large error
_SEARCHED = 2  # runs under an attack that searches


def errors_of_collaborations(cell: Scenario, setup: CollaborationSetup) -> Errors:
    """Measure errors of the outcome at honest nodes, relative to the run in which all follow the protocol."""
    traits, adversary = CollaborationTraits.of(setup.protocol), AdversaryTraits.of(setup.adversary)
    first, second = (
        setup.sample_rows(_RUNS_OF_ATTACK, stream(cell.seed, "attacked rows", k)) for k in ("first", "other")
    )
    channel = Channel()
    honest = _run(cell, setup, first, channel)
    others = _run(cell, setup, second, Channel(record=False))
    typical = float(np.median(_error_of_each_run(setup, others, honest)))
    assert adversary.against is not None
    attacks = adversary.against(block.kind for block in channel.transcript)
    largest = max(float(np.abs(ends).max(initial=0.0)) for ends in (honest, others))
    order = [*sorted(setup.corrupt), *(i for i in range(setup.network.n) if i not in setup.corrupt)]

    overlooked: set[int] = set()
    budget = SearchBudget(cell.measure.work)

    def checked_errors(colluders: int, measured: tuple[Array, Array]) -> Array:
        errors, sizes = measured
        if ((sizes > _BEYOND * largest) & (errors <= typical)).any():
            overlooked.add(colluders)
        return errors

    @functools.cache
    def by_attack(colluders: int) -> dict[str, Array]:
        """Return, by attack, the error of each run at the worse of two scales, since a rule may miss small outliers."""
        worst = {}
        for name, attack in attacks.items():
            sizes = (1.0,) if attack.searches else (1.0, FARTHEST)
            corrupt, scales = order[:colluders], [adversary.scale * size for size in sizes]
            ends = [_errors(cell, setup, first, honest, attack, corrupt, scale, budget) for scale in scales]
            tried = [checked_errors(colluders, measured) for measured in ends]
            worst[name] = max(tried, key=lambda errors: float(errors.max()))
        return worst

    def ratio(error: float) -> float:
        return error / max(typical, 1e-12)

    def size(errors: Array) -> float | None:
        worst = float(errors.max())
        # If other rows alone make such an outcome, it proves nothing about colluders.
        return None if worst >= traits.broken > typical else bounded(ratio(worst))

    def push(colluders: int) -> Push:
        errors = by_attack(colluders)
        by = max(errors, key=lambda name: float(errors[name].max()))
        # A bound is derived from the messages of all runs; if these differ there is no bound for all.
        same_messages = all(block.runs == len(honest) for block in channel.transcript)
        # An error measure that is small for an outcome far beyond all others supports no bound.
        measured = same_messages and colluders not in overlooked and proven_protocol(setup.protocol)
        allowed = traits.bound(channel.transcript, honest, colluders) if measured else None
        return size(errors[by]), None if allowed is None else ratio(float(allowed)), by.replace("_", " ")

    return Errors(
        push=push,
        outcomes=lambda: [(name, size(errors), errors) for name, errors in by_attack(len(setup.corrupt)).items()],
        is_proven=lambda point: point.proven is not None,
        spread=f"median error between two honest runs on other rows, {typical:.3g} {traits.unit}",
        outcome=f"the outcome at honest nodes, {traits.unit}",
        majority="half of the nodes: the honest half cannot be distinguished from the other",
        caveat="" if typical < traits.broken else "different rows alone make the outcome worthless; ",
        spent=lambda: spent({"tries of the rule": budget}, cell.measure.more_work),
    )


def _run(cell: Scenario, setup: CollaborationSetup, rows_by_node: list[Array], channel: Channel) -> Array:
    """Run the protocol with the same draws under every attack, so that only the colluders make a difference."""
    rng = stream(cell.seed, "attacked protocol")
    try:
        results = setup.protocol.collaborate(rows_by_node, setup.network, rng, channel=channel)
    except RunsDiffer as differing:  # outcomes can be compared even if messages differ
        results = differing.results
        channel.transcript = max(differing.groups, key=lambda group: len(group.runs)).transcript
    return np.asarray(results, dtype=np.float64)


def _error_of_each_run(setup: CollaborationSetup, results: Array, reference: Array) -> Array:
    """Measure the error of each run by the protocol's own measure, after checking its shape."""
    errors = np.asarray(setup.protocol.error(results, reference), dtype=np.float64)
    if errors.shape != results.shape[:1]:
        raise SecmixError(
            f"error(results, reference) of the protocol returned shape {errors.shape}, expected {results.shape[:1]}: "
            "return one number for each run, over all nodes and entries"
        )
    return errors


def _errors(
    cell: Scenario,
    setup: CollaborationSetup,
    rows_by_node: list[Array],
    reference: Array,
    attack: Attack,
    corrupt: list[int],
    scale: float,
    budget: SearchBudget,
) -> tuple[Array, Array]:
    """Measure the error of each run under ``attack``, infinite if the protocol fails, and the largest result."""
    runs = _SEARCHED if attack.searches else _RUNS_OF_ATTACK
    rng = stream(cell.seed, "attack", attack.name, len(corrupt))
    rows_by_node = [part[:runs] for part in rows_by_node]
    if attack.poison is not None:
        rows_by_node = [
            attack.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(rows_by_node)
        ]
    channel = TamperingChannel(attack, corrupt, rng, protocol=setup.protocol, scale=scale, record=False, budget=budget)
    loyal = [i for i in range(setup.network.n) if i not in corrupt]
    try:
        # Colluders' messages may overflow, which counts as a failed run; warnings about ignored messages are expected.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = _run(cell, setup, rows_by_node, channel)
            errors = _error_of_each_run(setup, results[:, loyal], reference[:runs, loyal])
    except ScenarioError:  # the fault is in the attack itself
        raise
    except (SecmixError, FloatingPointError):
        return np.full(runs, np.inf), np.zeros(runs)
    sizes = np.abs(results[:, loyal]).max(axis=(1, 2), initial=0.0)
    return np.where(np.isfinite(errors), errors, np.inf), np.where(np.isfinite(sizes), sizes, np.inf)
