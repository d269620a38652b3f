"""The front door: audit a scenario, get a report, written to a folder if one is named."""

from __future__ import annotations

import errno
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from secmix.auditing.report import Report
from secmix.errors import ScenarioError, SecmixError, nearest
from secmix.scenario import PolicySpec, Scenario, from_dict, load, render

try:
    import fcntl
except ImportError:  # not on Windows; two audits in one folder are then the user's own care
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from secmix.auditing.engine import Progress

_KEPT = ".unfinished"  # finished cells of an audit that is not; gone once the report is there

# What a disk answers that is full, over quota or limit, read-only, out of reach, or gone.
_STORAGE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES", "EPERM", "ENOTDIR", "ENOENT", "ESTALE")
    if hasattr(errno, name)
}


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
    progress: Progress | None = None,
) -> Report:
    """Audit a protocol, a network and an adversary; return what was found.

    Parameters
    ----------
    scenario_or_path : Scenario, dict, path of a TOML file, or name of a catalogue entry
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
    baseline : Report or path of a report.json, optional
        Only what got worse than there counts for the verdict.
    cell : int, optional
        Run this cell of the sweep alone, counted from 1.
    colluders : iterable of int, optional
        Audit against these nodes, who pool what they hold and hear, in place of the scenario's adversaries; −1 alone is
        the server, none at all an outsider. No node may be revealed then, unless the policy allows for it.
    memory_limit : int, optional
        MiB that the messages of one block of runs may take, in each process; in place of the scenario's. It decides how
        runs are blocked, and with that which random numbers they draw.
    show_private : bool
        Draw the rows that were recovered, true ones beside them, though the data are not public.
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
    from secmix.auditing.assemble import against_baseline, assemble
    from secmix.auditing.coalitions import against, told
    from secmix.auditing.engine import run_cells

    scenario, name = resolve(scenario_or_path)
    own = (("protocol", protocols), ("adversary", adversaries))
    given = {(table, name): part for table, parts in own for name, part in (parts or {}).items()}
    scenario = _with(scenario, protocols, adversaries, {"seed": seed, "memory_limit": memory_limit}, policy)
    if colluders is not None:
        colluders = sorted(set(colluders))
        scenario = against(scenario, colluders)
    if show_private:
        scenario = scenario.model_copy(update={"measure": scenario.measure.model_copy(update={"show_private": True})})
    before = reporting.read_json(Path(baseline)) if isinstance(baseline, (str, Path)) else baseline
    folder = None if out is None else _folder(Path(out))
    if not formats:
        raise SecmixError(f"no format is asked for; known: {', '.join(reporting.FORMATS)}")
    for wanted in formats:
        if wanted not in reporting.FORMATS:
            raise SecmixError(f"no format is called '{wanted}'; {nearest(wanted, reporting.FORMATS)}")
    cells = list(scenario.cells())
    command = f"secmix audit {name} --seed {scenario.seed}"
    command += f" --colluders {told(colluders)}" if colluders is not None else ""
    command += " --show-private" if show_private else ""
    command += f" --memory-limit {memory_limit}" if memory_limit is not None else ""
    commands = [f"{command} --cell {i}" for i in range(1, len(cells) + 1)] if len(cells) > 1 else [command]
    if cell is not None:
        if not 1 <= cell <= len(cells):
            raise ScenarioError(f"there is no cell {cell}: the scenario has {len(cells)}, counted from 1")
        cells, commands = cells[cell - 1 : cell], commands[cell - 1 : cell]
        command = commands[0]
    kept = None if folder is None else folder / _KEPT
    with _alone_in(folder), _written_or_told(folder):
        results = run_cells(
            cells, commands, given=given, workers=workers, scheduler=scheduler, store=kept, progress=progress
        )
        report = assemble(scenario, results, command, name if name.endswith(".toml") else "scenario.toml")
        if before is not None:
            report = against_baseline(report, before)
        if folder is not None and kept is not None:
            draft = _scenario_draft(scenario, folder)  # written before the report, named after it: both or none
            reporting.write(report, folder, formats)
            draft.replace(folder / "scenario.toml")
            for place in kept.glob("*.json") if kept.is_dir() else ():
                place.unlink()
            if kept.is_dir() and not any(kept.iterdir()):
                kept.rmdir()
    return report


def resolve(given: Scenario | Mapping[str, Any] | str | Path) -> tuple[Scenario, str]:
    """The scenario, and the name by which the command line finds it again."""
    if isinstance(given, Scenario):
        return given, "scenario.toml"
    if isinstance(given, Mapping):
        return from_dict(given), "scenario.toml"
    path = Path(given)
    if path.exists() or path.suffix == ".toml":
        return load(path), str(given)
    from secmix.catalogue import find

    return find(str(given)).scenario, str(given)


def read_policy(path: str | Path) -> PolicySpec:
    """The limits in a TOML file, at its top or under ``[policy]``."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return PolicySpec.model_validate(content.get("policy", content))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"the policy '{path}' cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"]) or "policy"
        allowed = ", ".join(PolicySpec.model_fields)
        raise ScenarioError(f"the policy '{path}': '{key}': {first['msg']}; allowed are {allowed}") from None


