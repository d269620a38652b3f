"""The front door: audit a scenario, get a report, written to a folder if one is named."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from secmix._base import safe_files
from secmix._base.checks import Progress, positive
from secmix._base.toml_text import read_text
from secmix.auditing.engine.processes import are_needed, importing, leave_unguarded_worker, start_server
from secmix.auditing.engine.results_folder import cell_cache, discard_cache, report_folder, taken
from secmix.auditing.report import Report
from secmix.errors import SecmixError, nearest, shown
from secmix.scenario import PolicySpec, Scenario, parse, render
from secmix.scenario.resolve import (
    AS_IT_WAS_RUN,
    cell_at,
    home_of,
    lines_of_cells,
    located,
    rebased,
    resolve,
    with_changes,
)


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
    formats : sequence of {"html", "json", "md", "junit", "sarif", "release", "release-json"}
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
    leave_unguarded_worker()
    deadline = math.inf if time_limit is None else time.time() + positive(time_limit, "time_limit")
    for parts, kind in ((protocols, "protocols"), (adversaries, "adversaries")):
        if not isinstance(parts, (Mapping, type(None))):
            raise SecmixError(
                f"{kind} are given by label, as {kind}={{'mine': Mine()}}; given a {type(parts).__name__}"
            )
    scenario, name, text = resolve(scenario_or_path)
    home = home_of(name, text)
    own = (("protocol", protocols), ("adversary", adversaries))
    ready_parts = {(table, name): part for table, parts in own for name, part in (parts or {}).items()}
    numbers = {"seed": seed, "memory_limit": memory_limit}
    scenario = with_changes(scenario, protocols, adversaries, numbers, policy, accepted)
    at_least = len(list(islice(scenario.cells(), 2))) if cell is None else 1  # cells
    if scheduler is None and are_needed(workers, at_least, deadline, ready_parts):
        start_server()  # it imports what cells need, while this process does
    with importing():
        from secmix import reporting
        from secmix.auditing.assemble import assemble
        from secmix.auditing.baseline import counted
        from secmix.auditing.engine.run_cells import run_cells
        from secmix.auditing.exposure.policy import against, listed

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
    cells = [rebased(each, home) for each in scenario.cells()]
    if isinstance(policy, PolicySpec):
        name = AS_IT_WAS_RUN  # where that policy is written too
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
    every = list(range(len(cells))) if cell is None else [cell_at(cells, cell)]
    commands = [_command(name, own, {**options, "cell": i + 1}) if len(cells) > 1 else command for i in every]
    if cell is not None:
        command = commands[0]
    path = name if name.endswith(".toml") else AS_IT_WAS_RUN
    source = None if text is None or path != name else path
    text = text if text is not None and path == name else render(scenario)
    folder = None if out is None else report_folder(Path(out), cell)
    if folder is not None:
        _check_not_lost(folder / AS_IT_WAS_RUN)
    with nullcontext() if folder is None else taken(folder), _errors_located(scenario, text, source, every):
        cache = None if folder is None else cell_cache(folder)
        results = run_cells(
            [cells[i] for i in every],
            commands,
            ready_parts=ready_parts,
            workers=workers,
            scheduler=scheduler,
            store=cache,
            progress=progress,
            allow_code=allow_code,
            meanwhile=partial(reporting.load, formats) if folder else lambda: None,
            deadline=deadline,
        )
        # Without a folder, a scenario that was no file is in none that lines could be of.
        lines = lines_of_cells(scenario, text) if source is not None or folder is not None else []
        audited = [cells[i] for i in every]
        counted_from_1 = [i + 1 for i in every]
        report = assemble(
            scenario, results, command, path, [lines[i] for i in every if lines], ready_parts, audited, counted_from_1
        )
        if before is not None or scenario.accepted:
            report = counted(report, before, scenario.accepted, date.today())
        if folder is not None and cache is not None:
            draft = safe_files.draft(
                folder, render(rebased(scenario, home, folder)).encode()
            )  # before the report, named after it: both or none
            reporting.write(report, folder, formats)
            draft.replace(folder / AS_IT_WAS_RUN)
            if not any(each.unmeasured for each in report.cells):
                discard_cache(cache)
    return report


def _check_not_lost(place: Path) -> None:
    """Refuse to write the scenario as it was run over a file that somebody else wrote."""
    if not place.exists() or place.is_symlink():  # of a link it replaces the link
        return
    before = read_text(place)
    with suppress(SecmixError):
        if render(parse(before, f"'{place}'")) == before:  # an earlier audit's: no comment is in it
            return
    raise SecmixError(
        f"the scenario as it was run would replace '{place}', which no audit has written; choose another --out"
    )


def _command(name: str, own: Sequence[tuple[str, Mapping[str, Any] | None]], options: Mapping[str, Any]) -> str:
    """Return the line that audits the same again: for a shell, or in Python where objects were given."""
    objects = {f"{table[:-1]}ies" if table.endswith("y") else f"{table}s": parts for table, parts in own if parts}
    chosen_options = {key: value for key, value in options.items() if value is not None and value is not False}
    if objects or isinstance(chosen_options.get("baseline"), Report):
        arguments = [repr(name)]
        arguments += [f"{key}={{{', '.join(f'{label!r}: ...' for label in parts)}}}" for key, parts in objects.items()]
        for key, value in chosen_options.items():
            plain = "..." if isinstance(value, Report) else repr(value if isinstance(value, int) else str(value))
            arguments.append(f"{key}={plain}")
        return f"# in Python, with the same objects in place of the dots: secmix.audit({', '.join(arguments)})"
    words = ["secmix", "audit", f"./{name}" if name.startswith("-") else name]
    for key, value in chosen_options.items():
        words += [f"--{key.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


@contextmanager
def _errors_located(scenario: Scenario, text: str, source: str | None, every: Sequence[int]) -> Iterator[None]:
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
