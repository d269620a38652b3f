"""What a node's basis or products tell of its rows: the subspace in which all of them lie.

Singh 2024, algorithm 1, has a node send the top r eigenvectors of its covariance. A node with q <= r rows has only q
directions to tell of, and tells them all: its rows lie in the span of these, exactly.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import HeldMessages, Reconstruction

_LOST = 1e-7  # of the largest: singular values below are rounding, above directions; between the two nothing is claimed
_TOLD = 1e-11


def reconstruct_basis(held: HeldMessages) -> Reconstruction | None:
    """Exact equations on every row of a node, from its messages of kind "basis" or "product".

    *Basis.* The right singular vectors of q <= r rows are the first q columns of what is sent, whatever fills up the
    others. Every row x has N x = 0, N a basis of their complement: n − q equations (n − r where q = r), so that the
    share (n − q)/n of its dimensions is known. Of one row that leaves its length and its sign.

    *Products.* Every column of Φ U = Dᵀ D U/q (D the rows) lies in the span of the rows. Once the products of all
    rounds have q independent columns they span it, with as many equations; this can happen with more rows than r.

    Returns
    -------
    Reconstruction or None
        Without ``rows``: in their span they may lie anywhere. None where there is no such message, where the node has
        too many rows, where the subspace is the whole space, or where rounding hides how many columns are independent:
        then no equation is claimed, which does not say that nothing leaked.

    Examples
    --------
    >>> from secmix.network import Network
    >>> from secmix.protocols import FederatedPCA
    >>> from secmix.transcript import Origin
    >>> message = Origin(0, 0, "basis", "plain", 0, (-1,)), np.array([0.6, 0.8, 0.0])
    >>> rng = np.random.default_rng(0)
    >>> found = reconstruct_basis(HeldMessages(0, (message,), 1, 3, FederatedPCA(1), Network.complete(2), rng))
    >>> bool(np.abs(found.normals @ [3.0, 4.0, 0.0]).max() < 1e-12), len(found.normals)
    (True, 2)
    """
    r = getattr(held.protocol, "r", None)
    if not isinstance(r, int) or held.count >= held.d:
        return None
    bases = [values for _, values in held.sent_by(held.node, "basis")]
    products = [values for _, values in held.sent_by(held.node, "product")]
    columns, how = None, ""
    if bases and held.count <= r and bases[0].size == held.d * r:
        columns, how = (
            bases[0].reshape(held.d, r)[:, : held.count],
            f"the first {held.count} of the columns that it sent",
        )
    elif products and all(values.size == held.d * r for values in products):
        columns, how = np.hstack([values.reshape(held.d, r) for values in products]), "the products that it sent"
    normals = None if columns is None else _complement(columns, held.count)
    if normals is None:
        return None
    left = "the length and the sign of its row" if held.count == 1 else f"where in {held.count} dimensions they lie"
    how = f"its rows lie in the span of {how}: {len(normals)} of {held.d} dimensions are known, all but {left}"
    return Reconstruction(None, True, how, normals, np.zeros(len(normals)))


def _complement(columns: Array, rank: int) -> Array | None:
    """An orthonormal basis, as rows, of what is orthogonal to ``columns``; None unless its rank is clearly that."""
    if not np.isfinite(columns).all() or columns.shape[1] < rank:
        return None
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    left, sizes, _ = np.linalg.svd(columns, full_matrices=True)
    if len(sizes) < rank or sizes[rank - 1] < _LOST * sizes[0] or (sizes[rank:] > _TOLD * sizes[0]).any():
        return None
    return np.asarray(left[:, rank:].T)
