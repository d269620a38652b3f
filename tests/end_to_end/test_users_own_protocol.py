"""A user's own protocol, written from the interface alone: a right one is measured, a wrong one is never cleared.

Each wrong protocol gives away more than the audit's exact evidence would show if it took the protocol at its word: its
masks are not what they should be, or what its nodes know does not stand in the transcript. Honest rows are then known,
or all but known; *not refuted* would be a false all-clear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.report import Report
from secmix.errors import SecmixError
from secmix.protocols import Plain, SecureSum, SumProtocol
from secmix.transcript import SERVER, Channel

pytestmark = pytest.mark.build

NETWORK = {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]}
EXACT = ["structure", "gaussian"]


def audit(protocol: SumProtocol | None, adversary: Adversary, **changes: Any) -> Report:
    """With 20 rows a node, no reading of the sums gives rows away; with one row, the unknowns may be solved for."""
    content: dict[str, Any] = {
        "network": NETWORK,
        "runs": 200,
        "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
        "model": {"iterations": 3},
        "measure": {"evidence": EXACT, "sigmas": [1.0, 1e6]},
        "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
        **changes,
    }
    own = None if protocol is None else {"mine": protocol}
    return secmix.audit(content, protocols=own, adversaries={"theirs": adversary})


def standings(report: Report) -> dict[int, str]:
    return {node.node: node.standing for node in report.cells[0].nodes}


@dataclass(frozen=True)
class Pairwise:
    """Neighbours agree on masks; one adds theirs, the other takes it off; a server adds up (Bonawitz et al. 2017)."""

    sigma: float = 1e6

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(scale=self.sigma, size=(runs, len(network.edges), m))

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        s = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        if masks is None:
            masks = self.draw_masks(s.shape[1], s.shape[2], network, rng)
        r = np.asarray(masks).transpose(1, 0, 2)
        first, second = network.edges.T
        nodes = np.arange(network.n)
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, first, "mask", r)
        other = channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = s.copy()
        np.add.at(hidden, first, r)
        np.subtract.at(hidden, second, other)
        received = channel.send(0, nodes, SERVER, "masked", self.sent(hidden, s, rng))
        back = np.zeros(network.n, dtype=int)
        mean = channel.send(1, SERVER, nodes, "average", received.mean(axis=0)[None], content=back)[0]
        return np.repeat(mean[:, None, :], network.n, axis=1), channel.transcript

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return hidden


# (a) Right.


@pytest.mark.parametrize("outsider", [Eavesdropper(), CuriousServer()])
def test_a_right_protocol_shows_no_more_than_the_sum(outsider: Adversary) -> None:
    report = audit(Pairwise(), outsider)
    assert report.verdict == "not refuted"
    assert report.cells[0].leaked == ["x0 + x1 + x2 + x3 + x4"]
    for finding in report.findings:
        assert finding.normalised_leakage == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize(
    ("corrupt", "leaked", "revealed"),
    [({1, 3}, ["x0 + x2 + x4", "x1", "x3"], set()), ({1, 2, 4}, ["x0", "x1", "x2", "x3", "x4"], {0, 3})],
)
def test_a_right_protocol_before_colluders(corrupt: set[int], leaked: list[str], revealed: set[int]) -> None:
    report = audit(Pairwise(), HonestButCurious(corrupt))
    assert report.cells[0].leaked == leaked
    assert {node for node, standing in standings(report).items() if standing == "revealed"} == revealed
    assert report.verdict == ("violated" if revealed else "not refuted")


MODULE = '''
import numpy as np
from secmix.protocols import Plain

class Open(Plain):
    """The plain protocol under another name."""
'''


def test_a_protocol_named_in_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_protocol_in_toml.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(
        "runs = 200\n[data]\nname = 'wine'\nfeatures = 2\n[network]\nkind = 'cycle'\n"
        "[measure]\nevidence = ['structure']\n"
        "[protocol]\nname = 'own_protocol_in_toml:Open'\nencrypted = true\n[adversary]\nname = 'curious_server'\n"
    )
    report = secmix.audit(path, tmp_path / "out", allow_code=True)
    assert report.verdict == "violated"
    assert report.cells[0].protocol == "Open, encrypted = True"
    assert (tmp_path / "out" / "report.html").is_file()


def test_own_parts_go_with_a_sweep_of_something_else() -> None:
    report = audit(Pairwise(), Eavesdropper(), sweep={"data.rows_per_node": [10, 20]})
    assert [cell.protocol for cell in report.cells] == [f"mine, data.rows_per_node = {k}" for k in (10, 20)]
    assert report.verdict == "not refuted"


def test_a_protocol_and_an_adversary_may_have_the_same_label() -> None:
    report = secmix.audit(
        {
            "network": NETWORK,
            "runs": 200,
            "model": {"iterations": 1},
            "data": {"name": "wine", "features": 2},
            "measure": {"evidence": ["structure"]},
        },
        protocols={"mine": Plain()},
        adversaries={"mine": CuriousServer()},
    )
    assert report.verdict == "violated"


# (b) Randomness elsewhere than in draw_masks, and (e) what is not linear.


class Elsewhere(Pairwise):
    """Adds noise that draw_masks knows nothing of."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return s + rng.normal(scale=1e-3, size=s.shape)


