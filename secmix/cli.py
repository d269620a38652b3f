"""The ``secmix`` command.

Exit status: 0 the policy holds, 1 it is violated, 2 the input is wrong, 3 inconclusive, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from secmix.errors import SecmixError

app = typer.Typer(
    name="secmix",
    help="Audit distributed learning: what an adversary learns about a node's private data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
STATUS = {"not refuted": 0, "violated": 1, "inconclusive": 3}
WRONG_INPUT, INTERRUPTED = 2, 130


@app.command()
def audit(
    scenario: Annotated[str, typer.Argument(help="Path of a TOML file, or name of a catalogue entry")],
    out: Annotated[Path | None, typer.Option(help="Folder for the report [default: audit-NAME]")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 means one a core")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run the cells on")] = None,
    format: Annotated[str, typer.Option(help="Any of html, json, md, junit, sarif, with commas")] = "html,json,md",
    policy: Annotated[Path | None, typer.Option(help="TOML file with limits, in place of the scenario's")] = None,
    baseline: Annotated[Path | None, typer.Option(help="report.json; only what got worse counts")] = None,
    cell: Annotated[int | None, typer.Option(min=1, help="Run one cell of the sweep alone")] = None,
    memory_limit: Annotated[int | None, typer.Option(min=1, help="MiB for the messages of a block of runs")] = None,
    show_private: Annotated[bool, typer.Option("--show-private", help="Draw recovered rows of private data")] = False,
) -> None:
    """Audit a scenario and write the report. Run again after an interruption, it resumes."""
    folder = out or Path(f"audit-{Path(scenario).stem}")
    with _errors_told(f"finished cells are kept in {folder}; the same command resumes"):
        from rich.console import Console

        from secmix import reporting
        from secmix.run import audit as run

        formats = tuple(part.strip() for part in format.split(",") if part.strip())
        with _progress() as progress:
            report = run(
                scenario,
                folder,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                scheduler=scheduler,
                formats=formats,
                policy=policy,
                baseline=baseline,
                cell=cell,
                memory_limit=memory_limit,
                show_private=show_private,
                progress=progress,
            )
        files = [folder / reporting.FORMATS[name][0] for name in formats]
        reporting.print_report(report, Console(), files)
    raise typer.Exit(STATUS[report.verdict])


@app.command()
def attacks(
    name: Annotated[str | None, typer.Argument(help="Entry to explain")] = None,
    forgeries: Annotated[
        bool, typer.Option("--forgeries", help="List what colluders can send in place of honest messages")
    ] = False,
) -> None:
    """List the catalogue of adversary configurations, or explain one."""
    with _errors_told():
        from secmix.catalogue import entries, find

        if forgeries:
            _list_forgeries()
            return
        if name is not None:
            entry = find(name)
            typer.echo(f"{entry.scenario.title}\n\n{entry.threat_model}\n\n{entry.path.read_text(encoding='utf-8')}")
            return
        known = entries()
        width = max(map(len, known), default=0)
        for entry in known.values():
            typer.echo(f"{entry.name:<{width}}  {entry.scenario.title}")


def _list_forgeries() -> None:
    """Name, what it does in a line, and the messages it replaces."""
    from secmix.adversaries.attacks.attack import installed, named

    for name in installed():
        try:
            attack = named(name)
            does = f"{attack.does} Forges: {', '.join(sorted(attack.kinds))}."
        except SecmixError as error:  # one package that is broken hides no other
            does = str(error)
        typer.echo(f"{name}\n    {does}")


@app.command()
def protocols() -> None:
    """List what can be audited, and what each reveals by design."""
    with _errors_told():
        from secmix._base.plugins import available, load

        for name in available("protocols"):
            try:
                told = _by_design(load("protocols", name))
            except SecmixError as error:  # one package that is broken hides no other
                told = str(error)
            typer.echo(f"{name}\n    {told}")


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="report.json")],
    after: Annotated[Path, typer.Argument(help="report.json")],
) -> None:
    """Show two reports side by side: what got better, what got worse."""
    with _errors_told():
        from rich.console import Console

        from secmix import reporting

        changes = reporting.compare(reporting.read_json(before), reporting.read_json(after))
        reporting.print_changes(changes, Console())


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="File to write")] = Path("scenario.toml"),
) -> None:
    """Write a commented scenario to start from."""
    with _errors_told():
        from secmix.catalogue import find

        text = find("passive-neighbours").path.read_text(encoding="utf-8")
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise SecmixError(f"'{path}' exists already; name another file") from None
        except OSError as error:
            raise SecmixError(f"'{path}' cannot be written: {error.strerror or error}") from None
        typer.echo(f"Wrote {path}. Change it, then: secmix audit {path}")


def main() -> None:
    """Entry point of the ``secmix`` command."""
    # A user's own ``module:name`` stands in the folder they work in, where ``python -m secmix`` finds it too.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    app()


@contextmanager
def _errors_told(when_interrupted: str = "") -> Iterator[None]:
    """Wrong input: one message on standard error, no traceback, status 2."""
    try:
        yield
    except SecmixError as error:
        typer.echo(f"secmix: {error}", err=True)
        raise typer.Exit(WRONG_INPUT) from None
    except KeyboardInterrupt:
        typer.echo(f"secmix: interrupted; {when_interrupted}".rstrip("; "), err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar with what is being done and the time left, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def tell(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield tell


def _by_design(part: Any) -> str:
    """The paragraph of a protocol's docstring that says what it reveals."""
    paragraphs = (part.__doc__ or "").split("\n\n")
    told = next((p for p in paragraphs if "reveals by design" in p), paragraphs[0])
    told = re.sub(r"^\s*\w+\s*\n\s*-+\s*\n", "", told)  # the heading of its section
    return " ".join(told.replace("**", "").split())
