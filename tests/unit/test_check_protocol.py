"""check_protocol: sound protocols pass, each kind of mistake is caught, and what is printed fails by itself."""

from __future__ import annotations

import importlib
import re
import threading
import time
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from enrolled import ENROLLED
from example_protocols import Averaging, Modular, Pairwise, with_steps

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import NetworkError, SecmixError
from secmix.protocols import DistributedMixture, FederatedPCA, GraphFedEM, Plain, SecureSum
from secmix.testing import check_protocol
from secmix.testing.protocol_promises import SUM, arrives
from secmix.transcript import SERVER, Channel


class Summed(Pairwise):
    """Every pair agrees on a mask, so that all must be neighbours."""

    def count(self, network):
        if len(network.edges) < network.n * (network.n - 1) // 2:
            raise NetworkError("every pair needs an edge")
        return super().count(network)


def writes_on_its_inputs(protocol, inputs, network, rng, **more):
    inputs *= 1.0 if network.n < 5 else 1.001
    return Summed.average(protocol, inputs, network, rng, **more)


def crashes(protocol, hidden, s, r, rng):
    return hidden if s.shape[2] <= 9 else [][0]


def adds_to_node_1(hidden, more):
    hidden[1] += more
    return hidden


def wrong_for_many(protocol, channel, mean, s):
    n = len(s)
    return Summed.publish(protocol, channel, mean * n / (n + (n > 4)), s)


def one_for_all(protocol, runs, m, network, rng):
    return np.repeat(rng.normal(scale=5.0, size=(runs, 1, m)), protocol.count(network), axis=1)


COUNT = count()
FAULTS = {
    "writes on its inputs": ("average", {"average": writes_on_its_inputs}),
    "wrong for many": ("average", {"publish": wrong_for_many}),
    "few decimals": ("average", {"sent": lambda self, hidden, s, r, rng: np.floor(10 * hidden) / 10}),
    "secret mask": (
        "linear",
        {"sent": lambda self, hidden, s, r, rng: adds_to_node_1(hidden, rng.normal(size=s[1].shape))},
    ),
    "crash": ("average", {"sent": crashes}),
    "counts": ("same draws", {"result": lambda self, averages, s, rng: averages + 1e-9 * next(COUNT)}),
    "constant mask": (
        "reveals",
        {"draw_masks": lambda self, runs, m, net, rng: np.full((runs, self.count(net), m), 17.0)},
    ),
    # What they are is known then, and that they cancel too.
    "correlated masks": (
        "reveals",
        {
            "draw_masks": lambda self, runs, m, net, rng: (
                5 * np.repeat(rng.normal(size=(runs, 1, m)), self.count(net), 1)
            )
        },
    ),
    "a sign": ("linear", {"sent": lambda self, hidden, s, r, rng: adds_to_node_1(hidden, 1e-3 * (s[2] > 0))}),
    "past the channel": ("channel", {"upload": lambda self, channel, hidden, s, rng: hidden}),
    "deaf": (
        "arrives",
        {"result": lambda self, averages, s, rng: np.repeat(s.mean(axis=0)[:, None], len(s), axis=1)},
    ),
    "in the clear": (
        "reveals",
        {"before": lambda self, channel, s, r, net, rng: channel.send(-1, 2, 0, "check", s[2])},
    ),
}


@pytest.mark.build
@pytest.mark.parametrize("seed", [0, 1])
def test_a_sound_protocol_passes_and_what_was_tried_is_said(seed):
    check = check_protocol(Summed(), reveals="total", seed=seed)
    assert check.coalitions >= 4
    assert check.refused > 0
    assert check.nodes[0] == 3
    assert check.nodes[1] > 12
    assert check.entries[1] > 20
    text = str(check)
    assert f"{check.calls} runs" in text
    assert f"assumed: nothing was tried beyond {check.nodes[1]} nodes" in text


