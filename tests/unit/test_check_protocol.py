"""check_protocol: sound protocols pass, each kind of mistake is caught, and what is printed fails by itself."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from enrolled import ENROLLED
from soundness.bases import Modular
from soundness.bases import Pairwise as Masked

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import NetworkError, SecmixError
from secmix.protocols import DistributedMixture, FederatedPCA, GraphFedEM, Plain, SecureSum
from secmix.testing import check_protocol
from secmix.testing.protocol_properties import SUM
from secmix.transcript import SERVER, Channel


@dataclass(frozen=True)
class Pairwise:
    """Each pair agrees on a mask that one adds and the other takes away; node 0 sums what it is sent."""

    sigma: float = 5.0
    fault: str = ""

    def draw_masks(self, runs, m, network, rng):
        pairs = network.n * (network.n - 1) // 2
        if self.fault == "correlated masks":
            return np.repeat(rng.normal(scale=self.sigma, size=(runs, 1, m)), pairs, axis=1)
        if self.fault == "constant mask":
            return np.full((runs, pairs, m), 17.0)
        return rng.normal(scale=self.sigma, size=(runs, pairs, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        s = np.asarray(inputs, dtype=float)
        n, fault = network.n, self.fault
        if len(network.edges) < n * (n - 1) // 2:
            raise NetworkError("every pair needs an edge")
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(len(s), s.shape[2], network, rng)
        if fault == "writes on its inputs":
            inputs *= 1.0 if n < 5 else 1.001
        if fault == "crash" and s.shape[2] > 9:
            raise IndexError("list index out of range")
        channel.hold(-1, np.arange(n), "input", s.transpose(1, 0, 2))
        hidden = s.transpose(1, 0, 2).copy()
        for k, (i, j) in enumerate(combinations(range(n), 2)):
            channel.hold(-1, i, "mask", masks[:, k])
            heard = channel.send(0, i, j, "mask", masks[:, k], encrypted=True)
            hidden[i] += masks[:, k]
            hidden[j] -= masks[:, k] if fault == "deaf" else heard
        if fault == "secret mask":
            hidden[1] = hidden[1] + rng.normal(size=hidden[1].shape)
        if fault == "a sign":
            hidden[1] = hidden[1] + 1e-3 * (s[:, 2] > 0)
        sent = hidden if fault != "few decimals" else np.round(hidden, 1)
        if fault == "in the clear":
            channel.send(1, 2, 0, "check", s[:, 2])
        if fault == "past the channel":
            arrived = sent[1:]
        else:
            arrived = channel.send(1, np.arange(1, n), np.zeros(n - 1, int), "hidden", sent[1:])
        total = sent[0] + arrived.sum(axis=0)
        if fault == "deaf":
            total = s.sum(axis=1)
        count = n + (n > 4) if fault == "wrong for many" else n
        mean = channel.send(2, 0, np.arange(n), "mean", (total / count)[None], content=np.zeros(n, int))[0]
        if fault == "deaf":
            mean = total / n
        if fault == "counts":
            COUNT[0] += 1
            mean = mean + 1e-9 * COUNT[0]
        return np.repeat(mean[:, None], n, axis=1), channel.transcript


COUNT = [0]
FAULTS = {
    "writes on its inputs": "average",
    "wrong for many": "average",
    "few decimals": "average",
    "secret mask": "average",
    "crash": "average",
    "counts": "same draws",
    "constant mask": "masks",
    "correlated masks": "reveals",  # what they are is known then, and that they cancel too
    "a sign": "linear",
    "past the channel": "channel",
    "deaf": "arrives",
    "in the clear": "reveals",
}


@pytest.mark.parametrize("seed", [0, 1])
def test_a_sound_protocol_passes_and_what_was_tried_is_said(seed):
    check = check_protocol(Pairwise(), reveals="total", seed=seed)
    assert check.coalitions >= 4
    assert check.refused > 0
    assert check.nodes[0] == 3
    assert check.nodes[1] > 12
    assert check.entries[1] > 100
    text = str(check)
    assert f"{check.calls} runs" in text
    assert f"assumed: nothing was tried beyond {check.nodes[1]} nodes" in text


@pytest.mark.parametrize(("fault", "title"), FAULTS.items())
def test_each_mistake_is_caught_and_what_is_printed_fails_by_itself(fault, title):
    loose = 0.1 if fault in ("secret mask", "a sign") else 1e-6
    skip = ["average"] if fault in ("secret mask", "a sign") else []
    title = "linear" if fault == "secret mask" else title
    with pytest.raises(AssertionError) as caught:
        check_protocol(Pairwise(fault=fault), reveals="total", seed=3, tolerance=loose, skip=skip)
    message = str(caught.value)
    assert message.startswith(f'Pairwise fails "{title}": '), message[:300]
    code = message.split("\n\n", 1)[1]
    scope = {"__name__": "pasted", "protocol": Pairwise(fault=fault)}
    exec(compile(code, "pasted", "exec"), scope)
    [pasted] = [value for name, value in scope.items() if name.startswith("test_")]
    with pytest.raises((AssertionError, IndexError)):
        pasted()


def degrees(network):
    return np.bincount(network.edges.ravel(), minlength=network.n)


class AtSomeSize(Masked):
    """Sends its inputs as they are where ``where(inputs (n, runs, m), network)``."""

    def __init__(self, where):
        super().__init__()
        object.__setattr__(self, "where", where)

    def body(self, channel, s, r, network, rng):
        if self.where(s, network):
            channel.send(5, np.arange(network.n), SERVER, "debug", s)
        return super().body(channel, s, r, network, rng)


@pytest.mark.build
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "where",
    [
        lambda s, network: s.shape[2] == 8,
        lambda s, network: s.shape[2] > 50,
        lambda s, network: len(s) > 12,
        lambda s, network: len(s) in (16, 17),
        lambda s, network: s.shape[1] >= 60,
        lambda s, network: len(s) > 3 and degrees(network).max() == len(s) - 1 and len(network.edges) < len(s),
        lambda s, network: len(s) > 8 and degrees(network).max() == 2 and len(network.edges) < len(s),
    ],
    ids=["8 entries", "many entries", "many nodes", "16 nodes", "many runs", "star", "path"],
)
def test_what_opens_at_some_size_is_caught(where, seed):
    with pytest.raises(AssertionError, match=r'"(any size|reveals|sound)"'):
        check_protocol(AtSomeSize(where), adversary=Eavesdropper(), seed=seed)


def test_masks_that_are_smaller_than_the_inputs_are_caught():
    with pytest.raises(AssertionError, match="hides little"):
        check_protocol(Masked(sigma=1e-3), adversary=Eavesdropper(), seed=0)


class Single(Masked):
    """Sends single precision."""

    def upload(self, channel, hidden, s, rng):
        return super().upload(channel, hidden.astype(np.float32), s, rng)


class Locked(Masked):
    """Holds what cannot be copied, and sends a mapping, with a word that is the same each time."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "lock", threading.Lock())

    def upload(self, channel, hidden, s, rng):
        sent = [{"update": each, "last": True} for each in hidden]
        return np.stack([channel.send(0, i, SERVER, "masked", each)["update"] for i, each in enumerate(sent)])


