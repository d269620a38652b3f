"""Privacy and accuracy against the size of the masks."""

from __future__ import annotations

import dataclasses

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.cell_parts import SigmaPoint
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.setup import SumSetup
from secmix.errors import NotConverged, SecmixError
from secmix.estimators.estimate import normalised
from secmix.estimators.exact.leakage import GaussianView
from secmix.estimators.exact.linear import LinearView, Probed, read_off
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits, without_average
from secmix.transcript import Channel

_RUNS = 8


def sigma_curve(case: CellContext) -> list[SigmaPoint]:
    """Return exact Gaussian leakage and float64 error of one averaging at each mask size of the scenario.

    Empty for a protocol without masks of a variable size or with seeds in place of masks, where a message is no vector
    of what is summed, so that what it tells at other sizes is not known, and where probes do not fit into the memory.
    """
    cell, setup, observation = case.cell, case.setup, case.observation
    if not isinstance(setup, SumSetup) or not isinstance(observation, SumObservation):
        return []
    if not _has_sigma(setup.protocol) or setup.unprobed:
        return []
    first = max(min(observation.iterations), 0)
    inputs = observation.inputs[first][:, :_RUNS].transpose(1, 0, 2)
    spread = float(observation.inputs[first].std(axis=(0, 1)).max())
    points = []
    reduced: _Reduced | None = None
    for sigma in sorted(cell.measure.sigmas):
        rng = stream(cell.seed, "mask sizes", repr(sigma))
        try:
            linear, error = _read_at(setup, sigma, inputs, rng)
            reduced = _Reduced.of(linear, reduced)
            leakage = _leakage(setup, reduced, sigma, spread)
            points.append(SigmaPoint(sigma=sigma, normalised_leakage=leakage, error=error))
        except NotConverged:
            continue  # the size is out of the protocol's reach: no point, rather than a wrong one
        except _NoCurve:
            return []
    return points


class _NoCurve(Exception):
    """A message has another length than what is summed, seeds are drawn, or the size of masks cannot be set."""


def _has_sigma(protocol: SumProtocol) -> bool:
    if SumTraits.of(protocol).modulus is not None or not dataclasses.is_dataclass(protocol):
        return False
    return "sigma" in {field.name for field in dataclasses.fields(protocol)}


def _read_at(setup: SumSetup, sigma: float, inputs: Array, rng: np.random.Generator) -> tuple[LinearView, float]:
    """Average once with masks of size ``sigma``; return what the adversary reads, and how far off the averages are."""
    try:
        protocol: SumProtocol = dataclasses.replace(setup.protocol, sigma=sigma)  # type: ignore[type-var]
    except TypeError:  # a subclass is made otherwise
        raise _NoCurve from None
    probed, channel = Probed(protocol), Channel()
    averages, _ = probed.average(inputs, setup.network, rng, channel=channel)
    view = setup.adversary.observe(channel.transcript, setup.network)
    if probed.draws_seeds or any(row.shape[1] != inputs.shape[2] for row in view.rows):
        raise _NoCurve
    living = ~without_average(averages)
    if not living.any():
        raise SecmixError("no node has an average")
    off = np.abs(averages[:, living] - inputs[:, living].mean(axis=1, keepdims=True)).max()
    masks = probed.recorded[0][1].shape[1]
    linear = read_off(view, [0], runs=len(inputs), masks=masks, network=setup.network, protocol=protocol)
    return linear.equilibrated(), float(off / np.abs(inputs).max())


@dataclasses.dataclass(frozen=True)
class _Reduced:
    """Rows of a view and as few with the same inner products, on which alone the information in them hangs."""

    rows: Array  # (F, k + n): coefficients of masks, and then of inputs
    triangle: Array  # (at most k + n, k + n)
    gaussian: GaussianView

    @classmethod
    def of(cls, linear: LinearView, before: _Reduced | None) -> _Reduced:
        """Reduce a view; where it begins with the rows of the one ``before``, only what follows is taken in.

        Larger masks take more rounds, which begin as those of smaller ones do.
        """
        rows = np.hstack([linear.spread, linear.A])
        count = 0
        if before is not None and np.array_equal(rows[: len(before.rows)], before.rows):
            count = len(before.rows)
            if count == len(rows):
                return before
        stacked = np.concatenate([before.triangle, rows[count:]]) if before is not None and count else rows
        triangle = np.asarray(np.linalg.qr(stacked, mode="r")) if len(stacked) > stacked.shape[1] else stacked
        masks = linear.M.shape[1]
        return cls(rows, triangle, GaussianView.of(LinearView(triangle[:, masks:], triangle[:, :masks], linear.n)))


def _leakage(setup: SumSetup, reduced: _Reduced, sigma: float, spread: float) -> float:
    """Return the largest known share of a node that is not known in full; 1 if there is no such node."""
    leaks = [normalised(reduced.gaussian.information(i, sigma / spread), 1) for i in setup.asked] if spread else []
    return max((leak for leak in leaks if leak < 1.0), default=max(leaks, default=0.0))
