"""The tables of a scenario, each with its keys, what they mean and what they may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from secmix._base.plugins import available
from secmix.errors import nearest

WholeNumber = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


class Strict(BaseModel):
    """A table whose keys are all known."""

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
    rows_per_node : int or list of int, optional
        How many rows each node gets in a run, drawn anew from the data set; a list has one number a node. Default 1, or
        half of each node's own rows where the data set says whose each row is (``group`` of "csv").
    """

    name: str = "breast_cancer"
    standardise: bool = True
    features: WholeNumber | None = Field(
        None,
        description="Principal components to keep; default: the columns themselves. A data set with a setting of this "
        'name, such as "gaussian", gets it instead',
    )
    rows_per_node: WholeNumber | list[WholeNumber] | None = None


OWN_KEYS: dict[str, tuple[str, ...]] = {
    table: tuple(key for key in spec.model_fields if key != "name")
    for table, spec in (("protocol", PartSpec), ("adversary", PartSpec), ("data", DataSpec))
}
"""By table, the keys that are no settings of the part itself."""


class NetworkSpec(Strict):
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
    names : list of str
        What reports call the nodes; where the rows have groups, those of the group of that name are the node's.
    """

    kind: Literal["edges", "complete", "cycle", "random_geometric"] = "edges"
    nodes: Count = 5
    edges: list[Annotated[list[int], Field(min_length=2, max_length=2)]] | None = None
    radius: Annotated[float, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    owners: list[str] | None = Field(None, description="Who owns each node; colluders are then counted in owners")
    names: list[Annotated[str, Field(min_length=1)]] | None = Field(None, description="What reports call each node")

    @model_validator(mode="after")
    def _belong_together(self) -> NetworkSpec:
        if (self.kind == "edges") != (self.edges is not None):
            raise ValueError('give edges with kind = "edges" (the default), and only with it')
        if self.owners is not None and len(self.owners) != self.nodes:
            raise ValueError(f"owners lists {len(self.owners)} names for {self.nodes} nodes; give one a node")
        if self.names is not None and len(self.names) != self.nodes:
            raise ValueError(f"names lists {len(self.names)} names for {self.nodes} nodes; give one a node")
        if self.names is not None and len(set(self.names)) < self.nodes:
            raise ValueError("names lists a name twice; give each node one of its own")
        return self


class ModelSpec(Strict):
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
    noise_nodes: WholeNumber | None = Field(None, description="Nodes whose noise together makes up that on the sums")

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


Effort = Literal["quick", "standard", "thorough"]
_STANDARD = 4
_QUARTERS: dict[Effort, int] = {"quick": 1, "standard": _STANDARD, "thorough": 16}
"""Starts and evaluations of a search, in quarters of its usual ones. If a start finds the rows with probability p, N
starts miss them with (1 − p)ᴺ: "quick" with the fourth root of that chance, "thorough" with its fourth power."""

NOT_BY_DEFAULT = ("information", "ksg", "counterexample", "noise", "epsilon", "membership")
"""Two estimates of information, made where they are named, and evidence that is gathered wherever it applies."""


class MeasureSpec(Strict):
    """Which evidence to gather, about whom.

    Attributes
    ----------
    evidence : list of str
        Names of installed evidence; by default all of it but ``information``, which takes seconds a node, and ``ksg``,
        which convicts in no cell of the catalogue.
    effort : str
        How many starts and evaluations a search may make: a quarter of the standard ones with "quick", which may miss
        what "standard" finds, and four times as many with "thorough".
    """

    evidence: list[str] = Field(
        default_factory=lambda: [name for name in available("evidence") if name not in NOT_BY_DEFAULT], min_length=1
    )
    effort: Effort = "standard"
    target: Literal["row", "input"] = Field("row", description="What is private: a row of data, or the summed vector")
    nodes: list[Annotated[int, Field(ge=0)]] | None = Field(None, description="Default: every honest node")
    show_private: bool = Field(False, description="Draw recovered rows, true ones beside them, of data of your own too")
    neighbours: WholeNumber = Field(3, description="k of the KSG estimator")
    level: Annotated[float, Field(gt=0, le=0.5)] = Field(
        0.05, description="Chance that what is measured accuses anybody wrongly, in the whole audit"
    )
    sigmas: list[Annotated[float, Field(gt=0)]] = Field(
        [1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e6, 1e8], description="Mask sizes of the privacy and accuracy curve"
    )

    def work(self, count: int) -> int:
        """Return how many starts or evaluations a search may make in place of ``count``, at least 2.

        Examples
        --------
        >>> [MeasureSpec(effort=effort).work(768) for effort in ("quick", "standard", "thorough")]
        [192, 768, 3072]
        """
        return max(count * _QUARTERS[self.effort] // _STANDARD, 2)

    @property
    def more_work(self) -> str:
        """Name the effort that makes more, in words; empty for the largest."""
        larger = {"quick": "standard", "standard": "thorough"}.get(self.effort)
        return "" if larger is None else f'measure.effort = "{larger}" makes up to four times as many'

    @field_validator("evidence")
    @classmethod
    def _installed(cls, names: list[str]) -> list[str]:
        known = available("evidence")
        for name in names:
            if name not in known:
                raise ValueError(f"no evidence is called '{name}'; {nearest(name, known)}")
        return names


class PolicySpec(Strict):
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
    max_epsilon : float
        Largest epsilon of differential privacy that may be proved of a node's releases; see ``neighbours``.
    max_membership : float
        How often the released result may tell that a row was among the data, at a false-positive rate of 1 %; asked of
        the adversary "public" alone.
    """

    max_revealed_nodes: Annotated[int, Field(ge=0)] | None = None
    max_normalised_leakage: Share | None = None
    min_breakdown: Share | None = None
    max_error_ratio: Annotated[float, Field(gt=0)] | None = None
    min_colluders: WholeNumber | None = Field(
        None, description="Nodes, or owners, that it must take, at least, to expose anybody"
    )
    covers: Literal["all", "traced"] | None = Field(
        None, description="Iterations of a sum that must be proved: all, by default; or those traced, and no others"
    )
    max_epsilon: Positive | None = None
    max_membership: Share | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description="Of max_epsilon; by default 0, at which Gaussian noise has no epsilon"
    )
    unit: Literal["row", "node"] | None = Field(
        None, description="What noise must hide: one row, or by default all rows of a node"
    )
    neighbours: Literal["replace", "add-or-remove"] | None = Field(
        None,
        description="How neighbours of max_epsilon differ: a unit exchanged (default), or a row more or fewer",
    )

    @property
    def noise_unit(self) -> Literal["row", "node"]:
        """Unit that noise must hide."""
        return self.unit or "node"

    @property
    def noise_relation(self) -> Literal["replace", "add-or-remove"]:
        """Difference of the neighbours of ``max_epsilon``."""
        return self.neighbours or "replace"

    @model_validator(mode="after")
    def _something(self) -> PolicySpec:
        limits = [name for name in type(self).model_fields if name not in _NO_LIMITS]
        if all(getattr(self, name) is None for name in limits):
            raise ValueError(f"give at least one limit: {', '.join(limits)}")
        return self

    @model_validator(mode="after")
    def _of_noise(self) -> PolicySpec:
        if self.max_epsilon is None and (self.delta is not None or self.neighbours is not None):
            raise ValueError("delta and neighbours say what max_epsilon is about: give it too, or leave them out")
        if self.max_epsilon is None and self.max_normalised_leakage is None and self.unit is not None:
            raise ValueError("unit says what max_normalised_leakage or max_epsilon is about: give one of them")
        if self.neighbours == "add-or-remove" and self.noise_unit == "node":
            raise ValueError(
                'neighbours = "add-or-remove" goes with unit = "row": messages show that a node takes part, so it is '
                "compared with other data"
            )
        return self


_NO_LIMITS = ("covers", "delta", "unit", "neighbours")
"""Keys of a policy that say what its limits are about."""
