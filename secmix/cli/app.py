"""The ``secmix`` command.

Exit status: 0 the policy holds, 1 it is violated, 2 the input is wrong, 3 inconclusive, 70 an unexpected
error, 130 interrupted. Of ``compare``: 0 nothing got worse, 3 something is undecided now, 4 something got worse.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from secmix.auditing.engine.processes import collect_seldom
from secmix.auditing.engine.results_folder import earlier_report, report_folder, resumable
from secmix.cli import console
from secmix.errors import SecmixError, one_line

app = typer.Typer(
    name="secmix",
    help="Audit distributed learning: what an adversary learns about a node's private data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
record = typer.Typer(help="Record a federation as it runs, to audit it from the recording.", no_args_is_help=True)
app.add_typer(record, name="record")
STATUS = {"not asked": 0, "holds": 0, "no worse": 0, "violated": 1, "inconclusive": 3}
COMPARED = {"worse": 4, "unclear": 3}


def _catalogue(incomplete: str) -> list[str]:
    """Return names of the catalogue that begin so, for the shell's completion."""
    from secmix.scenario.catalogue import entries

    return [name for name in entries() if name.startswith(incomplete)]


# Of whichever click this typer has: its own, or the package.
_WRONG_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error")]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Run code that the scenario names as package.module:name")
]


@app.command()
def audit(
    scenario: Annotated[
        str | None, typer.Argument(help="Path of a TOML file, or name of a catalogue entry", autocompletion=_catalogue)
    ] = None,
    flower: Annotated[Path | None, typer.Option(help="In place of a scenario: folder of a Flower project")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report \\[default: audit-NAME]")] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="In place of a scenario: folder of a recorded run, which shows less")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 means one a core")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run the cells on")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="Of html,json,md,junit,sarif,release (for a board),release-json; default html,json,md"),
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="TOML file with limits, in place of the scenario's")] = None,
    baseline: Annotated[Path | None, typer.Option(help="report.json or its folder; only what got worse counts")] = None,
    cell: Annotated[
        int | None, typer.Option(min=1, help="Run one cell of the sweep alone, into cell-N of the folder")
    ] = None,
    colluders: Annotated[
        str | None, typer.Option(help="In place of the scenario's adversary: node numbers, 'server' or 'nobody'")
    ] = None,
    memory_limit: Annotated[int | None, typer.Option(min=16, help="MiB that each combination may take")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0.001, help="Seconds after which what runs is ended")] = None,
    show_private: Annotated[bool, typer.Option("--show-private", help="Draw recovered rows of private data")] = False,
    accepted: Annotated[Path | None, typer.Option(help="TOML file of findings that are accepted for a time")] = None,
    allow_code: AllowCode = False,
    claim: Annotated[
        Path | None,
        typer.Option(help="With --recorded: TOML file with \\[claim] and \\[noise], for an account of epsilon"),
    ] = None,
    debug: Debug = False,
) -> None:
    """Audit a scenario and write the report. Run again after an interruption, it resumes.

    Exit status: 0 the policy holds, 1 it is violated, 2 the input is wrong,
    3 inconclusive, 70 an unexpected error, 130 interrupted.
    """
    if recorded is None and claim is not None:
        raise typer.BadParameter("--claim needs --recorded DIR; in a scenario the claim is its table [claim]")
    if recorded is not None:
        elsewhere = {
            "a scenario": scenario, "--flower": flower, "--seed": seed, "--scheduler": scheduler, "--policy": policy,
            "--baseline": baseline, "--cell": cell, "--colluders": colluders,
        }  # fmt: skip
        if given := [name for name, value in elsewhere.items() if value is not None]:
            raise typer.BadParameter(
                f"--recorded cannot be combined with {', '.join(given)}: one run was recorded, as it was"
            )
        out = out or Path(f"audit-{recorded.resolve().name}")
        earlier = partial(earlier_report, out)
        with _errors_shown(debug, earlier, earlier):
            from secmix.cli.recorded_audit import audit_and_print

            listed = None if format is None else _listed(format)
            verdict = audit_and_print(recorded, out, show_private, listed, claim, accepted)
        raise typer.Exit(STATUS[verdict])
    out = out or Path(f"audit-{flower.resolve().name if flower else Path(scenario or '').stem}")
    folder = report_folder(out, cell)
    with _errors_shown(debug, partial(resumable, folder), partial(earlier_report, folder)):
        from secmix.api import audit as run
        from secmix.cli.flower_scaffold import chosen

        formats = _listed("html,json,md" if format is None else format)
        with console.results_alone(), console.progress() as notify:
            report = run(
                chosen(scenario, flower),
                out,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                scheduler=scheduler,
                formats=formats,
                policy=policy,
                baseline=baseline,
                cell=cell,
                colluders=None if colluders is None else _numbers(colluders),
                memory_limit=memory_limit,
                show_private=show_private,
                accepted=accepted,
                time_limit=time_limit,
                allow_code=allow_code,
                progress=notify,
            )
        from rich.console import Console

        from secmix import reporting

        files = [folder / name for name in reporting.files_of(formats)]
        with console.printed():
            reporting.print_report(report, Console(), files)
    raise typer.Exit(STATUS[report.verdict])


