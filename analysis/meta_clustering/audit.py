"""What SEC's messages reveal, and what lying learners do to its clusters: the part of the study that is ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper, HonestButCurious, TamperingChannel
from secmix.adversaries.attacks import meta_clustering as learner_forgeries
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.adversaries.reconstructions.meta_clustering import reconstruct_models
from secmix.network import Network
from secmix.protocols import SelectExchangeCluster
from secmix.protocols.meta_clustering.exchange import kept_rows
from secmix.transcript import Channel

Numbers = dict[str, Any]
_CHOICES: dict[str, Numbers] = {
    "K = 2": {"n_clusters": 2},
    "K by penalty": {"criterion": "penalty"},
    "K by gap": {"criterion": "gap"},
}


def _learners(m: int, runs: int, rows: int, p: int, rng: np.random.Generator, noise: float = 1.0) -> list[Array]:
    """Even learners share one linear function, odd ones another: m arrays (runs, rows, p + 1), y last."""
    slopes = rng.standard_normal((2, p))
    parts = []
    for i in range(m):
        X = rng.standard_normal((runs, rows, p))
        y = X @ slopes[i % 2] + noise * rng.standard_normal((runs, rows))
        parts.append(np.concatenate([X, y[..., None]], axis=2))
    return parts


def breakdown(quick: bool, seed: int) -> Numbers:
    """Of 16 learners some lie: pairs of honest ones wrongly placed, and how far honest predictions move."""
    m, runs = 16, 2 if quick else 3
    parts = _learners(m, runs, 40, 5, np.random.default_rng([seed, 11]))
    colluders = (1,) if quick else (1, 3, 5, 7)
    lies = learner_forgeries.__all__[:3] if quick else learner_forgeries.__all__
    out: Numbers = {"learners": m, "runs": runs, "colluders": list(colluders), "lies": {}}
    for lie in lies:
        out["lies"][lie] = {}
        forgery = getattr(learner_forgeries, lie)
        for way, settings in _CHOICES.items():
            sec = SelectExchangeCluster(["ols"], max_clusters=6, exchange="predictions", **settings)
            honest = [sec.run([part[r] for part in parts], r, Channel(record=False))[1] for r in range(runs)]
            out["lies"][lie][way] = [
                {"colluders": f} | _attacked(sec, parts, honest, forgery, f, seed) for f in colluders
            ]
    return out


def _attacked(
    sec: SelectExchangeCluster, parts: list[Array], honest: list[Array], forgery: Any, f: int, seed: int
) -> Numbers:
    """At the lie's own scale and a million times it: the mean share of pairs of honest learners wrongly placed, and the
    largest error of their predictions."""
    corrupt, loyal = list(range(f)), list(range(f, len(parts)))
    wrong, error = [], []
    for scale in (1.0, 1e6):
        rng = np.random.default_rng([seed, 13, f])
        said = parts
        if forgery.poison is not None:
            said = [forgery.poison(p, scale, rng) if i in corrupt else p for i, p in enumerate(parts)]
        channel = TamperingChannel(forgery, corrupt, rng, protocol=sec, scale=scale, record=False)
        shares, errors = [], []
        for r, reference in enumerate(honest):
            with np.errstate(all="ignore"):
                channel.begin()
                fitted, ended = sec.run([part[r] for part in said], r, channel)
                errors.append(float(sec.error(ended[None, loyal], reference[None, loyal])[0]))
            shares.append(wrongly_placed(fitted.labels_[loyal], np.array(loyal) % 2))
        wrong.append(float(np.mean(shares)))
        error.append(max(errors) if math.isfinite(max(errors)) else None)
    return {"wrong": wrong, "error": error}


def wrongly_placed(labels: Array, truth: Array) -> float:
    """The share of pairs of learners who are together in one of two clusterings only: 1 − Rand's index."""
    above = np.triu_indices(len(labels), 1)
    together = [np.equal.outer(each, each)[above] for each in (labels, truth)]
    return float(np.mean(together[0] != together[1]))


