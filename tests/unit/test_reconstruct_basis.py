"""What bases and products tell of a node's rows: equations that hold, no more than are true, and none on a guess."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.adversaries import CuriousServer
from secmix.adversaries.reconstructions.interfaces import KnownMessages, known_in_run
from secmix.adversaries.reconstructions.subspace import reconstruct_basis
from secmix.network import Network
from secmix.protocols import FederatedPCA
from secmix.transcript import Channel, Origin

N = 8


def held(q, r, rule="subspace_median", iterations=6, others=40, node=0, seed=0):
    """What a curious server holds of the node with q rows, and these rows (q, N)."""
    rng = np.random.default_rng(seed)
    counts = [others] * 3
    counts[node] = q
    parts = [rng.standard_normal((2, count, N)) for count in counts]
    protocol, network, channel = FederatedPCA(r, rule=rule, iterations=iterations), Network.complete(3), Channel()
    protocol.collaborate(parts, network, rng, channel=channel)
    view = CuriousServer().observe(channel.transcript, network)
    return known_in_run(view, 1, node, counts, N, protocol, network, rng), parts[node][1]


@pytest.mark.parametrize(("q", "r"), [(1, 1), (1, 3), (2, 2), (2, 5), (4, 4), (1, 8)])
def test_a_basis_of_few_rows_gives_exact_equations(q, r):
    what, rows = held(q, r)
    found = reconstruct_basis(what)
    assert found.certified
    assert found.rows is None
    assert found.normals.shape == (N - q, N)
    assert found.normals @ found.normals.T == pytest.approx(np.eye(N - q), abs=1e-12)
    assert np.abs(rows @ found.normals.T - found.offsets).max() < 1e-12
    # Nobody else's rows solve them.
    assert np.abs(held(q, r, seed=1)[1] @ found.normals.T).max() > 1e-2
    if q == 1:  # all but length and sign
        along = np.linalg.svd(found.normals)[2][-1]
        assert abs(along @ rows[0]) == pytest.approx(np.linalg.norm(rows[0]))
        assert "the length and the sign of its row" in found.how


@pytest.mark.parametrize(("q", "r"), [(3, 2), (40, 2), (8, 8), (9, 8)])
def test_no_equations_where_the_rows_fill_more(q, r):
    assert reconstruct_basis(held(q, r)[0]) is None


@pytest.mark.parametrize("rule", ["power_method", "resilient_power_method"])
@pytest.mark.parametrize(("q", "r"), [(1, 1), (2, 2), (2, 4), (3, 2), (4, 2)])
def test_products_span_the_rows_in_time_even_of_more_rows_than_r(rule, q, r):
    what, rows = held(q, r, rule)
    found = reconstruct_basis(what)
    assert found.normals.shape == (N - q, N)
    assert np.abs(rows @ found.normals.T).max() < 1e-9
    if q > r:  # one round is not enough
        assert reconstruct_basis(held(q, r, rule, iterations=1)[0]) is None


def test_more_rows_than_dimensions_are_safe_from_this():
    assert reconstruct_basis(held(40, 2, "power_method")[0]) is None
    assert reconstruct_basis(held(8, 2, "power_method", iterations=20)[0]) is None


def test_nothing_is_claimed_of_what_cannot_be_read():
    what, _ = held(2, 2)
    silent = KnownMessages(0, (), 2, N, what.protocol, what.network, what.rng)
    assert reconstruct_basis(silent) is None
    assert reconstruct_basis(KnownMessages(0, what.messages, 2, N, object(), what.network, what.rng)) is None
    sent = Origin(0, 0, "basis", "plain", 0, (-1,))
    for message in (np.full(2 * N, np.nan), np.ones(2 * N), np.ones(2 * N + 1), np.zeros(2 * N)):
        assert (
            reconstruct_basis(KnownMessages(0, ((sent, message),), 2, N, what.protocol, what.network, what.rng)) is None
        )
    # A third direction between rounding and certainty: two rows could not have left it.
    doubtful = np.eye(N)[:, :4].copy()
    doubtful[:, 2] = doubtful[:, 0] + 1e-9 * doubtful[:, 3]
    product = (Origin(0, 1, "product", "plain", 0, (-1,)), doubtful[:, :2].ravel())
    again = (Origin(1, 1, "product", "plain", 0, (-1,)), doubtful[:, 2:].copy().ravel())
    clear = KnownMessages(0, (product,), 2, N, what.protocol, what.network, what.rng)
    assert len(reconstruct_basis(clear).normals) == N - 2
    assert reconstruct_basis(KnownMessages(0, (product, again), 2, N, what.protocol, what.network, what.rng)) is None
