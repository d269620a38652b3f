"""Check whether the messages of a run fit into memory, and the probes that show what they depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secmix._base.random import stream
from secmix.auditing.setup import SumSetup, build_model, with_active_adversary
from secmix.auditing.soundness import deep_copy
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed
from secmix.protocols.interfaces import SumTraits
from secmix.scenario import Scenario
from secmix.transcript import at_most

_OF_FEW_RUNS = 1 / 4  # of the memory: what runs leave behind them is then smaller than their messages


class TooLong(SecmixError):
    """Raised where the messages of a single run take more memory than there is for them.

    ``unproved`` says why a proof did not take the place of their probes, where one was tried.
    """

    def __init__(self, message: str, unproved: str = "") -> None:
        super().__init__(message)
        self.unproved = unproved


def room_for_messages(cell: Scenario, setup: SumSetup) -> float:
    """Return the MiB of ``memory_limit`` that messages may take: more of it where only a few runs are made."""
    return _OF_FEW_RUNS * cell.memory_limit if setup.too_wide else cell.message_limit


def too_large_to_probe(cell: Scenario, setup: SumSetup, *, exact: bool) -> str:
    """Say why messages are not probed: the probes of one run would not fit into ``memory_limit``; "" if they do.

    A copy runs the first iteration once, without probes, which may outnumber runs by thousands. What messages are made
    of is then known from a proof alone; of real masks that bounds what their size leaves visible, which ``exact``
    evidence can say. Raises TooLong if one run does not fit even without probes, or other evidence needs probes.
    """
    setup = replace(setup, protocol=deep_copy(setup.protocol), adversary=deep_copy(setup.adversary))
    rng = stream(cell.seed, "trial run")
    d = setup.rows.shape[1]
    entries = cell.model.components * (1 + d + d * (d + 1) // 2)
    masks = np.shape(setup.protocol.draw_masks(1, entries, setup.network, rng))
    probes = -(-(setup.network.n + (masks[1] if len(masks) == 3 else 0)) // entries)
    allowed = room_for_messages(cell, setup)
    limit = allowed * 2**20
    sizes = f"the {allowed:.1f} MiB that memory_limit = {cell.memory_limit} leaves for them"
    remedy = "raise it, or use fewer nodes or components, or a larger tol"
    trial = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    may_be_unprobed = exact or SumTraits.of(setup.protocol).modulus is not None
    message = f"the messages of a single run, with the {probes} that show what they depend on, take more than {sizes}"
    sums = with_active_adversary(setup, Probed(setup.protocol, probing=False))
    with at_most(limit if may_be_unprobed else limit / (1 + probes), TooLong(f"{message}; {remedy}")):
        run = build_model(trial, setup, sums).run(setup.sample_rows(1, rng), network=setup.network, rng=rng)
    iterations = cell.model.iterations + len(run.transcript.iterations) - 1
    fit = iterations * sum(block.payload.nbytes for block in run.transcript) * (1 + probes) <= limit
    return "" if fit or not may_be_unprobed else f"{message}: they are not read as linear functions of masks"