def _with(
    scenario: Scenario,
    protocols: Mapping[str, Any] | None,
    adversaries: Mapping[str, Any] | None,
    numbers: Mapping[str, int | None],
    policy: PolicySpec | str | Path | None,
) -> Scenario:
    content = scenario.to_dict()
    for table, objects in (("protocol", protocols), ("adversary", adversaries)):
        if objects:
            content.setdefault("sweep", {})[table] = [{"name": label, "label": label} for label in objects]
    content.update({key: number for key, number in numbers.items() if number is not None})
    if policy is not None:
        chosen = policy if isinstance(policy, PolicySpec) else read_policy(policy)
        content["policy"] = chosen.model_dump(exclude_none=True)
    return from_dict(content)


def _folder(path: Path) -> Path:
    """The folder, made and found writable before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial = path / ".secmix-write-test"
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def _unwritable(path: Path, error: OSError) -> SecmixError:
    return SecmixError(f"the folder '{path}' cannot be written: {error.strerror or error}; choose another --out")


@contextmanager
def _written_or_told(folder: Path | None) -> Iterator[None]:
    """A disk that fills up or goes away in the middle is one error that says so, and leaves no drafts behind."""
    try:
        yield
    except OSError as error:
        if folder is None or error.errno not in _STORAGE:
            raise
        if error.filename is not None and not Path(error.filename).absolute().is_relative_to(folder.absolute()):
            raise
        raise SecmixError(
            f"cannot go on writing into '{folder}': {error.strerror}; cells that were finished before are kept there: "
            "make room and run the same command again, or choose another --out"
        ) from None
    finally:
        for draft in [*folder.glob(".*.tmp"), *(folder / _KEPT).glob("*.tmp")] if folder is not None else ():
            with suppress(OSError):
                draft.unlink()


@contextmanager
def _alone_in(folder: Path | None) -> Iterator[None]:
    """No other audit may write into ``folder`` meanwhile; the lock goes with the process that holds it."""
    if folder is None or fcntl is None:
        yield
        return
    place = folder / ".secmix-lock"
    try:
        opened = place.open("w")
    except OSError as error:
        raise _unwritable(folder, error) from None
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SecmixError(f"another audit is writing into '{folder}'; wait, or choose another --out") from None
        except OSError as error:  # some network file systems
            raise SecmixError(
                f"'{folder}' is on a file system that cannot lock ({error.strerror}), and two audits at once would mix "
                "their cells; choose an --out elsewhere and copy the report"
            ) from None
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def _scenario_draft(scenario: Scenario, folder: Path) -> Path:
    draft = folder / ".scenario.toml.tmp"
    draft.write_text(render(scenario), encoding="utf-8")
    return draft
