"""The front door: audit a scenario, get a report, written to a folder if one is named."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from secmix._base import files
from secmix._base.checks import Progress, positive
from secmix._base.toml_text import read_text, read_toml
from secmix._front.folder import cell_cache, discard_cache, report_folder, taken
from secmix._front.locations import lines_of_cells, located
from secmix._front.paths import seen_from
from secmix.auditing.report import Report
from secmix.errors import ScenarioError, SecmixError, nearest, shown
from secmix.scenario import AcceptedSpec, PolicySpec, Scenario, from_dict, parse, render

_BESIDE = "scenario.toml"
"""The scenario as it was run, beside the report."""


def audit(
    scenario_or_path: Scenario | Mapping[str, Any] | str | Path,
    out: str | Path | None = None,
    *,
    protocols: Mapping[str, Any] | None = None,
    adversaries: Mapping[str, Any] | None = None,
    seed: int | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    formats: Sequence[str] = ("html", "json", "md"),
    policy: PolicySpec | str | Path | None = None,
    baseline: Report | str | Path | None = None,
    cell: int | None = None,
    colluders: Iterable[int] | None = None,
    memory_limit: int | None = None,
    show_private: bool = False,
    allow_code: bool = False,
    accepted: str | Path | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Audit a protocol, a network and an adversary; return what was found.

    Parameters
    ----------
    scenario_or_path : Scenario, dict, path of a TOML file, or name of a catalogue entry
        Paths of data files start from the folder of the TOML file, or from where Python runs.
    out : path, optional
        Folder for the report. Finished cells are kept there until it is written: the same call resumes.
    protocols, adversaries : mapping from label to object, optional
        Ready-made parts, in place of those the scenario names. Several are swept.
    seed : int, optional
        In place of the scenario's.
    workers : int
        Processes; the result does not depend on it. More than one needs a script's ``if __name__ == "__main__"``.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers run the cells instead.
    formats : sequence of {"html", "json", "md", "junit", "sarif"}
    policy : PolicySpec or path, optional
        In place of the scenario's.
    baseline : Report, or path of a report.json or of its folder, optional
        Only what got worse than there counts for the verdict.
    cell : int, optional
        Run this cell of the sweep alone, counted from 1. Its report goes into ``out/cell-N`` and leaves that of all
        cells as it is.
    colluders : iterable of int, optional
        Audit against these nodes, who pool what they hold and hear, in place of the scenario's adversaries; −1 alone is
        the server, none at all an outsider. No node may be revealed then, unless the policy allows for it.
    memory_limit : int, optional
        MiB that the audit of a combination may take in its process, beyond the program itself; in place of the
        scenario's. Of sums no more runs are made than it holds, and the report says so; on Linux what asks for more
        fails, and is named as not measured. It decides how runs are blocked, and with that which random numbers they
        draw.
    show_private : bool
        Draw the rows that were recovered, true ones beside them, though the data are not public.
    allow_code : bool
        Load what the scenario names as ``package.module:name``, which runs code of whoever wrote it. Without this no
        such name is loaded, whether the scenario is a file or a dict: either may come from somebody else. Objects in
        ``protocols`` and ``adversaries`` need no permission, nor do the entry points of installed packages.
    accepted : path, optional
        TOML file of findings that are accepted, beside those of the scenario; see ``AcceptedSpec``.
    time_limit : float, optional
        Seconds after which nothing more is begun, and what runs is ended soon after. Both are named, and clear nobody
        that they might speak against; a violation that was shown stays. Finished cells are kept in ``out`` then: the
        same call goes on from there. Only another process can be ended: where objects are given and ``workers`` is 1,
        in a script without its ``if __name__ == "__main__"``, and on a cluster, what has begun is finished.
    progress : callable (done, total, what), optional

    Raises
    ------
    SecmixError
        If the scenario is wrong, its parts do not fit, or the folder cannot be written. Nothing is half-written.

    Examples
    --------
    >>> report = audit({
    ...     "network": {"kind": "cycle", "nodes": 4}, "runs": 200, "data": {"name": "wine", "features": 2},
    ...     "protocol": {"name": "secure_sum"}, "adversary": {"name": "honest_but_curious", "corrupt": [0, 2]},
    ...     "measure": {"evidence": ["structure"]}})
    >>> report.verdict, [(s.node, s.standing) for s in report.cells[0].nodes]
    ('violated', [(0, 'corrupt'), (1, 'revealed'), (2, 'corrupt'), (3, 'revealed')])
    """
    from secmix import reporting
    from secmix.auditing.assemble import assemble
    from secmix.auditing.baseline import counted
    from secmix.auditing.engine.processes import leave_unguarded_worker
    from secmix.auditing.engine.run_cells import run_cells
    from secmix.auditing.exposure.policy import against, listed

    leave_unguarded_worker()
    deadline = math.inf if time_limit is None else time.time() + positive(time_limit, "time_limit")
    scenario, name, text = resolve(scenario_or_path)
    home = _home(name, text)
    own = (("protocol", protocols), ("adversary", adversaries))
    given = {(table, name): part for table, parts in own for name, part in (parts or {}).items()}
    scenario = _with(scenario, protocols, adversaries, {"seed": seed, "memory_limit": memory_limit}, policy, accepted)
    if colluders is not None:
        colluders = sorted(set(colluders))
        scenario = against(scenario, colluders)
    if show_private:
        scenario = scenario.model_copy(update={"measure": scenario.measure.model_copy(update={"show_private": True})})
    before = reporting.read_json(Path(baseline)) if isinstance(baseline, (str, Path)) else baseline
    if not formats:
        raise SecmixError(f"no format is asked for; known: {', '.join(reporting.FORMATS)}")
    for wanted in formats:
        if wanted not in reporting.FORMATS:
            raise SecmixError(f"no format is called {shown(wanted)}; {nearest(wanted, reporting.FORMATS)}")
    cells = [seen_from(each, home) for each in scenario.cells()]
    if isinstance(policy, PolicySpec):
        name = _BESIDE  # where that policy is written too
    options = {
        "seed": scenario.seed,
        "colluders": None if colluders is None else listed(colluders),
        "show_private": show_private,
        "allow_code": allow_code,
        "memory_limit": memory_limit,
        "policy": None if isinstance(policy, PolicySpec) else policy,
        "accepted": accepted,
        "baseline": baseline,
    }
    command = _command(name, own, options)
    every = range(len(cells)) if cell is None else _one_of(cells, cell)
    commands = [_command(name, own, {**options, "cell": i + 1}) if len(cells) > 1 else command for i in every]
    if cell is not None:
        command = commands[0]
    path = name if name.endswith(".toml") else _BESIDE
    source = None if text is None or path != name else path
    text = text if text is not None and path == name else render(scenario)
    folder = None if out is None else report_folder(Path(out), cell)
    with taken(folder), _errors_located(scenario, text, source, every):
        cache = None if folder is None else cell_cache(folder)
        results = run_cells(
            [cells[i] for i in every],
            commands,
            given=given,
            workers=workers,
            scheduler=scheduler,
            store=cache,
            progress=progress,
            allow_code=allow_code,
            meanwhile=partial(reporting.load, formats) if folder else lambda: None,
            deadline=deadline,
        )
        lines = lines_of_cells(scenario, text)
        audited = [cells[i] for i in every]
        numbers = [i + 1 for i in every]
        report = assemble(scenario, results, command, path, [lines[i] for i in every], given, audited, numbers)
        report = counted(report, before, scenario.accepted, date.today())
        if folder is not None and cache is not None:
            draft = files.draft(
                folder, render(seen_from(scenario, home, folder)).encode()
            )  # before the report, named after it: both or none
            reporting.write(report, folder, formats)
            draft.replace(folder / _BESIDE)
            if not any(each.unmeasured for each in report.cells):
                discard_cache(cache)
    return report


