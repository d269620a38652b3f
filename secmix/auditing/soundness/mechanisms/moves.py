"""Changes of honest inputs that leave all that is known as it is, with the masks that hide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.mechanisms.modular import WholeMoves
from secmix.auditing.soundness.model import Bench, Case, Model

_FAINT = 16.0  # times as far masks must move, where they are too small; honest courses differ too
_SEEN = 0.1  # of their spread: masks that move by less hide what they are moved for
_RCONDS = (1e-9, 1e-10, 1e-11, 1e-12, 1e-13)


class Movable(Protocol):
    """What draws such changes; ``free`` is 0 where there are none."""

    free: int

    def draw(self, rng: np.random.Generator, case: Case, size: Array) -> tuple[Array, Array, float]:
        """Δs (runs, n, m), Δr (runs, k, m), and how much of Δs no masks explain, relative to it."""
        ...


def moves_of(bench: Bench, model: Model) -> Movable:
    """The moves that suit the arithmetic of the protocol; of one linear view they are worked out once."""
    moves: Movable
    for linear, moves in bench.moves:
        if linear is model.linear:
            return moves
    moves = Moves(model, bench.eyes.corrupt) if bench.modulus is None else WholeMoves(bench, model)
    bench.moves.append((model.linear, moves))
    return moves


class Moves:
    """Changes of inputs that leave all that is known as it is, with the masks that hide them."""

    def __init__(self, model: Model, corrupt: frozenset[int]) -> None:
        linear = model.linear
        n = linear.A.shape[1]
        own = np.eye(n)[sorted(corrupt)]
        known = np.vstack([model.subspace.basis, own])
        _, s, vt = np.linalg.svd(known, full_matrices=True) if len(known) else (None, np.empty(0), np.eye(n))
        rank = int((s > 1e-9 * s[0]).sum()) if len(s) else 0
        self.null = vt[rank:].T  # (n, free)
        self.free = n - rank
        A, M = linear.A, linear.M
        both = np.hstack([M, A])
        if len(both) > 2 * both.shape[1]:  # as many rows as there are unknowns tell as much
            both = np.asarray(np.linalg.qr(both, mode="r"))
        k = M.shape[1]
        self.M, self.A = both[:, :k], both[:, k:]
        self.u, self.s, self.vt = np.linalg.svd(self.M, full_matrices=False)

    def draw(self, rng: np.random.Generator, case: Case, size: Array) -> tuple[Array, Array, float]:
        """Δs (runs, n, m), Δr (runs, k, m), and how much of Δs no masks explain, relative to it."""
        runs, n, m = case.inputs.shape
        return self.along(rng.standard_normal((n, runs * m)) * np.tile(size, runs), case)

    def ordered(self, case: Case, size: Array, first: int | None) -> tuple[Array, Array, float]:
        """As :meth:`draw`, alike in all runs and entries: one node is moved up, or each farther than the last."""
        runs, n = case.inputs.shape[:2]
        places = np.arange(n) - (n - 1) / 2 if first is None else n * np.eye(n)[first]
        return self.along(np.outer(places, np.tile(size, runs)), case)

    def along(self, z: Array, case: Case) -> tuple[Array, Array, float]:
        """As :meth:`draw`, for the part of ``z`` (n, runs m) that changes nothing that is known."""
        runs, _, m = case.inputs.shape
        ds = self.null @ (self.null.T @ z)
        ds = self.null @ (self.null.T @ ds)
        best, residual = np.zeros((self.M.shape[1], runs * m)), np.inf
        for rcond in _RCONDS:
            keep = self.s > rcond * self.s[0] if len(self.s) and self.s[0] > 0 else np.zeros(len(self.s), dtype=bool)
            inverse = (self.vt[keep].T / self.s[keep]) @ self.u[:, keep].T
            dr = -inverse @ (self.A @ ds)
            for _ in range(2):
                dr -= inverse @ (self.A @ ds + self.M @ dr)
            left = _remainder(self.A @ ds + self.M @ dr, ds)
            if left < residual:
                best, residual = dr, left
        shaped = [part.reshape(len(part), runs, m).transpose(1, 0, 2) for part in (ds, best)]
        return shaped[0], shaped[1], residual


def needed(bench: Bench, model: Model, case: Case) -> float:
    """How far masks must move in the course of ``model`` to explain other inputs; 0 where nothing is left to hide."""
    moves = moves_of(bench, model)
    return float(np.linalg.norm(moves.draw(bench.private(3), case, bench.scale)[1])) if moves.free else 0.0


def faint(bench: Bench, models: Sequence[Model], other: Model) -> bool:
    """Whether masks hide far less in the course of another call than in those of ``models``."""
    if bench.modulus is not None or any(other.linear is model.linear for model in models):
        return False
    case = models[0].case
    moved = needed(bench, other, case)
    large = _SEEN * float(case.masks.std()) * np.sqrt(case.runs * case.masks.shape[2]) if case.masks.size else 0.0
    return moved > max(large, _FAINT * max(needed(bench, model, case) for model in models))


def _remainder(left: Array, ds: Array) -> float:
    """Largest |left| of a column over the size of that column's Δs."""
    size = np.abs(ds).max(axis=0, initial=0.0)
    moved = size > 0
    if not left.size or not moved.any():
        return 0.0
    return float((np.abs(left).max(axis=0)[moved] / size[moved]).max())