class SameForAllRuns(Pairwise):
    """Adds the same noise in every run."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return s + rng.normal(size=(len(s), 1, 1))


class Squared(Pairwise):
    """Sends the squares along, which are as the inputs themselves where those are 0 or 1."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return hidden + s**2 - s


class Rounded(Pairwise):
    """Sends whole numbers."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.round(s)


@dataclass(frozen=True)
class Failing(Pairwise):
    """Sends something that is no number, besides, where the inputs are negative."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        averages, transcript = super().average(inputs, network, rng, masks=masks, channel=channel)
        s = np.asarray(inputs).transpose(1, 0, 2)
        nodes = np.arange(network.n)
        (channel or Channel()).send(2, nodes, SERVER, "odd", np.where(s < 0, np.nan, s * (s - 1)))
        return averages, transcript


@pytest.mark.parametrize("wrong", [Elsewhere, SameForAllRuns, Squared, Rounded, Failing])
def test_what_is_not_linear_in_inputs_and_masks_is_not_cleared(wrong: type[Pairwise]) -> None:
    assert audit(wrong(), Eavesdropper()).verdict != "not refuted"
    assert audit(wrong(), Eavesdropper(), policy={"max_revealed_nodes": 0}).verdict != "not refuted"


# (c) Masks used again.


@dataclass(frozen=True)
class Pool(Pairwise):
    """Draws a few masks, and takes them in turn; says nothing of it."""

    size: int = 1
    factor: float = 1.0
    drawn: dict[tuple[int, ...], list[np.ndarray]] = field(default_factory=dict)

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        pool = self.drawn.setdefault((runs, m), [])
        fresh = super().draw_masks(runs, m, network, rng)
        pool.append(fresh if len(pool) < self.size else self.factor * pool[-self.size])
        return pool[-1].copy()


@dataclass(frozen=True)
class OneKept(Pool):
    """Draws all masks afresh but those of node 0."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        masks = Pairwise.draw_masks(self, runs, m, network, rng)
        kept = self.drawn.setdefault((runs, m), [masks])[0]
        mine = (network.edges == 0).any(axis=1)
        masks[:, mine] = kept[:, mine]
        return masks


@pytest.mark.parametrize("wrong", [Pool, lambda: Pool(size=2), lambda: Pool(factor=-1.5), OneKept])
def test_masks_used_again_without_saying_so_are_not_cleared(wrong: Any) -> None:
    report = audit(wrong(), Eavesdropper())
    assert report.verdict != "not refuted"


# (d) Masks that are not what sigma says.


class Small(Pairwise):
    """Says sigma and draws a billionth of it."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return 1e-9 * super().draw_masks(runs, m, network, rng)


class OneSmall(Pairwise):
    """Large masks, but small ones on the lines of node 0."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        masks = super().draw_masks(runs, m, network, rng)
        masks[:, (network.edges == 0).any(axis=1)] *= 1e-9
        return masks


class FirstEntry(Pairwise):
    """Masks only the first number of each vector."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        masks = super().draw_masks(runs, m, network, rng)
        masks[:, :, 1:] = 0.0
        return masks


class SameEntries(Pairwise):
    """One mask for all numbers of a vector: their differences lie open."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return np.repeat(super().draw_masks(runs, 1, network, rng), m, axis=2)


class SameSeed(Pairwise):
    """Every line has the same mask, as with one seed for all: the masks of a node cancel, or solve."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return np.repeat(rng.normal(scale=self.sigma, size=(runs, 1, m)), len(network.edges), axis=1)


class Rare(Pairwise):
    """Masks in one run of ten."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return super().draw_masks(runs, m, network, rng) * (rng.random((runs, 1, 1)) < 0.1)


class Whole(Pairwise):
    """Whole numbers for masks: what stands behind the decimal point is open."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return 1000.0 * np.round(super().draw_masks(runs, m, network, rng))


class Coins(Pairwise):
    """Plus or minus sigma: after a look at the sign there is nothing to hide."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return self.sigma * rng.choice([-1.0, 1.0], size=(runs, len(network.edges), m))


class HeavyTails(Pairwise):
    """A huge standard deviation, made by few."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return super().draw_masks(runs, m, network, rng) * 1e-6 * np.exp(3 * rng.normal(size=(runs, 1, 1)))


