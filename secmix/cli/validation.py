"""All that is wrong with a scenario, found without auditing it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secmix._base import plugins
from secmix._base.plugins import faults_of_settings, takes
from secmix._base.toml_text import line_of, read_text, read_toml
from secmix.errors import NotConverged, SecmixError, brief, cause, shown
from secmix.scenario import DataSpec, Scenario, faults, from_dict
from secmix.scenario.resolve import in_table, located, rebased, with_known_adversaries
from secmix.scenario.settings import OWN_KEYS

if TYPE_CHECKING:
    from secmix.auditing.engine.run_cell import CostEstimate

_PARTS = {"protocol": "protocols", "adversary": "adversaries", "data": "datasets"}
_DEFAULTS = {"data": DataSpec().name}
_MOST_LINES = 50


def validated(scenario_name: str, allow_code: bool = False) -> tuple[list[str], str]:
    """Return every fault of a scenario's file, and what it is about if it has none.

    Keys and settings first, all of them. If they are right, every combination is built and run once in small, as an
    audit begins by doing: what does not fit together shows there. ``scenario_name``: path of a TOML file, or name of a
    catalogue entry; ``allow_code``: whether names like ``package.module:name`` are loaded. Raises SecmixError if there
    is no such file, or it is not TOML.
    """
    path = Path(scenario_name)
    if not path.exists() and path.suffix != ".toml":
        from secmix.scenario.catalogue import find

        path = find(scenario_name).path
    text, source = read_text(path), f"'{scenario_name}'"
    content = read_toml(text, source)
    with plugins.code_allowed(allow_code):
        faulty = [*faults(content, source, text), *faults_of_parts(content, source, text, path.parent)]
        if not faulty:
            scenario = from_dict(content, source, text)
            faulty, estimates = _misfits(scenario, text, scenario_name, path.parent)
            if not faulty:
                return [], _summary(scenario, scenario_name, estimates)
    lines = sorted(dict.fromkeys(map(brief, faulty)), key=_line)
    more = [f"{source}: and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return [*lines[:_MOST_LINES], *more], ""


def validated_recording(folder: Path) -> tuple[list[str], str]:
    """Return every fault of a recording, and what is in it if it has none.

    Says which kinds have no role: nothing is computed from them.
    """
    from secmix.recording import faults_of_recording, read_recording

    if faults := faults_of_recording(folder):
        more = [f"{folder}: and {len(faults) - _MOST_LINES} more"] if len(faults) > _MOST_LINES else []
        return [*map(brief, faults[:_MOST_LINES]), *more], ""
    recording = read_recording(folder)
    messages, roles = recording.messages, Counter(role for m in recording.messages for role in m.roles.values())
    bare = sorted(
        {kind for m in messages for kind, names, _ in m.parts if kind not in m.roles and not set(names) & set(m.roles)}
    )
    declared = ", ".join(f"{count} {role}" for role, count in sorted(roles.items())) or "nothing"
    summary = (
        f"{shown(str(folder))} is right: {len(messages)} messages of {len(recording.nodes)} nodes, recorded by the "
        f"{recording.by}; declared: {declared}"
    )
    without = f"\nWithout a role, so that nothing is computed from them: {', '.join(map(shown, bare[:_MOST_LINES]))}"
    return [], summary + without * bool(bare)


def as_printed(faults: Sequence[str], summary: str, format: str) -> str:
    """Render a validation for standard output: as text, where faults go to standard error, or as JSON with both.

    Raises SecmixError if another format is asked for.
    """
    if format not in ("text", "json"):
        raise SecmixError(f"--format {shown(format)}; a validation is written as text or json")
    if format == "text":
        return summary
    return json.dumps({"valid": not faults, "faults": list(faults), "summary": summary}, indent=1, ensure_ascii=False)


def _line(fault: str) -> int:
    match = re.match(r"'[^']*', line (\d+)", fault)
    return int(match[1]) if match else 0


def faults_of_parts(content: Mapping[str, Any], source: str, text: str, folder: Path = Path()) -> Iterator[str]:
    """Yield an error for each part that there is not, and each setting that a part does not take.

    Paths start from ``folder``.
    """
    sweep = content.get("sweep")
    for table, group in _PARTS.items():
        places: list[tuple[tuple[str | int, ...], Any]] = [((table,), content.get(table))]
        swept = sweep.get(table) if isinstance(sweep, Mapping) else None
        if isinstance(swept, list):
            # What is swept takes the place of the table.
            places = [(("sweep", table, k), each) for k, each in enumerate(swept)]
        for path, spec in places:
            name = spec.get("name", _DEFAULTS.get(table)) if isinstance(spec, Mapping) else None
            if isinstance(spec, Mapping) and isinstance(name, str):
                moved = in_table(table, spec, lambda where: str(folder / where))
                given = {key: value for key, value in moved.items() if key != "name"}
                for error in _faults_of_part(group, name, given, OWN_KEYS[table]):
                    yield _placed(error, path, source, text)


def _faults_of_part(
    group: str, name: str, part_settings: Mapping[str, Any], own: Sequence[str]
) -> Iterator[SecmixError]:
    try:
        part = plugins.load(group, name)
    except SecmixError as error:
        error.key = ("name",)
        yield error
        return
    theirs = [key for key in own if key != "features" or not takes(part, key)]
    settings = {key: value for key, value in part_settings.items() if key not in theirs}
    wrong = list(faults_of_settings(part, name, settings, own))
    yield from wrong
    if not wrong and group != "datasets":  # data are read where their paths are known
        try:
            plugins.build(group, {"name": name, **settings}, own)
        except SecmixError as error:
            yield error


def _placed(error: SecmixError, path: tuple[str | int, ...], source: str, text: str) -> str:
    key = (*path, *error.key)
    line = line_of(text, key)
    name = ".".join(map(str, key))
    return f"{source}{f', line {line}' if line else ''}: {shown(name)}: {error}"


def _misfits(scenario: Scenario, text: str, source: str, folder: Path) -> tuple[list[str], list[CostEstimate]]:
    """Return what does not fit together, of every combination, and what those that fit take."""
    from secmix.auditing.engine.run_cell import try_out
    from secmix.auditing.setup import PreparedData

    misfits, estimates = [], []
    try:
        with_known_adversaries(scenario)
    except SecmixError as error:
        misfits.append(str(located(error, scenario, text, source)))
    prepared_data: dict[str, PreparedData] = {}
    for k, cell in enumerate(scenario.cells()):
        try:
            with suppress(NotConverged):
                estimates.append(
                    try_out(rebased(cell, folder), None, plugins.is_code_allowed(), prepared=prepared_data)
                )
        except SecmixError as error:
            error.cell = k
            misfits.append(str(located(error, scenario, text, source)))
        except MemoryError:
            misfits.append(
                f"'{source}': {shown(cell.protocol.title)} does not fit into memory; use fewer nodes or rows"
            )
        except Exception as error:  # a user's own part may fail in any way
            misfits.append(f"'{source}': {shown(cell.protocol.title)} fails with {cause(error)}")
    return misfits, estimates


def _summary(scenario: Scenario, scenario_name: str, estimates: list[CostEstimate]) -> str:
    from secmix.auditing.engine.run_cells import cost_in_words

    number = math.prod(map(len, scenario.sweep.values()))
    policy = scenario.policy.model_dump(exclude_none=True)
    limits = ", ".join(f"{key} = {value if isinstance(value, str) else f'{value:g}'}" for key, value in policy.items())
    several = f"{number} combinations" if number > 1 else "one combination"
    if scenario.claim is not None:
        limits = f"{limits or 'nothing'}; claim: epsilon = {scenario.claim.epsilon:g}, delta = {scenario.claim.delta:g}"
    summary = brief(
        f"{shown(scenario_name)} is right: {several} on {scenario.network.nodes} nodes, {scenario.runs} runs each; "
        f"policy: {limits}"
    )
    return f"{summary}\nAn audit takes {cost_in_words(estimates)}." if estimates else summary
