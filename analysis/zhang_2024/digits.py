"""Digit images (Zhang 2024, section 6): mixtures of ten Gaussians, machines that fit images which are no digits."""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neural_network import MLPClassifier

from analysis.repetitions import Repetitions, stream
from analysis.study import Numbers, data_folders, mean_and_half_width
from analysis.zhang_2024.divergence import transports
from analysis.zhang_2024.simulation import HERE, REJECTING, RULES, clusters
from secmix._base.checks import Array, Ints
from secmix.aggregators.mixture_rules import coat, ise_matrix, oracle
from secmix.aggregators.mixture_rules.overlap import norms
from secmix.errors import DataError
from secmix.mixture import Mixture
from secmix.protocols import fit_mixtures

IMAGES, LABELS = "mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-labels-idx1-ubyte.gz"
OWNER = "https://ossci-datasets.s3.amazonaws.com/mnist/"
# Of the 10000 images: the network's, the machines', and those that the clusters are judged by. None is in two of them.
TRAINED, POOL = 4000, 4000
HIDDEN, PASSES = 200, 30
PAPER = {  # Table 2: mean (standard deviation) of the ARI
    0.0: {"ARED": "0.9197 (0.0014)", "CRED": "0.9188 (0.0020)", "TRIM": "0.8704 (0.0423)"}
    | {"COAT": "0.8616 (0.0158)", "GMR": "0.9197 (0.0014)"},
    0.1: {"Oracle": "0.9195 (0.0014)", "ARED": "0.9195 (0.0014)", "CRED": "0.9188 (0.0018)"}
    | {"TRIM": "0.8761 (0.0469)", "COAT": "0.8624 (0.0148)", "GMR": "0.8827 (0.0116)"},
    0.2: {"Oracle": "0.9194 (0.0015)", "ARED": "0.9194 (0.0015)", "CRED": "0.9187 (0.0020)"}
    | {"TRIM": "0.8796 (0.0496)", "COAT": "0.8618 (0.0167)", "GMR": "0.8674 (0.0141)"},
    0.3: {"Oracle": "0.9194 (0.0015)", "ARED": "0.9194 (0.0015)", "CRED": "0.9188 (0.0021)"}
    | {"TRIM": "0.8866 (0.0422)", "COAT": "0.8616 (0.0158)", "GMR": "0.8541 (0.0113)"},
    0.4: {"Oracle": "0.9190 (0.0018)", "ARED": "0.9190 (0.0019)", "CRED": "0.9187 (0.0019)"}
    | {"TRIM": "0.9050 (0.0454)", "COAT": "0.8600 (0.0174)", "GMR": "0.8449 (0.0127)"},
}
NAMES = ("Oracle", *RULES)


@dataclass(frozen=True)
class Digits:
    """Features of a pool of images, of the same images spoilt, and of images held out, with their labels."""

    pool: Array
    labels: Ints
    spoilt: tuple[Array, Array]
    test: Array
    test_labels: Ints


def folder_of(given: Path | None) -> Path | None:
    """The folder that holds the files: given, from the environment, beside the repository; or None."""
    return next((folder for folder in data_folders(given) if (folder / IMAGES).is_file()), None)


def read(folder: Path | None) -> tuple[Array, Ints]:
    """The 10000 test images of MNIST (10000, 28, 28) in [0, 1], and their labels; downloaded where there are none."""
    raw = []
    for name in (IMAGES, LABELS):
        try:
            packed = (folder / name).read_bytes() if folder else urllib.request.urlopen(OWNER + name, timeout=60).read()
            raw.append(gzip.decompress(packed))
        except (OSError, urllib.error.URLError, EOFError) as error:
            raise DataError(f"{name} could not be read: {error}; give its folder with --data") from None
    images = np.frombuffer(raw[0], np.uint8, offset=16)
    labels = np.frombuffer(raw[1], np.uint8, offset=8).astype(np.intp)
    if images.size != 10000 * 784 or labels.size != 10000:
        raise DataError("these are not the 10000 test images of MNIST; give their folder with --data")
    return images.reshape(-1, 28, 28) / 255.0, labels