class Fading(Pool):
    """Smaller from iteration to iteration."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        pool = self.drawn.setdefault((runs, m), [])
        pool.append(Pairwise.draw_masks(self, runs, m, network, rng) * 1e-6 ** len(pool))
        return pool[-1]


@pytest.mark.parametrize(
    "wrong",
    [Small, OneSmall, FirstEntry, SameEntries, SameSeed, Rare, Whole, Coins, HeavyTails, Fading],
)
def test_masks_that_do_not_hide_are_not_cleared(wrong: type[Pairwise]) -> None:
    assert audit(wrong(), Eavesdropper()).verdict != "not refuted"


@pytest.mark.parametrize("wrong", [lambda: Small(sigma=1.0), FirstEntry, SameSeed, Fading])
def test_nor_are_they_where_only_revealed_nodes_count(wrong: Any) -> None:
    assert audit(wrong(), Eavesdropper(), policy={"max_revealed_nodes": 0}).verdict != "not refuted"


@dataclass(frozen=True)
class Modular(SecureSum):
    """Secure summation modulo 2^28 with masks that are not uniform on the grid of its words."""

    arithmetic: Any = "modular"
    scale: float = 1.0
    step: float = 2.0**-24

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> np.ndarray:
        return self.step * np.floor(rng.uniform(0, self.scale, size=(runs, 1, m)) / self.step)


@pytest.mark.parametrize("settings", [{"scale": 0.0}, {"scale": 1e-3}, {"scale": 2.0**28, "step": 1.0}])
def test_modular_masks_that_are_not_uniform_are_not_cleared(settings: dict[str, float]) -> None:
    report = audit(Modular(cycle=(0, 1, 2, 3, 4), **settings), HonestButCurious({1}))
    assert report.verdict != "not refuted"


def test_modular_masks_that_are_uniform_are_cleared() -> None:
    report = audit(SecureSum(arithmetic="modular", cycle=(0, 1, 2, 3, 4)), HonestButCurious({1}))
    assert report.verdict == "not refuted"


# What the transcript does not say.


class Untold(Pairwise):
    """Keeps quiet, in the transcript, of what nodes hold and agree on: its interface asks for messages only."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        quiet = _Quiet(channel or Channel())
        return super().average(inputs, network, rng, masks=masks, channel=quiet)


class _Quiet:
    """Passes on what the nodes send in the open."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.transcript = channel.transcript

    def hold(self, *_: Any, **__: Any) -> None: ...

    def send(self, *arguments: Any, encrypted: bool = False, **more: Any) -> np.ndarray:
        payload: np.ndarray = arguments[4]
        return payload if encrypted else self.channel.send(*arguments, **more)


class Around(Plain):
    """Averages without a channel, and sends only the result."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        channel = channel or Channel()
        mean = np.asarray(inputs).mean(axis=1)
        channel.send(0, SERVER, np.arange(network.n), "average", mean[None], content=np.zeros(network.n, dtype=int))
        return np.repeat(mean[:, None, :], network.n, axis=1), channel.transcript


class Silent(Plain):
    """Sends nothing at all."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        return super().average(inputs, network, rng, masks=masks, channel=Channel())[0], (
            channel or Channel()
        ).transcript


def test_masks_that_corrupt_nodes_know_but_the_transcript_does_not_are_not_cleared() -> None:
    # All neighbours of node 0 are corrupt: they know every mask on it.
    assert audit(Untold(), HonestButCurious({1, 2, 4})).verdict != "not refuted"


@pytest.mark.parametrize("adversary", [Eavesdropper(), CuriousServer()])
def test_a_protocol_that_goes_round_the_channel_is_not_cleared(adversary: Adversary) -> None:
    assert audit(Around(), adversary).verdict != "not refuted"


def test_a_protocol_that_sends_nothing_is_refused_in_words() -> None:
    with pytest.raises(SecmixError, match="channel"):
        audit(Silent(), Eavesdropper())


class Crooked(Pairwise):
    """Sends more numbers than it was given."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([hidden, s], axis=2)


class Broken(Pairwise):
    """Fails with an error of its own."""

    def sent(self, hidden: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise KeyError("mine")


@pytest.mark.parametrize("wrong", [Crooked, Broken])
def test_a_protocol_that_fails_is_told_in_words(wrong: type[Pairwise]) -> None:
    try:
        report = audit(wrong(), Eavesdropper())
    except SecmixError:
        return
    assert report.verdict == "inconclusive"


class Turning(SecureSum):
    """Secure summation on another random cycle each time: sooner or later a node stands between two corrupt ones."""

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        order = (0, 2, 1, 3, 4, 5) if rng.random() < 0.15 else (0, 1, 2, 3, 4, 5)
        return SecureSum(cycle=order).average(inputs, network, rng, masks=masks, channel=channel)


def test_what_happens_in_later_runs_only_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from secmix.auditing.observation import observe

    monkeypatch.setattr(observe, "block_size", lambda cell, parts: 10)
    # On the second cycle, node 1 stands between the corrupt 2 and 3; on the first, between 0 and 2.
    report = audit(
        Turning(), HonestButCurious({2, 3}), network={"kind": "complete", "nodes": 6}, model={"iterations": 1}
    )
    assert standings(report)[1] == "revealed"
