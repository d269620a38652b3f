"""What the checks of soundness read off a call is read once, and is the same however many messages there are."""

from __future__ import annotations

import numpy as np
import pytest

from secmix import Network
from secmix.adversaries import HonestButCurious
from secmix.auditing.soundness import examine, model
from secmix.estimators.exact.linear import LinearView
from secmix.estimators.exact.structure import subspace_of
from secmix.protocols import PDMM


def test_what_was_read_of_the_same_numbers_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    genuine = model.subspace_of_any
    monkeypatch.setattr(model, "subspace_of_any", lambda *given: read.append(1) or genuine(*given))
    inputs = {t: np.random.default_rng(t).normal(size=(5, 20, 3)) for t in (0, 3)}
    sound = examine(PDMM(), Network.complete(5), HonestButCurious({1}), inputs)
    assert not sound.doubts
    assert sum(check.calls for check in sound.checks) > 60
    assert len(read) < 6  # of two iterations, and where larger numbers take longer to agree


@pytest.mark.parametrize("rows", [5, 40])
def test_of_many_messages_and_of_few_the_leaked_subspace_is_that_of_the_combinations(rows: int) -> None:
    rng = np.random.default_rng(rows)
    a, free = rng.integers(-2, 3, size=(2, 4)), rng.normal(size=(3, 6))
    A, M = np.vstack([rng.normal(size=(3, 4)), a]), np.vstack([free, np.zeros((2, 6))])
    mixed = rng.normal(size=(rows, 5))
    found = subspace_of(LinearView(mixed @ A, mixed @ M, 4), frozenset())
    q = np.linalg.qr(a.T.astype(float))[0]
    np.testing.assert_allclose(found.projector, q @ q.T, atol=1e-9)
