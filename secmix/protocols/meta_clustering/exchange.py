"""SEC's exchange: what learners send each other of the functions they fitted (Meta clustering 2022, step 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.protocols.meta_clustering.candidates import Choice, coefficients, mse
from secmix.transcript import Channel

Exchange = Literal["models", "predictions"]
Learners = Sequence[tuple[Array, Array]]
"""(X (N_i, p), y (N_i,)) for each learner."""


@dataclass(frozen=True)
class ExchangeResult:
    """Losses and functions as they arrived in the exchange."""

    losses: Array  # (M, M): L_{i→j} in row i, column j, as j reported it; the diagonal is ê
    # learner -> (p + 1,): the coefficients and intercept that others hold of a learner whose function was sent
    # as these numbers
    linear: dict[int, Array]


def exchanged(
    chosen: Sequence[Choice],
    data: Learners,
    channel: Channel,
    *,
    exchange: Exchange = "models",
    encrypted: bool = False,
    n_jobs: int | None = None,
) -> ExchangeResult:
    """Let every learner compute the loss of every other's function on its own rows, and send it to all."""
    from sklearn.utils.parallel import Parallel, delayed  # joblib, loaded on use

    m = len(data)
    losses = np.diag([choice.error for choice in chosen])
    models = [choice.model for choice in chosen]
    flat = [coefficients(models[i], X) if exchange == "models" else None for i, (X, _) in enumerate(data)]
    linear = _coefficients({i: c for i, c in enumerate(flat) if c is not None}, m, channel, encrypted)
    others = [i for i in range(m) if i not in linear]
    asked = [X for X, _ in data]
    if exchange == "predictions":
        asked = [
            _to_all(channel, j, "query rows", X.ravel(), m, encrypted).reshape(X.shape) for j, X in enumerate(asked)
        ]
    else:
        for i in others:
            if (stored := kept_rows(models[i])) is not None:
                _to_all(channel, i, "rows of the model", stored.ravel(), m, encrypted)
    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    values: list[list[Array]] = pool(delayed(_values)(models[i], asked) for i in others)
    kind = "predictions" if exchange == "predictions" else "model values"
    for j, (X, y) in enumerate(data):
        for i, function in linear.items():
            if i != j:
                with np.errstate(all="ignore"):
                    losses[i, j] = mse(X @ function[:-1] + function[-1], y)
        senders = [i for i in others if i != j]
        if senders:
            payload = np.stack([values[others.index(i)][j][None] for i in senders])
            arrived = channel.send(1, senders, j, kind, payload, encrypted=encrypted)
            for i, got in zip(senders, arrived, strict=True):
                losses[i, j] = mse(got[0], y)
    return ExchangeResult(_announced(losses, channel, encrypted), linear)


def answers(
    models: Sequence[Any], result: ExchangeResult, points: Array, channel: Channel, *, encrypted: bool
) -> Array:
    """Evaluate each learner's function at ``points`` (P, p), (M, P); where it was sent, as it arrived.

    Any other function has to be asked: each sends its values at the points to all, kind "cluster predictions".
    """
    m = len(models)
    out = np.empty((m, len(points)))
    with np.errstate(all="ignore"):
        for i, function in result.linear.items():
            out[i] = points @ function[:-1] + function[-1]
    asked = [i for i in range(m) if i not in result.linear]
    if asked and m > 1:
        payload = np.stack([_values(models[i], [points])[0][None] for i in asked])
        sender, receiver = _all_pairs(asked, m)
        content = np.searchsorted(asked, sender)
        arrived = channel.send(
            3, sender, receiver, "cluster predictions", payload, encrypted=encrypted, content=content
        )
        out[asked] = arrived[:, 0]
    return out


def kept_rows(model: Any) -> Array | None:
    """Read (X, y) of the rows (N, p + 1) that a nearest-neighbour or Gaussian-process regressor keeps, else None.

    A message with such a model contains these rows. Support vectors, and the thresholds of a tree, are not read.
    """
    for names in (("_fit_X", "_y"), ("X_train_", "y_train_")):
        X, y = (getattr(model, name, None) for name in names)
        if isinstance(X, np.ndarray) and isinstance(y, np.ndarray) and len(X) == y.size:
            return np.column_stack([X, y.ravel()]).astype(np.float64)
    return None


def _values(model: Any, asked: Sequence[Array]) -> list[Array]:
    """Compute the function's values at each set of rows; NaN where the rows asked for are not finite."""
    return [
        np.asarray(model.predict(X), dtype=np.float64).reshape(-1) if np.isfinite(X).all() else np.full(len(X), np.nan)
        for X in asked
    ]


def _coefficients(flat: dict[int, Array], m: int, channel: Channel, encrypted: bool) -> dict[int, Array]:
    """Send all linear functions, each to all others at once, and return what arrives."""
    if not flat or m == 1:
        return flat
    senders = sorted(flat)
    sender, receiver = _all_pairs(senders, m)
    payload = np.stack([flat[i][None] for i in senders])
    content = np.searchsorted(senders, sender)
    arrived = channel.send(0, sender, receiver, "coefficients", payload, encrypted=encrypted, content=content)
    return {i: np.array(got[0]) for i, got in zip(senders, arrived, strict=True)}


def _announced(losses: Array, channel: Channel, encrypted: bool) -> Array:
    """Send L_{·→j} from every learner j to all others, its own ê_j among them: (M, M) as they arrive."""
    m = len(losses)
    if m == 1:
        return losses
    sender, receiver = _all_pairs(range(m), m)
    # An infinite loss is sent as it is.
    arrived = channel.send(2, sender, receiver, "losses", losses.T[:, None, :], encrypted=encrypted, content=sender)
    return np.array(arrived[:, 0, :].T)


def _to_all(channel: Channel, sender: int, kind: str, flat: Array, m: int, encrypted: bool) -> Array:
    """Send one message from ``sender`` to every other learner in the first round, and return what arrives."""
    receiver = [i for i in range(m) if i != sender]
    if not receiver:
        return flat
    content = np.zeros(len(receiver), dtype=np.intp)
    payload = flat[None, None]
    return np.array(channel.send(0, sender, receiver, kind, payload, encrypted=encrypted, content=content)[0, 0])


def _all_pairs(senders: Iterable[int], m: int) -> tuple[Ints, Ints]:
    pairs = np.array([(i, j) for i in senders for j in range(m) if i != j], dtype=np.intp)
    return pairs[:, 0], pairs[:, 1]
