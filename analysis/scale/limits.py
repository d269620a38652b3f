"""The least work that an audit of a sum could do: read its messages once, and solve what the adversary reads once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from secmix._base.random import stream
from secmix.auditing.evidence.interface import is_exact
from secmix.auditing.observation.memory import block_size, exact_runs, planned_runs, too_large_to_probe, too_wide
from secmix.auditing.setup import SumSetup, build_model, build_setup
from secmix.scenario import Scenario

_DOUBLES = 2**23  # 64 MiB, more than a processor keeps beside it
_SIDE = 1024  # of the matrices multiplied: large enough that the multiplications are all that counts


def limits(cell: Scenario) -> dict[str, Any]:
    """Count the messages of one scenario's runs, and the equations that its adversary gets for one entry of a sum.

    One run of one iteration is made, and its messages are counted.

    Returns
    -------
    dict
        ``runs`` that are made, ``bytes`` of the messages of all of them, ``equations`` (messages of one averaging that
        the adversary reads) and ``unknowns`` in them (inputs of honest nodes, and masks).

    Raises
    ------
    SecmixError
        If the parts do not fit each other, or the scenario is of a collaboration.
    """
    setup = build_setup(cell)
    if not isinstance(setup, SumSetup):
        raise TypeError(f"[protocol] name = '{cell.protocol.name}' sums nothing; measure a protocol that sums")
    rng = stream(cell.seed, "trial run")
    trial = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    transcript = (
        build_model(trial, setup, setup.protocol)
        .run(setup.sample_rows(1, rng), network=setup.network, rng=rng)
        .transcript
    )
    setup = replace(setup, too_wide=too_wide(cell, setup))
    setup = replace(setup, unprobed=too_large_to_probe(cell, setup, exact=is_exact(cell, setup)))
    runs, _ = planned_runs(cell, setup)
    if is_exact(cell, setup) and not setup.too_wide:
        runs = min(runs, exact_runs(block_size(cell, setup)))
    masks = np.shape(setup.protocol.draw_masks(1, 1, setup.network, rng))
    return {
        "runs": runs,
        "bytes": sum(b.payload.nbytes for b in transcript if b.line != "held") * cell.model.iterations * runs,
        "equations": len(setup.adversary.observe(transcript, setup.network)),
        "unknowns": setup.network.n - len(setup.corrupt) + masks[1],
    }


def speeds() -> dict[str, float]:
    """Measure what one core reads and multiplies in a second of processor time, the best of five tries each."""
    rng = np.random.default_rng(0)
    numbers, matrix = rng.random(_DOUBLES), rng.random((_SIDE, _SIDE))
    with threadpool_limits(1):
        reading = min(_seconds(numbers.sum) for _ in range(5))
        multiplying = min(_seconds(lambda: matrix @ matrix) for _ in range(5))
    return {"bytes": numbers.nbytes / reading, "multiplications": _SIDE**3 / multiplying}


def floor(least: dict[str, Any], speed: dict[str, float]) -> float:
    """Compute the seconds of the least work: all bytes read once, one entry's equations eliminated once, densely."""
    equations, unknowns = least["equations"], least["unknowns"]
    multiplications = equations * unknowns * min(equations, unknowns)
    return float(least["bytes"] / speed["bytes"] + multiplications / speed["multiplications"])


def _seconds(work: Any) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