@pytest.mark.build
@pytest.mark.parametrize("fault", FAULTS)
def test_each_mistake_is_caught_and_what_is_printed_fails_by_itself(fault):
    title, steps = FAULTS[fault]
    wrong = with_steps(Summed, 5.0, **steps)
    loose = {"tolerance": 0.1, "skip": ["average"]} if title == "linear" else {}
    with pytest.raises(AssertionError) as caught:
        check_protocol(wrong, reveals="total", seed=3, **loose)
    message = str(caught.value)
    titles = (title, "leaks") if title == "linear" else (title,)  # a sign is not met by every case of the first
    assert message.startswith(tuple(f'Summed fails "{each}": ' for each in titles)), message[:300]
    code = message.split("\n\n", 1)[1]
    scope = {"__name__": "pasted", "protocol": wrong}
    exec(compile(code, "pasted", "exec"), scope)
    [pasted] = [value for name, value in scope.items() if name.startswith("test_")]
    with pytest.raises((AssertionError, IndexError)):
        pasted()


class Slow(Summed):
    """Takes its time for each pair of nodes, as key agreements do."""

    def average(self, inputs, network, rng, **more):
        time.sleep(1e-3 * network.n**2)
        return super().average(inputs, network, rng, **more)


@pytest.mark.filterwarnings("ignore:check_protocol of Slow tried")
def test_of_slow_calls_as_many_are_tried_as_fit_the_time_and_the_others_are_said_to_be_left_out(monkeypatch):
    slept = [0.0]  # a clock that nothing else on the machine moves
    monkeypatch.setattr(time, "sleep", lambda seconds: slept.append(slept.pop() + seconds))
    monkeypatch.setattr("secmix.testing.protocols.time", SimpleNamespace(monotonic=lambda: slept[0]))
    check = check_protocol(Slow(), seconds=8, seed=0)
    assert slept[0] < 16
    tried = sum(check.networks.values()) + check.refused
    assert tried >= 3
    assert check.left_out > 10  # how many calls a case makes hangs on what is loaded already
    assert check.nodes[1] < 16  # what was left out is not among the sizes
    assert f"tried {tried} of {tried + check.left_out} cases" in str(check).splitlines()[1]


def test_where_cases_are_left_out_a_warning_says_so_and_the_simplest_is_tried():
    with pytest.warns(UserWarning, match="tried 1 of .* cases .* nothing is said of them"):
        check = check_protocol(Slow(), seconds=1e-3, seed=0)
    assert (check.nodes, check.runs, check.entries) == ((3, 3), (1, 1), (1, 1))
    with pytest.raises(AssertionError, match='Plain fails "reveals"'):
        check_protocol(Plain(), seconds=1e-3, seed=0)


def degrees(network):
    return np.bincount(network.edges.ravel(), minlength=network.n)


class AtSomeSize(Pairwise):
    """Sends its inputs as they are where ``where(inputs (n, runs, m), network)``."""

    def __init__(self, where):
        super().__init__()
        object.__setattr__(self, "where", where)

    def body(self, channel, s, r, network, rng):
        if self.where(s, network):
            channel.send(5, np.arange(network.n), SERVER, "debug", s)
        return super().body(channel, s, r, network, rng)


@pytest.mark.build
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
def test_what_opens_at_some_size_is_caught(where):
    with pytest.raises(AssertionError, match=r'"(reveals|leaks)"'):  # probes are many runs
        check_protocol(AtSomeSize(where), adversary=Eavesdropper(), seed=0)


def test_masks_that_are_smaller_than_the_inputs_are_caught():
    with pytest.raises(AssertionError, match="hides little"):
        check_protocol(Pairwise(sigma=1e-3), adversary=Eavesdropper(), seed=0)


class Single(Pairwise):
    """Sends single precision."""

    def upload(self, channel, hidden, s, rng):
        return super().upload(channel, hidden.astype(np.float32), s, rng)


class Locked(Pairwise):
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
    check_protocol(protocol, network=Network.cycle(4), adversary=Eavesdropper(), tolerance=tolerance, seed=0)


def test_a_protocol_of_a_module_is_pasted_with_its_settings():
    with pytest.raises(AssertionError) as caught:
        check_protocol(SecureSum(sigma=3.0, encrypted=False), reveals="total", seed=0)
    code = str(caught.value).split("\n\n", 1)[1]
    assert "from secmix.protocols import SecureSum" in code
    assert "sigma=3.0" in code
    assert len(code) < 3000
    with pytest.raises(AssertionError, match="it learns"):
        exec(compile(code, "pasted", "exec"), {"__name__": "__main__"})


