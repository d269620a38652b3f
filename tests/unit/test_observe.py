"""What is kept of the runs: the adversary's best linear reading, and whether the messages are what they seem."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.observation import observe as module
from secmix.auditing.observation.invertible_sums import _groups
from secmix.auditing.observation.memory import block_size
from secmix.auditing.observation.observe import observe, seeds_of
from secmix.auditing.observation.reading import _UNIT, _linear_error
from secmix.auditing.observation.sum_observation import SumObservation, known_of_sums
from secmix.auditing.setup import PreparedData, SumSetup, build_setup
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed, read_off, rounding_units
from secmix.mixture import Mixture, local_statistics
from secmix.network import Network
from secmix.protocols import PDMM, Plain, SecureSum, SumProtocol
from secmix.scenario import Scenario, from_dict, parse
from secmix.transcript import SERVER, Channel

RUNS = 100


def scenario(**changes: Any) -> Scenario:
    return from_dict(
        {
            "network": {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]},
            "runs": RUNS,
            "data": {"name": "wine", "features": 2},
            "model": {"iterations": 3},
            "protocol": {"name": "p", "label": "p"},
            "adversary": {"name": "a", "label": "a"},
            **changes,
        }
    )


def seen(protocol: SumProtocol, adversary: Adversary, **changes: Any) -> SumObservation:
    cell = scenario(**changes)
    parts = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): adversary})
    return observe(cell, parts, seeds_of(cell))


def test_shapes() -> None:
    found = seen(PDMM(sigma=100.0), HonestButCurious({1, 3}))
    m = 2 * (1 + 2 + 3)
    assert found.iterations == [0, 1, 2]
    assert {node: rows.shape for node, rows in found.rows.items()} == dict.fromkeys((0, 2, 4), (RUNS, 2))
    assert all(found.inputs[t].shape == (5, RUNS, m) for t in range(3))
    assert set(found.features) == {0, 2, 4}
    assert all(found.features[i][t].shape == (RUNS, m + 2) for i in (0, 2, 4) for t in range(3))
    assert found.mask_size == pytest.approx(100.0, rel=0.05)
    assert found.output_error < 1e-6
    assert not found.unmet_premises


@pytest.mark.parametrize(("init", "fits"), [("public", 1), ("kmeans", 2)])
def test_cells_on_the_same_rows_are_held_against_one_pooled_fit(
    init: str, fits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that starts at centres that are drawn is another for each protocol, whose draws differ."""
    pooled: dict[bytes, Array] = {}
    monkeypatch.setattr(module, "_POOLED", pooled)

    def error(protocol: SumProtocol, label: str, rows: int = 1) -> float:
        data = {"name": "wine", "features": 2, "rows_per_node": rows}
        cell = scenario(protocol={"name": "p", "label": label}, data=data, model={"iterations": 3, "init": init})
        parts = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): Eavesdropper()})
        return observe(cell, parts, seeds_of(cell)).output_error

    errors = error(Plain(), "first"), error(PDMM(), "first"), error(Plain(), "second")
    assert len(pooled) == fits
    assert max(errors) < 1e-6
    pooled.clear()
    assert error(Plain(), "second") == errors[2]
    error(Plain(), "second", rows=2)
    assert len(pooled) == 2


def test_what_the_server_reads_is_the_input_itself() -> None:
    found = seen(Plain(), CuriousServer())
    for i in range(5):
        for t in found.iterations:
            assert np.abs(found.features[i][t][:, :12] - found.inputs[t][i]).max() < 1e-9
        # With one row a node, b = a x: the ratio of the statistics is the row.
        assert np.abs(found.guesses[i]["ratios of one iteration"] - found.rows[i]).max() < 1e-6


def test_behind_masks_only_the_sum_is_read() -> None:
    found = seen(PDMM(sigma=1e6), Eavesdropper())
    mean = found.inputs[0].mean(axis=0)
    for i in range(5):
        assert np.abs(found.features[i][0][:, :12] - mean).max() < 1e-4
    assert found.readings[0].subspace.describe() == ["x0 + x1 + x2 + x3 + x4"]


