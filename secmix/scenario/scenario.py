"""One audit: its tables, and the combinations that a sweep makes of them; read from TOML and checked."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BaseModel, Field, ValidationError, model_validator

from secmix._base.toml_text import line_of, read_text, read_toml
from secmix.errors import ScenarioError, brief, expected, first_fault, nearest, shown
from secmix.scenario.accepted import AcceptedSpec
from secmix.scenario.claim_spec import ClaimSpec
from secmix.scenario.settings import (
    Count,
    DataSpec,
    MeasureSpec,
    ModelSpec,
    NetworkSpec,
    PartSpec,
    PolicySpec,
    Strict,
)

FEWEST_RUNS = 100
_MOST_CELLS = 10_000
_DEEPEST = 12
_MOST_VALUES = 1_000_000
_OF_MESSAGES = 300 / 4096  # of the memory; several things of their size are kept beside them
_ASKS_NOTHING = PolicySpec.model_construct()  # where a claim is all that is asked


class Scenario(Strict):
    """One audit.

    Attributes
    ----------
    title : str
        What the report is called.
    description : str
        A sentence below the title.
    seed : int
        Of all random numbers: the same scenario and seed give the same report.
    data, network, model, protocol, adversary, measure, policy, claim : tables
        As below. A scenario with a claim and no policy asks about the claim alone.

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
    runs: Annotated[int, Field(ge=FEWEST_RUNS, le=10_000_000)] = Field(2000, description="Monte Carlo runs")
    memory_limit: Count = Field(
        4096, description="MiB that the audit of a combination may take in its process, beyond the program itself"
    )
    data: DataSpec = DataSpec()
    network: NetworkSpec
    model: ModelSpec = ModelSpec()
    protocol: PartSpec = PartSpec(name="pdmm")
    adversary: PartSpec = PartSpec(name="eavesdropper")
    measure: MeasureSpec = MeasureSpec()
    policy: PolicySpec = PolicySpec(max_revealed_nodes=0)
    claim: ClaimSpec | None = None
    accepted: list[AcceptedSpec] = Field([], description="Findings that are known and accepted for a time")
    sweep: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field({}, description="Setting: list of values")

    @model_validator(mode="after")
    def _of_claim(self) -> Scenario:
        if self.claim is not None and "policy" not in self.model_fields_set:
            object.__setattr__(self, "policy", _ASKS_NOTHING)
        return self

    def cells(self) -> Iterator[Scenario]:
        """List a scenario without sweep for each combination of swept values, in order.

        Each has its part of the level that the whole audit keeps. A swept setting that neither the protocol's nor the
        adversary's title says is named in the protocol's label.
        """
        base = self._content({"sweep", "accepted"})
        if any(path.split(".")[0] == "sweep" for path in self.sweep):
            raise ScenarioError("[sweep] cannot sweep itself; list the settings side by side")
        called: set[tuple[str, str]] = set()
        combinations = math.prod(len(values) for values in self.sweep.values())
        for values in itertools.product(*self.sweep.values()):
            chosen = dict(zip(self.sweep, values, strict=True))
            content = base
            # Tables first: a setting swept beside its table would else be lost under the table's own.
            for path in sorted(chosen, key=lambda path: path.count(".")):
                content = _replaced(content, path.split("."), chosen[path])
            others = [
                fault
                for path, value in chosen.items()
                if not _in_title(path, content) and (fault := _in_words(path, value, self.sweep[path]))
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
            yield cell._with_level(cell.measure.level / combinations)

    def _with_level(self, level: float) -> Scenario:
        if level == self.measure.level:
            return self
        return self.model_copy(update={"measure": self.measure.model_copy(update={"level": level})})

    @property
    def message_limit(self) -> float:
        """MiB of ``memory_limit`` that the messages of one block of runs may take."""
        return _OF_MESSAGES * self.memory_limit

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without what is absent."""
        return self._content(set() if self.accepted else {"accepted"})

    def _content(self, without: set[str]) -> dict[str, Any]:
        """Return plain values without some tables, and without a policy that asks nothing."""
        content = self.model_dump(exclude_none=True, exclude=without)
        return content if content["policy"] else {key: value for key, value in content.items() if key != "policy"}


def parse(text: str, source: str = "the scenario") -> Scenario:
    """Parse the scenario written in TOML ``text``.

    Raises
    ------
    ScenarioError
        Names the key, the line, what is allowed and, for an unknown key, the nearest right one.
    """
    return from_dict(read_toml(text, source), source, text)


def from_dict(content: Mapping[str, Any], source: str = "the scenario", text: str = "") -> Scenario:
    """Build the scenario with these plain values, and check every cell of its sweep too."""
    check_size(content, source, text)
    try:
        scenario = Scenario.model_validate(content)
    except ValidationError as error:
        raise ScenarioError(_explain(first_fault(error.errors()), source, text)) from None
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


def check_size(content: Any, source: str, text: str) -> None:
    """Check that integers fit 64 bits, and limit values and nesting, before anything is built."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    count = 0
    while waiting:
        path, value = waiting.pop()
        count += 1
        fault = ""
        if isinstance(value, int) and value.bit_length() > 63:
            fault = f"an integer beyond 64 bits; given {shown(value)}"
        elif len(path) > _DEEPEST:
            fault = f"nested more than {_DEEPEST} deep"
        elif count > _MOST_VALUES:
            fault = f"more than {_MOST_VALUES} values in all"
        if fault:
            line = line_of(text, path)
            where = f"{source}, line {line}" if line else source
            raise ScenarioError(f"{where}: {shown('.'.join(map(str, path[:4])))}: {fault}")
        if isinstance(value, Mapping):
            waiting += (((*path, str(key)), item) for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            waiting += (((*path, k), item) for k, item in enumerate(value))


def faults(content: Mapping[str, Any], source: str = "the scenario", text: str = "") -> list[str]:
    """List everything that is wrong with the keys of a scenario, in the order of the file; empty if it can be read.

    Examples
    --------
    >>> faults({"network": {"kind": "cycle", "node": 4}, "runs": "many"})
    ["the scenario: 'runs': expected a whole number; given 'many'",
     "the scenario: unknown key 'network.node'; did you mean 'nodes'?"]
    """
    try:
        from_dict(content, source, text)
    except ScenarioError as error:
        messages = [str(error)]
    else:
        return []
    try:
        Scenario.model_validate(content)
    except ValidationError as error:
        # Of a value that may be of several kinds, one fault is enough.
        first = {_keys_of(each): each for each in reversed(error.errors())}
        messages = [_explain(each, source, text) for each in reversed(list(first.values()))]
    return sorted(dict.fromkeys(map(brief, messages)), key=lambda each: _line_in(each, source))


def _line_in(message: str, source: str) -> int:
    match = re.match(re.escape(source) + r", line (\d+)", message)
    return int(match[1]) if match else 0


def load(path: str | Path) -> Scenario:
    """Load the scenario in the file ``path``."""
    return parse(read_text(path), f"'{path}'")


def render(scenario: Scenario) -> str:
    """Render TOML that parses back to the same scenario."""
    return tomli_w.dumps(scenario.to_dict())


def _in_title(path: str, content: Mapping[str, Any]) -> bool:
    """Say whether the title of the protocol or of the adversary names what is at ``path``: a label hides settings."""
    table, _, key = path.partition(".")
    return table in ("protocol", "adversary") and (key in ("", "label") or content[table].get("label") is None)


def _in_words(path: str, value: Any, among: list[Any]) -> str:
    """Describe a swept value; of a table only what differs among those that are swept."""
    if not all(isinstance(other, Mapping) for other in among):
        return f"{path} = {value}"
    own = {k: v for k, v in value.items() if any(k not in other or other[k] != v for other in among)}
    return ", ".join(f"{path}.{key} = {setting}" for key, setting in own.items())


def _replaced(content: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """Copy ``content`` with ``value`` at ``path``."""
    head, *rest = path
    if not rest:
        return {**content, head: value}
    inner = content.get(head, {})
    if not isinstance(inner, Mapping):
        raise ScenarioError(f"[sweep] names '{head}.{'.'.join(rest)}', but '{head}' has no settings of its own")
    return {**content, head: _replaced(inner, rest, value)}


def _keys_of(error: Any) -> tuple[str | int, ...]:
    """Find where in the file an error is."""
    path = tuple(error["loc"])
    if error["type"] == "extra_forbidden":
        return path  # as the user wrote it, however odd
    # In unions pydantic adds the name of the branch to the path, such as "constrained-int": no key of the file.
    return tuple(step for step in path if isinstance(step, int) or re.fullmatch(r"[\w.]+", step))


def _explain(error: Any, source: str, text: str) -> str:
    keys = _keys_of(error)
    name = ".".join(str(step) for step in keys) or "the scenario"
    line = line_of(text, keys)
    where = f"{source}, line {line}" if line else source
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown key {shown(name)}; {nearest(str(keys[-1]), _known_keys(keys[:-1]))}"
    if error["type"] == "missing":
        return f"{where}: {shown(name)} is missing"
    given = "" if isinstance(error["input"], Mapping) else f"; given {shown(error['input'])}"
    return f"{where}: {shown(name)}: {expected(error)}{given}"


def _known_keys(path: tuple[str | int, ...]) -> list[str]:
    model: type[BaseModel] = Scenario
    for step in path:
        field = model.model_fields.get(str(step))
        kinds = () if field is None else (field.annotation, *getattr(field.annotation, "__args__", ()))
        tables = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not tables:
            return []
        model = tables[0]
    return list(model.model_fields)