@pytest.mark.build
@pytest.mark.parametrize(
    ("protocol", "tolerance"),
    [(Single(sigma=1e3), 1e-2), (Modular(bits=40, fraction_bits=4), 1e-6), (Locked(), 1e-6)],
    ids=["float32", "a coarse grid", "a lock and a mapping"],
)
def test_what_rounds_as_it_says_and_what_cannot_be_copied_passes(protocol, tolerance):
    check_protocol(protocol, adversary=Eavesdropper(), tolerance=tolerance, seed=0)


def test_a_protocol_of_a_module_is_pasted_with_its_settings():
    with pytest.raises(AssertionError) as caught:
        check_protocol(SecureSum(sigma=3.0, encrypted=False), reveals="total", seed=0)
    code = str(caught.value).split("\n\n", 1)[1]
    assert "from secmix.protocols.sums.secure_sum import SecureSum" in code
    assert "sigma=3.0" in code
    assert len(code) < 2000
    with pytest.raises(AssertionError, match="it learns"):
        exec(compile(code, "pasted", "exec"), {"__name__": "__main__"})


@pytest.mark.build
@pytest.mark.parametrize(
    "one", [e for e in ENROLLED if "," not in e.name or "open" in e.name or "encrypted" in e.name], ids=str
)
def test_the_enrolled_protocols_reveal_what_they_claim(one):
    check = check_protocol(one.protocol, reveals=one.listening, network=Network.cycle(5), tolerance=1e-5, seed=0)
    assert check.coalitions == 14


def test_an_outsider_and_a_server_are_adversaries_too():
    network = Network.cycle(4)
    check_protocol(SecureSum(), reveals="nothing", network=network, adversary=Eavesdropper(), seed=0)
    check_protocol(Plain(), reveals="everything", network=network, adversary=CuriousServer(), seed=0)
    with pytest.raises(AssertionError, match='"reveals"'):
        check_protocol(Plain(), reveals="total", network=network, adversary=CuriousServer(), seed=0)


def test_who_learns_less_than_is_stated_is_counted():
    quiet = HonestButCurious([0], eavesdrops=False)
    check = check_protocol(SecureSum(), reveals="everything", network=Network.cycle(4), adversary=quiet, seed=0)
    assert check.less == check.coalitions


def test_the_same_seed_draws_the_same_cases():
    assert check_protocol(Pairwise(), seed=4) == check_protocol(Pairwise(), seed=4)


@pytest.mark.parametrize(
    "protocol",
    [
        FederatedPCA(1, iterations=3),
        DistributedMixture(1, rule="gmr", starts=1),
        GraphFedEM(1, n_rounds=1, local_steps=1),
    ],
    ids=lambda p: type(p).__name__,
)
def test_collaborations_pass(protocol):
    check = check_protocol(protocol, network=Network.complete(4), seed=0)
    assert check.cases["channel"] == 14
    assert "was not judged" in str(check)


class Gossip:
    """Everybody ends with the mean of all rows; told through an attribute, or by messages."""

    def __init__(self, fault=""):
        self.fault, self.calls = fault, 0

    def collaborate(self, parts, network, rng, *, channel):
        self.calls += 1
        means = np.stack([part.mean(axis=1) for part in parts])
        n = network.n
        told = means
        if self.fault != "past the channel":
            told = np.stack(
                [
                    channel.send(0, i, np.arange(n), "mean", means[i][None], content=np.zeros(n, int))[0]
                    for i in range(n)
                ]
            )
        else:
            channel.send(0, 0, 1, "hello", np.zeros_like(means[0]))
        end = told.mean(axis=0)
        if self.fault == "counts":
            end = end + self.calls
        if self.fault == "global":
            end = end + np.random.standard_normal()  # noqa: NPY002
        return np.repeat(end[:, None], n, axis=1)

    def error(self, results, reference):
        return np.abs(results - reference).max(axis=(1, 2)) + (self.fault == "error")


@pytest.mark.parametrize(
    ("fault", "title"),
    {"": "", "past the channel": "channel", "counts": "same draws", "global": "same draws", "error": "result"}.items(),
)
def test_mistakes_in_collaborations_are_caught(fault, title):
    if not fault:
        check_protocol(Gossip(), seed=0)
        return
    with pytest.raises(AssertionError, match=f'Gossip fails "{title}"'):
        check_protocol(Gossip(fault), seed=0)


def test_arguments_that_make_no_sense():
    for wrong in (
        {"reveals": "all"}, {"reveals": [{9}], "network": Network.cycle(3)}, {"skip": ["maskss"]}, {"tolerance": 0},
        {"level": "slow"},
    ):  # fmt: skip
        with pytest.raises(SecmixError):
            check_protocol(SecureSum(), seed=0, **wrong)
    with pytest.raises(SecmixError, match="no protocol"):
        check_protocol(object())


def test_inputs_that_sum_to_zero_accuse_nobody() -> None:
    """Found by the build under another kernel: three whole numbers that sum to zero need no message to be averaged."""
    case = {"np": np, "protocol": Pairwise(), "network": Network.complete(3), "seed": 0}
    arrives = next(one for one in SUM if one.title == "arrives")
    for first in (5.0, 6.0):
        exec(arrives.lines, case | {"inputs": np.array([[[first], [-3.0], [-2.0]]])})


class RareCoin(Masked):
    """Sends one call in fifty as it is."""

    def sent(self, hidden, s, r, rng):
        return s if rng.random() < 0.02 else hidden


def test_what_one_call_in_fifty_gives_away_is_found_and_small_masks_are_said_not_to_be_judged():
    with pytest.raises(AssertionError, match=r"in some calls 100% of node \d is known"):
        check_protocol(RareCoin(), network=Network.complete(4), seed=0)
    said = check_protocol(Masked(), network=Network.complete(4), seed=0).assumptions()
    assert any("what masks of this size hide was not judged" in line for line in said)


@dataclass(frozen=True)
class FarShares:
    """Shamir's shares over the reals, put together from the farthest points: rounding grows by their weights."""

    degree: int = 4
    hint: float = 0.0  # of each input, bent, in the clear beside what is sent last

    def draw_masks(self, runs, m, network, rng):
        return rng.normal(scale=1e4, size=(runs, self.degree * network.n, m))

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        x, n, channel = np.asarray(inputs, float).transpose(1, 0, 2), network.n, channel or Channel()
        if masks is None:
            masks = self.draw_masks(x.shape[1], x.shape[2], network, rng)
        coefficients = masks.transpose(1, 0, 2).reshape(self.degree, n, *x.shape[1:])
        at, sums = np.arange(1, n + 1) / n, []
        for node, point in enumerate(at):
            share = x + sum(point**power * c for power, c in enumerate(coefficients, 1))
            sums.append(channel.send(0, np.arange(n), [node] * n, "share", share, encrypted=True).sum(axis=0))
        far = range(n - self.degree - 1, n)
        told = [channel.send(1, node, 0, "sum", sums[node][None], encrypted=True)[0] for node in far]
        weights = [np.prod([at[j] / (at[j] - at[i]) for j in far if j != i]) for i in far]
        mean = sum(w * t for w, t in zip(weights, told, strict=True)) / n + self.hint * np.tanh(x[0])
        mean = channel.send(2, 0, np.arange(1, n), "mean", mean[None], content=[0] * (n - 1), encrypted=True)[0]
        return np.repeat(mean[:, None], n, axis=1), channel.transcript


def test_rounding_that_a_protocol_amplifies_is_measured_and_nothing_else_is_let_through():
    others = {each.title for each in SUM} - {"linear"}
    network = Network.complete(20)
    check_protocol(FarShares(), network=network, skip=others, seed=0)
    with pytest.raises(AssertionError, match="'mean' of round 2 is wrong"):
        check_protocol(FarShares(degree=1, hint=5e-9), network=network, skip=others, seed=0)
