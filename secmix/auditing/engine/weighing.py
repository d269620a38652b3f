"""Check whether a cell's messages fit into memory, without sending all of them."""

from __future__ import annotations

import numpy as np

from secmix._base.random import stream
from secmix.auditing.observation.observe import with_active_adversary
from secmix.auditing.setup import SumSetup, build_model
from secmix.estimators.exact.linear import Probed
from secmix.scenario import Scenario
from secmix.transcript import at_most


def weigh(cell: Scenario, setup: SumSetup) -> None:
    """Run the first iteration once, without the probes that may outnumber runs by thousands, and stop when it is clear.

    Raises
    ------
    SecmixError
        If the messages of one run and its probes would not fit into the scenario's ``memory_limit``.
    """
    rng = stream(cell.seed, "trial run")
    d = setup.rows.shape[1]
    entries = cell.model.components * (1 + d + d * (d + 1) // 2)
    masks = np.shape(setup.protocol.draw_masks(1, entries, setup.network, rng))
    probes = -(-(setup.network.n + (masks[1] if len(masks) == 3 else 0)) // entries)
    message = (
        f"the messages of a single run, with the {probes} that show what they depend on, take more than the "
        f"{cell.message_limit:.1f} MiB that memory_limit = {cell.memory_limit} leaves for them; raise it, or use fewer "
        "nodes or components, or a larger tol"
    )
    trial = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    with at_most(cell.message_limit * 2**20 / (1 + probes), message):
        sums = with_active_adversary(setup, Probed(setup.protocol, probing=False))
        build_model(trial, setup, sums).run(setup.sample_rows(1, rng), network=setup.network, rng=rng)
