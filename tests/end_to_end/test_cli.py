"""The ``secmix`` command: exit statuses, one clear message, nothing half-written, and resuming after Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from secmix._base.plugins import available
from secmix.cli.app import COMPARED, STATUS, app
from secmix.reporting import json_schema
from secmix.scenario import load

ROOT = Path(__file__).parents[2]
RUNS = "runs = 200\n"
DATA = '[data]\nname = "wine"\nfeatures = 2\n'
RING = '[network]\nkind = "cycle"\nnodes = 4\n'
MODEL = "[model]\niterations = 2\n"
QUICK = '[measure]\nevidence = ["structure"]\n'
RING_SUM = '[protocol]\nname = "secure_sum"\n'
PLAIN = '[protocol]\nname = "plain"\n'
SERVER = '[adversary]\nname = "curious_server"\n'
BASE = RUNS + DATA + RING + MODEL + QUICK


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "secmix", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        # A shell that runs the tests in the background has them ignore interrupts, and they would hand that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str, name: str = "mine.toml") -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def audit(text: str, *options: str | Path, out: str = "out") -> Result:
    return call("audit", written(text), "--out", out, "--workers", "1", "--format", "json", *options)


def report(out: str = "out") -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(out, "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, json_schema())
    return content


def told(stderr: str) -> list[str]:
    """What is said on standard error, without the lines in which a slow machine says how far it is."""
    return [line for line in stderr.strip().splitlines() if not re.match(r"secmix: \d+ of \d+ done", line)]


def refused(result: Result, *expected: str, out: str = "out") -> None:
    """Status 2, one message on standard error that has the ``expected`` words, no traceback, no file in ``out``."""
    assert result.exit_code == 2, (result.exit_code, result.output)
    lines = told(result.stderr)
    assert len(lines) == 1, lines
    assert len(lines[0]) <= 300
    assert lines[0].startswith("secmix: ")
    assert result.stdout == ""
    for word in expected:
        assert word in lines[0]
    if Path(out).is_dir():
        assert not [path for path in Path(out).rglob("*") if path.is_file()]


def test_a_report_beside_an_audit_that_fails_is_of_an_earlier_one() -> None:
    assert audit(BASE + RING_SUM + SERVER).exit_code == 0
    before = Path("out", "report.json").read_bytes()
    for failed in (
        audit(BASE + '[protocol]\nname = "secure_summ"\n' + SERVER),
        call("audit", "--recorded", "none", "--out", "out"),
    ):
        assert failed.exit_code == 2
        assert told(failed.stderr)[1:] == ["secmix: the report in 'out' is of an earlier audit"]
    assert Path("out", "report.json").read_bytes() == before


def test_a_policy_that_holds_is_status_0() -> None:
    result = audit(BASE + RING_SUM)
    assert result.exit_code == 0, result.output
    assert told(result.stderr) == []
    assert report()["verdict"] == "holds"
    assert sorted(p.name for p in Path("out").iterdir()) == ["report.json", "scenario.toml"]
    assert load("out/scenario.toml") == load("mine.toml")


def test_a_policy_that_is_violated_is_status_1() -> None:
    result = audit(BASE + PLAIN + SERVER)
    assert result.exit_code == 1, result.output
    assert report()["verdict"] == "violated"
    assert {node["standing"] for node in report()["cells"][0]["nodes"]} == {"revealed"}


def test_what_cannot_be_decided_is_status_3() -> None:
    text = BASE.replace('"structure"', '"structure", "ksg"') + '[protocol]\nname = "pdmm"\n'
    result = audit(text + "[policy]\nmax_normalised_leakage = 0.9\n")
    assert result.exit_code == 3, result.output
    assert report()["verdict"] == "inconclusive"


CROSS = "[network]\nnodes = 4\nedges = [[0, 1], [0, 2], [0, 3]]\n"
SPLIT = "[network]\nnodes = 4\nedges = [[0, 1], [2, 3]]\n"
CURIOUS = '[adversary]\nname = "honest_but_curious"\ncorrupt = '
WRONG = {
    "unknown key": (BASE + "[protocl]\nname = 'plain'\n", ["'protocl'", "line", "did you mean 'protocol'"]),
    "bad TOML": (BASE + "[protocol\n", ["mine.toml", "TOML", "line"]),
    "unknown protocol": (BASE + "[protocol]\nname = 'pdm'\n", ["protocol", "did you mean 'pdmm'"]),
    "unknown setting": (BASE + "[protocol]\nname = 'pdmm'\nsigm = 1.0\n", ["'sigm'", "did you mean 'sigma'"]),
    "unknown data": (BASE.replace("wine", "wein"), ["data", "did you mean 'wine'"]),
    "not connected": (BASE.replace(RING, SPLIT), ["connected"]),
    "no Hamiltonian cycle": (BASE.replace(RING, CROSS) + RING_SUM, ["Hamiltonian", "1"]),
    "corrupt nodes that do not exist": (BASE + CURIOUS + "[1, 9]\n", ["corrupt", "9"]),
    "every node corrupt": (
        BASE + CURIOUS + "[0, 1, 2, 3]\n",
        [f"line {(BASE + CURIOUS).count(chr(10)) + 1}: corrupt names all 4 nodes", "leave at least one"],
    ),
    "no node corrupt": (BASE + CURIOUS + "[]\n", ["corrupt", "Eavesdropper"]),
    "corrupt of a wrong type": (BASE + CURIOUS + '"all"\n', ["corrupt"]),
    "corrupt nodes that are words": (BASE + CURIOUS + '["a"]\n', ["corrupt"]),
    "nodes asked about do not exist": (BASE.replace("[measure]\n", "[measure]\nnodes = [7]\n"), ["measure", "7"]),
    "nodes asked about are corrupt": (
        BASE.replace("[measure]\n", "[measure]\nnodes = [1]\n") + CURIOUS + "[1]\n",
        ["measure", "corrupt"],
    ),
    "more components than rows": (BASE.replace("iterations", "components = 9\niterations"), ["9", "rows"]),
    "more rows than there are": (BASE.replace("features", "rows_per_node = 90\nfeatures"), ["360", "178"]),
    "rows for other nodes": (BASE.replace("features", "rows_per_node = [1, 2]\nfeatures"), ["rows_per_node", "4"]),
    "too many features": (BASE.replace("features = 2", "features = 20"), ["features = 20", "13"]),
    "sigma of zero": (BASE + "[protocol]\nname = 'pdmm'\nsigma = 0.0\n", ["sigma", "above 0"]),
    "negative sigma": (BASE + RING_SUM + "sigma = -1.0\n", ["sigma", "above 0"]),
    "sigma in words": (BASE + RING_SUM + "sigma = 'big'\n", ["sigma", "'big'"]),
    "infinite sigma": (BASE + RING_SUM + "sigma = inf\n", ["sigma", "inf"]),
    "a cycle that is none": (BASE + RING_SUM + "cycle = [0, 2, 1, 3]\n", ["cycle", "edge"]),
    "negative seed": ("seed = -3\n" + BASE, ["seed", "-3"]),
    "a csv that is absent": (BASE.replace('"wine"', "'csv'\npath = 'absent.csv'"), ["absent.csv"]),
    "a csv without path": (BASE.replace('"wine"', '"csv"'), ["csv", "path"]),
    "two cells of one name": (BASE + "[sweep]\nprotocol = [{name = 'plain'}, {name = 'plain'}]\n", ["label"]),
    "the last cell of a sweep": (BASE + "[sweep]\nprotocol = [{name = 'plain'}, {name = 'plan'}]\n", ["'plan'"]),
    "own module without leave": (BASE + "[protocol]\nname = 'no_such_module:X'\n", ["no_such_module", "--allow-code"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_status_2_with_one_message(case: str) -> None:
    text, expected = WRONG[case]
    refused(audit(text), *expected)


NUMBER = "81.273645"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([f"1,{NUMBER},3", "2,,5"], ["row 2", "'b'", "mine.csv"]),
        ([f"1,{NUMBER},3", "2,nan,5"], ["lack values", "row 2", "'b'", "mine.csv"]),
        ([f"1,{NUMBER},3", f"2,{NUMBER},5"], ["'b'", "constant"]),
        ([f"1,{NUMBER}x,3"], ["row 1", "'b'"]),
    ],
)
def test_a_wrong_csv_is_refused_without_its_values(rows: list[str], expected: list[str]) -> None:
    Path("mine.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    result = audit(BASE.replace('"wine"', "'csv'\npath = 'mine.csv'"))
    refused(result, *expected)
    assert NUMBER not in result.output


def test_files_that_cannot_be_read_are_status_2() -> None:
    Path("latin.toml").write_bytes(b'title = "\xe9"')
    Path("folder.toml").mkdir()
    Path("empty.toml").touch()
    for name in ("latin.toml", "folder.toml", "empty.toml", "absent.toml", "passive-neighbour"):
        refused(call("audit", name, "--out", "out"), name)


def test_an_out_folder_that_cannot_be_written_is_status_2() -> None:
    Path("taken").write_text("mine")
    for out in ("taken", "taken/below"):
        refused(audit(BASE, out=out), out, "--out", out=out)
    assert Path("taken").read_text() == "mine"


def test_wrong_options_are_status_2() -> None:
    refused(audit(BASE, "--format", "pdf"), "'pdf'", "html")
    refused(audit(BASE, "--format", ""), "format")
    refused(audit(BASE, "--cell", "3"), "cell 3", "1")
    for wrong in (["--cell", "0"], ["--seed", "-1"], ["--seed", "x"], ["--workers", "-1"], ["--time-limit", "0"],
                  ["--memory-limit", "0"], ["--nonsense"]):  # fmt: skip
        result = audit(BASE, *wrong)
        assert result.exit_code == 2
        assert wrong[0] in result.output
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("option", "value"), [("--time-limit", "-7.5"), ("--time-limit", "10m"), ("--seed", "-12"), ("--workers", "two")]
)
def test_a_refused_option_repeats_what_was_given(option: str, value: str, tmp_path: Path) -> None:
    process = start("audit", "mine.toml", option, value, cwd=tmp_path)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 2
    (refusal,) = [line for line in printed.splitlines() if "Error" in line or "Invalid" in line]
    assert option in refusal
    assert value in refusal


@pytest.mark.parametrize("command", ["audit", "exposure", "compare"])
def test_help_says_every_exit_status_in_which_a_verdict_ends(command: str) -> None:
    shown = " ".join(call(command, "--help").output.split())
    (statuses,) = re.findall(r"Exit status: (.*?)\.(?:\s|$)", shown)
    given = set(STATUS.values()) if command != "compare" else {0, *COMPARED.values()}
    assert given | {2} <= {int(number) for number in re.findall(r"\b\d+\b", statuses)}


def test_help_prints_what_stands_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Rich takes the name of a table for markup, and prints nothing in its place."""
    monkeypatch.setenv("COLUMNS", "200")
    shown = " ".join(call("audit", "--help").output.split())
    assert "TOML file with [claim] and [noise]" in shown
    assert "[default: audit-NAME]" in shown