def _numbers(colluders: str) -> list[int]:
    from secmix.auditing.exposure.policy import read

    return read(colluders)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@app.command()
def exposure(
    scenario: Annotated[str, typer.Argument(help="Path of a TOML file, or name of a catalogue entry")],
    level: Annotated[str, typer.Option(help="input: a node's summed vector; rows: a sum over few rows")] = "input",
    colluders: Annotated[float, typer.Option(min=0.0, help="Size, or cost, up to which coalitions are sought")] = 4,
    taps: Annotated[bool, typer.Option(help="Look for tapped lines too")] = True,
    owners: Annotated[str | None, typer.Option(help="Owner of each node, with commas: A,A,B,B")] = None,
    costs: Annotated[str | None, typer.Option(help="Costs other than 1: 0=2,3=1.5; a line 0-1=3; server=9")] = None,
    min_colluders: Annotated[int | None, typer.Option(min=1, help="In place of the scenario's policy")] = None,
    cell: Annotated[int | None, typer.Option(min=1, help="One combination of a sweep alone")] = None,
    recover: Annotated[bool, typer.Option(help="At level rows: solve the sums for the rows behind them")] = True,
    repair: Annotated[bool, typer.Option("--repair", help="Propose the cheapest changes that meet the policy")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables")] = False,
    allow_code: AllowCode = False,
    debug: Debug = False,
) -> None:
    """Search for the smallest coalitions that learn a node's data, and prove that no smaller one does.

    Exit status: 0 every node is decided, and min_colluders holds if it is set;
    1 min_colluders is violated, 2 the input is wrong, 3 inconclusive.
    """
    with _errors_shown(debug):
        from rich.console import Console

        from secmix.auditing.decide import worst
        from secmix.auditing.exposure.exposures import exposures, parsed_costs
        from secmix.reporting.formats.exposure_tables import print_exposures

        whose = None if owners is None else [owner.strip() for owner in owners.split(",")]
        prices = None if costs is None else parsed_costs(costs)
        with console.results_alone(), console.progress() as notify:
            judged = exposures(
                scenario, level, colluders, taps, whose, prices,
                min_colluders=min_colluders, cell=cell, recover=recover, repair=repair,
                allow_code=allow_code, progress=notify,
            )  # fmt: skip
        if json:
            import json as plain

            content = [each.to_dict() for each in judged]
            typer.echo(plain.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
        else:
            print_exposures(judged, Console())
    raise typer.Exit(STATUS[worst(each.verdict or "not asked" for each in judged)])


@app.command()
def attacks(
    name: Annotated[str | None, typer.Argument(help="Entry to explain", autocompletion=_catalogue)] = None,
    forgeries: Annotated[
        bool, typer.Option("--forgeries", help="List what colluders can send in place of honest messages")
    ] = False,
    debug: Debug = False,
) -> None:
    """List the catalogue of adversary configurations, or explain one."""
    with _errors_shown(debug):
        from secmix.cli.listing import forgeries_listed
        from secmix.scenario.catalogue import entries, find

        if forgeries:
            for line in forgeries_listed():
                typer.echo(line)
            return
        if name is not None:
            entry = find(name)
            typer.echo(f"{entry.scenario.title}\n\n{entry.threat_model}\n\n{entry.path.read_text(encoding='utf-8')}")
            return
        known = entries()
        width = max(map(len, known), default=0)
        for entry in known.values():
            typer.echo(f"{entry.name:<{width}}  {entry.scenario.title}")


@app.command()
def protocols(debug: Debug = False) -> None:
    """List what can be audited, and what each reveals by design."""
    with _errors_shown(debug):
        from secmix.cli.listing import protocols_listed

        for line in protocols_listed():
            typer.echo(line)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="report.json, or the folder of a report")],
    after: Annotated[Path, typer.Argument(help="report.json, or the folder of a report")],
    debug: Debug = False,
) -> None:
    """Show two reports side by side: what got better, what got worse.

    Exit status: 0 nothing got worse, 4 something got worse, 2 the input is wrong,
    3 something is undecided now (everything, if the scenarios differ).
    """
    with _errors_shown(debug):
        from rich.console import Console

        from secmix import reporting
        from secmix.auditing.baseline import different_scenarios

        reports = reporting.read_json(before), reporting.read_json(after)
        changes = reporting.compare(*reports)
        differing = different_scenarios(*reports)
        for caveat in reporting.caveats(*reports, differing):
            typer.echo(f"secmix: {caveat}", err=True)
        with console.printed():
            reporting.print_changes(changes, Console())
        status = COMPARED.get(reporting.direction(changes) or "better", 0)
        raise console.Stopped(max(status, COMPARED["unclear"]) if differing else status)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="File to write")] = Path("scenario.toml"),
    csv: Annotated[Path | None, typer.Option(help="Your data: its columns, gaps and form are looked at")] = None,
    network: Annotated[
        Path | None, typer.Option(help="Your network: a CSV file of neighbours, an adjacency matrix, or GraphML")
    ] = None,
    flower: Annotated[Path | None, typer.Option(help="Your Flower app: the folder of its pyproject.toml")] = None,
    debug: Debug = False,
) -> None:
    """Write a commented scenario to start from, about your own data, network or Flower app if you name them."""
    with _errors_shown(debug):
        from secmix.cli.flower_scaffold import flower_scenario
        from secmix.cli.scaffold import first_scenario, write_new

        if flower and network:
            raise SecmixError("a Flower app's nodes talk to the server alone: give --flower or --network, not both")
        text, remarks = flower_scenario(flower, path.parent, csv) if flower else first_scenario(path, csv, network)
        write_new(path, text)
        for line in remarks:
            typer.echo(one_line(line))
        command = f"secmix audit {one_line(shlex.quote(str(path)))}{' --allow-code' * bool(flower)}"
        typer.echo(f"Wrote {one_line(str(path))}. Change it, then: {command}")