def _one_of(cells: Sequence[Scenario], cell: int) -> range:
    if not 1 <= cell <= len(cells):
        raise ScenarioError(f"there is no cell {cell}: the scenario has {len(cells)}, counted from 1")
    return range(cell - 1, cell)


def _command(name: str, own: Sequence[tuple[str, Mapping[str, Any] | None]], options: Mapping[str, Any]) -> str:
    """Return the line that audits the same again: for a shell, or in Python where objects were given."""
    objects = {f"{table[:-1]}ies" if table.endswith("y") else f"{table}s": parts for table, parts in own if parts}
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    if objects or isinstance(given.get("baseline"), Report):
        arguments = [repr(name)]
        arguments += [f"{key}={{{', '.join(f'{label!r}: ...' for label in parts)}}}" for key, parts in objects.items()]
        for key, value in given.items():
            plain = "..." if isinstance(value, Report) else repr(value if isinstance(value, int) else str(value))
            arguments.append(f"{key}={plain}")
        return f"# in Python, with the same objects in place of the dots: secmix.audit({', '.join(arguments)})"
    words = ["secmix", "audit", f"./{name}" if name.startswith("-") else name]
    for key, value in given.items():
        words += [f"--{key.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


@contextmanager
def _errors_located(scenario: Scenario, text: str, source: str | None, every: range) -> Iterator[None]:
    """Let errors about the scenario tell its line, where it is a file."""
    try:
        yield
    except SecmixError as error:
        if source is None:
            raise
        if error.cell is not None:
            error.cell = every[error.cell]
        elif not error.key:
            raise
        raise located(error, scenario, text, source) from error.__cause__


def resolve(given: Scenario | Mapping[str, Any] | str | Path) -> tuple[Scenario, str, str | None]:
    """Return a scenario, the name by which the command line finds it again, and its text if it is a file.

    The paths in such a file start from the folder that it is in.
    """
    if isinstance(given, Scenario):
        return given, _BESIDE, None
    if isinstance(given, Mapping):
        return from_dict(given), _BESIDE, None
    path = Path(given)
    if path.exists() or path.suffix == ".toml":
        text = read_text(path)
        return parse(text, f"'{path}'"), str(given), text
    from secmix.catalogue import find

    return find(str(given)).scenario, str(given), None


def _home(name: str, text: str | None) -> Path:
    """Return where the paths of a scenario start from that ``resolve`` found."""
    return Path() if text is None else Path(name).parent


def combinations(given: Scenario | Mapping[str, Any] | str | Path) -> list[Scenario]:
    """Return every cell of a scenario, its paths as they are from here."""
    scenario, name, text = resolve(given)
    return [seen_from(cell, _home(name, text)) for cell in scenario.cells()]


def read_policy(path: str | Path) -> PolicySpec:
    """Read the limits in a TOML file, at its top or under ``[policy]``."""
    content = _read_table(path, "policy")
    allowed = f"; allowed are {', '.join(PolicySpec.model_fields)}"
    with _faults_named(f"the policy '{path}'", "policy", allowed):
        return PolicySpec.model_validate(content.get("policy", content))


def read_accepted(path: str | Path) -> list[AcceptedSpec]:
    """Read the accepted findings in a TOML file: tables ``[[accepted]]``."""
    entries = _read_table(path, "list of accepted findings").get("accepted")
    if not isinstance(entries, list):
        raise ScenarioError(f"'{path}' holds no [[accepted]]; write one such table a finding")
    with _faults_named(f"the accepted findings of '{path}'", "accepted"):
        return [AcceptedSpec.model_validate(entry) for entry in entries]


@contextmanager
def _faults_named(what: str, table: str, allowed: str = "") -> Iterator[None]:
    """Turn the first fault of a table into an error that names its key."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"]) or table
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise ScenarioError(f"{what}: {shown(key)}: {reason}{allowed}") from None


def _read_table(path: str | Path, what: str) -> dict[str, Any]:
    try:
        return read_toml(Path(path).read_text(encoding="utf-8-sig"), f"the {what} '{path}'")
    except OSError as error:
        raise ScenarioError(f"the {what} '{path}' cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"the {what} '{path}' cannot be read: it is not UTF-8 text") from None


def _with(
    scenario: Scenario,
    protocols: Mapping[str, Any] | None,
    adversaries: Mapping[str, Any] | None,
    numbers: Mapping[str, int | None],
    policy: PolicySpec | str | Path | None,
    accepted: str | Path | None,
) -> Scenario:
    content = scenario.to_dict()
    for table, objects in (("protocol", protocols), ("adversary", adversaries)):
        if objects:
            content.setdefault("sweep", {})[table] = [{"name": label, "label": label} for label in objects]
    content.update({key: number for key, number in numbers.items() if number is not None})
    if policy is not None:
        chosen = policy if isinstance(policy, PolicySpec) else read_policy(policy)
        content["policy"] = chosen.model_dump(exclude_none=True)
    if accepted is not None:
        more = [entry.model_dump(exclude_none=True) for entry in read_accepted(accepted)]
        content["accepted"] = [*content.get("accepted", []), *more]
    return from_dict(content)