def test_a_wrong_policy_is_status_2() -> None:
    for name, text, expected in (
        ("bad.toml", "max_revealed_nodes = ", "bad.toml"),
        ("unknown.toml", "max_reveal = 1", "max_revealed_nodes"),
        ("empty.toml", "", "at least one limit"),
        ("nested.toml", "policy = 3", "nested.toml"),
        ("wrong.toml", "max_normalised_leakage = 2.0", "max_normalised_leakage"),
    ):
        written(text, name)
        refused(audit(BASE, "--policy", name), name, expected)
    refused(audit(BASE, "--policy", "absent.toml"), "absent.toml")


def test_a_wrong_baseline_is_status_2() -> None:
    written("{}", "empty.json")
    written("{", "cut.json")
    for name in ("empty.json", "cut.json", "absent.json"):
        refused(audit(BASE, "--baseline", name), name)


def test_a_policy_file_takes_the_place_of_the_scenarios() -> None:
    text = BASE + PLAIN + SERVER
    written("max_revealed_nodes = 4", "top.toml")
    written("[policy]\nmax_revealed_nodes = 3", "table.toml")
    assert audit(text, "--policy", "top.toml", out="a").exit_code == 0
    assert audit(text, "--policy", "table.toml", out="b").exit_code == 1
    assert report("a")["policy"] == {"max_revealed_nodes": 4.0}