@app.command()
def validate(
    scenario: Annotated[
        str | None, typer.Argument(help="Path of a TOML file, or name of a catalogue entry", autocompletion=_catalogue)
    ] = None,
    recorded: Annotated[Path | None, typer.Option(help="In place of a scenario: folder of a recorded run")] = None,
    format: Annotated[str, typer.Option(help="text or json")] = "text",
    allow_code: AllowCode = False,
    debug: Debug = False,
) -> None:
    """Say all that is wrong with a scenario or a recording, with key and line, without auditing it.

    Exit status: 0 it can be audited, 2 it cannot.
    """
    with _errors_shown(debug):
        from secmix.cli.validation import as_printed, validated, validated_recording

        if (scenario is None) == (recorded is None):
            raise SecmixError("name what to validate: a scenario, or the folder of a recorded run with --recorded DIR")
        with console.results_alone():
            faults, summary = validated_recording(recorded) if recorded else validated(str(scenario), allow_code)
        printed = as_printed(faults, summary, format)
        for fault in faults if format == "text" else []:
            typer.echo(f"secmix: {fault}", err=True)
        with console.printed():
            if printed:
                typer.echo(printed)
        if faults:
            raise console.Stopped(console.WRONG_INPUT)


@app.command()
def schema(
    recorded: Annotated[bool, typer.Option("--recorded", help="Of recordings, in place of scenarios")] = False,
    debug: Debug = False,
) -> None:
    """Print a JSON schema of scenarios, for editors that complete and check TOML files, or of recordings."""
    with _errors_shown(debug):
        from secmix.recording.format import published
        from secmix.scenario.editor_schema import as_text

        with console.printed():
            typer.echo(published() if recorded else as_text(), nl=False)


@record.command("nvflare")
def record_nvflare(
    job: Annotated[Path, typer.Argument(help="Folder of a job, as recipe.export(folder) writes it")],
    out: Annotated[Path, typer.Option(help="New folder for the recordings")] = Path("recording"),
    clients: Annotated[str, typer.Option(help="How many clients, or their names with commas")] = "2",
    threads: Annotated[int | None, typer.Option(min=1, help="Clients that run at a time \\[default: all]")] = None,
    workspace: Annotated[
        Path | None, typer.Option(help="New folder for NVFlare's simulator \\[default: OUT-workspace]")
    ] = None,
    debug: Debug = False,
) -> None:
    """Run a copy of an NVFlare job in its simulator, and record what passes between the participants."""
    with _errors_shown(debug):
        from secmix.recording.nvflare.job import record as run

        run(job, out, workspace or out.with_name(f"{out.name}-workspace"), clients, threads)
        typer.echo(f"Wrote {one_line(str(out))}. Then: secmix audit --recorded {one_line(shlex.quote(str(out)))}")


def main() -> None:
    """Run the ``secmix`` command."""
    # A user's own ``module:name`` stands in the folder they work in, where ``python -m secmix`` finds it too.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    collect_seldom()
    console.speak_any_encoding()
    console.interrupt_once()
    try:
        with console.errors_shown(debug="--debug" in sys.argv):
            # Not by itself: it would end with status 1 for what is not a violated policy, such as an interrupt.
            status = app(standalone_mode=False)
    except console.Stopped as stopped:
        status = stopped.status
    except typer.Abort:  # an interrupt while arguments were read
        status = console.interrupted().status
    except _WRONG_USAGE as error:
        # A typer that reads options by pydantic says what is allowed, and leaves out what was given.
        for refused in getattr(error.__cause__, "errors", list)():
            error.message += f"; given {refused['input']!r}"
        error.show()
        status = error.exit_code
    console.end(status if isinstance(status, int) else 0)


@contextmanager
def _errors_shown(
    debug: bool = False, when_interrupted: Callable[[], str] = str, when_failed: Callable[[], str] = str
) -> Iterator[None]:
    try:
        with console.errors_shown(debug, when_interrupted, when_failed):
            yield
    except console.Stopped as stopped:
        raise typer.Exit(stopped.status) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"secmix {version('secmix')}, Python {platform.python_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass
