"""Exact evidence where nodes hold unequally many rows: a sum tells more of those that hold most."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.observation.reading import Reading
from secmix.auditing.setup import SumSetup
from secmix.estimators.unequal import Share, explained

NOTE = (
    "nodes hold unequally many rows, or rows of their own: the covariance of their inputs was measured on the runs, "
    "with a 99 % interval"
)


def are_unequal(setup: SumSetup) -> bool:
    """Say whether honest nodes are not exchangeable: they hold other numbers of rows, or rows of their own groups."""
    if setup.groups is not None:
        return True
    if len({*setup.counts}) == 1:  # asked of each node: without a look at each node
        return False
    return len({count for i, count in enumerate(setup.counts) if i not in setup.corrupt}) > 1


def share_known(observation: SumObservation, node: int, *, masks: bool, cumulative: bool) -> Share:
    """Return the largest share of the node's input that a reading explains, behind infinite masks or real ones."""
    shares = [Share(0.0, 0.0, 0.0)]
    for of, reading in observation.all_readings:
        if len(of) == 1 or cumulative:
            vectors = np.concatenate([observation.inputs[t] for t in of])
            seen, noise = _seen(reading, observation.mask_size) if masks else _known(reading)
            n = len(observation.inputs[of[0]])
            shares += [
                explained(vectors, seen, noise, node + n * place, rng=stream(node, "soundness", "bootstrap", place))
                for place in range(len(of))
            ]
    return max(shares, key=lambda share: share.value)


def output_share(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Return what total and corrupt inputs alone explain of the node's input, in the worst entry and iteration."""
    n = setup.network.n
    honest = np.array([float(i not in setup.corrupt) for i in range(n)])
    seen = np.vstack([honest, np.eye(n)[sorted(setup.corrupt)]])
    return max(
        explained(vectors, seen, np.zeros(len(seen)), node, rng=np.random.default_rng(0)).value
        for vectors in observation.inputs.values()
    )


def _known(reading: Reading) -> tuple[Array, Array]:
    return reading.subspace.basis, np.zeros(reading.subspace.rank)


def _seen(reading: Reading, mask_size: float) -> tuple[Array, Array]:
    """Return what is known exactly, then what is read under whitened masks, with the variance of those."""
    view = reading.gaussian
    noise = np.concatenate([np.zeros(view.known.shape[1]), np.full(len(view.noisy), mask_size**2)])
    return np.vstack([view.known.T, view.noisy]), noise
