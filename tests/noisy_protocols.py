"""Federated descent with noise as engineers write it; each wrong twin replaces one step of a right one."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import secmix
from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer
from secmix.auditing.cell_parts import PrivacyClaim
from secmix.auditing.report import Report
from secmix.auditing.setup import CollaborationSetup, build_setup
from secmix.network import Network
from secmix.privacy import clip, gaussian, laplace
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Channel

NORM, SCALE = 1.0, 4.0
NODE: dict[str, Any] = {"max_epsilon": 4.0, "delta": 1e-5}
ROW: dict[str, Any] = {**NODE, "unit": "row"}
ADDED: dict[str, Any] = {**ROW, "neighbours": "add-or-remove"}
Step = Callable[["Descent", int, int, Array, np.random.Generator], Array]
"""``step(self, t, node, gradients, rng)``: from gradients by row (runs, N, p) to what the node sends, (runs, p)."""


def of_node(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the node's mean gradient, clipped as a whole: it hides the node."""
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, rng)


def of_rows(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the sum of clipped gradients: it hides each row."""
    return gaussian(clip(gradients, NORM, axis=-1).sum(axis=1), SCALE, rng)


def mean_of_rows(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the mean of clipped gradients, with noise for a public number of rows."""
    return gaussian(clip(gradients, NORM, axis=-1).mean(axis=1), SCALE, rng)


def by_laplace(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the node's mean gradient, clipped in L1 norm, with Laplace noise."""
    return laplace(clip(gradients.mean(axis=1), NORM, axis=-1, ord=1), SCALE, rng)


@dataclass
class Descent:
    """Least squares by gradient descent at a server; the last column of the rows is what the others predict."""

    step: Step = of_node
    rounds: int = 2
    beside: Callable[[Array, Array], Array] | None = None  # of rows and gradients: what else a node sends
    encrypted: bool = False
    kept: dict[Any, Any] = field(default_factory=dict)
    unit = "in units of the parameters"

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run all rounds: every node sends a gradient, the server the next parameters."""
        own, nodes = rng.spawn(network.n), np.arange(network.n)
        theta = np.zeros((parts[0].shape[0], parts[0].shape[2] - 1))
        for t in range(self.rounds):
            gradients = [self.gradients(part, theta) for part in parts]
            sent = [self.step(self, t, i, gradients[i], own[i]) for i in range(network.n)]
            arrived = channel.send(2 * t, nodes, SERVER, "gradient", self.noisy(np.stack(sent), rng))
            if self.beside is not None:
                others = [self.beside(part, g) for part, g in zip(parts, gradients, strict=True)]
                channel.send(2 * t, nodes, SERVER, "beside", np.stack(others), encrypted=self.encrypted)
            theta = theta - 0.1 * arrived.mean(axis=0)
            back = channel.send(
                2 * t + 1, SERVER, nodes, "parameters", theta[None], content=np.zeros(network.n, dtype=int)
            )
            theta = back[0]
        return np.repeat(theta[:, None], network.n, axis=1)

    def noisy(self, sent: Array, rng: np.random.Generator) -> Array:
        """Return what all nodes send, (n, runs, p), with noise where none was added before."""
        return sent

    def gradients(self, part: Array, theta: Array) -> Array:
        """Return the gradient of each row, (runs, N, p)."""
        x, y = part[:, :, :-1], part[:, :, -1]
        residual = np.einsum("rnp,rp->rn", x, theta) - y
        return np.asarray(residual[:, :, None] * x)

    def error(self, results: Array, reference: Array) -> Array:
        """Return the largest distance."""
        return np.asarray(np.linalg.norm(results - reference, axis=2).max(axis=1))


Draw = Callable[[int, int, np.random.Generator], Array]
"""``who(t, n, rng)``: the nodes that take part in a round."""


def two_of_all(t: int, n: int, rng: np.random.Generator) -> Array:
    """Draw two nodes, as Flower's FedAvg draws a fraction."""
    return np.sort(rng.choice(n, 2, replace=False))


def each_by_a_coin(t: int, n: int, rng: np.random.Generator) -> Array:
    """Draw a coin for each node (Poisson sampling)."""
    return np.flatnonzero(rng.random(n) < 0.6)


@dataclass
class Sampled(Descent):
    """A server draws who takes part in a round, and sends the parameters to all."""

    who: Draw = two_of_all

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        own, nodes = rng.spawn(network.n), np.arange(network.n)
        theta = np.zeros((len(parts[0]), parts[0].shape[2] - 1))
        for t in range(self.rounds):
            for i in self.chosen(t, parts, theta, rng):
                sent = self.step(self, t, i, self.gradients(parts[i], theta), own[i])
                theta = theta - 0.1 * channel.send(2 * t, i, SERVER, "gradient", np.asarray(sent)[None])[0]
            theta = channel.send(2 * t + 1, SERVER, nodes, "parameters", theta[None], content=0 * nodes)[0]
        return np.repeat(theta[:, None], network.n, axis=1)

    def chosen(self, t: int, parts: Sequence[Array], theta: Array, rng: np.random.Generator) -> list[int]:
        return [int(i) for i in self.who(t, len(parts), rng)]


# --- asked about ---


def setup_of(protocol: Any, rows: int = 5) -> CollaborationSetup:
    scenario = from_dict(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "gaussian", "features": 3, "rows_per_node": rows},
            "protocol": {"name": "descent"},
            "adversary": {"name": "curious_server"},
        }
    )
    setup = build_setup(scenario, {("protocol", "descent"): protocol})
    assert isinstance(setup, CollaborationSetup)
    return setup


