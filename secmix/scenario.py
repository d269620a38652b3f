"""Scenario: one audit, read from TOML and checked.

A scenario names the data, the network, the model, the protocol and the adversary, what to measure and what is
allowed. Under ``[sweep]`` any of its settings may take several values; the audit is then the whole table, one cell a
combination.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from secmix._base.places import line_of
from secmix._base.plugins import available
from secmix._base.toml_text import check_size, read_text, read_toml
from secmix.errors import ScenarioError, nearest, shown

Whole = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


_MOST_CELLS = 10_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Part(BaseModel):
    """A part by name; its other keys are the part's own settings, checked against its signature when it is built.

    Attributes
    ----------
    name : str
        An installed part (an entry point), or ``package.module:name``.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str = Field(min_length=1)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that go to the part itself."""
        return dict(self.model_extra or {})


class PartSpec(_Part):
    """A protocol or an adversary: a name (entry point or ``package.module:name``), a label, and its own settings."""

    label: str | None = Field(None, description="What the report calls it")

    @property
    def title(self) -> str:
        """The label, or name and settings."""
        words = [f"{key} = {value}" for key, value in self.settings.items()]
        return self.label or ", ".join([self.name.rpartition(":")[2], *words])


class DataSpec(_Part):
    """A data set, how it is prepared, and how many rows a node gets.

    Attributes
    ----------
    name : str
        An installed data set, or ``package.module:name``; "csv" reads a file of your own.
    standardise : bool
        Whether each column gets mean 0 and variance 1 first.
    rows_per_node : int or list of int
        How many rows each node gets in a run, dealt anew from the data set; a list has one number a node.
    """

    name: str = "breast_cancer"
    standardise: bool = True
    features: Whole | None = Field(None, description="Principal components to keep; default: the columns themselves")
    rows_per_node: Whole | list[Whole] = 1


class NetworkSpec(_Strict):
    """The graph: edges, or a kind of graph.

    Attributes
    ----------
    kind : str
        "edges" lists them; "random_geometric" joins nodes in the unit square that are closer than ``radius``.
    nodes : int
        How many there are; they are counted from 0.
    edges : list of [int, int]
        Pairs of neighbours.
    radius : float
        Of a random geometric graph.
    seed : int
        Of a random geometric graph.
    """

    kind: Literal["edges", "complete", "cycle", "random_geometric"] = "edges"
    nodes: Count = 5
    edges: list[Annotated[list[int], Field(min_length=2, max_length=2)]] | None = None
    radius: Annotated[float, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    owners: list[str] | None = Field(None, description="Who owns each node; colluders are then counted in owners")

    @model_validator(mode="after")
    def _belong_together(self) -> NetworkSpec:
        if (self.kind == "edges") != (self.edges is not None):
            raise ValueError('give edges with kind = "edges" (the default), and only with it')
        if self.owners is not None and len(self.owners) != self.nodes:
            raise ValueError(f"owners lists {len(self.owners)} names for {self.nodes} nodes; give one a node")
        return self


class ModelSpec(_Strict):
    """Distributed EM: the mixture, where it starts and how long it runs.

    Attributes
    ----------
    components : int
        Of the Gaussian mixture.
    iterations : int
        Of EM, each with one averaging.
    reg_covar : float
        Added to the diagonal of each covariance.
    covariance_center : str
        Whether covariances are taken about the new means or those before.
    hold_parameters : bool
        Whether every iteration uses the parameters it starts with: each is then distributed as the first.
    """

    components: Count = 2
    iterations: Count = 5
    init: Literal["public", "kmeans", "moments"] = Field(
        "public", description="public: parameters everybody knows, the same in each run; else through secure sums"
    )
    reg_covar: Annotated[float, Field(gt=0)] = 1e-2
    covariance_center: Literal["new", "old"] = "new"
    hold_parameters: bool = False
    min_count: Positive | None = Field(None, description="Rows below which a component keeps its mean and covariance")
    covariance_floor: Positive | None = Field(None, description="Least eigenvalue of a covariance")
    likelihood_drop: Positive | None = Field(None, description="Nats a row by which a node's likelihood may fall")
    rounding: Positive | None = Field(None, description="Grid that nodes round what they send to")
    clip_radius: Positive | None = Field(None, description="Norm that rows are shortened to")
    noise_multiplier: Positive | None = Field(None, description="Gaussian noise on the sums over their sensitivity")
    noise_std: Positive | None = Field(None, description="Gaussian noise on the sums, without a guarantee")
    noise_nodes: Whole | None = Field(None, description="Nodes whose noise together makes up that on the sums")

    @property
    def defences(self) -> dict[str, Any]:
        """Those that are set, as arguments of ``secmix.protocols.Defences``."""
        names = (
            "min_count",
            "covariance_floor",
            "likelihood_drop",
            "rounding",
            "clip_radius",
            "noise_multiplier",
            "noise_std",
            "noise_nodes",
        )
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class MeasureSpec(_Strict):
    """Which evidence to gather, about whom.

    Attributes
    ----------
    evidence : list of str
        Names of installed evidence; by default all of it.
    """

    evidence: list[str] = Field(default_factory=lambda: list(available("evidence")), min_length=1)
    target: Literal["row", "input"] = Field("row", description="What is private: a row of data, or the summed vector")
    nodes: list[Annotated[int, Field(ge=0)]] | None = Field(None, description="Default: every honest node")
    show_private: bool = Field(False, description="Draw recovered rows, true ones beside them, of data of your own too")
    neighbours: Whole = Field(3, description="k of the KSG estimator")
    sigmas: list[Annotated[float, Field(gt=0)]] = Field(
        [1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e6, 1e8], description="Mask sizes of the privacy and accuracy curve"
    )

    @field_validator("evidence")
    @classmethod
    def _installed(cls, names: list[str]) -> list[str]:
        known = available("evidence")
        for name in names:
            if name not in known:
                raise ValueError(f"no evidence is called '{name}'; {nearest(name, known)}")
        return names


class PolicySpec(_Strict):
    """What is allowed; what is left out is not asked for.

    Attributes
    ----------
    max_revealed_nodes : int
        How many honest nodes may be revealed.
    max_normalised_leakage : float
        How much of an honest node's data may be known: 0 nothing, 1 everything.
    min_breakdown : float
        Share of the nodes that must be able to collude while the error stays bounded, by proof.
    max_error_ratio : float
        How far colluders may push the result, in spreads of the honest contributions.
    """

    max_revealed_nodes: Annotated[int, Field(ge=0)] | None = None
    max_normalised_leakage: Share | None = None
    min_breakdown: Share | None = None
    max_error_ratio: Annotated[float, Field(gt=0)] | None = None
    min_colluders: Whole | None = Field(
        None, description="Nodes, or owners, that it must take, at least, to expose anybody"
    )

    @model_validator(mode="after")
    def _something(self) -> PolicySpec:
        if not self.model_dump(exclude_none=True):
            raise ValueError(f"give at least one limit: {', '.join(type(self).model_fields)}")
        return self


class AcceptedSpec(_Strict):
    """Findings that somebody accepts, for a reason and until a day: they are shown, and do not count meanwhile.

    What is worse than what was accepted counts: a node accepted as *partly leaked* counts once it is *revealed*.
    """

    protocol: str = Field(min_length=1, description="Label of the protocol")
    adversary: str = Field(min_length=1, description="Label of the adversary")
    nodes: list[Annotated[int, Field(ge=0)]] | None = Field(None, description="Default: every honest node")
    standing: Literal["revealed", "partly leaked", "inconclusive"] | None = Field(
        None, description="The worst standing that is accepted of these nodes"
    )
    robustness: bool = Field(False, description="Whether what colluders can do to the result is accepted too")
    reason: str = Field(min_length=1, description="Why it is accepted, for who reads the report")
    until: date = Field(description="Last day on which it is accepted")

    @field_validator("until", mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        if isinstance(value, str):
            with suppress(ValueError):  # from report.json
                return date.fromisoformat(value)
        return value

    @model_validator(mode="after")
    def _something(self) -> AcceptedSpec:
        if self.standing is None and not self.robustness:
            raise ValueError('give standing, such as "partly leaked", or robustness = true: what is accepted')
        return self


class Scenario(_Strict):
    """One audit.

    Attributes
    ----------
    title, description : str
        What the report is called, and a sentence below it.
    seed : int
        Of all random numbers: the same scenario and seed give the same report.
    data, network, model, protocol, adversary, measure, policy : tables
        As below.

    Examples
    --------
    >>> scenario = parse('''
    ... title = "Two protocols"
    ... [network]
    ... kind = "cycle"
    ... [adversary]
    ... name = "honest_but_curious"
    ... corrupt = [1]
    ... [sweep]
    ... protocol = [{name = "plain"}, {name = "pdmm", sigma = 100.0}]
    ... ''')
    >>> [cell.protocol.title for cell in scenario.cells()]
    ['plain', 'pdmm, sigma = 100.0']
    """

    title: str = "Audit"
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    runs: Annotated[int, Field(ge=100, le=10_000_000)] = Field(2000, description="Monte Carlo runs")
    memory_limit: Count = Field(300, description="MiB that the messages of one block of runs may take")
    data: DataSpec = DataSpec()
    network: NetworkSpec
    model: ModelSpec = ModelSpec()
    protocol: PartSpec = PartSpec(name="pdmm")
    adversary: PartSpec = PartSpec(name="eavesdropper")
    measure: MeasureSpec = MeasureSpec()
    policy: PolicySpec = PolicySpec(max_revealed_nodes=0)
    accepted: list[AcceptedSpec] = Field([], description="Findings that are known and accepted for a time")
    sweep: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field({}, description="Setting: list of values")

    def cells(self) -> Iterator[Scenario]:
        """One scenario without sweep for each combination of swept values, in order.

        A swept setting other than the protocol and the adversary is named in the protocol's label.
        """
        base = self.model_dump(exclude_none=True, exclude={"sweep", "accepted"})
        if any(path.split(".")[0] == "sweep" for path in self.sweep):
            raise ScenarioError("[sweep] cannot sweep itself; list the settings side by side")
        called: set[tuple[str, str]] = set()
        for values in itertools.product(*self.sweep.values()):
            chosen = dict(zip(self.sweep, values, strict=True))
            content = base
            # Whole tables first: a setting swept beside its table would else be lost under the table's own.
            for path in sorted(chosen, key=lambda path: path.count(".")):
                content = _replaced(content, path.split("."), chosen[path])
            others = [
                said
                for path, value in chosen.items()
                if path not in ("protocol", "adversary") and (said := _told(path, value, self.sweep[path]))
            ]
            if others:
                title = from_dict(content, "[sweep]").protocol.title
                content = _replaced(content, ["protocol", "label"], ", ".join([title, *others]))
            cell = from_dict(content, "[sweep]")
            names = (cell.protocol.title, cell.adversary.title)
            if names in called:
                raise ScenarioError(
                    f"[sweep] two combinations are both called '{names[0]}' against '{names[1]}'; "
                    "give each a label of its own"
                )
            called.add(names)
            yield cell

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without what is absent."""
        return self.model_dump(exclude_none=True, exclude=None if self.accepted else {"accepted"})