@pytest.mark.build
def test_reused_masks_are_read_jointly() -> None:
    assert seen(PDMM(sigma=10.0), Eavesdropper()).joint is None
    for init in ("kmeans", "moments"):
        model = {"iterations": 3, "init": init}
        (doubt,) = seen(PDMM(sigma=1000.0, masks="reused"), Eavesdropper(), model=model).unmet_premises
        assert "several iterations use the same masks" in doubt
    found = seen(PDMM(sigma=1000.0, masks="reused"), Eavesdropper())
    assert found.joint is not None
    # What the differences between two of three iterations give of each input: a share of 2/3.
    assert all(found.joint.subspace.explained(i).max() > 0.6 for i in range(5))
    assert not any("correlated" in doubt for doubt in found.unmet_premises)


def test_data_do_not_depend_on_the_protocol() -> None:
    one, other = seen(Plain(), Eavesdropper()), seen(SecureSum(), Eavesdropper())
    assert all((one.rows[i] == other.rows[i]).all() for i in range(5))


@pytest.mark.parametrize("protocol", [Plain(), SecureSum(sigma=10.0), PDMM(sigma=10.0, masks="reused")])
def test_blocks_are_joined_run_by_run(protocol: SumProtocol, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "block_size", lambda cell, parts: 30)
    found = seen(protocol, Eavesdropper())
    assert found.rows[0].shape == (RUNS, 2)
    assert all(found.inputs[t].shape[1] == RUNS for t in found.iterations)
    assert all(f.shape[0] == RUNS for f in found.features[0].values())
    assert all(guess.shape == (RUNS, 2) for guess in found.guesses[0].values())
    rows = np.concatenate([found.rows[i] for i in range(5)])
    assert len(np.unique(rows, axis=0)) > 150  # each block deals anew


@dataclass(frozen=True)
class SharedByManyRuns(PDMM):
    """Draws one mask for all runs, where there are many."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the masks of one run for all."""
        masks = super().draw_masks(runs, m, network, rng)
        return np.repeat(masks[:1], runs, axis=0) if runs > 30 else masks


def in_blocks_of_30(protocol: SumProtocol, proved: bool, monkeypatch: pytest.MonkeyPatch) -> SumObservation:
    monkeypatch.setattr(module, "block_size", lambda cell, parts: 30)
    cell = scenario(measure={"evidence": ["structure"]})
    parts = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): HonestButCurious({1, 3})})
    return observe(cell, parts, seeds_of(cell), exact=True, proved=lambda first: proved)


def test_of_runs_that_are_proved_alike_only_the_first_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, proved = (in_blocks_of_30(PDMM(sigma=100.0), each, monkeypatch) for each in (False, True))
    assert proved.iterations == read.iterations
    for t in read.iterations:
        assert proved.inputs[t].shape == read.inputs[t].shape == (5, RUNS, 12)
        assert np.array_equal(proved.readings[t].subspace.explained(0), read.readings[t].subspace.explained(0))
    assert np.array_equal(proved.rows[0], read.rows[0])
    assert proved.output_error < 1e-6
    assert proved.unmet_premises == read.unmet_premises == []
    assert proved.runs == RUNS


