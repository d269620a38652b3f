"""Subspaces in which all rows of a node lie, from the basis or the products that it sends.

Singh 2024, algorithm 1, has a node send the top r eigenvectors of its covariance. A node with q <= r rows has only q
directions to send, and sends them all: its rows lie in the span of these, exactly.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction

_DIRECTION = 1e-7  # of the largest singular value: those above are directions
_ROUNDING = 1e-11  # those below are rounding; between the two nothing is claimed


def reconstruct_basis(known: KnownMessages) -> Reconstruction | None:
    """Derive exact equations on every row of a node, from its messages of kind "basis" or "product".

    *Basis.* The right singular vectors of q <= r rows are the first q columns of what is sent, whatever fills up the
    others. Every row x has N x = 0, N a basis of their complement: n − q equations (n − r where q = r), so that the
    share (n − q)/n of its dimensions is known. A single row is known up to its length and sign.

    *Products.* Every column of Φ U = Dᵀ D U/q (D the rows) lies in the span of the rows. Once the products of all
    rounds have q independent columns they span it, with as many equations; this can happen with more rows than r.

    Returns
    -------
    Reconstruction or None
        Without ``rows``: in their span they may lie anywhere. None where there is no such message, where the node has
        too many rows, where the subspace is the whole space, or where rounding hides how many columns are independent:
        then no equation is claimed; something may have leaked all the same.

    Examples
    --------
    >>> from secmix.network import Network
    >>> from secmix.protocols import FederatedPCA
    >>> from secmix.transcript import Origin
    >>> message = Origin(0, 0, "basis", "plain", 0, (-1,)), np.array([0.6, 0.8, 0.0])
    >>> rng = np.random.default_rng(0)
    >>> exact = reconstruct_basis(KnownMessages(0, (message,), 1, 3, FederatedPCA(1), Network.complete(2), rng))
    >>> bool(np.abs(exact.normals @ [3.0, 4.0, 0.0]).max() < 1e-12), len(exact.normals)
    (True, 2)
    """
    r = getattr(known.protocol, "r", None)
    if not isinstance(r, int) or known.count >= known.d:
        return None
    bases = [values for _, values in known.sent_by(known.node, "basis")]
    products = [values for _, values in known.sent_by(known.node, "product")]
    columns, how = None, ""
    if bases and known.count <= r and bases[0].size == known.d * r:
        columns, how = (
            bases[0].reshape(known.d, r)[:, : known.count],
            f"the first {known.count} of the columns that it sent",
        )
    elif products and all(values.size == known.d * r for values in products):
        columns, how = np.hstack([values.reshape(known.d, r) for values in products]), "the products that it sent"
    return None if columns is None else span_of(columns, known.count, how)


def span_of(columns: Array, count: int, name: str) -> Reconstruction | None:
    """Return the equations of ``count`` rows in the span of the first ``count`` of columns (d, k), or None."""
    normals = _complement(columns, count)
    if normals is None:
        return None
    left = "the length and the sign of its row" if count == 1 else f"where in {count} dimensions they lie"
    how = f"its rows lie in the span of {name}: {len(normals)} of {len(columns)} dimensions are known, all but {left}"
    return Reconstruction(None, True, how, normals, np.zeros(len(normals)))


def _complement(columns: Array, rank: int) -> Array | None:
    """Compute an orthonormal basis, as rows, of what is orthogonal to ``columns``; None unless ``rank`` is clear."""
    if not np.isfinite(columns).all() or columns.shape[1] < rank:
        return None
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    left, sizes, _ = np.linalg.svd(columns, full_matrices=True)
    if len(sizes) < rank or sizes[rank - 1] < _DIRECTION * sizes[0] or (sizes[rank:] > _ROUNDING * sizes[0]).any():
        return None
    return np.asarray(left[:, rank:].T)