def parse(text: str, source: str = "the scenario") -> Scenario:
    """The scenario written in TOML ``text``.

    Raises
    ------
    ScenarioError
        Names the key, the line, what is allowed and, for an unknown key, the nearest right one.
    """
    return from_dict(read_toml(text, source), source, text)


def from_dict(content: Mapping[str, Any], source: str = "the scenario", text: str = "") -> Scenario:
    """The scenario with these plain values, every cell of its sweep checked too."""
    check_size(content, source, text)
    try:
        scenario = Scenario.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ScenarioError(_explain(first, source, text)) from None
    if scenario.sweep:
        number = math.prod(map(len, scenario.sweep.values()))
        if number > _MOST_CELLS:
            line = line_of(text, ("sweep",))
            raise ScenarioError(
                f"{source}{f', line {line}' if line else ''}, [sweep] makes {number} combinations; at most "
                f"{_MOST_CELLS} are audited at once"
            )
        try:
            list(scenario.cells())
        except ScenarioError as error:
            line = line_of(text, ("sweep",))
            raise ScenarioError(f"{source}{f', line {line}' if line else ''}, {error}") from None
    return scenario


def load(path: str | Path) -> Scenario:
    """The scenario in the file ``path``."""
    return parse(read_text(path), f"'{path}'")