def test_masks_of_runs_that_are_not_read_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_blocks_of_30(SharedByManyRuns(sigma=100.0), True, monkeypatch).unmet_premises


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Blocks of 20 runs; which of them carried probes, as they are run."""
    monkeypatch.setattr(module, "block_size", lambda cell, parts: 20)
    ran: list[bool] = []
    block = module._block

    def noted(*given: Any, probing: bool, **rest: Any) -> SumObservation:
        ran.append(probing)
        return block(*given, probing=probing, **rest)

    monkeypatch.setattr(module, "_block", noted)
    return ran


@pytest.mark.build
@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (Plain(), CuriousServer()),
        (Plain(encrypted=True), Eavesdropper()),
        (SecureSum(), HonestButCurious({1, 3})),
        (SecureSum(arithmetic="modular", bits=40, fraction_bits=12), HonestButCurious({1})),
        (PDMM(sigma=100.0), HonestButCurious({1, 3})),
    ],
)
def test_later_blocks_need_no_probes_and_are_read_alike(
    protocol: Any, adversary: Any, blocks: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = seen(protocol, adversary)
    assert blocks[0]
    assert blocks.count(False) == 4  # tried on all the others, and
    assert blocks.count(True) <= 3  # done again only where a block took longer than any before it
    monkeypatch.setattr(module.ProbeCache, "of", _unprecedented)
    probed = seen(protocol, adversary)
    assert probed.unmet_premises == found.unmet_premises
    for i, per_node in probed.features.items():
        for t, features in per_node.items():
            np.testing.assert_allclose(found.features[i][t], features, rtol=1e-6, atol=1e-7)
    for i in found.features:
        shares = [
            max(reading.subspace.explained(i).max() for _, reading in each.all_readings) for each in (found, probed)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=1e-9)


def _unprecedented(*_: Any) -> Any:
    raise module.ProbeMismatch


@pytest.mark.build
@pytest.mark.parametrize("protocol", [PDMM(schedule="asynchronous"), PDMM(loss=0.3), PDMM(masks="reused")])
def test_blocks_that_take_another_course_are_probed_anew(protocol: Any, blocks: list[bool]) -> None:
    seen(protocol, HonestButCurious({1, 3}))
    assert blocks.count(True) == 5


@dataclass(frozen=True)
class Tiring(SecureSum):
    """Forgets its masks after three averagings."""

    averagings: list[int] = field(default_factory=list)

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        self.averagings.append(len(inputs))
        if len(self.averagings) > 3:
            masks = np.zeros_like(masks)
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def test_what_only_later_blocks_reveal_is_found(blocks: list[bool]) -> None:
    """Messages that look the same, but are other functions of inputs and masks: the first probes do not serve."""
    found = seen(Tiring(sigma=10.0), HonestButCurious({1}), model={"iterations": 3})
    assert blocks.count(True) > 1
    shares = [reading.subspace.explained(3).max() for _, reading in found.all_readings]
    assert shares[0] == pytest.approx(1 / 4)  # the sum of the four others
    assert max(shares) == pytest.approx(1 / 3)  # without masks, a sum of three on the way


def test_blocks_depend_on_the_scenario_alone() -> None:
    cell = scenario(runs=2000)
    parts = build_setup(cell, {("protocol", "p"): PDMM(), ("adversary", "a"): Eavesdropper()})
    assert block_size(cell, parts) == block_size(cell, parts) <= 500


def test_known_sums_are_as_far_off_the_rows_as_is_said() -> None:
    # Nodes of PDMM agree on parameters to 1e-10 or so: more than the rounding of what they sum. Who solves the sums for
    # rows and allows for rounding alone finds that no rows fit, and has found them.
    (known,) = seen(PDMM(sigma=100.0), Eavesdropper()).sums
    assert known.members == (0, 1, 2, 3, 4)
    allowed = 4 * known.error * np.abs(known.values).max(axis=(1, 2))[:, None] * (1 + 1e-6)
    for t, theta in enumerate(known.parameters):
        off = known.values[:, t] - local_statistics(known.rows, theta, likelihood=False)
        assert (np.abs(off).max(axis=1) <= allowed[:, t]).all()
        assert (np.abs(off).max(axis=1) > 0.1 * allowed[:, t]).any()  # nor is much more allowed for
    assert (known.error < 1e-6).all()


def test_rows_are_made_ready_once_for_all_cells_of_the_same_data() -> None:
    given = {("protocol", "p"): PDMM(), ("adversary", "a"): Eavesdropper()}
    ready: dict[str, PreparedData] = {}
    first, again = (build_setup(cell, given, ready) for cell in (scenario(), scenario(runs=2 * RUNS)))
    other = build_setup(scenario(data={"name": "wine", "features": 3}), given, ready)
    assert isinstance(first, SumSetup)
    assert isinstance(again, SumSetup)
    assert again.rows is first.rows
    assert again.start is first.start
    assert other.rows.shape[1] == 3
    assert len(ready) == 2
    alone = build_setup(scenario(), given)
    assert isinstance(alone, SumSetup)
    assert isinstance(alone.start, Mixture)
    assert isinstance(first.start, Mixture)
    assert alone.rows.tobytes() == first.rows.tobytes()
    assert alone.start.means.tobytes() == first.start.means.tobytes()
    # Another number of components begins elsewhere.
    more = build_setup(scenario(model={"iterations": 3, "components": 3}), given, ready)
    assert isinstance(more, SumSetup)
    assert isinstance(more.start, Mixture)
    assert more.start.n_components == 3


def test_messages_too_large_for_memory_are_refused_with_the_figure() -> None:
    given = {("protocol", "p"): PDMM(max_sweeps=10**6, tol=1e-12), ("adversary", "a"): Eavesdropper()}
    cell = scenario(memory_limit=32, network={"kind": "random_geometric", "nodes": 45})
    with pytest.raises(SecmixError, match=r"take [\d.]+ MiB, where memory_limit = 32 leaves 2.3 .* raise memory_limit"):
        block_size(cell, build_setup(cell, given))


def test_less_memory_means_smaller_blocks() -> None:
    given = {("protocol", "p"): PDMM(), ("adversary", "a"): Eavesdropper()}
    sizes = [
        block_size(c, build_setup(c, given)) for c in (scenario(runs=2000, memory_limit=m) for m in (32, 320, 3200))
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@dataclass(frozen=True)
class SharedByEntries(PDMM):
    """Draws one mask for all entries of a vector."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw a mask of one entry for all."""
        return np.repeat(super().draw_masks(runs, 1, network, rng), m, axis=2)


