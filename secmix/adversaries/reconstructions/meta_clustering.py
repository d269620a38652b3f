"""SEC's messages solved for a learner's rows: functions that hold rows, rows sent in the clear, losses solved for y."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.protocols.meta_clustering.select_exchange_cluster import SelectExchangeCluster

_EXACT = 1e-16  # a fitted MSE below this share of the function's square says that it runs through every row
_FITS = 1e-9


def reconstruct_models(known: KnownMessages) -> Reconstruction | None:
    """Recover rows of a learner, or an equation on each of them, from what it sends in SEC.

    - A nearest-neighbour or Gaussian-process model is its rows.
    - A linear function whose fitted error, which the losses show, is 0 runs through every row:
      y = coef · x + intercept.
    - With ``exchange="predictions"`` the learner's X are sent as they are. Each loss L_i = mean((p_i − y)²) that it
      tells, of predictions p_i which the adversary knows, is then linear in y and y · y: enough of them give y too.
    - The values of a fully grown tree are values of y.
    """
    if not isinstance(known.protocol, SelectExchangeCluster):
        return None
    if stored := known.sent_by(known.node, "rows of the model"):
        rows = stored[0][1].reshape(-1, known.d)
        return Reconstruction(rows, True, "the model that it sent is made of its rows")
    if asked := known.sent_by(known.node, "query rows"):
        return _from_queries(known, asked[0][1].reshape(-1, known.d - 1))
    fitted = _fitted_error(known)
    if coefficients := known.sent_by(known.node, "coefficients"):
        return _interpolating(coefficients[0][1], fitted)
    if values := known.sent_by(known.node, "model values"):
        return _leaves(known, np.concatenate([row for _, row in values]), fitted)
    return None


def _losses(known: KnownMessages) -> Array | None:
    """Read L_{i→node} for each learner i, its own ê among them."""
    sent = known.sent_by(known.node, "losses")
    return sent[0][1] if sent else None


def _fitted_error(known: KnownMessages) -> float:
    losses = _losses(known)
    return float("inf") if losses is None else float(losses[known.node])


def _interpolating(flat: Array, fitted: float) -> Reconstruction:
    if not fitted <= _EXACT * float(flat @ flat):
        how = "its function does not run through its rows: its coefficients alone tell no row"
        return Reconstruction(None, False, how)
    normals = np.append(flat[:-1], -1.0)[None]
    how = "its linear function has no error on its own rows, so that y follows from x in each of them"
    return Reconstruction(None, True, how, normals, -flat[-1:])


def _leaves(known: KnownMessages, values: Array, fitted: float) -> Reconstruction | None:
    if set(known.protocol.candidates) != {"tree"} or fitted > 0:
        return None
    targets = np.unique(values)
    rows = np.full((len(targets), known.d), np.nan)
    rows[:, -1] = targets
    return Reconstruction(rows, True, "its tree has no error on its own rows, so that the values it takes are its y")


def _from_queries(known: KnownMessages, X: Array) -> Reconstruction:
    y = _solved(X, *_about_y(known, X))
    if y is None:
        rows = np.column_stack([X, np.full(len(X), np.nan)])
        return Reconstruction(rows, True, "it sends its X to every learner that is to predict for it; y is not known")
    how = "it sends its X to every learner that is to predict for it, and the losses that it tells were solved for y"
    return Reconstruction(np.column_stack([X, y]), True, how)


def _about_y(known: KnownMessages, X: Array) -> tuple[Array, Array]:
    """Collect the equations A (y, y · y) = b."""
    losses, n = _losses(known), len(X)
    if losses is None:
        return np.empty((0, n + 1)), np.empty(0)
    predicted = {o.sender: row for o, row in known.messages if o.kind == "predictions" and known.node in o.receivers}
    own = _own_function(known)
    if own is not None:
        predicted[known.node] = X @ own[:-1] + own[-1]
    with np.errstate(all="ignore"):
        table = [np.append(2 * p, -1.0) for p in predicted.values()]
        right = [float(p @ p - n * losses[i]) for i, p in predicted.items()]
    if own is not None and tuple(known.protocol.candidates) == ("ols",):
        # What least squares leave over is orthogonal to all columns and to 1.
        design = np.column_stack([X, np.ones(n)])
        table += [np.append(column, 0.0) for column in design.T]
        right += (design.T @ predicted[known.node]).tolist()
    A, b = np.array(table).reshape(-1, n + 1), np.array(right)
    usable = np.isfinite(A).all(axis=1) & np.isfinite(b)
    return A[usable], b[usable]


def _own_function(known: KnownMessages) -> Array | None:
    """Fit the learner's (coef, intercept), if its predictions at the rows of others are linear in them."""
    sent = [(o.receivers[0], row) for o, row in known.sent_by(known.node, "predictions")]
    asked = {j: known.sent_by(j, "query rows") for j, _ in sent}
    pairs = [(asked[j][0][1].reshape(-1, known.d - 1), row) for j, row in sent if asked[j]]
    if not pairs:
        return None
    X, values = np.concatenate([X for X, _ in pairs]), np.concatenate([row for _, row in pairs])
    design = np.column_stack([X, np.ones(len(X))])
    flat, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    if len(design) <= known.d or rank < known.d or np.abs(design @ flat - values).max() > _FITS * np.abs(values).max():
        return None
    return np.asarray(flat)


def _solved(X: Array, A: Array, b: Array) -> Array | None:
    """Solve for y, if the equations determine it, agree, and bear out y · y."""
    n = len(X)
    if len(A) < n + 1:
        return None
    scale = np.linalg.norm(A, axis=1)
    A, b = A / scale[:, None], b / scale
    solution, _, rank, strength = np.linalg.lstsq(A, b, rcond=None)
    y, square = solution[:-1], float(solution[-1])
    if rank < n + 1 or strength[-1] < _FITS * strength[0]:
        return None
    agrees = abs(float(y @ y) - square) <= 1e-6 * max(abs(square), 1e-300)
    return np.asarray(y) if agrees and np.abs(A @ solution - b).max() <= 1e-8 * np.abs(b).max() else None