def revealed(quick: bool, seed: int) -> Numbers:
    """What an eavesdropper, and a curious learner, knows of each row of learner 0 afterwards."""
    settings: list[tuple[str, str, int, int, int]] = [
        ("ols", "models", 5, 8, 8),
        ("ols", "models", 20, 8, 8),
        ("ridge", "models", 5, 8, 8),
        ("knn", "models", 20, 4, 8),
        ("tree", "models", 20, 4, 8),
        ("forest", "models", 20, 4, 8),
        ("ols", "predictions", 5, 4, 12),
        ("ols", "predictions", 20, 4, 12),
        ("forest", "predictions", 8, 4, 12),
        ("forest", "predictions", 20, 4, 12),
    ]
    chosen = settings[:1] + settings[3:4] + settings[6:7] if quick else settings
    return {
        "messages": [_one(*setting, quick=quick, seed=seed) for setting in chosen],
        "objects": _objects(seed),
    }


def _one(candidate: str, exchange: Any, rows: int, p: int, m: int, *, quick: bool, seed: int) -> Numbers:
    runs = 2 if quick else 4
    rng = np.random.default_rng([seed, 15, rows, p])
    parts = _learners(m, runs, rows, p, rng, noise=0.3)
    sec = SelectExchangeCluster([candidate], n_clusters=2, exchange=exchange)
    network, channel = Network.complete(m), Channel()
    sec.collaborate(parts, network, rng, channel=channel)
    out: Numbers = {"candidate": candidate, "exchange": exchange, "rows": rows, "p": p, "learners": m, "runs": runs}
    adversaries = {"eavesdropper": Eavesdropper(), "curious learner": HonestButCurious({1}, eavesdrops=False)}
    for name, adversary in adversaries.items():
        view = adversary.observe(channel.transcript, network)
        known, how = [], ""
        for run in range(runs):
            held = known_in_run(view, run, 0, [rows] * m, p + 1, sec, network, np.random.default_rng(0))
            found = reconstruct_models(held)
            known.append(_known(found, parts[0][run]))
            how = found.how if found is not None else "nothing was found to work on"
        out[name] = {"X": min(k[0] for k in known), "y": min(k[1] for k in known),
                     "equations": min(k[2] for k in known), "how": how}  # fmt: skip
    return out


def _known(found: Any, truth: Array) -> tuple[float, float, int]:
    """Shares of the rows whose X, and whose y, are known to 1e-6; equations that hold for each row."""
    if found is None:
        return 0.0, 0.0, 0
    limit = 1e-6 * float(np.abs(truth).max())
    equations = 0
    if found.normals.size:
        equations = int((np.abs(truth @ found.normals.T - found.offsets).max(axis=0) < limit).sum())
    if found.rows is None:
        return 0.0, 0.0, equations
    shares = []
    for columns in (slice(0, -1), slice(-1, None)):
        mine, theirs = found.rows[:, columns], truth[:, columns]
        if np.isnan(mine).any():
            shares.append(0.0)
            continue
        apart = np.abs(theirs[:, None] - mine[None]).max(axis=-1)
        shares.append(float((apart.min(axis=1) < limit).mean()))
    return shares[0], shares[1], equations


def _objects(seed: int) -> Numbers:
    """The share of a learner's rows X that scikit-learn's fitted regressors hold as they are, 20 rows of 4 columns."""
    (part,) = _learners(1, 1, 20, 4, np.random.default_rng([seed, 16]), noise=0.3)
    X, y = part[0, :, :-1], part[0, :, -1]
    found: Numbers = {}
    for name, model in {"knn": KNeighborsRegressor(3), "gaussian process": GaussianProcessRegressor(alpha=0.1)}.items():
        kept = kept_rows(model.fit(X, y))
        found[name] = 0.0 if kept is None else _present(X, kept[:, :-1])
    found["svr"] = _present(X, SVR().fit(X, y).support_vectors_)
    return found


def _present(X: Array, kept: Array) -> float:
    return float((np.abs(X[:, None] - kept[None]).max(axis=-1).min(axis=1) == 0).mean())
