"""Privacy and accuracy against the size of the masks."""

from __future__ import annotations

import dataclasses

import numpy as np

from secmix._base.random import stream
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import SigmaPoint
from secmix.auditing.setup import SumSetup
from secmix.errors import NotConverged, SecmixError
from secmix.estimators.estimate import normalised
from secmix.estimators.exact.gaussian import GaussianView
from secmix.estimators.exact.linear import Probed, read_off
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits, without_average
from secmix.transcript import Channel

_RUNS = 8


def sigma_curve(case: CellContext) -> list[SigmaPoint]:
    """Return exact Gaussian leakage and float64 error of one averaging at each mask size of the scenario.

    Empty for a protocol without masks of a variable size or with seeds in place of masks, and where a message is no
    vector of what is summed: what such a one tells at other sizes is not known.
    """
    cell, setup, observation = case.cell, case.setup, case.observation
    if not isinstance(setup, SumSetup) or not isinstance(observation, SumObservation):
        return []
    if not _has_sigma(setup.protocol):
        return []
    first = max(min(observation.iterations), 0)
    inputs = observation.inputs[first][:, :_RUNS].transpose(1, 0, 2)
    spread = float(observation.inputs[first].std(axis=(0, 1)).max())
    points = []
    for sigma in sorted(cell.measure.sigmas):
        try:
            points.append(_point(setup, sigma, inputs, spread, stream(cell.seed, "mask sizes", repr(sigma))))
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


def _point(setup: SumSetup, sigma: float, inputs: np.ndarray, spread: float, rng: np.random.Generator) -> SigmaPoint:
    try:
        protocol: SumProtocol = dataclasses.replace(setup.protocol, sigma=sigma)  # type: ignore[type-var]
    except TypeError:  # a subclass is made otherwise
        raise _NoCurve from None
    probed, channel = Probed(protocol), Channel()
    averages, _ = probed.average(inputs, setup.network, rng, channel=channel)
    view = setup.adversary.observe(channel.transcript, setup.network)
    if probed.draws_seeds or any(row.shape[1] != inputs.shape[2] for row in view.rows):
        raise _NoCurve
    masks = probed.recorded[0][1].shape[1]
    linear = read_off(view, [0], runs=len(inputs), masks=masks, network=setup.network, protocol=protocol)
    reading = GaussianView.of(linear.equilibrated())
    leaks = [normalised(reading.information(i, sigma / spread), 1) for i in setup.asked] if spread else []
    living = ~without_average(averages)
    if not living.any():
        raise SecmixError("no node has an average")
    off = np.abs(averages[:, living] - inputs[:, living].mean(axis=1, keepdims=True)).max()
    unsettled = [leak for leak in leaks if leak < 1.0]
    return SigmaPoint(
        sigma=sigma,
        normalised_leakage=max(unsettled, default=max(leaks, default=0.0)),
        error=float(off / np.abs(inputs).max()),
    )
