"""Training rounds as engineers write them: updates against the last model, server optimisers, sampling, payloads."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from secmix.transcript import SERVER, Channel

from .fedavg import SecAgg
from .statistics import MaskedSums, padded
from .truth import known

SAFE = {"server": "safe", "two": "safe", "eavesdropper": "safe"}


# Right: clients send the change since the last model that the server broadcast; the server adds it. (State: what was published.)
class DeltaToLastModel(SecAgg):
    def __init__(self):
        self.model = None

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        if self.model is None or self.model.shape != x[:, :1].shape:
            self.model = np.zeros_like(x[:, :1])
        change, transcript = super().average(x - self.model, network, rng, masks=masks, channel=channel)
        averages = self.model + change
        self.model = averages[:, :1].copy()
        return averages, transcript


# Right: the server applies momentum to the averages that it opened, and broadcasts its own model. (State: the server's.)
class ServerMomentum(SecAgg):
    def __init__(self):
        self.velocity = 0.0

    def decode(self, total, network):
        mean = super().decode(total, network)
        if np.shape(self.velocity) != mean.shape:
            self.velocity = mean
        self.velocity = 0.5 * self.velocity + 0.5 * mean
        return self.velocity


# Right: the same within one call, without state: three local epochs, each masked and summed anew, towards the last average.
class ThreeEpochs(MaskedSums):
    def widths(self, m):
        return [m] * 3

    def compute(self, x, total, n):
        model = np.zeros(x.shape[1:])
        for _ in range(3):
            model = model + 0.5 * total(np.clip(x, -200, 200) - model) / n
        return model / (1 - 0.5**3)


# Right against the server and an eavesdropper (the sum of three); wrong for nodes 1 and 2: where both are drawn, the third is bare.
class SampledClients(SecAgg):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float)
        runs, n, m = x.shape
        channel = channel or Channel()
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        drawn = np.sort(rng.permutation(n)[:3])
        first, second = network.edges.T
        channel.hold(-1, first, "seed", seeds.transpose(1, 0, 2))
        agreed = channel.send(-1, first, second, "seed", seeds.transpose(1, 0, 2), encrypted=True)
        words = self.encode(x.transpose(1, 0, 2), network)
        for run in range(runs):
            for e, (i, j) in enumerate(network.edges):
                if i in drawn and j in drawn:
                    words[i, run] += self.expand(seeds[run, e], m, channel.iteration)
                    words[j, run] -= self.expand(agreed[e, run], m, channel.iteration)
        got = channel.send(0, drawn, SERVER, "update", words[drawn])
        mean = got.sum(axis=0).astype(np.int64) / (1 << self.FRACTION_BITS) / 3
        back = channel.send(1, SERVER, np.arange(n), "model", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: gradients of a logistic regression with public weights, sigmoid by hand, summed with the loss.
class LogisticGradient(MaskedSums):
    def widths(self, m):
        return [m + 1]

    def compute(self, x, total, n):
        m = x.shape[2]
        w = np.linspace(-0.1, 0.1, m)
        z = np.clip(x, -50, 50) @ w
        p = 1.0 / (1.0 + np.exp(-z))
        target = (x[..., 0] > x[..., -1]).astype(float)
        gradient = (p - target)[..., None] * np.clip(x, -50, 50)
        loss = -(target * np.log(p + 1e-9) + (1 - target) * np.log(1 - p + 1e-9))
        s = total(np.concatenate([gradient, loss[..., None]], axis=-1))
        return padded(1.0 + np.abs(s[:, :m]) / n, m)


# Right: one step of a small network with ReLU, weights that all know, back-propagation by hand.
class TwoLayers(MaskedSums):
    def compute(self, x, total, n):
        m = x.shape[2]
        public = np.random.default_rng(5)
        w1, w2 = public.normal(size=(m, 4)) / m, public.normal(size=4)
        z = np.clip(x, -50, 50) @ w1
        h = np.maximum(z, 0)
        err = h @ w2 - 1.0
        grad_h = err[..., None] * w2 * (z > 0)
        grad_w1 = np.einsum("nrm,nrh->nrmh", np.clip(x, -50, 50), grad_h)
        return 1.0 + np.abs(total(grad_w1.sum(axis=-1)) / n)


# Right: a model as a mapping of layers; each layer is masked and sent under its name.
class Layers(MaskedSums):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        words = np.rint(x * 2**18).astype(np.int64).view(np.uint64)
        np.add.at(words, i, pads)
        np.subtract.at(words, j, peers)
        state_dict = {"dense.weight": words[..., : m // 2], "dense.bias": words[..., m // 2 :]}
        received = channel.send(1, np.arange(n), SERVER, "state_dict", state_dict)
        mean = {name: layer.sum(axis=0).view(np.int64) / 2**18 / n for name, layer in received.items()}
        told = channel.send(
            2, SERVER, np.arange(n), "model", {k: v[None] for k, v in mean.items()}, content=np.zeros(n, dtype=int)
        )
        flat = np.concatenate([told["dense.weight"], told["dense.bias"]], axis=-1)
        return np.repeat(flat.transpose(1, 0, 2), n, axis=1), channel.transcript


@dataclass
class FitRes:
    parameters: np.ndarray
    num_examples: np.ndarray


# Right: results as a data class of parameters and number of examples, both masked.
class Results(MaskedSums):
    def widths(self, m):
        return [m + 1]

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        examples = np.rint(np.clip(x[..., :1], 1, 100))
        words = np.rint(np.concatenate([examples * np.clip(x, -500, 500), examples], axis=2) * 2**16)
        words = words.astype(np.int64).view(np.uint64)
        np.add.at(words, i, pads)
        np.subtract.at(words, j, peers)
        results = channel.send(1, np.arange(n), SERVER, "fit", FitRes(words[..., :m], words[..., m:]))
        total = results.parameters.sum(axis=0).view(np.int64) / 2**16
        count = results.num_examples.sum(axis=0).view(np.int64) / 2**16
        told = channel.send(
            2, SERVER, np.arange(n), "model", FitRes((total / count)[None], count[None]), content=np.zeros(n, dtype=int)
        )
        return np.repeat(told.parameters.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: masked words travel as the bytes of an .npy file, as many frameworks serialise arrays.
class NpyBytes(MaskedSums):
    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        n, runs, m = x.shape
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        words = np.rint(x * 2**18).astype(np.int64).view(np.uint64)
        np.add.at(words, i, pads)
        np.subtract.at(words, j, peers)
        files = []
        for node in range(n):
            row = []
            for run in range(runs):
                buffer = io.BytesIO()
                np.save(buffer, words[node, run], allow_pickle=False)
                row.append(np.frombuffer(buffer.getvalue(), np.uint8))
            files.append(row)
        received = channel.send(1, np.arange(n), SERVER, "file", np.array(files))
        arrays = np.array([[np.load(io.BytesIO(row.tobytes())) for row in node] for node in received])
        mean = arrays.sum(axis=0).view(np.int64) / 2**18 / n
        told = channel.send(2, SERVER, np.arange(n), "mean", mean[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: Python integers throughout: quantised by int(round()), masked and reduced modulo 2^61 - 1, sent as words.
class PythonIntegers(MaskedSums):
    Q = 2**61 - 1

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, self.Q, size=(runs, len(network.edges), m), dtype=np.int64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        runs, n, m = np.shape(inputs)
        channel = channel or Channel()
        pads = (self.draw_masks(runs, m, network, rng) if masks is None else masks).transpose(1, 0, 2)
        i, j = network.edges.T
        channel.hold(0, i, "pads", pads)
        peers = channel.send(0, i, j, "pads", pads, encrypted=True)
        rows = []
        for node in range(n):
            by_run = []
            for run in range(runs):
                y = [int(round(float(v) * 65536)) % self.Q for v in inputs[run][node]]
                for e, (a, b) in enumerate(network.edges.tolist()):
                    if a == node:
                        y = [(v + int(p)) % self.Q for v, p in zip(y, pads[e][run], strict=True)]
                    if b == node:
                        y = [(v - int(p)) % self.Q for v, p in zip(y, peers[e][run], strict=True)]
                by_run.append(y)
            rows.append(by_run)
        received = channel.send(1, np.arange(n), SERVER, "y", np.array(rows, dtype=np.int64))
        out = np.zeros((runs, m))
        for run in range(runs):
            for k in range(m):
                t = sum(int(received[node, run, k]) for node in range(n)) % self.Q
                out[run, k] = np.where(t > self.Q // 2, t - self.Q, t) / 65536 / n
        told = channel.send(2, SERVER, np.arange(n), "mean", out[None], content=np.zeros(n, dtype=int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript


# Right: levels that are powers of two (logarithmic quantisation), sign and exponent by np.log2 of what is bounded.
class PowersOfTwo(MaskedSums):
    def compute(self, x, total, n):
        size = np.maximum(np.abs(x), 2.0**-10)
        levels = np.sign(x) * 2.0 ** np.clip(np.round(np.log2(size)), -10, 12)
        return total(levels) / n


# Right: weights by own inverse variance, [w x, w] are summed; np.var of each node's own numbers.
class InverseVariance(MaskedSums):
    def widths(self, m):
        return [m + 1]

    def compute(self, x, total, n):
        w = 1.0 / (1.0 + np.var(x, axis=2, keepdims=True))
        s = total(np.concatenate([w * np.clip(x, -500, 500), w], axis=2))
        return s[:, :-1] / np.maximum(s[:, -1:], 1e-4)


CASES = [
    *known("changes since the last model", DeltaToLastModel, "sums of changes, of published models", **SAFE),
    *known("momentum of the server", ServerMomentum, "functions of opened sums", **SAFE),
    *known("three epochs in a call", ThreeEpochs, "three sums about opened sums", **SAFE),
    *known("three sampled clients", SampledClients, "sums over three; two corrupt ones may be among them",
           server="safe", two="leaks", eavesdropper="safe"),
    *known("logistic gradient", LogisticGradient, "own gradient, one sum", **SAFE),
    *known("gradient of two layers", TwoLayers, "own gradient, one sum", **SAFE),
    *known("mapping of layers", Layers, "a pad of each pair", **SAFE),
    *known("data class of results", Results, "a pad of each pair", **SAFE),
    *known("bytes of .npy", NpyBytes, "a pad of each pair", **SAFE),
    *known("Python integers modulo a prime", PythonIntegers, "uniform residues", **SAFE),
    *known("powers of two", PowersOfTwo, "own data only before the mask", **SAFE),
    *known("inverse variance", InverseVariance, "two sums, divided", **SAFE),
]  # fmt: skip