@pytest.mark.parametrize("fault", [None, "entries"])
def test_blocks_of_few_runs_are_checked_by_masks_of_more(monkeypatch: pytest.MonkeyPatch, fault: str | None) -> None:
    monkeypatch.setattr(module, "block_size", lambda *args: 5)
    wrong = SharedByEntries(sigma=100.0) if fault else PDMM(sigma=100.0)
    faults = seen(wrong, HonestButCurious({1, 3})).unmet_premises
    assert ("entries of a vector share masks" in str(faults)) == bool(fault)
    assert bool(faults) == bool(fault)


@dataclass(frozen=True)
class Bent(Plain):
    """Sends what is linear only for numbers of 0 and 1."""

    bend: float = 1.0

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> Any:
        s = np.asarray(inputs)
        averages, transcript = super().average(s, network, rng, masks=masks, channel=channel)
        bent = self.bend * (s**2 - s).transpose(1, 0, 2)
        (channel or Channel()).send(2, np.arange(network.n), SERVER, "bent", bent)
        return averages, transcript


@pytest.mark.parametrize("bend", [1.0, 1e-3, 1e-6])
def test_what_is_not_linear_is_noticed(bend: float) -> None:
    assert any("linear" in doubt for doubt in seen(Bent(bend=bend), CuriousServer()).unread)


def test_rounding_grows_with_the_nodes_of_a_running_sum_and_hides_nothing_else() -> None:
    n, runs, protocol = 2500, 20, SecureSum()
    network, channel, probed = Network.cycle(n), Channel(), Probed(protocol)
    rng = np.random.default_rng(0)
    probed.average(rng.normal(size=(runs, n, 30)), network, rng, channel=channel)
    view = HonestButCurious({1, n - 2}).observe(channel.transcript, network)
    linear = read_off(view, [0], runs=runs, masks=1, network=network, protocol=protocol).equilibrated()
    values = linear.normalised(np.stack([row[:runs] for row in view.rows]))
    off = _linear_error(linear, values, probed.recorded[0], 0.0, _UNIT)
    assert 64 < off.max() * rounding_units(n) < n  # what passes in small networks is too little
    values[-1, 3, 4] += 1e-6
    off = _linear_error(linear, values, probed.recorded[0], 0.0, _UNIT)
    assert np.flatnonzero(off > 1.0).tolist() == [len(values) - 1]


