"""Faults before the noise: what is clipped, by which norm, and when."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.privacy import clip, gaussian

from .bases import CLIP, DELTA, ROUNDS, Histogram, Means, Moments, Regression, Rng, Twins, Updates, noise_for

ROW = {"epsilon": 4.0, "delta": DELTA, "unit": "row"}
SCALE = noise_for(4.0, 2 * CLIP, ROUNDS)


class Centred(Means):
    """Centres its rows by their own mean before they are clipped."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return super().contributions(rows - rows.mean(axis=0), theta)


class CentredInPublic(Means):
    """Centres its rows by a point that everybody knows."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return super().contributions(rows - np.full(rows.shape[1], 0.1), theta)


class SelfNormalised(Regression):
    """Weights rows by their errors, over the sum of all weights of the node."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        weights = np.abs(rows[:, :-1] @ theta - rows[:, -1])
        return len(rows) * super().contributions(rows, theta) * (weights / (1e-9 + weights.sum()))[:, None]


class WeightedByRow(Regression):
    """Weights each row by its own error (Huber 1964)."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        errors = np.abs(rows[:, :-1] @ theta - rows[:, -1])
        return np.asarray(super().contributions(rows, theta) * np.minimum(1.0, 1 / (1e-9 + errors))[:, None])


class Standardised(Regression):
    """Standardises its rows by their own spread, as a pipeline does."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return super().contributions(rows / (1e-6 + rows.std(axis=0)), theta)


class ScaledInPublic(Regression):
    """Scales its rows by units that everybody knows."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return super().contributions(rows / 2.0, theta)


class MedianNorm(Regression):
    """Clips to the median norm of the node's own gradients (Andrew et al. 2021, without the noise on it)."""

    def clipped(self, contributions: Array) -> Array:
        return clip(contributions, float(1e-6 + np.median(np.linalg.norm(contributions, axis=1))), axis=-1)


class ClipAfterNoise(Updates):
    """Clips the update once it is noisy, so that no message is too large."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = self.contributions(rows, theta).mean(axis=0)
        return clip(gaussian(update, self.scale, rng), CLIP)


class EuclideanForLaplace(Histogram):
    """Clips in Euclidean norm, and adds Laplace noise for that."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return rows

    def clipped(self, contributions: Array) -> Array:
        return clip(contributions, CLIP, axis=-1)


class LaplaceOfRows(Histogram):
    """Clips rows in L1 norm."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return rows


class WeightAfterClip(Regression):
    """Clips, and weights what comes of it by the number of rows to make nodes count alike."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        total = self.clipped(self.contributions(rows, theta)).sum(axis=0)
        return gaussian(total * 3.0, self.scale, rng)


class RowsClippedForMoments(Moments):
    """Clips rows to 2 and takes 2, not 2², for the norm of x xᵀ."""

    def contributions(self, rows: Array, theta: Array) -> Array:
        return super().contributions(clip(rows, 2 * CLIP, axis=-1), theta)

    def clipped(self, contributions: Array) -> Array:
        return contributions


class MomentsClipped(Moments):
    """Clips x xᵀ itself."""

    def clipped(self, contributions: Array) -> Array:
        return clip(contributions, 2 * CLIP, axis=-1)


class ClipByLayer(Regression):
    """Clips every weight's gradient to the norm by itself, and counts the norm once."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        gradients = self.contributions(rows, theta)
        layers = [clip(gradients[:, [k]], CLIP, axis=-1).sum(axis=0) for k in range(gradients.shape[1])]
        return np.concatenate([gaussian(layer, self.scale, rng) for layer in layers])


class ScaleOfTheData(Updates):
    """Adds noise in proportion to the update, so that the signal stays above it."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        update = self.contributions(rows, theta).mean(axis=0)
        return gaussian(clip(update, CLIP), self.scale * float(min(1.0, np.linalg.norm(update))), rng)


class MeanOfKept(Regression):
    """Drops outliers before it clips, and divides by how many rows are left."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        gradients = self.contributions(rows, theta)
        size = np.linalg.norm(gradients, axis=1)
        kept = gradients[size <= 3 * np.median(size)]
        return gaussian(clip(kept, CLIP, axis=-1).mean(axis=0), self.scale / len(rows), rng)


class MeanOfAll(Regression):
    """Divides the sum of all clipped gradients by a public number of rows."""

    def message(self, rows: Array, theta: Array, t: int, node: int, rng: Rng) -> Array:
        return gaussian(self.clipped(self.contributions(rows, theta)).mean(axis=0), self.scale / len(rows), rng)


_NODE = {"epsilon": 4.0, "delta": DELTA, "unit": "node"}
_LAPLACE = 2 * CLIP * ROUNDS / 2.0
_MOMENTS = noise_for(4.0, 4 * CLIP)
TWINS = [
    Twins("centred by the data before the clip", lambda: Centred(SCALE), lambda: CentredInPublic(SCALE), ROW),
    Twins("reweighted by the data before the clip", lambda: SelfNormalised(SCALE), lambda: WeightedByRow(SCALE), ROW),
    Twins("scaled by the data before the clip", lambda: Standardised(SCALE), lambda: ScaledInPublic(SCALE), ROW),
    Twins("clip norm from the data", lambda: MedianNorm(SCALE), lambda: Regression(SCALE), ROW),
    Twins("clip after noise", lambda: ClipAfterNoise(SCALE), lambda: Updates(SCALE), _NODE),
    Twins("L2 clip under Laplace", lambda: EuclideanForLaplace(_LAPLACE), lambda: LaplaceOfRows(_LAPLACE),
          {"epsilon": 2.0, "unit": "row"}),
    Twins("a weight after the clip", lambda: WeightAfterClip(SCALE), lambda: Regression(SCALE), ROW),
    Twins("the norm of rows for that of their moments", lambda: RowsClippedForMoments(_MOMENTS, rounds=1),
          lambda: MomentsClipped(_MOMENTS, rounds=1), ROW),
    Twins("the norm of one layer for that of all", lambda: ClipByLayer(SCALE), lambda: Regression(SCALE), ROW),
    Twins("noise in proportion to the data", lambda: ScaleOfTheData(SCALE), lambda: Updates(SCALE), _NODE),
    Twins("divided by how many rows are kept", lambda: MeanOfKept(SCALE), lambda: MeanOfAll(SCALE), ROW),
]  # fmt: skip