def features(folder: Path | None, count: int, seed: int, *, learned: bool = True, passes: int = PASSES) -> Digits:
    """``count`` features of the machines' 4000 images and of 2000 others, made from another 4000.

    ``learned``: the linear output of the narrow layer of a perceptron with layers 784, 200, ``count``, 10 that was
    trained to tell the digits apart, as the paper takes the 50 outputs before the last layer of its network. Else
    principal components.
    """
    images, labels = read(folder)
    order = np.random.default_rng([seed, 5]).permutation(len(images))
    trained, pool, test = np.split(order, [TRAINED, TRAINED + POOL])
    flat = images.reshape(len(images), -1)
    if learned:
        project = narrow_layer(flat[trained], labels[trained], count, seed, passes)
    else:
        project = PCA(count, svd_solver="full").fit(flat[trained]).transform

    def made(some: Array) -> Array:
        return np.asarray(project(some.reshape(len(some), -1)), dtype=np.float64)

    spoilt = made(np.rot90(images[pool], axes=(1, 2))), made(1.0 - images[pool])
    return Digits(made(images[pool]), labels[pool], spoilt, made(images[test]), labels[test])


def narrow_layer(rows: Array, labels: Ints, count: int, seed: int, passes: int) -> Callable[[Array], Array]:
    """What a perceptron trained on ``rows`` makes of any rows in its layer of ``count``, before the rectifier."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a set number of passes
        net = MLPClassifier((HIDDEN, count), max_iter=passes, random_state=seed).fit(rows, labels)
    first, second = net.coefs_[:2]

    def project(some: Array) -> Array:
        hidden = np.maximum(some @ first + net.intercepts_[0], 0.0)
        return np.asarray(hidden @ second + net.intercepts_[1])

    return project


def of_the_classes(data: Digits) -> Mixture:
    """The Gaussians of the ten digits, from the labels of the pool: where all machines start."""
    each = [data.pool[data.labels == digit] for digit in range(10)]
    return Mixture(
        np.array([len(rows) for rows in each]) / POOL,
        np.stack([rows.mean(axis=0) for rows in each]),
        np.stack([np.cov(rows.T) for rows in each]),
    )


def clustered(
    data: Digits,
    *,
    machines: int,
    rows: int,
    rates: tuple[float, ...],
    repetitions: int,
    seed: int,
    name: str = "digits",
    by_transport: bool = True,
    repeated: Repetitions = HERE,
) -> dict[str, list[Numbers]]:
    """ARI on the images held out, by rate of machines whose images are no digits, and rule.

    "ise": with the text's distance. "transport", where asked for: with that of the authors' code for these data.
    """
    what = (seed, machines, rows, rates, by_transport, _mark(data))
    make = partial(_clustered, data, machines, rows, rates, by_transport, seed)
    values = repeated(name, what, repetitions, make)
    return {
        way: [_row(rate, int(rate * machines + 1e-9), [v[way][at] for v in values]) for at, rate in enumerate(rates)]
        for way in values[0]
    }


def _clustered(
    data: Digits, machines: int, rows: int, rates: tuple[float, ...], by_transport: bool, seed: int, i: int
) -> dict[str, list[dict[str, Numbers]]]:
    start, rng = of_the_classes(data), stream([seed, 6], i)
    most = int(max(rates) * machines + 1e-9)
    # The rows of one machine are distinct; with so few images, machines share some.
    picked = np.stack([rng.permutation(POOL)[:rows] for _ in range(machines + most)])
    honest = fit_mixtures(data.pool[picked[:machines]], start).mixture
    # Machines in turn hold images turned by 90 degrees and images with black and white exchanged.
    wrong = np.stack([data.spoilt[j % 2][picked[machines + j]] for j in range(most)])
    foreign = fit_mixtures(wrong, start).mixture
    every = Mixture(*(np.concatenate([getattr(one, f) for one in (honest, foreign)]) for f in _FIELDS))
    squared = {"ise": ise_matrix(every)} | ({"transport": transports(every)} if by_transport else {})
    found: dict[str, list[dict[str, Numbers]]] = {way: [] for way in squared}
    for rate in rates:
        f = int(rate * machines + 1e-9)
        sent = np.concatenate([machines + np.arange(f), np.arange(f, machines)])
        for way, each in squared.items():
            found[way].append(_measured(data, every[sent], f, each[np.ix_(sent, sent)]))
    return found


def honest_rejected(
    data: Digits, *, machines: int, rows: tuple[int, ...], repetitions: int, seed: int, repeated: Repetitions = HERE
) -> list[Numbers]:
    """How many honest machines ARED rejects where rows are drawn from the Gaussians of the classes, by their number.

    Nothing is wrong with the model, nobody fails and no two machines share a row: what is rejected then is due to the
    number of rows alone. Beside it the spread of ln ∫ f² over the machines, which the distances follow.
    """
    start, out = of_the_classes(data), []
    for n in rows:
        what = (seed, machines, n, _mark(data))
        values = repeated(f"honest-{n}", what, repetitions, partial(_honest, start, machines, n, seed))
        size = {"rows": n, "machines": machines, "repetitions": repetitions}
        out.append(
            size | {"rejected": int(sum(v[0] for v in values)), "spread": float(np.mean([v[1] for v in values]))}
        )
    return out


def _honest(start: Mixture, machines: int, n: int, seed: int, i: int) -> list[float]:
    rng = stream([seed, 11, n], i)
    local = fit_mixtures(np.stack([start.sample(n, rng) for _ in range(machines)]), start).mixture
    rejected = len(RULES["ARED"](local, squared=ise_matrix(local)).rejected)
    return [rejected, float(np.log(norms(local)).std(ddof=1))]


def _mark(data: Digits) -> float:
    """A number that tells one set of features from another."""
    return float(np.abs(data.pool).sum())


def reach_of_the_distance(data: Digits, *, machines: int, rows: int, seed: int) -> float:
    """‖f‖ of COAT over its radius, for honest machines: the largest distance at which a flat mixture far away can be.

    A mixture that shares nothing with f is at √(‖f‖² + ‖g‖²), and ‖g‖ is small where it is flat. A rule that keeps
    what is within some radii cannot reject it if this is less.
    """
    rng = np.random.default_rng([seed, 9])
    local = fit_mixtures(data.pool[rng.integers(POOL, size=(machines, rows))], of_the_classes(data)).mixture
    centre = coat(local)
    return float(np.sqrt(norms(local)[centre.index]) / centre.radius)


def _measured(data: Digits, sent: Mixture, f: int, squared: Array) -> dict[str, Numbers]:
    results: dict[str, Any] = {"Oracle": oracle(sent, range(f, len(sent.weights)), squared=squared)}
    results |= {name: rule(sent, squared=squared) for name, rule in RULES.items()}
    out: dict[str, Numbers] = {}
    for name, result in results.items():
        mixture = result.mixture
        usable = Mixture(np.maximum(mixture.weights, 1e-300), mixture.means, mixture.covariances)
        out[name] = {"ari": float(adjusted_rand_score(data.test_labels, clusters(usable, data.test)))}
        if name in REJECTING:
            rejected = np.asarray(result.rejected)
            out[name] |= {"rejected": len(rejected), "hits": int((rejected < f).sum())}
    return out


def _row(rate: float, f: int, values: list[dict[str, Numbers]]) -> Numbers:
    rules: dict[str, Numbers] = {}
    for name in NAMES:
        mine = [value[name] for value in values]
        aris = [v["ari"] for v in mine]
        rules[name] = {
            "ari": mean_and_half_width(aris),
            "spread": float(np.std(aris, ddof=1)) if len(aris) > 1 else 0.0,
            "less_than_oracle": mean_and_half_width([v["Oracle"]["ari"] - v[name]["ari"] for v in values]),
        }
        if name in REJECTING:
            rules[name] |= {key: sum(v[key] for v in mine) for key in ("rejected", "hits")}
    return {"rate": rate, "failing": f * len(values), "repetitions": len(values), "rules": rules}


_FIELDS = ("weights", "means", "covariances")
