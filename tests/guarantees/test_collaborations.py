"""What every collaboration promises, whatever it computes: properties that a new one joins by one line here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from example_protocols import Averaging
from hypothesis import given
from hypothesis import strategies as st

import secmix
from secmix._base.checks import Array
from secmix.adversaries import Attack, Eavesdropper, TamperingChannel
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.collaborations.undeclared import undeclared_flow
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import Collaboration, DistributedMixture, FederatedPCA, GraphFedEM, SelectExchangeCluster
from secmix.scenario import Scenario
from secmix.transcript import Channel

NODES, RUNS = 5, 2
Enrolled = Callable[[], Collaboration]
COLLABORATIONS: dict[str, Enrolled] = {
    "DistributedMixture, DFMR": lambda: DistributedMixture(2, rule="dfmr", starts=1, max_iterations=20),
    "DistributedMixture, component-wise": lambda: DistributedMixture(
        2, rule="component_wise", starts=1, max_iterations=20
    ),
    "FederatedPCA, subspace median": lambda: FederatedPCA(1),
    "FederatedPCA, subspace median of means": lambda: FederatedPCA(
        1, rule="subspace_median_of_means", groups=3, iterations=3
    ),
    "FederatedPCA, resilient power method": lambda: FederatedPCA(1, rule="resilient_power_method", iterations=3),
    "GraphFedEM": lambda: GraphFedEM(2, n_rounds=2, local_steps=1),
    "GraphFedEM, median": lambda: GraphFedEM(2, n_rounds=2, local_steps=1, rule="coordinate_median", f=1),
    "SEC, models": lambda: SelectExchangeCluster(candidates=["ols"], points=3),
    "SEC, predictions": lambda: SelectExchangeCluster(candidates=["ols", "ridge"], exchange="predictions", points=3),
}
every = pytest.mark.parametrize("name", COLLABORATIONS)


def _parts(seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(NODES, RUNS, 12, 3))
    rows[:, :, ::2] += 4.0
    return list(rows)


def _run(protocol: Collaboration, channel: Channel, parts: list[Array] | None = None) -> Array:
    rng = np.random.default_rng(1)
    return protocol.collaborate(parts or _parts(), Network.complete(NODES), rng, channel=channel)


@dataclass(frozen=True)
class _OfItsOwn(Averaging):
    """Sends means of rows that it has from elsewhere, or of those that it is dealt."""

    rows: Array | None = None

    def sent(self, parts: Sequence[Array]) -> Array:
        runs = len(parts[0])
        given = parts if self.rows is None else [np.repeat(self.rows, runs, axis=0)] * len(parts)
        return super().sent(given)


@pytest.mark.parametrize("encrypted", [False, True])
def test_nobody_is_cleared_of_rows_that_a_protocol_does_not_use(encrypted: bool) -> None:
    # Found by Flower's NumPy quickstart: rows did not go in, so that what the server heard was the same on all of them.
    elsewhere = np.random.default_rng(5).normal(size=(1, 9, 2))
    setting = {
        "network": {"kind": "complete", "nodes": 3},
        "runs": 100,
        "data": {"name": "wine", "features": 2, "rows_per_node": 8},
        "measure": {"evidence": ["decoders"]},
        "policy": {"max_revealed_nodes": 0},
    }
    for rows, verdict in ((elsewhere, "inconclusive"), (None, "holds" if encrypted else None)):
        found = secmix.audit(
            setting, protocols={"it": _OfItsOwn(rows=rows, encrypted=encrypted)}, adversaries={"ear": Eavesdropper()}
        )
        assert verdict in (None, found.verdict)


@every
def test_it_is_one_and_says_what_errors_are_measured_in(name: str) -> None:
    protocol = COLLABORATIONS[name]()
    assert isinstance(protocol, Collaboration)
    assert str(getattr(protocol, "unit", ""))


@every
def test_the_outcome_has_its_shape_and_no_error_from_itself(name: str) -> None:
    protocol = COLLABORATIONS[name]()
    results = _run(protocol, Channel())
    assert results.shape[:2] == (RUNS, NODES)
    error = protocol.error(results, results)
    assert error.shape == (RUNS,)
    assert (error >= 0).all()
    # The distance between subspaces is the root of a difference: rounding of 1e-16 shows as 1e-8.
    assert (error < 1e-7).all()
    apart = protocol.error(_run(protocol, Channel(), _parts(7)), results)
    assert (apart > 1e-6).all()


@every
def test_whether_it_is_recorded_makes_no_difference(name: str) -> None:
    protocol = COLLABORATIONS[name]()
    assert np.array_equal(_run(protocol, Channel()), _run(protocol, Channel(record=False)))


@every
def test_liars_who_tell_the_truth_make_no_difference(name: str) -> None:
    """The protocol goes on with what ``send`` returned, and the channel gives back what it should."""
    protocol = COLLABORATIONS[name]()
    channel = Channel()
    honest = _run(protocol, channel)
    kinds = {block.kind for block in channel.transcript}
    lying = TamperingChannel(Attack(kinds, lambda said: said.own), [1, 3], np.random.default_rng(0))
    assert np.array_equal(_run(protocol, lying), honest)
    assert lying.transcript.messages == channel.transcript.messages


@every
def test_the_transcript_holds_every_run_and_the_rows_of_every_node(name: str) -> None:
    protocol, channel, parts = COLLABORATIONS[name](), Channel(), _parts()
    _run(protocol, channel, parts)
    blocks = list(channel.transcript)
    assert {block.runs for block in blocks} == {RUNS}
    held: dict[int, list[Array]] = {node: [] for node in range(NODES)}
    for block in blocks:
        if block.line == "held" and block.round < 0:
            for node, which in zip(block.sender, block.content, strict=True):
                held[int(node)].append(block.payload[which])
    for node, part in enumerate(parts):
        together = np.concatenate(held[node], axis=1)
        assert np.array_equal(np.sort(together, axis=1), np.sort(part.reshape(RUNS, -1), axis=1))


@every
def test_lies_reach_the_honest_nodes(name: str) -> None:
    """A message that nobody heeds would be no message; here all but two nodes lie as one."""
    protocol = COLLABORATIONS[name]()
    channel = Channel()
    honest = _run(protocol, channel)
    kinds = {block.kind for block in channel.transcript if block.line != "held"}
    told = Attack(kinds, lambda said: said.own[:1] * np.ones((len(said.own), 1)))  # all say what the first says
    forged = _run(protocol, TamperingChannel(told, [1, 2, 4], np.random.default_rng(0)))
    assert not np.array_equal(forged[:, [0, 3]], honest[:, [0, 3]])


HOSTILE = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-300, 1e9])


@pytest.mark.parametrize(
    "name",
    # Several seconds each; the other families say daily what an audit does with such numbers.
    [pytest.param(name, marks=pytest.mark.build) if name.startswith("SEC") else name for name in COLLABORATIONS],
)
@given(value=HOSTILE, some=st.booleans(), liar=st.integers(0, NODES - 1))
def test_any_message_of_one_liar_is_survived_or_refused(name: str, value: float, some: bool, liar: int) -> None:
    """Numbers that are none, or far too large: the run fails with a clear error, or honest nodes end with numbers."""
    protocol = COLLABORATIONS[name]()
    channel = Channel()
    _run(protocol, channel)
    kinds = {block.kind for block in channel.transcript if block.line != "held"}

    def forge(said: object) -> Array:
        own = np.array(said.own)  # type: ignore[attr-defined]
        own[:, :: 2 if some else 1] = value
        return own

    forging = TamperingChannel(Attack(kinds, forge), [liar], np.random.default_rng(0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a message was set aside
        try:
            results = _run(protocol, forging)
        except SecmixError:
            return
    loyal = [node for node in range(NODES) if node != liar]
    assert not np.isnan(results[:, loyal]).any()


@every
def test_nothing_passes_outside_the_channel(name: str) -> None:
    rows = np.random.default_rng(3).normal(size=(200, 3))
    everyone = frozenset(range(NODES))
    parts = CollaborationSetup(
        rows,
        "test",
        False,
        (12,) * NODES,
        Network.complete(NODES),
        Eavesdropper(),
        frozenset(),
        tuple(everyone),
        COLLABORATIONS[name](),
    )
    cell = Scenario.model_validate({"network": {"kind": "complete"}})
    assert undeclared_flow(cell, parts) is None
