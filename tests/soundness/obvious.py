"""The attack that everybody tries first: regress a node's data on all that is heard, and look at who talks when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array

from .case import ENTRY, Case, Heard
from .deployment import deploy

RUNS = 600
_ENTRIES = (0, ENTRY, 11)
_FEATURES = 60


@dataclass(frozen=True)
class Tried:
    """Explained variance of a node's data in runs not fitted on, by what is heard and by what is permitted."""

    heard: float
    permitted: float


def regressed(case: Case) -> Tried:
    """The best of all honest nodes and some entries, in one averaging of many runs.

    Permitted is the sum of what honest nodes put in, which every participant works out from the average.
    """
    heard, truth = next(iter(deploy(case, 1, RUNS)))
    inputs = truth.inputs[0] if truth.inputs else np.stack([part.mean(axis=1) for part in truth.rows], axis=1)
    corrupt = sorted(heard.ended[0]) if heard.ended else []
    honest = [node for node in range(inputs.shape[1]) if node not in corrupt]
    found, permitted = [0.0], [0.0]
    for entry in (e for e in _ENTRIES if e < inputs.shape[2]):
        features = _features(heard, entry)
        total = inputs[:, honest, entry].sum(axis=1)
        for node in honest:
            secret = inputs[:, node, entry]
            permitted.append(_explained(total[:, None], secret))
            found.append(_explained(features, secret) if features.shape[1] else 0.0)
    return Tried(max(found), max(permitted))


def _features(heard: Heard, entry: int) -> Array:
    """What is heard of an entry, a column a message, of as many messages as can be fitted."""
    columns = [
        message.numbers[:, entry].astype(complex if message.numbers.dtype.kind == "c" else float)
        for message in heard.messages
        if message.numbers is not None and message.numbers.shape[1] > entry and message.iteration <= 0
    ]
    columns += [ended[:, entry] for averaging in heard.ended[:1] for ended in averaging.values()]
    distinct = {column.tobytes(): column for column in columns if np.ptp(column) > 0}
    chosen = list(distinct.values())
    if not chosen:
        return np.empty((RUNS, 0))
    half = _FEATURES // 2
    return np.stack([*chosen[:half], *chosen[half:][-half:]], axis=1)


def _explained(features: Array, secret: Array) -> float:
    """Explained variance in the second half of the runs of a fit on the first."""
    half = len(secret) // 2
    centred = features - features[:half].mean(axis=0)
    centred = centred / np.abs(centred[:half]).max(axis=0)
    weights = np.linalg.lstsq(centred[:half], secret[:half] - secret[:half].mean(), rcond=1e-13)[0]
    left = secret[half:] - secret[:half].mean() - centred[half:] @ weights
    return float(1 - left.var() / secret[half:].var())


def talks_alike(case: Case, calls: int = 6) -> bool:
    """Whether calls with other data and the same draws have the same messages, but for the numbers in them."""
    frames = {
        tuple((m.iteration, m.round, m.kind, m.line, m.sender, m.receiver, m.size, m.dtype) for m in heard.messages)
        for heard, _ in deploy(case, calls, same_draws=True)
    }
    return len(frames) == 1
