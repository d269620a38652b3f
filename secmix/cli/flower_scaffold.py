"""The scenario of a Flower project: who is on the other side, on which rows, against what limit.

Nothing of the project is run to make it; auditing it runs the app.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secmix.cli.scaffold import DescribedFile, data_of, relative, toml_line
from secmix.errors import ScenarioError, shown
from secmix.scenario import Scenario, parse

_NODES, _MOST_NODES, _RUNS = 5, 1000, 200


def chosen(scenario: str | None, project: Path | None) -> str | Scenario:
    """Choose what is to be audited: a scenario that is named, or that of a Flower project.

    Raises ScenarioError if none of both is named, or both, or the project cannot be audited.
    """
    if (scenario is None) == (project is None):
        raise ScenarioError("name what to audit: a scenario, or the folder of a Flower project with --flower DIR")
    if project is None:
        return str(scenario)
    return parse(flower_scenario(project)[0], f"'{project / 'pyproject.toml'}'")


def flower_scenario(folder: Path, beside: Path = Path(), csv: Path | None = None) -> tuple[str, list[str]]:
    """Return the text of a scenario for the project in ``folder``, and remarks on it.

    ``beside``: the folder that the scenario's file will be in: its paths start there; ``csv``: a file of rows, in place
    of those that ``[tool.secmix]`` names. Raises SecmixError if the project describes no Flower app, or its
    ``[tool.secmix]`` says what cannot be.
    """
    from secmix.protocols.flower.project import calls_for_data, read_project  # all protocols come with it

    project = read_project(folder)
    own = project.settings
    nodes = own.get("nodes", _NODES)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 2 <= nodes <= _MOST_NODES:
        raise ScenarioError(f"[tool.secmix] nodes is an integer from 2 to {_MOST_NODES}; given {shown(nodes)}")
    calls = calls_for_data(project)
    rows = DescribedFile([], "") if csv is None else data_of(csv, beside, nodes)
    data = _data(own, rows, folder, beside)
    app: list[tuple[str, Any, str]] = [
        ("name", "flower_app", ""),
        ("label", f"Flower app {folder.resolve().name}", ""),
        ("project", relative(folder, beside), "from the folder of this file"),
    ]
    remarks = [rows.summary] if rows.summary else []
    hook = own.get("data", calls[0] if calls else None)
    if hook is None:
        remarks.append(
            "no function was found from which the clients get data; name it under [protocol] as data = "
            '"package.module:name", else no row of the audit\'s goes in'
        )
    else:
        others = [name for name in calls if name != hook]
        app.append(("data", hook, "where clients get their rows" + (f"; or {', '.join(others[:5])}" * bool(others))))
        remarks.append(f"the clients get their data from {shown(hook)}; the audit puts its rows in there")
    if "load" in own:
        app.append(("load", own["load"], "load(rows (N, d)) -> what that function returns"))
    several = nodes > 2
    lines = [
        "# Written by secmix init. The audit runs the app, so it must be allowed to: secmix audit FILE --allow-code",
        "",
        toml_line("title", f"Flower app {folder.resolve().name}"),
        toml_line("runs", own.get("runs", _RUNS)),
        "",
        "[network]",
        'kind = "complete"              # every node talks to the server alone',
        toml_line("nodes", nodes),
        "",
        *_table("data", data),
        *_table("protocol", app),
        *([] if "load" in own or hook is None else _NO_LOAD),
        "[policy]",
        "max_revealed_nodes = 0",
        "max_normalised_leakage = 0.1   # share of a node's rows that may be known; too small masks leave more",
        "",
        "[sweep]",
        "adversary = [",
        '    { name = "curious_server", label = "The server" },',
        f'    {{ name = "honest_but_curious", corrupt = {list(range(1, nodes))}, label = "All clients but one" }},',
        *(['    { name = "honest_but_curious", corrupt = [1], label = "One client" },'] if several else []),
        "]",
    ]
    return "\n".join(lines) + "\n", remarks


_NO_LOAD = [
    '# load = "package.module:name" # a function of yours: load(rows (N, d)) -> what the function under data returns;',
    "#                              without it that is the rows themselves",
    "",
]


def _data(own: Any, rows: DescribedFile, folder: Path, beside: Path) -> list[tuple[str, Any, str]]:
    """Return the settings of ``[data]``: of the file, else those that the project names, else an example's."""
    if rows.settings:
        settings = rows.settings
    elif isinstance(declared := own.get("rows", {}), dict):
        settings = [
            (key, relative(folder / value, beside) if key == "path" else value, "") for key, value in declared.items()
        ]
    else:
        raise ScenarioError(f'[tool.secmix] rows is a table such as {{ name = "wine" }}; given {shown(declared)}')
    if "name" not in {key for key, _, _ in settings}:
        settings = [
            ("name", "breast_cancer", "rows like those of the clients; or your own: secmix init --csv"),
            *settings,
        ]
    if "rows_per_node" in own:
        settings = [each for each in settings if each[0] != "rows_per_node"]
        settings = [*settings, ("rows_per_node", own["rows_per_node"], "")]
    return settings


def _table(name: str, settings: list[tuple[str, Any, str]]) -> list[str]:
    written = [(toml_line(key, value), comment) for key, value, comment in settings]
    return [f"[{name}]", *(f"{line:<30} # {comment}" if comment else line for line, comment in written), ""]
