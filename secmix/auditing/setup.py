"""A cell's scenario made into the things it names: data, network, protocol, adversary, model."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array, Ints
from secmix._base.plugins import takes
from secmix.adversaries import Adversary
from secmix.adversaries.attacks.attack import CONTRIBUTION
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.data import Dataset, prepared, sample_rows
from secmix.errors import DataError, NetworkError, ScenarioError, SecmixError, shown
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols import Collaboration, Defences, DistributedEM, SumProtocol
from secmix.protocols.released import FittedMixture, Released
from secmix.scenario import ModelSpec, NetworkSpec, PartSpec, Scenario
from secmix.scenario.settings import OWN_KEYS

_MOST_EDGES = 10**5  # of a complete network that a report lists: of 2,000 nodes they would be two million
_MANY_ROWS = 10**6
_BYTES_PER_EDGE = 500  # of a networkx graph, measured
_BYTES_PER_PAIR = 64  # of a complete network, which keeps its edges as numbers: each three times, once both ways

ReadyParts = Mapping[tuple[str, str], Any]
"""Ready-made parts by table ("protocol", "adversary") and name."""


@dataclass(frozen=True)
class Setup:
    """Parts that one cell runs on, whatever its protocol."""

    rows: Array  # (N, d), prepared
    source: str
    public: bool  # whether rows may be shown
    counts: tuple[int, ...]  # rows of each node
    network: Network
    adversary: Adversary
    corrupt: frozenset[int]
    asked: tuple[int, ...]  # honest nodes the audit reports on
    _: KW_ONLY
    groups: tuple[Ints, ...] | None = None  # which rows are each node's, where the data say it
    names: tuple[str, ...] = ()  # of the nodes, where they have any

    def sample_rows(self, runs: int, rng: np.random.Generator) -> list[Array]:
        """Sample rows for the nodes, in each run anew: n arrays (runs, counts[i], d)."""
        return sample_rows(self.rows, self.counts, runs, rng, self.groups)

    def has_rows(self, counts: Sequence[int]) -> bool:
        """Say whether so many rows can be drawn for each node."""
        if self.groups is None:
            return sum(counts) <= len(self.rows)
        return all(count <= len(own) for count, own in zip(counts, self.groups, strict=True))

    @cached_property
    def edges(self) -> list[tuple[int, int]] | None:
        """The edges of the network, as a report has them; None where they are many, as all nodes are joined."""
        edges, n = self.network.edges, self.network.n
        if len(edges) > _MOST_EDGES and 2 * len(edges) == n * (n - 1):
            return None
        return [(a, b) for a, b in edges.tolist()]

    @cached_property
    def possible_rows(self) -> int:
        """Number of rows that the public values of the columns can make; above a million it is not counted further."""
        possible = 1
        for column in self.rows.T:
            possible *= len(np.unique(column))
            if possible >= _MANY_ROWS:
                break
        return possible


@dataclass(frozen=True)
class SumSetup(Setup):
    """Parts of distributed EM over a sum protocol."""

    protocol: SumProtocol
    start: Mixture | str  # as DistributedEM's init
    _: KW_ONLY
    unprobed: str = ""  # why no probes are sent with the runs; empty where they are
    unproved: str = ""  # why nothing is proved, where it is known already
    too_wide: str = ""  # why only a few runs are made, which clear nobody; empty where enough are

    @property
    def is_unequal(self) -> bool:
        """True if honest nodes are not exchangeable: they hold other numbers of rows, or rows of their own groups."""
        if self.groups is not None:
            return True
        if len({*self.counts}) == 1:  # asked of each node: without a look at each node
            return False
        return len({count for i, count in enumerate(self.counts) if i not in self.corrupt}) > 1


@dataclass(frozen=True)
class CollaborationSetup(Setup):
    """Parts of a collaboration, which is audited as a whole."""

    protocol: Collaboration


@dataclass(frozen=True)
class PreparedData:
    """Rows made ready for a mixture, and where fits of them begin: the same in all cells that name the same data."""

    rows: Array  # (N, d)
    source: str
    public: bool
    owners: tuple[str, ...] | None = None  # whose each row is, where the data say it
    starts: dict[tuple[int, float], Mixture] = field(default_factory=dict)

    def start(self, components: int, reg_covar: float) -> Mixture:
        """Return :func:`public_start`, worked out once."""
        if (components, reg_covar) not in self.starts:
            self.starts[components, reg_covar] = public_start(self.rows, components, reg_covar)
        return self.starts[components, reg_covar]


def data_key(cell: Scenario) -> str:
    """Return what the rows of a cell are made from."""
    return repr(cell.data)


def build_setup(
    cell: Scenario, ready_parts: ReadyParts | None = None, prepared_data: dict[str, PreparedData] | None = None
) -> SumSetup | CollaborationSetup:
    """Build the parts of ``cell``; objects in ``ready_parts`` take the place of named ones.

    ``prepared_data`` holds rows by their :func:`data_key`, and gets those that are new. Raises SecmixError if a part
    does not exist, a setting is wrong, or the parts do not fit each other.
    """
    check_network_size(cell)
    _check_limit(cell)
    prepared_data = {} if prepared_data is None else prepared_data
    if data_key(cell) not in prepared_data:
        prepared_data[data_key(cell)] = _load_data(cell)
    data = prepared_data[data_key(cell)]
    rows = data.rows
    groups = None if data.owners is None else rows_of_nodes(cell, data.owners)
    counts = _counts(cell, rows, groups)
    names = tuple(cell.network.names or (() if data.owners is None else dict.fromkeys(data.owners)))
    of_data: dict[str, Any] = {"groups": groups, "names": names}
    network = build_network(cell.network)
    protocol = _part("protocols", cell.protocol, "protocol", ready_parts)
    adversary = _part("adversaries", cell.adversary, "adversary", ready_parts)
    if not isinstance(protocol, SumProtocol | Collaboration):
        raise ScenarioError(
            f"[protocol] '{cell.protocol.name}' has neither average and draw_masks nor collaborate and error; see "
            "docs/tutorials/own-protocol.md"
        )
    if not isinstance(adversary, Adversary):
        raise ScenarioError(f"[adversary] '{cell.adversary.name}' has no observe and corrupt_nodes; see CONTRIBUTING")
    corrupt = adversary.corrupt_nodes(network)
    setting = (rows, data.source, data.public, counts, network, adversary, corrupt)
    asked = _asked(cell, network, corrupt)
    if isinstance(protocol, Collaboration):
        _only_for_collaborations(cell)
        traits = AdversaryTraits.of(adversary)
        served = protocol if traits.serves is None else traits.serves(protocol)
        return CollaborationSetup(*setting, asked, Released(served) if traits.reads_result else served, **of_data)
    if (against := AdversaryTraits.of(adversary).against) is not None:
        against([CONTRIBUTION])
    if cell.model.components > sum(setting[3]):
        raise DataError(
            f"[model] {cell.model.components} components but only {sum(setting[3])} rows on all nodes; use fewer "
            "components or raise rows_per_node"
        )
    model = cell.model
    start = data.start(model.components, model.reg_covar) if model.init == "public" else model.init
    setup = SumSetup(*setting, asked, protocol, start, **of_data)
    if not AdversaryTraits.of(adversary).reads_result:
        return setup
    return CollaborationSetup(*setting, asked, Released(_fitted(cell, setup)), **of_data)


def _fitted(cell: Scenario, setup: SumSetup) -> FittedMixture:
    """Return distributed EM as what its last iteration releases."""
    if cell.model.hold_parameters:
        error = ScenarioError(
            "[model] hold_parameters = true fits no mixture that could be released; leave it out against an adversary "
            "who reads the result"
        )
        error.key = ("model", "hold_parameters")
        raise error
    return FittedMixture(build_model(cell, setup, setup.protocol, record=False))


def _load_data(cell: Scenario) -> PreparedData:
    settings, features = dict(cell.data.settings), cell.data.features
    with suppress(SecmixError):  # what is wrong with the name is reported below, with its place
        if features is not None and takes(plugins.load("datasets", cell.data.name), "features"):
            settings["features"], features = features, None
    data = _build("datasets", cell.data.name, settings, "data")
    if not isinstance(data, Dataset):
        raise DataError(f"[data] name = '{cell.data.name}' returned {type(data).__name__}; a loader returns a Dataset")
    try:
        rows = prepared(data, standardise=cell.data.standardise, features=features)
    except DataError as error:
        named = DataError(f"[data] {error}")
        named.key = ("data",)
        raise named from error
    return PreparedData(rows, data.source, data.public, data.groups)


def _only_for_collaborations(cell: Scenario) -> None:
    if cell.model != ModelSpec():
        raise ScenarioError(
            f"[model] is of distributed EM; '{cell.protocol.name}' takes its settings under [protocol]: move them there"
        )
    if cell.measure.target != "row":
        raise ScenarioError(f"[measure] target = \"{cell.measure.target}\": '{cell.protocol.name}' sums no inputs")


def check_network_size(cell: Scenario) -> None:
    """Check before it is built whether the graph alone fits the memory that messages may take.

    Raises NetworkError if it does not.
    """
    spec = cell.network
    n, pairs = spec.nodes, spec.nodes * (spec.nodes - 1) / 2
    if spec.kind == "edges":
        edges = float(len(spec.edges or []))
    elif spec.kind == "complete":
        edges = pairs
    elif spec.kind == "cycle":
        edges = float(n)
    else:
        reach = math.sqrt(2 * math.log(max(n, 2)) / n) if spec.radius is None else spec.radius
        edges = pairs * min(1.0, math.pi * min(reach, 2.0) ** 2)
    need = (n * _BYTES_PER_EDGE + edges * (_BYTES_PER_PAIR if spec.kind == "complete" else _BYTES_PER_EDGE)) / 2**20
    if need > cell.message_limit:
        error = NetworkError(
            f"[network] {n} nodes with about {edges:.3g} edges take {need:.3g} MiB before a message is sent, and "
            f"of memory_limit = {cell.memory_limit} MiB {cell.message_limit:.0f} MiB are for that and messages; use "
            "fewer nodes, or raise memory_limit"
        )
        error.key = ("network", "nodes")
        raise error


def _check_limit(cell: Scenario) -> None:
    """Refuse a limit on revealed nodes that no network of this size can exceed: it would hold whatever is known."""
    limit, nodes = cell.policy.max_revealed_nodes, cell.network.nodes
    if limit is not None and limit > nodes:
        error = ScenarioError(
            f"[policy] max_revealed_nodes = {limit} asks nothing of {nodes} nodes; give at most {nodes}"
        )
        error.key = ("policy", "max_revealed_nodes")
        raise error


def build_network(spec: NetworkSpec) -> Network:
    """Build the network of a scenario."""
    if spec.kind == "edges":
        return Network.from_edges(spec.nodes, spec.edges or [])
    if spec.kind == "complete":
        return Network.complete(spec.nodes)
    if spec.kind == "cycle":
        return Network.cycle(spec.nodes)
    return Network.random_geometric(spec.nodes, np.random.default_rng(spec.seed), radius=spec.radius)


def build_model(
    cell: Scenario, setup: SumSetup, sums: SumProtocol, *, record: bool = True, defended: bool = True
) -> DistributedEM:
    """Build distributed EM over ``sums``, as the scenario says, for a fixed number of iterations."""
    model = cell.model
    return DistributedEM(
        model.components,
        sums=sums,
        covariance_center=model.covariance_center,
        reg_covar=model.reg_covar,
        max_iter=model.iterations,
        tol=None,
        init=setup.start,
        hold_parameters=model.hold_parameters,
        defences=defences_of(cell) if defended else None,
        record=record,
    )


def defences_of(cell: Scenario) -> Defences | None:
    """Return the defences that the scenario sets; None where it sets none."""
    return Defences(**cell.model.defences) if cell.model.defences else None


def blurring(cell: Scenario) -> str:
    """Name the defences by which what is sent no longer fixes the rows it is computed from; empty if there are none."""
    defences = defences_of(cell)
    return ", ".join(defences.words) if defences is not None and defences.blurs else ""


def public_start(rows: Array, components: int, reg_covar: float) -> Mixture:
    """Return parameters everybody knows: k-means on the whole data set, the same in every run."""
    from sklearn.cluster import KMeans

    if components > len(rows):
        raise DataError(f"{components} components but only {len(rows)} rows; use fewer components")
    labels = KMeans(components, n_init=4, random_state=0).fit_predict(rows)
    groups = [rows[labels == j] for j in range(components)]
    weights = np.array([len(group) / len(rows) for group in groups])
    means = np.array([group.mean(axis=0) for group in groups])
    spread = [np.cov(g, rowvar=False, bias=True).reshape(rows.shape[1], -1) for g in groups]
    return Mixture(weights, means, np.array(spread) + reg_covar * np.eye(rows.shape[1]))


def _part(group: str, spec: PartSpec, table: str, ready_parts: ReadyParts | None) -> Any:
    # By name: the label may have grown by what else is swept.
    if ready_parts and (table, spec.name) in ready_parts:
        part = ready_parts[table, spec.name]
        if isinstance(part, type):
            raise ScenarioError(
                f"[{table}] '{spec.name}' is the class {part.__name__}; give an object: {part.__name__}()"
            )
        return part
    return _build(group, spec.name, spec.settings, table)


def _build(group: str, name: str, settings: Mapping[str, Any], table: str) -> Any:
    try:
        return plugins.build(group, {"name": name, **settings}, OWN_KEYS[table])
    except SecmixError as error:
        named = type(error)(f"[{table}] {error}")
        about = (
            ("path",) if isinstance(error, DataError) and "path" in settings else ()
        )  # what is wrong is in that file
        named.key = (table, *(error.key or about))
        raise named from error


def rows_of_nodes(cell: Scenario, owners: Sequence[str]) -> tuple[Ints, ...]:
    """Return which rows are each node's: those of the group of its name, or else groups in the order of the rows.

    Raises DataError if there is not one group for each node.
    """
    named = list(dict.fromkeys(owners))
    wanted = cell.network.names or named
    if sorted(wanted) != sorted(named) or len(named) != cell.network.nodes:
        strange = sorted(set(named) ^ set(wanted))
        differ = f" ({', '.join(map(shown, strange[:3]))} only in one of them)" if strange else ""
        error = DataError(
            f"[data] group: the rows belong to {len(named)} groups, and [network] has {cell.network.nodes} "
            f"nodes{differ}; set nodes = {len(named)}, and names to those of the groups"
        )
        error.key = ("data", "group")
        raise error
    labels = np.array(owners)
    return tuple(np.flatnonzero(labels == name) for name in wanted)


def _counts(cell: Scenario, rows: Array, groups: tuple[Ints, ...] | None) -> tuple[int, ...]:
    wanted, nodes = cell.data.rows_per_node, cell.network.nodes
    if wanted is None:
        wanted = 1 if groups is None else [max(1, len(own) // 2) for own in groups]
    counts = (wanted,) * nodes if isinstance(wanted, int) else tuple(wanted)
    if len(counts) != nodes:
        raise DataError(f"[data] rows_per_node lists {len(counts)} numbers for {nodes} nodes; give one a node")
    for node, (count, own) in enumerate(zip(counts, groups or (), strict=False)):
        if count > len(own):
            raise DataError(f"[data] node {node} asks for {count} rows, its group has {len(own)}; lower rows_per_node")
    if groups is None and sum(counts) > len(rows):
        raise DataError(f"[data] the nodes ask for {sum(counts)} rows, the data have {len(rows)}; lower rows_per_node")
    return counts


def _asked(cell: Scenario, network: Network, corrupt: frozenset[int]) -> tuple[int, ...]:
    if cell.measure.nodes is None:
        return tuple(sorted(set(range(network.n)) - corrupt))
    asked = network.node_set(cell.measure.nodes, "[measure]")
    if not asked - corrupt:
        given = f"{sorted(asked)} are all corrupt" if asked else "[] names nobody"
        raise NetworkError(f"[measure] nodes = {given}; ask about an honest node, or leave it out for all of them")
    return tuple(sorted(asked - corrupt))


def with_active_adversary(setup: SumSetup, sums: SumProtocol) -> SumProtocol:
    """Return the protocol as it runs with this adversary: an active one changes inputs or outputs."""
    active = AdversaryTraits.of(setup.adversary).active
    return sums if active is None else active(sums)


def deep_copy(part: Any) -> Any:
    """Copy a protocol or an adversary deeply; shallowly if a lock or a file in it cannot be copied, or not at all.

    The check of state finds what a copy shares with the object, like all else that outlives a call.
    """
    for how in (copy.deepcopy, copy.copy):
        try:
            return how(part)
        except Exception:  # a copy may raise anything
            continue
    return part