@pytest.mark.build
@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (Plain(encrypted=True), CuriousServer()),
        (SecureSum(), HonestButCurious({1, 3})),
        (SecureSum(arithmetic="modular"), HonestButCurious({1, 3})),
        (SecureSum(arithmetic="modular", bits=40, fraction_bits=12), HonestButCurious({1})),
        (PDMM(), HonestButCurious({1, 3})),
        (PDMM(sigma=1e9), Eavesdropper()),
        (PDMM(schedule="asynchronous", loss=0.3), Eavesdropper()),
        (PDMM(dropout=(4, 40)), Eavesdropper()),
    ],
)
@pytest.mark.parametrize("init", ["public", "kmeans", "moments"])
def test_nothing_is_doubted_in_the_protocols_of_the_house(protocol: Any, adversary: Any, init: str) -> None:
    model = {"iterations": 2, "init": init}
    assert (
        seen(protocol, adversary, model=model, data={"name": "wine", "features": 2, "rows_per_node": 8}).unmet_premises
        == []
    )


def test_blocks_in_which_more_messages_were_not_linear_join_the_others():
    # A rounding on the edge once left one block of four with twelve more features than the rest, and the cell failed.
    from secmix.auditing.observation.sum_observation import _of_one_width

    joined = _of_one_width([np.ones((2, 3)), np.ones((1, 5))])
    assert joined.tolist() == [[1, 1, 1, 0, 0]] * 2 + [[1] * 5]


def test_known_sums_are_counted_in_the_schedule_that_shows_most() -> None:
    """A schedule that only later runs take may show more than that of the first."""
    little, much = seen(PDMM(sigma=1e6), Eavesdropper()), seen(Plain(), CuriousServer())
    parts = build_setup(scenario(), {("protocol", "p"): Plain(), ("adversary", "a"): CuriousServer()})
    assert isinstance(parts, SumSetup)
    sums = 3 * 2 * (1 + 2 + 3)
    assert known_of_sums(parts, little, 0) == (sums, 5 * 2)
    for one, other in ((little, much), (much, little)):
        both = replace(one, others=[([t], reading) for t, reading in other.readings.items()])
        assert known_of_sums(parts, both, 0) == (sums, 2)


def test_of_nodes_whose_sums_are_solved_together_the_same_is_counted() -> None:
    parts = build_setup(scenario(), {("protocol", "p"): Plain(), ("adversary", "a"): CuriousServer()})
    assert isinstance(parts, SumSetup)
    observation = seen(Plain(), CuriousServer())
    counted = [known_of_sums(parts, observation, node) for node in range(5)]
    assert counted == [known_of_sums(parts, replace(observation), node) for node in range(5)]


def test_a_plain_sum_is_found_where_only_combinations_are_known() -> None:
    """x0 + x4/2 and x2 + x4/2 are the sum of three; node 1 is corrupt, and what it puts in is known."""
    honest = np.array([True, False, True, True, True])
    combined = np.array([[1.0, 0.3, 0, 0, 0.5], [0, 0, 1, 0, 0.5]])
    assert _groups(combined, honest, (1,) * 5) == {(0, 2, 4)}
    assert _groups(np.array([[1.0, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 1]]), honest, (1,) * 5) == {
        (0, 2),
        (3, 4),
    }
    assert _groups(np.array([[1.0, 0, -1, 0, 0]]), honest, (1,) * 5) == set()
    assert _groups(np.eye(5), honest, (2,) * 5) == {(0,), (2,), (3,), (4,)}
    assert _groups(np.eye(5)[:0], honest, (2,) * 5) == set()


def test_a_flower_project_draws_the_same_numbers_in_every_folder():
    """A test passed in one folder and failed in another, where the masks of SecAgg+ were others."""
    network, table = "network.kind = 'complete'\n", "[protocol]\nname = 'flower_app'\nproject = "
    here, elsewhere = (seeds_of(parse(f"{network}{table}'{folder}'\n")) for folder in ("mine/app", "/tmp/clone/app"))
    assert [drawn.entropy for drawn in here] == [drawn.entropy for drawn in elsewhere]
