"""SEC's step at one learner: choose among candidate regressors, refit the best (Meta clustering 2022, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError


class CandidateFailed(UserWarning):
    """A candidate regressor could not be fitted, or predicted nonsense, at some learner; it was passed over there."""


@dataclass(frozen=True)
class Choice:
    """The choice of a learner among the candidates."""

    selected: int  # which candidate
    model: Any  # the candidate refitted on all rows
    error: float  # ê, its MSE on those rows
    # (C,): MSE of each candidate on the second half of the rows; NaN where it failed, or where there was but one
    scores: Array
    failures: tuple[str, ...]  # what went wrong with candidates, in words


def choose(learner: int, X: Array, y: Array, candidates: Sequence[Any], seed: int) -> Choice:
    """Choose a candidate by half-half cross-validation, and refit it on all rows.

    Each candidate is fitted once, on the first half; a single one needs no choice and is fitted on all rows only. The
    halves follow from ``seed`` and the number of rows, so that a learner's place in the list changes nothing. Raises
    DataError if there are too few rows to halve, or no candidate can be fitted.
    """
    scores = np.full(len(candidates), np.nan)
    failures: list[str] = []
    order = [0]
    if len(candidates) > 1:
        if len(y) < 2:
            raise DataError(
                f"learner {learner} holds {len(y)} row, fewer than the 2 folds that choosing among {len(candidates)} "
                "candidates takes; give it more rows, or one candidate"
            )
        shuffled = np.random.default_rng(seed).permutation(len(y))
        train, test = np.sort(shuffled[: (len(y) + 1) // 2]), np.sort(shuffled[(len(y) + 1) // 2 :])
        for c, candidate in enumerate(candidates):
            try:
                scores[c] = mse(predicted(fitted(candidate, X[train], y[train], seed), X[test]), y[test])
            except Exception as error:  # whatever a user's own regressor raises
                failures.append(_sentence(c, candidate, learner, f"half of its {len(y)} rows", error))
        order = [int(c) for c in np.argsort(scores, kind="stable") if not np.isnan(scores[c])]
    for c in order:
        try:
            model = fitted(candidates[c], X, y, seed)
            return Choice(c, model, mse(predicted(model, X), y), scores, tuple(failures))
        except Exception as problem:
            failures.append(_sentence(c, candidates[c], learner, f"its {len(y)} rows", problem))
    raise DataError(f"no candidate could be fitted at learner {learner}: " + "; ".join(failures))


def fitted(candidate: Any, X: Array, y: Array, seed: int) -> Any:
    """Fit a copy of ``candidate``; what randomness it left open is seeded, the same at all learners."""
    from sklearn.base import clone

    model = clone(candidate, safe=False)
    if hasattr(model, "get_params"):
        names = [k for k, v in model.get_params().items() if k.split("__")[-1] == "random_state" and v is None]
        if names:
            model.set_params(**dict.fromkeys(names, seed))
    model.fit(X, y)
    return model


def predicted(model: Any, X: Array) -> Array:
    """Predict for rows (N, p): N finite numbers, or a DataError."""
    values = np.asarray(model.predict(X), dtype=np.float64)
    if values.size != len(X):
        raise DataError(f"it predicts an array of shape {values.shape} for {len(X)} rows")
    if not np.isfinite(values).all():
        raise DataError("it predicts values that are not finite")
    return values.reshape(-1)


def mse(predictions: Array, y: Array) -> float:
    """Compute the mean squared error; infinite where the predictions are not finite, or too large to square."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((predictions - y) ** 2))
    return error if np.isfinite(error) else float("inf")


def coefficients(model: Any, X: Array) -> Array | None:
    """Read (coef, intercept) as (p + 1,) where the model predicts X coef + intercept, as linear ones do; else None."""
    coef, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if coef is None or intercept is None or hasattr(coef, "toarray"):
        return None
    try:
        flat = np.concatenate([np.ravel(coef), np.ravel(intercept)]).astype(np.float64)
    except (TypeError, ValueError):
        return None
    if flat.size != X.shape[1] + 1:
        return None
    # A link function, or an inner transformation, shows on the learner's own rows.
    straight, real = X @ flat[:-1] + flat[-1], predicted(model, X)
    return flat if np.allclose(straight, real, rtol=1e-8, atol=1e-10 * max(1.0, float(np.abs(real).max()))) else None


def _sentence(c: int, candidate: Any, learner: int, rows: str, error: Exception) -> str:
    # The error's own text may quote private values: only its first line, cut short.
    message = str(error).strip().splitlines()[0][:160] if str(error).strip() else "no message"
    name = type(candidate).__name__
    return f"candidate {c} ({name}) failed at learner {learner} on {rows}: {type(error).__name__}: {message}"


def learners(parts: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[tuple[Array, Array]]:
    """Convert the parts to (X (N_i, p), y (N_i,)) of float64; a DataError says what is wrong with them."""
    if not len(parts):
        raise DataError("there are no parts; give (X, y) for each learner")
    data = []
    for i, part in enumerate(parts):
        if not isinstance(part, (tuple, list)) or len(part) != 2:
            raise DataError(f"part {i} must be a pair (X, y)")
        X = finite_array(part[0], f"X of learner {i}", ndim=2)
        y = finite_array(part[1], f"y of learner {i}", ndim=1)
        if len(X) != len(y):
            raise DataError(f"learner {i} has {len(X)} rows in X and {len(y)} in y; they must be as many")
        data.append((X, y))
    widths = {X.shape[1] for X, _ in data}
    if len(widths) > 1:
        raise DataError(f"learners have different numbers of columns: {sorted(widths)}; a model must apply to all")
    return data