def test_a_baseline_counts_only_what_got_worse() -> None:
    assert audit(BASE + PLAIN + SERVER, out="plain").exit_code == 1
    again = audit(BASE + PLAIN + SERVER, "--baseline", "plain/report.json", out="again")
    assert again.exit_code == 0, again.output
    assert "Nothing got worse" in report("again")["sentence"]
    assert report("again")["cells"][0]["verdict"] == "violated"
    hidden = BASE + SERVER + '[protocol]\nname = "secure_sum"\nlabel = "plain"\n'
    assert audit(hidden, out="hidden").exit_code == 0
    worse = audit(BASE + PLAIN + SERVER, "--baseline", "hidden/report.json", out="worse")
    assert worse.exit_code == 1
    assert "got worse" in report("worse")["sentence"]


def test_all_formats_are_written_as_asked() -> None:
    wanted = "html,json,md,junit,sarif"
    result = call("audit", written(BASE + PLAIN), "--out", "out", "--workers", "1", "--format", wanted)
    assert result.exit_code == 1
    assert sorted(p.name for p in Path("out").iterdir()) == sorted(
        ["report.html", "report.json", "report.md", "report.junit.xml", "report.sarif", "scenario.toml"]
    )
    for name in ("report.html", "report.json"):
        assert name in result.stdout.replace("\n", "")
    assert json.loads(Path("out/report.sarif").read_text())["runs"]