def report(protocol: Any, claim: dict[str, Any], adversary: Adversary | None = None, **others: Any) -> Report:
    scenario = {
        "network": {"kind": "complete", "nodes": 3},
        "data": {"name": "gaussian", "features": 3, "rows_per_node": 5},
        "runs": 100,
        "claim": claim,
        "measure": {"evidence": ["decoders"], "nodes": [0]},
        **others,
    }
    return secmix.audit(scenario, protocols={"descent": protocol}, adversaries={"them": adversary or CuriousServer()})


def claimed(protocol: Any, claim: dict[str, Any], adversary: Adversary | None = None, **others: Any) -> PrivacyClaim:
    found = report(protocol, claim, adversary, **others).cells[0].claim
    assert found is not None
    return found


# --- wrong twins ---


def noise_before_clip(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return clip(gaussian(gradients.mean(axis=1), SCALE, rng), NORM, axis=-1)


def clip_of_a_copy(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    clip(mean.copy(), NORM, axis=-1)
    return gaussian(mean, SCALE, rng)


def weighted_after_clip(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return gaussian(gradients.shape[1] * clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, rng)


def weighted_in_place(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = clip(gradients.mean(axis=1), NORM, axis=-1)
    mean *= gradients.shape[1]
    return gaussian(mean, SCALE, rng)


def scale_from_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    return gaussian(clip(mean, NORM, axis=-1), SCALE * float(1e-3 + np.abs(mean).max()), rng)


def norm_from_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    norm = float(1e-3 + np.median(np.linalg.norm(gradients, axis=-1)))
    return gaussian(clip(gradients.mean(axis=1), norm, axis=-1), SCALE, rng)


def seed_is_fixed(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, np.random.default_rng(7))


def seed_is_the_node(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, np.random.default_rng([node, t]))


def seed_of_31_bits(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    own = np.random.default_rng(int(rng.integers(2**31)))
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, own)


def same_noise_each_round(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, copy.deepcopy(rng))


def same_noise_at_all_nodes(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    if node == 0:
        self.kept["rng"] = copy.deepcopy(rng)
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, copy.deepcopy(self.kept["rng"]))


def first_round_only(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return of_node(self, t, node, gradients, rng) if t == 0 else clip(gradients.mean(axis=1), NORM, axis=-1)


def first_call_only(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    self.kept["calls"] = self.kept.get("calls", 0) + 1
    return of_node(self, t, node, gradients, rng) if self.kept["calls"] <= 6 else gradients.mean(axis=1)


def scale_from_the_batch(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    scale = 10 * SCALE / gradients.shape[1]
    return gaussian(clip(gradients, NORM, axis=-1).mean(axis=1), scale, rng)


def mean_of_some_rows(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    some = gradients[:, gradients[0, :, 0] > 0]
    return gaussian(clip(some, NORM, axis=-1).mean(axis=1), SCALE, rng) if some.size else 0 * gradients[:, 0]


def centred_before_clip(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    centred = gradients - gradients.mean(axis=1, keepdims=True)
    return gaussian(clip(centred, NORM, axis=-1).sum(axis=1), SCALE, rng)


def laplace_after_euclidean_clip(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    return laplace(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, rng)


def small_ones_bare(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = clip(gradients.mean(axis=1), NORM, axis=-1)
    noisy = gaussian(mean, SCALE, rng)
    return np.asarray(mean) if np.linalg.norm(mean) < 0.2 else noisy


def drawn_again(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    value = clip(gradients.mean(axis=1), NORM, axis=-1)
    noisy = gaussian(value, SCALE, rng)
    return noisy if np.abs(noisy).max() < 4 else gaussian(value, SCALE, rng)


def noise_taken_off(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    same = copy.deepcopy(rng)
    noisy = of_node(self, t, node, gradients, rng)
    return noisy - SCALE * same.standard_normal(noisy.shape)


def data_of_earlier_calls(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    earlier = self.kept.get((t, node), 0.0)
    self.kept[t, node] = gradients.mean(axis=(0, 1))
    return of_node(self, t, node, gradients, rng) + earlier


def noise_of_the_system(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the node's clipped gradient with noise that is seeded by the operating system, as in production."""
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, np.random.default_rng())


def long_seed_in_the_code(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    own = np.random.default_rng(2**127 + 97 * t + node)
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, own)


def long_seed_of_the_node(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    own = np.random.default_rng(2**127 + int.from_bytes(rng.bytes(15), "little"))
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, own)


def part_of_the_noise_again(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    same, mean = copy.deepcopy(rng), gradients.mean(axis=1)
    gaussian(clip(mean[:, :1], NORM, axis=-1), SCALE, same)
    return gaussian(clip(mean, NORM, axis=-1), SCALE, rng)


def seed_of_the_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    own = np.random.default_rng(2**127 + int.from_bytes(gradients.tobytes()[:15], "little"))
    return gaussian(clip(gradients.mean(axis=1), NORM, axis=-1), SCALE, own)


def order_from_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    if mean.sum() > 0:
        one = gaussian(clip(mean, NORM, axis=-1), SCALE, rng)
        two = gaussian(clip(-mean, NORM, axis=-1), SCALE, rng)
    else:
        two = gaussian(clip(-mean, NORM, axis=-1), SCALE, rng)
        one = gaussian(clip(mean, NORM, axis=-1), SCALE, rng)
    return one + two


def kind_from_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    return (laplace if mean.sum() > 0 else gaussian)(clip(mean, NORM, axis=-1, ord=1), SCALE, rng)


def shape_from_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    some = mean[:, : 1 + int(mean[0, 0] > 0)]
    out = np.zeros_like(mean)
    out[:, : some.shape[1]] = gaussian(clip(some, NORM, axis=-1), SCALE, rng)
    return out


def noise_chosen_by_data(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    mean = gradients.mean(axis=1)
    rng.standard_normal(int(mean[0, 0] > 0))  # one that would make a positive number larger
    return gaussian(clip(mean, NORM, axis=-1), SCALE, rng)


def far_rows_refused(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    if np.abs(gradients).max() > 1e3:
        raise ArithmeticError("a row is far out")
    return of_node(self, t, node, gradients, rng)


def data_from_elsewhere(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    own = np.linspace(0.0, 0.1 * (1 + node), gradients.shape[2])
    return gaussian(clip(np.repeat(own[None], len(gradients), axis=0), NORM, axis=-1), SCALE, rng)


def batches(self: Descent, t: int, node: int, gradients: Array, rng: np.random.Generator) -> Array:
    """Send the noisy sum over some rows, which change by round: each row is in one of many."""
    chosen = gradients[:, [t % gradients.shape[1]]]
    return gaussian(clip(chosen, NORM, axis=-1).sum(axis=1), SCALE, rng)


def loss(part: Array, gradients: Array) -> Array:
    return np.asarray((part[:, :, -1] ** 2).mean(axis=1, keepdims=True))


def clock(part: Array, gradients: Array) -> Array:
    return np.full((len(part), 1), float(time.perf_counter_ns()))


def row_count(part: Array, gradients: Array) -> Array:
    return np.full((len(part), 1), float(part.shape[1]))


def weight(part: Array, gradients: Array) -> Array:
    return np.asarray(1 / (1 + np.linalg.norm(gradients, axis=-1).mean(axis=1, keepdims=True)))


WRONG: dict[str, tuple[Step, dict[str, Any], str]] = {
    "noise before the clip": (noise_before_clip, NODE, "no clip bounds the very array"),
    "a clip of a copy": (clip_of_a_copy, NODE, "no clip bounds the very array"),
    "a weight after the clip": (weighted_after_clip, NODE, "no clip bounds the very array"),
    "a weight in place": (weighted_in_place, NODE, "a call ends with ValueError"),
    "scale from the data": (scale_from_data, NODE, "the scale of release 1"),
    "norm from the data": (norm_from_data, NODE, "the norm of the clip of release 1"),
    "a fixed seed": (seed_is_fixed, NODE, "has the same noise in two calls"),
    "the node for a seed": (seed_is_the_node, NODE, "has the same noise in two calls"),
    "a seed of 31 bits": (seed_of_31_bits, NODE, "comes from a generator with a seed of its own"),
    "the same noise each round": (same_noise_each_round, NODE, "release 4 .* has noise that was drawn"),
    "the same noise at all nodes": (
        same_noise_at_all_nodes,
        NODE,
        "release 2 .* has noise that was drawn",
    ),
    "noise in the first round only": (first_round_only, NODE, "'gradient' from node 0 to the server in round 2"),
    "noise in the first call only": (first_call_only, NODE, "the number of releases .* in the second call"),
    "scale from the batch": (scale_from_the_batch, ADDED, "the scale of release 1"),
    "the mean of some rows": (mean_of_some_rows, ROW, "the number of clipped vectors"),
    "an L2 clip for Laplace": (laplace_after_euclidean_clip, NODE, "Laplace noise needs a clip with ord=1"),
    "small ones bare": (small_ones_bare, NODE, "'gradient' from node . to the server"),
    "a long seed in the code": (long_seed_in_the_code, NODE, "comes from a generator with a seed of its own"),
    "a long seed of the node": (long_seed_of_the_node, NODE, "comes from a generator with a seed of its own"),
    "data for a seed": (seed_of_the_data, NODE, "comes from a generator with a seed of its own"),
    "part of the noise again": (part_of_the_noise_again, NODE, "release . .* has noise that was drawn before"),
    "order from the data": (order_from_data, NODE, "the line of release"),
    "the kind of noise from the data": (kind_from_data, {"max_epsilon": 4.0}, "the kind of release"),
    "the shape from the data": (shape_from_data, NODE, "the shape of release"),
    "noise chosen by the data": (noise_chosen_by_data, NODE, "the noise of release . .* changes with the data"),
    "far rows refused": (far_rows_refused, NODE, "a call ends with ArithmeticError with other data of node"),
    "data from elsewhere": (data_from_elsewhere, NODE, "the protocol may use other data"),
    "noise taken off": (noise_taken_off, NODE, "changes with the draws while the releases are played back"),
    "data of earlier calls": (data_of_earlier_calls, NODE, "in the second call of an object: it may hold"),
    "noise that is large is drawn again": (drawn_again, NODE, "releases|the line"),
}
"""Each wrong step, the policy that it is held against, and what gives it away."""