@pytest.mark.build
@pytest.mark.parametrize(
    "one", [e for e in ENROLLED if "," not in e.name or "open" in e.name or "encrypted" in e.name], ids=str
)
def test_the_enrolled_protocols_reveal_what_they_claim(one):
    check = check_protocol(one.protocol, reveals=one.listening, network=Network.cycle(5), tolerance=1e-5, seed=0)
    assert check.coalitions >= 14


@pytest.mark.build
def test_an_outsider_and_a_server_are_adversaries_too():
    network = Network.cycle(4)
    check_protocol(SecureSum(), reveals="nothing", network=network, adversary=Eavesdropper(), seed=0)
    check_protocol(Plain(), reveals="everything", network=network, adversary=CuriousServer(), seed=0)
    with pytest.raises(AssertionError, match='"reveals"'):
        check_protocol(Plain(), reveals="total", network=network, adversary=CuriousServer(), seed=0)


@pytest.mark.build
def test_who_learns_less_than_is_stated_is_counted():
    quiet = HonestButCurious([0], eavesdrops=False)
    check = check_protocol(SecureSum(), reveals="everything", network=Network.cycle(4), adversary=quiet, seed=0)
    assert check.less == check.coalitions


@pytest.mark.build
def test_the_same_seed_draws_the_same_cases():
    assert check_protocol(Summed(), seed=4) == check_protocol(Summed(), seed=4)