def test_the_folder_is_named_after_the_scenario_where_none_is_given() -> None:
    assert call("audit", written(BASE + PLAIN), "--workers", "1", "--format", "md").exit_code == 1
    assert sorted(p.name for p in Path("audit-mine").iterdir()) == ["report.md", "scenario.toml"]


SWEEP = BASE + "[sweep]\nprotocol = [{name = 'plain'}, {name = 'secure_sum'}, {name = 'pdmm'}]\n"


@pytest.mark.build
def test_a_cell_alone_is_as_in_the_sweep() -> None:
    assert audit(SWEEP, out="all").exit_code == 1
    for number, status in ((1, 1), (2, 0)):
        assert audit(SWEEP, "--cell", str(number), out="alone").exit_code == status
        (cell,) = report(f"alone/cell-{number}")["cells"]
        same = report("all")["cells"][number - 1]
        assert cell["number"] == same["number"] == number
        # What to change may refer to the other cells of a report.
        assert {**cell, "advice": [], "trials": []} == {**same, "advice": [], "trials": []}
        assert f"--cell {number}" in cell["reproduce"]
    refused(audit(SWEEP, "--cell", "4"), "cell 4", "3")


@pytest.mark.build
def test_the_command_of_a_section_leaves_the_whole_report_alone() -> None:
    assert call("audit", written(SWEEP), "--workers", "1", "--format", "html,json,md").exit_code == 1
    whole = {path: path.read_bytes() for path in Path("audit-mine").iterdir()}
    command = report("audit-mine")["cells"][1]["reproduce"].split()
    told = call(*command[1:], "--workers", "1", "--format", "html,json,md")
    assert told.exit_code == 0
    assert str(Path("audit-mine", "cell-2", "report.html")) in told.stdout
    assert {path: path.read_bytes() for path in Path("audit-mine").iterdir() if path.is_file()} == whole
    alone = Path("audit-mine", "cell-2")
    assert 'id="cell-2"' in (alone / "report.html").read_text(encoding="utf-8")
    assert "## 2. secure" in (alone / "report.md").read_text(encoding="utf-8")
    # Into the folder of the whole report, if that is named: not over it either.
    assert call(*command[1:], "--workers", "1", "--format", "json", "--out", "audit-mine").exit_code == 0
    assert len(report("audit-mine")["cells"]) == 3


def test_the_command_in_the_report_reproduces_it() -> None:
    assert audit(BASE + PLAIN, "--seed", "7", out="first").exit_code == 1
    words = report("first")["reproduce"].split()
    assert words[:2] == ["secmix", "audit"]
    assert call(*words[1:], "--out", "second", "--workers", "1", "--format", "json").exit_code == 1
    assert report("second") == report("first")
    assert report("first")["seed"] == 7


def test_the_catalogue_is_listed_and_explained() -> None:
    listed = call("attacks")
    assert listed.exit_code == 0
    names = {line.split()[0] for line in listed.stdout.splitlines()}
    assert names == {path.stem for path in (ROOT / "attacks").glob("*.toml")}
    told = call("attacks", "mask-reuse")
    assert told.exit_code == 0
    assert "Threat model" in told.stdout
    assert "[sweep]" in told.stdout
    refused(call("attacks", "mask-resue"), "did you mean 'mask-reuse'")