def render(scenario: Scenario) -> str:
    """TOML that parses back to the same scenario."""
    return tomli_w.dumps(scenario.to_dict())


def _told(path: str, value: Any, among: list[Any]) -> str:
    """A swept value in words; of a table only what is not the same in all that are swept."""
    if not all(isinstance(other, Mapping) for other in among):
        return f"{path} = {value}"
    own = {k: v for k, v in value.items() if any(k not in other or other[k] != v for other in among)}
    return ", ".join(f"{path}.{key} = {setting}" for key, setting in own.items())


def _replaced(content: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """A copy of ``content`` with ``value`` at ``path``."""
    head, *rest = path
    if not rest:
        return {**content, head: value}
    inner = content.get(head, {})
    if not isinstance(inner, Mapping):
        raise ScenarioError(f"[sweep] names '{head}.{'.'.join(rest)}', but '{head}' has no settings of its own")
    return {**content, head: _replaced(inner, rest, value)}


def _explain(error: Any, source: str, text: str) -> str:
    path = tuple(error["loc"])
    # In unions pydantic adds the name of the branch to the path, such as "constrained-int": no key of the file.
    keys = tuple(step for step in path if isinstance(step, int) or re.fullmatch(r"[\w.]+", step))
    if error["type"] == "extra_forbidden":
        keys = path  # as the user wrote it, however odd
    name = ".".join(str(step) for step in keys) or "the scenario"
    line = line_of(text, keys)
    where = f"{source}, line {line}" if line else source
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown key {shown(name)}; {nearest(str(keys[-1]), _known_keys(keys[:-1]))}"
    if error["type"] == "missing":
        return f"{where}: {shown(name)} is missing"
    reason = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in ("model_type", "model_attributes_type", "dict_type"):
        reason = "a table with keys of its own is due"
    given = "" if isinstance(error["input"], Mapping) else f"; given {shown(error['input'])}"
    return f"{where}: {shown(name)}: {reason[0].lower() + reason[1:]}{given}"


def _known_keys(path: tuple[str | int, ...]) -> list[str]:
    model: type[BaseModel] = Scenario
    for step in path:
        field = model.model_fields.get(str(step))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        model = field.annotation
    return list(model.model_fields)