@pytest.mark.build
@pytest.mark.parametrize(
    "protocol",
    [
        Averaging(),
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


GOSSIP = {
    "channel": {"result": lambda self, ends, parts: ends + parts[0].mean(axis=1)[:, None]},
    "same draws": {"result": lambda self, ends, parts: ends + next(COUNT)},
    "result": {"error": lambda self, results, reference: np.ones(len(results))},
}


@pytest.mark.parametrize("title", GOSSIP)
def test_mistakes_in_collaborations_are_caught(title):
    with pytest.raises(AssertionError, match=f'Averaging fails "{title}"'):
        check_protocol(with_steps(Averaging, **GOSSIP[title]), seed=0)


def test_a_collaboration_that_draws_elsewhere_is_caught():
    def result(self, ends, parts):
        return ends + np.random.standard_normal()  # noqa: NPY002

    with pytest.raises(AssertionError, match='Averaging fails "same draws"'):
        check_protocol(with_steps(Averaging, result=result), seed=0)


def test_arguments_that_make_no_sense():
    for wrong in (
        {"reveals": "all"}, {"reveals": [{9}], "network": Network.cycle(3)}, {"skip": ["maskss"]}, {"tolerance": 0},
        {"level": "slow"},
    ):  # fmt: skip
        with pytest.raises(SecmixError):
            check_protocol(SecureSum(), seed=0, **wrong)
    with pytest.raises(SecmixError, match="not a protocol"):
        check_protocol(object())


def test_inputs_that_sum_to_zero_accuse_nobody() -> None:
    """Found by the build under another kernel: three whole numbers that sum to zero need no message to be averaged."""
    for first in (5.0, 6.0):
        arrives(Pairwise(), Network.complete(3), np.array([[[first], [-3.0], [-2.0]]]), seed=0)


class Clips(Pairwise):
    """Clips what it hides, so that it is no linear function of inputs, and proved all the same."""

    def body(self, channel, s, r, network, rng):
        return super().body(channel, np.clip(s, -1e4, 1e4), r, network, rng)


class Branches(Pairwise):
    """Asks a secret first, which reveals nothing and ends the proof."""

    def body(self, channel, s, r, network, rng):
        for node in s:
            if np.abs(node).max() > 1e4:
                node *= 1.0
        return super().body(channel, s, r, network, rng)


@pytest.mark.build
def test_it_says_what_is_proved_and_at_which_line_the_proof_ends():
    proved = check_protocol(Clips(), network=Network.complete(4), seed=0)
    assert (proved.proved, proved.unproved) == (proved.coalitions, {})
    assert f"proved: {proved.coalitions} of {proved.coalitions} adversaries" in str(proved)
    ended = check_protocol(Branches(), network=Network.complete(4), seed=0)
    [reason] = ended.unproved
    assert ended.proved == 0
    assert "not proved: a branch on a secret at test_check_protocol.py, line " in reason
    assert "if np.abs(node).max() > 1e4" in reason
    assert reason in str(ended)


@dataclass(frozen=True)
class SeedsBranch(Summed):
    """Expands a seed of each pair, and branches on what it hides."""

    def draw_masks(self, runs, m, network, rng):
        return rng.integers(0, 2**64, size=(runs, self.count(network), 2), dtype=np.uint64)

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        seeds = self.draw_masks(*np.shape(inputs)[::2], network, rng) if masks is None else masks
        m = np.shape(inputs)[2]
        expanded = [[np.random.default_rng(seed).normal(scale=1e6, size=m) for seed in run] for run in seeds]
        if np.abs(inputs).max() > 1e4:
            inputs = 1.0 * np.asarray(inputs)
        return super().average(inputs, network, rng, masks=np.array(expanded), channel=channel)


@pytest.mark.build
def test_of_masks_that_seeds_expand_into_nothing_is_said_where_the_proof_ends():
    check = check_protocol(SeedsBranch(), adversary=CuriousServer(), network=Network.complete(3), seed=0)
    [reason] = check.unproved
    assert "a branch on a secret" in reason
    assert check.proved == 0
    assert not {"leaks", "linear"} & set(check.cases)
    assert "fresh masks" in check.cases
    assert any("of masks expanded from seeds only reuse is tried" in line for line in check.assumptions())


@dataclass(frozen=True)
class SeedsOfASession(SeedsBranch):
    """Expands the same seeds in every averaging."""

    reuses_masks = True


@pytest.mark.build
def test_masks_that_are_used_again_are_caught_where_nothing_is_proved():
    """A newcomer's seeds had no iteration in them: the check said "not proved", and passed."""
    with pytest.raises(AssertionError, match=r'fails "fresh masks"') as caught:
        check_protocol(SeedsOfASession(), adversary=CuriousServer(), network=Network.complete(3), seed=0)
    assert "to the server, round 0, has the same mask in two averagings" in str(caught.value)


@pytest.mark.build
def test_a_coin_that_is_used_as_text_is_covered_as_it_fell():
    coin = with_steps(Pairwise, sent=lambda self, hidden, s, r, rng: hidden if str(rng.random()) else s)
    [reason] = check_protocol(coin, network=Network.complete(4), seed=0).unproved
    assert reason.startswith("proved for what was traced, not for every call: ")


@pytest.mark.build
def test_a_printed_test_imports_nothing_private():
    for fault in ("in the clear", "a sign", "past the channel"):
        with pytest.raises(AssertionError) as caught:
            check_protocol(with_steps(Summed, 5.0, **FAULTS[fault][1]), seed=3, skip=["average"])
        imported = re.findall(r"^\s*from (secmix\S*) import (.+)$", str(caught.value), re.MULTILINE)
        assert imported
        for package, names in imported:
            public = {*importlib.import_module(package).__all__, "adversaries"}
            assert set(names.split(", ")) <= public, (package, names)


def test_a_printed_test_names_the_adversary_with_all_its_settings():
    blind = HonestButCurious([0], sees_metadata=False)
    with pytest.raises(AssertionError, match=r"adversary = adversaries\.HonestButCurious\(.*sees_metadata=False\)"):
        check_protocol(Plain(), network=Network.cycle(4), adversary=blind, seed=0)


class RareCoin(Pairwise):
    """Sends one call in fifty as it is."""

    def sent(self, hidden, s, r, rng):
        return s if rng.random() < 0.02 else hidden


@pytest.mark.build
def test_a_coin_is_traced_both_ways_and_small_masks_are_said_not_to_be_judged():
    with pytest.raises(AssertionError, match=r"it learns x\d, whatever the data are"):
        check_protocol(RareCoin(), network=Network.complete(4), seed=0)
    said = check_protocol(Pairwise(), network=Network.complete(4), seed=0).assumptions()
    assert any("audit what they hide" in line for line in said)


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


@pytest.mark.build
def test_rounding_that_a_protocol_amplifies_is_measured_and_nothing_else_is_let_through():
    others = {each.title for each in SUM} - {"linear"}
    network = Network.complete(20)
    check_protocol(FarShares(), network=network, skip=others, seed=0)
    with pytest.raises(AssertionError, match="'mean' of round 2 is wrong"):
        check_protocol(FarShares(degree=1, hint=5e-9), network=network, skip=others, seed=0)