def test_protocols_say_what_they_reveal_by_design() -> None:
    told = call("protocols")
    assert told.exit_code == 0
    for name in ("plain", "secure_sum", "pdmm"):
        assert name in told.stdout.splitlines()
    assert told.stdout.count("eveals by design") == len(available("protocols"))


def test_reports_are_compared() -> None:
    audit(BASE + PLAIN + SERVER, out="before")
    audit(BASE + SERVER + "[protocol]\nname = 'secure_sum'\nlabel = 'plain'\n", out="after")
    told = call("compare", "before/report.json", "after/report.json")
    assert told.exit_code == 0
    assert "better" in told.stdout
    assert "worse" in call("compare", "after/report.json", "before/report.json").stdout
    refused(call("compare", "before/report.json", "absent.json"), "absent.json")


@pytest.mark.build
def test_init_writes_a_scenario_that_reads() -> None:
    assert call("init", "new.toml").exit_code == 0
    scenario = load("new.toml")
    assert len(list(scenario.cells())) == 6
    assert "#" in Path("new.toml").read_text()
    refused(call("init", "new.toml"), "exists already")
    refused(call("init", "absent/new.toml"), "cannot be written")
    short = Path("new.toml").read_text().replace("runs = 2000", "runs = 100")
    quick = short.replace("[policy]", '[measure]\nevidence = ["structure"]\n[policy]')
    assert audit(quick).exit_code == 1


@pytest.mark.build
def test_a_users_module_beside_the_scenario_is_found() -> None:
    written("from secmix.protocols import Plain\n\nclass Mine(Plain):\n    pass\n", "module_beside_scenario.py")
    written(BASE + "[protocol]\nname = 'module_beside_scenario:Mine'\n")
    script = "import sys; sys.path[:] = [p for p in sys.path if p]; from secmix.cli.app import main; main()"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script, "audit", "mine.toml", "--out", "out", "--workers", "1", "--allow-code"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert ran.returncode == 1, ran.stderr
    assert told(ran.stderr) == []


@pytest.mark.build
def test_a_long_name_of_the_folder_for_temporary_files_is_no_fault(tmp_path: Path) -> None:
    """Workers are forked from a process whose socket lies there, and a socket's name has room for 108 letters."""
    temporary = tmp_path / ("long" * 30)
    temporary.mkdir()
    two = SLOW.replace("runs = 400", "runs = 100").replace(", {name = 'pdmm'}", "").replace("[1, 2, 3]", "[1]")
    written(two)
    assert len(list(load("mine.toml").cells())) == 2
    ran = subprocess.run(
        [sys.executable, "-m", "secmix", "audit", "mine.toml", "--workers", "2", "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode in (0, 1, 3), ran.stderr


SLOW = (
    "runs = 400\n"
    + DATA.replace("wine", "gaussian")
    + RING
    + MODEL
    + '[measure]\nevidence = ["structure", "gaussian"]\n'
    + "[sweep]\nprotocol = [{name = 'plain'}, {name = 'secure_sum'}, {name = 'pdmm'}]\n"
    + f'"data.rows_per_node" = {list(range(1, 4))}\n'
)


@pytest.mark.build
def test_nothing_but_the_summary_is_printed_when_piped(tmp_path: Path) -> None:
    written(BASE + PLAIN)
    process = start("audit", "mine.toml", "--out", "out", "--workers", "1", "--format", "md", cwd=tmp_path)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 1
    assert told(stderr) == []
    assert "\x1b" not in stdout
    assert "violated" in stdout


PRINTS = """
import os
from secmix.protocols import SecureSum

class Prints(SecureSum):
    def average(self, *given, **more):
        print("averaging")
        os.write(1, b"from below\\n")
        return super().average(*given, **more)
"""


@pytest.mark.parametrize(
    "command", [("exposure", "--json", "--no-taps"), ("validate", "--format", "json")], ids=lambda words: words[0]
)
def test_json_stands_alone_on_standard_output_whatever_the_protocol_prints(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    written(PRINTS, "prints.py")
    written(BASE + "[protocol]\nname = 'prints:Prints'\n")
    process = start(command[0], "mine.toml", *command[1:], "--allow-code", cwd=tmp_path)
    stdout, stderr = process.communicate(timeout=300)
    json.loads(stdout)
    assert "averaging" in stderr
    assert "from below" in stderr
