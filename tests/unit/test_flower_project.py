"""The folder of a Flower project: what is read of it, the scenario made for it, and errors that say what is wrong."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secmix._base.plugins import code_allowed
from secmix.auditing.engine.cell_cache import fingerprint
from secmix.cli.app import app
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols.flower import FlowerApp
from secmix.protocols.flower.project import calls_for_data, read_project
from secmix.scenario import load, parse
from secmix.scenario.resolve import rebased

APP = """
[tool.flwr.app.components]
serverapp = "pkg.server_app:app"
clientapp = "pkg.client_app:app"
[tool.flwr.app.config]
num-server-rounds = 3
optimiser.rate = 0.1
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes a project whose client app has the given text, and changes to the folder above it."""
    monkeypatch.chdir(tmp_path)

    def write(client="", pyproject=APP):
        (tmp_path / "app" / "pkg").mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / "pyproject.toml").write_text(pyproject)
        (tmp_path / "app" / "pkg" / "client_app.py").write_text(client)
        return tmp_path / "app"

    return write


def call(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_components_and_the_run_config_are_read_as_flower_reads_them(project):
    found = read_project(project(pyproject=APP + "[tool.secmix]\nnodes = 7\n"))
    assert (found.server_app, found.client_app) == ("pkg.server_app:app", "pkg.client_app:app")
    assert found.config == {"num-server-rounds": 3, "optimiser.rate": 0.1}
    assert found.settings == {"nodes": 7}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "has no [tool.flwr.app]"),
        ("[tool.flwr]\napp = 3\n", "has no [tool.flwr.app]"),
        ("[tool.flwr.app.config]\na = 1\n", "has no [tool.flwr.app.components]"),
        ('[tool.flwr.app.components]\nserverapp = "m:app"\n', 'needs clientapp = "package.module:name"'),
        ('[tool.flwr.app.components]\nserverapp = "m"\nclientapp = "m:app"\n', "needs serverapp"),
        (APP + "[tool.secmix]\nnode = 3\n", "no key 'node'; did you mean 'nodes'"),
        (APP + "[tool.secmix]\nnodes = 1\n", "nodes is an integer from 2 to 1000"),
        (APP + "[tool.secmix]\nnodes = 10_000_000\n", "nodes is an integer from 2 to 1000; given 10000000"),
        (APP + "[tool.secmix]\nrows_per_node = 0\n", "'data.rows_per_node'"),
        (APP + "[tool.secmix]\nrows_per_node = 400\n", "lower rows_per_node"),
        (APP + "[tool.secmix]\nrows = 3\n", "rows is a table"),
        (APP + '[tool.secmix]\nrows = { name = "wein" }\n', "did you mean 'wine'"),
        (APP + "[tool.secmix]\nruns = 5\n", "'runs'"),
        ("=", "is not valid TOML"),
        ("a = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_project_is_one_clear_error(project, text, expected):
    told = call("audit", "--flower", project(pyproject=text))
    assert told.exit_code == 2
    assert expected in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    assert len(told.stderr) <= 301
    assert [each.name for each in Path().iterdir()] == ["app"]


def test_an_audit_is_of_a_scenario_or_of_a_project(project):
    assert "name what to audit" in call("audit").stderr
    assert "name what to audit" in call("audit", "passive-neighbours", "--flower", project()).stderr
    assert "there is no 'absent" in call("audit", "--flower", "absent").stderr
    assert "not both" in call("init", "mine.toml", "--flower", project(), "--network", "lines.txt").stderr


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("from pkg.task import load_data\ndef train(m, c):\n    load_data(0, 1)\n", ["pkg.client_app:load_data"]),
        ("from .task import load_data as get_data\ndef f():\n    get_data()\n", ["pkg.client_app:get_data"]),
        ("def f():\n    from .task import load_data\n    load_data()\n", ["pkg.task:load_data"]),
        ("from pkg import task\ndef f():\n    task.load_data()\n", ["pkg.client_app:task.load_data"]),
        ("def my_partition(i): ...\ndef f():\n    my_partition(3)\n", ["pkg.client_app:my_partition"]),
        ("from pkg.task import load_model\ndef f():\n    load_model()\n", []),
        ("def f(msg):\n    msg.data.load()\n", []),
        ("def broken(:\n", []),
    ],
)
def test_the_function_from_which_clients_get_data_is_found_in_the_text(project, client, expected):
    assert calls_for_data(read_project(project(client))) == expected


def test_init_writes_a_scenario_that_starts_from_its_own_folder(project):
    project("from pkg.task import load_data\ndef train(m, c):\n    load_data(0, 1)\n")
    Path("studies").mkdir()
    told = call("init", "studies/mine.toml", "--flower", "app")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "--allow-code" in told.stdout
    scenario = load("studies/mine.toml")
    settings = {"project": "../app", "data": "pkg.client_app:load_data"}
    assert scenario.protocol.settings == settings
    assert [each["name"] for each in scenario.sweep["adversary"]] == ["curious_server", *["honest_but_curious"] * 2]
    moved = rebased(scenario, "studies")
    assert moved.protocol.settings["project"] == "studies/../app"
    assert rebased(moved, Path(), "audit-app").protocol.settings["project"] == "../app"
    swept = parse(Path("studies/mine.toml").read_text() + 'protocol = [{ name = "flower_app", project = "../app" }]\n')
    assert rebased(swept, "studies").sweep["protocol"][0]["project"] == "studies/../app"
    assert call("validate", "studies/mine.toml").exit_code == 2  # the code is not allowed


def test_init_takes_rows_from_a_file_of_the_users(project):
    project()
    Path("rows.csv").write_text("a,b\n" + "".join(f"{i * i % 7},{i * 3 % 11}\n" for i in range(30)))
    told = call("init", "mine.toml", "--flower", "app", "--csv", "rows.csv")
    assert "no function was found" in told.stdout
    assert load("mine.toml").data.settings == {"path": "rows.csv"}


def test_running_an_app_must_be_allowed(project, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    folder = project("import nothing_that_there_is\n")
    with code_allowed(False), pytest.raises(ScenarioError, match=r"the Flower app 'pkg\.server_app:app' names code"):
        FlowerApp(project=folder)
    told = call("audit", "--flower", folder)
    assert (told.exit_code, "--allow-code" in told.stderr) == (2, True)


def test_without_flwr_it_says_what_to_install(project, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SecmixError, match=r"pip install 'secmix\[flower\]'"):
        FlowerApp(project=project())


def test_a_finished_cell_is_of_the_app_as_it_was(project):
    folder = project()
    cell = parse(f"network.kind = 'cycle'\n[protocol]\nname = 'flower_app'\nproject = '{folder}'\n")
    before = fingerprint(cell, None)
    assert fingerprint(cell, None) == before
    (folder / "pkg" / "task.py").write_text("rate = 3\n")
    assert fingerprint(cell, None) != before
