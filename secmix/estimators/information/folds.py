"""One fold: critics fitted on training rows, chosen and stacked on validation rows, and asked about test rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from secmix.errors import DataError
from secmix.estimators.information import copula, kernel_cca, near_equality
from secmix.estimators.information.contrast import batches, contrasts, matrices, pseudo_values
from secmix.estimators.information.critic import Family, Rows, Score, UserCritic
from secmix.estimators.information.neighbours import fit_neighbours
from secmix.estimators.information.normal_scores import normal_scores
from secmix.estimators.information.stacking import MIXED, frugal_weights, stacked
from secmix.estimators.samples import Floats

_FEW_DIMENSIONS = 6  # up to which balls are counted in the scores themselves


class Verdict(NamedTuple):
    """Evidence of one fold's test rows."""

    # contrasts, pseudo_values: (n,) arrays: of every test row, in nats; zeros where the critics showed nothing in the
    # validation rows
    contrasts: Floats
    pseudo_values: Floats
    shares: dict[str, float]  # what each critic adds to a true pair over strangers, by name, in nats


class _Fitted(NamedTuple):
    score: Score  # to ask about test rows
    validation_scores: list[Floats]  # scores of the validation rows, batch by batch, from a fit without them
    choices: int = 1  # among how many the validation rows chose it


def judge_fold(
    train: Rows, validation: Rows, test: Rows, user: Sequence[UserCritic], rng: np.random.Generator
) -> Verdict:
    """Fit critics on ``train``, choose and weigh them on ``validation``, and return their contrasts in ``test``."""
    asked = batches(validation)
    critics: dict[str, _Fitted] = {}
    streams = rng.spawn(5 + len(user))

    def choose(family: Family, stream: np.random.Generator) -> None:
        variants = family.fit(train, validation, stream)
        if variants:
            name, ratios = _best(variants, asked)
            again = (
                family.fit(train.joined(validation), validation, stream)[name] if family.refitted else variants[name]
            )
            critics[family.name] = _Fitted(again, ratios, len(variants))

    choose(copula.FAMILY, streams[0])
    variates = kernel_cca.fit_variates(train, validation, streams[1])
    embeddings = normal_scores(train.x), normal_scores(train.y)
    if variates:
        scores = {name: kernel_cca.variates_score(each) for name, each in variates.items()}
        name, ratios = _best(scores, asked)
        critics[kernel_cca.NAME] = _Fitted(scores[name], ratios, len(scores) * kernel_cca.PAIRS)
        if train.x.shape[1] + train.y.shape[1] > _FEW_DIMENSIONS:
            embeddings = variates[name].of_x, variates[name].of_y
    choose(Family("neighbours", lambda rows, _, stream: fit_neighbours(rows, *embeddings, stream), True), streams[2])
    for family, stream in zip(near_equality.FAMILIES, streams[3:5], strict=True):
        choose(family, stream)
    for i, (critic, stream) in enumerate(zip(user, streams[5:], strict=True), 1):
        score = _checked(critic(train.x.copy(), train.y.copy(), stream), asked[0], i)
        critics[f"critic {i} of the caller"] = _Fitted(score, matrices(score, asked))
    return _judged(critics, test)


def _judged(critics: dict[str, _Fitted], test: Rows) -> Verdict:
    nothing = Verdict(np.zeros(len(test.x)), np.zeros(len(test.x)), {})
    if not critics:
        return nothing
    scored = _layers([fitted.validation_scores for fitted in critics.values()])
    weights = frugal_weights(scored, [fitted.choices for fitted in critics.values()])
    gain = np.concatenate([contrasts(scores, MIXED) for scores in stacked(weights, scored)]).mean()
    if gain <= 0 or not weights.any():
        return nothing
    carried = {name: float(weight) for name, weight in zip(critics, weights, strict=True) if weight}
    asked = batches(test)
    layers = _layers([matrices(critics[name].score, asked) for name in carried])
    parts = [pseudo_values(scores, MIXED) for scores in stacked(np.array(list(carried.values())), layers)]
    shares = {
        name: weight * float(np.mean([np.diag(part[i]).mean() - part[i].mean() for part in layers]))
        for i, (name, weight) in enumerate(carried.items())
    }
    return Verdict(np.concatenate([c for c, _ in parts]), np.concatenate([p for _, p in parts]), shares)


def _best(variants: dict[str, Score], asked: list[Rows]) -> tuple[str, list[Floats]]:
    """Return the variant with the largest mean contrast, and its scores."""
    scores = {name: matrices(score, asked) for name, score in variants.items()}
    means = {name: np.concatenate([contrasts(part) for part in parts]).mean() for name, parts in scores.items()}
    best = max(means, key=means.__getitem__)
    return best, scores[best]


def _layers(scores: list[list[Floats]]) -> list[Floats]:
    """Stack scores of m critics, batch by batch: from m lists of (b, b) to one list of (m, b, b)."""
    return [np.stack(parts) for parts in zip(*scores, strict=True)]


def _checked(score: Score, rows: Rows, i: int) -> Score:
    """Check a caller's score: refuse what is no matrix of finite numbers, or looks at more than the pair it scores."""

    def checked(x: Floats, y: Floats) -> Floats:
        scores = np.asarray(score(x.copy(), y.copy()), dtype=np.float64)
        if scores.shape != (len(x), len(y)) or not np.isfinite(scores).all():
            raise DataError(
                f"critic {i} of the caller scored {len(x)} rows of x and {len(y)} of y with an array of shape "
                f"{scores.shape}; it must be finite numbers ({len(x)}, {len(y)}), every x_i with every y_j"
            )
        return scores

    full, half = checked(rows.x, rows.y), len(rows.x) // 2
    part = checked(rows.x[:half], rows.y[half:])
    if not np.allclose(part, full[:half, half:], rtol=1e-6, atol=1e-6 * max(1.0, float(np.abs(full).max()))):
        raise DataError(
            f"critic {i} of the caller scores a pair differently among other rows; the bound holds only where the "
            "score of (x_i, y_j) depends on x_i and y_j alone: fit scales and the like on the training rows"
        )
    return checked
