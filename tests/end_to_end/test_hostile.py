"""A scenario from a stranger, a folder that others write to, a terminal: nothing runs, nothing lies, nothing breaks."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import secmix
from secmix.auditing.engine import cell_cache
from secmix.cli.app import app
from secmix.errors import UNSEEN, SecmixError

ROOT = Path(__file__).parents[2]
BASE = (
    'runs = 100\n[data]\nname = "wine"\nfeatures = 2\n[network]\nkind = "cycle"\nnodes = 4\n[model]\niterations = 2\n'
    '[measure]\nevidence = ["structure"]\n'
)
SERVER = '[adversary]\nname = "curious_server"\n[protocol]\nname = "plain"\n'
SWEEP = '[sweep]\nprotocol = [{name = "plain"}, {name = "secure_sum"}]\n'
ESCAPE = "\\u001b[31mred\\u001b[0m"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def audit(text: str, *options: str, out: str = "out") -> Result:
    Path("mine.toml").write_text(text, encoding="utf-8")
    return call("audit", "mine.toml", "--out", out, "--workers", "1", "--format", "json", *options)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """As a user runs it, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "secmix", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.getcwd()}", **environment},
    )


def line(result: Result, status: int = 2) -> str:
    """The one line that is said, safe to print."""
    assert result.exit_code == status, (result.exit_code, result.output, result.exception)
    said = [one for one in result.stderr.splitlines() if not re.match(r"secmix: \d+ of \d+ done", one)]
    assert len(said) == 1, said
    assert said[0].startswith("secmix: ")
    assert len(said[0]) <= 300
    assert not UNSEEN.search(said[0])
    return said[0]


# Names that are code.

CODE = {
    "protocol": '[protocol]\nname = "os:system"\ncommand = "touch ran"\n',
    "adversary": '[adversary]\nname = "os:system"\ncommand = "touch ran"\n',
    "data": '[data]\nname = "os:system"\ncommand = "touch ran"\n',
    "candidate": '[protocol]\nname = "select_exchange_cluster"\ncandidates = ["marks:Mark"]\n',
    "forgery": '[protocol]\nname = "federated_pca"\nr = 1\n[adversary]\nname = "forgers"\ncorrupt = [1]\n'
    'attack = "marks:Mark"\n',
    "swept": '[sweep]\nprotocol = [{name = "plain"}, {name = "marks:Mark"}]\n',
}
MARK = "from pathlib import Path\nPath('ran').touch()\nclass Mark:\n    def __init__(self): Path('ran').touch()\n"


def with_code(which: str) -> str:
    base = BASE if which != "data" else BASE.replace('[data]\nname = "wine"\nfeatures = 2\n', "")
    return (base.replace("[model]\niterations = 2\n", "") if which in ("candidate", "forgery") else base) + CODE[which]


@pytest.mark.parametrize("which", CODE)
def test_code_that_a_scenario_names_is_not_loaded_without_leave(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("marks.py").write_text(MARK)
    monkeypatch.syspath_prepend(os.getcwd())
    monkeypatch.delitem(sys.modules, "marks", raising=False)
    said = line(audit(with_code(which)))
    assert "--allow-code" in said
    assert "line" in said
    assert not Path("ran").exists()
    with pytest.raises(SecmixError, match="allow_code=True"):
        secmix.audit("mine.toml")


@pytest.mark.parametrize("which", CODE)
def test_exposure_loads_no_code_without_leave(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("marks.py").write_text(MARK)
    monkeypatch.syspath_prepend(os.getcwd())
    monkeypatch.delitem(sys.modules, "marks", raising=False)
    Path("mine.toml").write_text(with_code(which), encoding="utf-8")
    assert "--allow-code" in line(call("exposure", "mine.toml"))
    with pytest.raises(SecmixError, match="allow_code=True"):
        secmix.exposure("mine.toml", cell=2 if which == "swept" else None)
    assert not Path("ran").exists()


@pytest.mark.parametrize("which", ["protocol", "adversary", "data"])
def test_what_lacks_the_interface_is_not_called_even_with_leave(which: str) -> None:
    assert "'os:system' is no" in line(audit(with_code(which), "--allow-code"))
    assert not Path("ran").exists()


def test_a_dict_needs_leave_as_a_file_does() -> None:
    content = {"network": {"kind": "cycle"}, "protocol": {"name": "secmix.protocols:Plain"}}
    with pytest.raises(SecmixError, match="allow_code=True"):
        secmix.audit(content)


@pytest.mark.build
def test_own_code_runs_with_leave_in_workers_too() -> None:
    Path("open_protocol.py").write_text("from secmix.protocols import Plain\nclass Open(Plain):\n    pass\n")
    text = BASE + SERVER + '[sweep]\nprotocol = [{name = "open_protocol:Open"}, {name = "plain"}]\n'
    Path("mine.toml").write_text(text)
    done = command("audit", "mine.toml", "--out", "out", "--workers", "2", "--format", "json", "--allow-code")
    assert done.returncode == 1, done.stderr
    assert "--allow-code" in json.loads(Path("out/report.json").read_text())["reproduce"]


FAULTS = {
    "return np.linalg.inv(np.zeros((2, 2))), None": "fails with LinAlgError at faulty.py, line 5; ",
    "return maks + inputs, None": "fails with NameError (name 'maks' is not defined) at faulty.py, line 5; ",
    "return super().average(inputs, *a, **k)[0].mean(axis=1), None": "expected (1, 4, ",
}


@pytest.mark.parametrize("body", FAULTS)
def test_what_fails_in_an_own_part_is_located_in_it(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("faulty.py").write_text(
        "import numpy as np\nfrom secmix.protocols import Plain\nclass Faulty(Plain):\n"
        f"    def average(self, inputs, *a, **k):\n        {body}\n"
    )
    monkeypatch.syspath_prepend(os.getcwd())
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    assert FAULTS[body] in line(audit(BASE + '[protocol]\nname = "faulty:Faulty"\n', "--allow-code"))


@pytest.mark.parametrize("where", ["", "def __init__(self):\n        ", "def average(self, *a, **k):\n        "])
def test_a_part_that_leaves_is_an_error_and_no_verdict(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"    {where}sys.exit(7)\n" if where else "    pass\nsys.exit(7)\n"
    Path("leaver.py").write_text(f"import sys\nfrom secmix.protocols import Plain\nclass Leaver(Plain):\n{body}")
    monkeypatch.syspath_prepend(os.getcwd())
    monkeypatch.delitem(sys.modules, "leaver", raising=False)
    said = line(audit(BASE + '[protocol]\nname = "leaver:Leaver"\n', "--allow-code"))
    assert re.search(r"SystemExit (in|at) leaver.py", said)
    assert not Path("out").exists()


# Kept cells.


class Stop(Exception):
    pass


def interrupted(text: str = BASE + SERVER + SWEEP) -> Path:
    """An audit that ended after its first cell; where that is kept."""
    Path("mine.toml").write_text(text)

    def stop(done: int, total: int, what: str) -> None:
        if done == 1:
            raise Stop

    with pytest.raises(Stop):
        secmix.audit("mine.toml", "out", progress=stop)
    (kept,) = Path("out/.unfinished").glob("*.json")
    return kept


def resumed() -> tuple[secmix.Report, int]:
    """The report, and how many cells were read back."""
    already = []

    def tell(done: int, total: int, what: str) -> None:
        if what == "running":
            already.append(done)

    return secmix.audit("mine.toml", "out", progress=tell), already[0]


def test_a_kept_cell_is_read_back_as_it_was() -> None:
    interrupted()
    report, already = resumed()
    assert already == 1
    assert report.to_dict() == secmix.audit("mine.toml").to_dict()


FORGED: dict[str, Any] = {
    "list": "[]",
    "number": "5",
    "null": "null",
    "no digest": '{"kept": "{}"}',
    "numbers": '{"kept": 3, "digest": 4}',
    "deep": "[" * 100_000,
    "empty": "",
    "latin": b"\xff\xfe",
    "nan": "NaN",
    "huge": "9" * 6000,
}


@pytest.mark.parametrize("case", FORGED)
def test_what_is_no_kept_cell_is_computed_again_and_said(case: str, caplog: pytest.LogCaptureFixture) -> None:
    kept = interrupted()
    content = FORGED[case]
    kept.write_bytes(content if isinstance(content, bytes) else content.encode())
    report, already = resumed()
    assert already == 0
    assert report.verdict == "violated"
    assert "computed again" in caplog.text


def test_a_kept_cell_that_was_edited_is_computed_again(caplog: pytest.LogCaptureFixture) -> None:
    kept = interrupted()
    text = kept.read_text()
    assert "violated" in text
    kept.write_text(text.replace("violated", "holds").replace("revealed", "corrupt"))
    report, already = resumed()
    assert (already, report.verdict) == (0, "violated")
    assert "computed again" in caplog.text


@pytest.mark.build
def test_an_editor_who_knows_how_cannot_forge_the_digest_without_the_key() -> None:
    for key in (b"", b"\0" * 32, b"secmix"):
        kept = interrupted()
        cell = json.loads(kept.read_text())["kept"].replace("violated", "holds")
        kept.write_text(json.dumps({"kept": cell, "digest": cell_cache._digest(key, kept.stem, cell)}))
        assert resumed()[1] == 0


def test_a_kept_cell_of_another_scenario_is_not_taken() -> None:
    content = interrupted().read_bytes()
    resumed()
    interrupted((BASE + SERVER + SWEEP).replace("runs = 100", "runs = 101")).write_bytes(content)
    assert resumed()[1] == 0


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "dangling"])
def test_something_else_in_place_of_a_kept_cell(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    kept = interrupted()
    content = kept.read_bytes()
    kept.unlink()
    if kind == "folder":
        kept.mkdir()
    elif kind == "pipe":
        os.mkfifo(kept)
    else:
        kept.symlink_to(Path("target").absolute())
        if kind == "link":
            Path("target").write_bytes(content)
    if kind == "folder":  # nothing of the user's is taken away to make room
        with pytest.raises(SecmixError, match="is a folder"):
            resumed()
        return
    report, already = resumed()
    assert (already, report.verdict) == (0, "violated")
    assert "computed again" in caplog.text
    if kind == "link":
        assert Path("target").read_bytes() == content


@pytest.mark.build
def test_the_key_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cell_cache._key.cache_clear()
    try:
        key = cell_cache._key()
        place = tmp_path / "state" / "secmix" / "key"
        assert key == place.read_bytes()
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert [p.name for p in place.parent.iterdir()] == ["key"]
        place.chmod(0o644)
        cell_cache._key.cache_clear()
        assert cell_cache._key() is None
        assert secmix.audit(
            {
                "runs": 100,
                "network": {"kind": "cycle"},
                "data": {"name": "wine", "features": 2},
                "measure": {"evidence": ["structure"]},
            },
            "a",
        ).cells
    finally:
        cell_cache._key.cache_clear()


# Links and pipes.


@pytest.mark.parametrize(
    "name", [".secmix-lock", ".secmix-write-test", "report.json", "scenario.toml", ".scenario.toml.tmp"]
)
def test_no_link_in_the_folder_is_followed(name: str) -> None:
    Path("victim").write_text("precious")
    Path("out").mkdir()
    Path("out", name).symlink_to(Path("victim").absolute())
    result = audit(BASE + SERVER)
    if name == ".secmix-lock":
        assert "is a link" in line(result)
    else:
        assert result.exit_code == 3 or result.exit_code == 1, result.output
    assert Path("victim").read_text() == "precious"


@pytest.mark.parametrize("out", [".", ""])
def test_a_scenario_of_ones_own_is_not_replaced_by_the_one_that_was_run(out: str) -> None:
    mine = f"# why these nodes\n{BASE}{SERVER}"
    Path("scenario.toml").write_text(mine, encoding="utf-8")
    for name in ("scenario.toml", "other.toml"):
        Path("other.toml").write_text(BASE + SERVER, encoding="utf-8")
        refused = call("audit", name, "--out", out, "--workers", "1", "--format", "json")
        assert refused.exit_code == 2
        assert "would replace 'scenario.toml', which no audit has written; choose another --out" in " ".join(
            refused.output.split()
        )
        assert Path("scenario.toml").read_text(encoding="utf-8") == mine
    assert not Path("report.json").exists()
    assert audit(BASE + SERVER).exit_code == 1
    written = Path("out/scenario.toml").read_bytes()
    assert call("audit", "out/scenario.toml", "--out", "out", "--workers", "1", "--format", "json").exit_code == 1
    assert Path("out/scenario.toml").read_bytes() == written


def test_a_link_in_place_of_the_kept_cells_is_refused_and_nothing_there_taken_away() -> None:
    Path("theirs").mkdir()
    Path("theirs", "0" * 32 + ".json").write_text("precious")
    Path("out").mkdir()
    Path("out/.unfinished").symlink_to(Path("theirs").absolute())
    assert "link" in line(audit(BASE + SERVER + SWEEP))
    assert Path("theirs", "0" * 32 + ".json").read_text() == "precious"


def test_only_our_own_drafts_are_taken_away() -> None:
    Path("out").mkdir()
    Path("out/.notes.tmp").write_text("mine")
    assert audit(BASE + SERVER).exit_code in (1, 3)
    assert Path("out/.notes.tmp").read_text() == "mine"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_csv_that_is_no_file_is_refused_at_once(kind: str) -> None:
    path = {"pipe": "data.csv", "folder": "data.csv", "device": "/dev/zero"}[kind]
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        Path(path).mkdir()
    said = line(audit(BASE.replace('"wine"', f'"csv"\npath = "{path}"')))
    assert "cannot be read" in said


# Values that are private.


@pytest.mark.parametrize(
    "rows",
    [
        ["5.25,3.5", "4.75,3.5"],  # no line of names; a constant column
        ["5.25,5.25", "4.75,3.5"],  # twice the same
        ["Meyer,5.25", "Smith,3.5"],
        ["Meyer,5.25x", "Smith,3.5x"],  # nothing here is a number: which line is data?
        ["5.25;3.5", "4.75;3.5"],  # another delimiter
        ["5,25;3,5", "4,75;3,5"],
        ["1990-05-25,a", "1991-05-25,b"],
        ["1990-05-25,x", "1991-05-25,3.5"],
    ],
)
def test_a_csv_without_names_shows_no_value(rows: list[str]) -> None:
    Path("mine.csv").write_text("\n".join(rows) + "\n")
    for more in ("", '\ndelimiter = ";"', '\ndrop = ["nothing"]', '\ncolumns = ["5.2"]'):
        text = BASE.replace('"wine"\nfeatures = 2', f'"csv"\npath = "mine.csv"{more}')
        said = line(audit(text))
        for value in re.findall(r"[\w.-]+", "\n".join(rows)):
            if len(value) > 2:
                assert value not in said, said


def test_escapes_do_not_reach_the_terminal() -> None:
    Path("bad\x1b[31m.csv").write_text("\x1b[31ma,b\n1,2\n2,\n")
    for text in (
        f'title = "{ESCAPE}"\n"{ESCAPE}" = 3\n' + BASE,
        BASE + f'[protocol]\nname = "{ESCAPE}"\n',
        BASE + f'[protocol]\nname = "plain"\n"{ESCAPE}" = 1\n',
        BASE + f'[adversary]\nname = "{ESCAPE}:{ESCAPE}"\n',
        BASE + f'[protocol]\nname = "plain"\nencrypted = "{ESCAPE}"\n',
        BASE.replace('"wine"\nfeatures = 2', '"csv"\npath = "bad\\u001b[31m.csv"'),
        BASE.replace('"wine"\nfeatures = 2', f'"csv"\npath = "bad\\u001b[31m.csv"\ncolumns = ["{ESCAPE}"]'),
        BASE
        + f'[sweep]\nprotocol = [{{name = "plain", label = "{ESCAPE}"}}, {{name = "plain", label = "{ESCAPE}"}}]\n',
    ):
        line(audit(text))
    line(call("audit", "no\x1b[31m.toml"))
    line(call("attacks", "no\x1b[31m"))
    line(call("compare", "no\x1b[31m.json", "x"))
    assert "\x1b" not in call("init", "new\x1b[31m.toml").output
    assert "\x1b" not in audit(BASE + SERVER + f'label = "{ESCAPE}"\n', out="x\x1b[31m").output


def test_the_progress_bar_shows_labels_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    from secmix.cli import console

    with console._bar() as tell:
        tell(0, 3, "a\x1b[31m\nb" * 100)
        tell(1, 3, "plain × \x1b[31mear: violated")
    assert "\x1b[31m" not in capsys.readouterr().err


def test_a_verdict_stays_to_be_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    from secmix.cli import console

    with console._bar() as tell:
        for done in (0, 1):
            tell(done, 3, "plain × ear: violated")
        tell(1, 3, "running")
    lines = capsys.readouterr().err.splitlines()
    assert [line.strip() for line in lines].count("plain × ear: violated") == 1


# Statuses.


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 50_000,
        "a" + ".a" * 5000 + " = 1",
        "seed = " + "9" * 6000 + "\n" + BASE,
        "seed = 0x" + "f" * 6000 + "\n" + BASE,
        BASE + "[protocol]\nname = 'pdmm'\nsigma = 0x" + "f" * 6000 + "\n",
        "title = '''" + "x" * 10_000 + "\n" + BASE,
        "x" * 100_000,
        BASE.replace("nodes = 4", "nodes = 100000").replace("cycle", "complete"),
        BASE.replace("nodes = 4", "nodes = 1000000000000000"),
        BASE.replace("nodes = 4", "nodes = 100000").replace("cycle", "random_geometric"),
        BASE.replace('"wine"', '"gaussian"\nrows = 1000000000000'),
        BASE.replace("runs = 100", "runs = 1000000000000"),
        BASE.replace("iterations = 2", "iterations = 1000000") + SERVER,
        BASE.replace("iterations = 2", "components = 1000000"),
        BASE + "[sweep]\nseed = [" + "1, " * 500 + "]\nruns = [" + "100, " * 500 + "]\n",
        BASE.replace("cycle", "complete").replace("nodes = 4", "nodes = 100") + "[protocol]\nname = 'pdmm'\n",
    ],
    ids=range(16),
)
def test_what_is_too_deep_or_too_large_is_refused_at_once(text: str) -> None:
    line(audit(text))
    assert not Path("out").exists()


def test_what_nobody_foresaw_has_a_status_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("5.25 is private")

    monkeypatch.setattr("secmix.api.resolve", broken)
    said = line(audit(BASE), 70)
    assert "ZeroDivisionError" in said
    assert "--debug" in said
    assert "5.25" not in said
    shown = audit(BASE, "--debug")
    assert shown.exit_code == 70
    assert "Traceback" in shown.stderr


def test_debug_shows_where_an_error_comes_from() -> None:
    result = audit("x", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


@pytest.mark.build
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_every_encoding_will_do(encoding: str) -> None:
    Path("mine.toml").write_text('title = "σ ≤ ∞ → é 😀"\n' + BASE + SERVER, encoding="utf-8")
    for arguments, status in ((["protocols"], 0), (["attacks", "weak-masks"], 0), (["audit", "mine.toml"], 1)):
        done = command(*arguments, PYTHONIOENCODING=encoding)
        assert done.returncode == status, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.build
def test_a_reader_who_leaves_early_is_no_verdict() -> None:
    Path("mine.toml").write_text(BASE + SERVER)
    python = f'"{sys.executable}" -m secmix'
    for arguments, status in (("protocols", 0), ("attacks", 0), ("audit mine.toml --workers 1", 1)):
        done = subprocess.run(
            ["bash", "-c", f"{python} {arguments} | true; exit ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.build
def test_wrong_usage_and_version_have_their_statuses() -> None:
    for arguments, status in ((["--version"], 0), (["-h"], 0), (["audit", "-h"], 0), (["nonsense"], 2), (["audit"], 2)):
        done = command(*arguments)
        assert done.returncode == status, (arguments, done.stderr)
    assert b"secmix " in command("--version").stdout


@pytest.mark.parametrize("text", ["x", BASE + "[protocol]\nname = 'pdm'\n", BASE + "[protocol]\nname = 'no:thing'\n"])
def test_no_empty_folder_is_left_behind(text: str) -> None:
    line(audit(text, out="new/folder"))
    assert not Path("new").exists()
    Path("old").mkdir()
    line(audit(text, out="old"))
    assert not any(Path("old").iterdir())


def test_a_script_without_a_guard_is_told_so() -> None:
    content = (
        "import secmix\n"
        "secmix.audit({'runs': 100, 'network': {'kind': 'cycle'}, 'data': {'name': 'wine', 'features': 2},\n"
        "  'measure': {'evidence': ['structure']}, 'sweep': {'protocol': [{'name': 'plain'}, {'name': 'pdmm'}]}},\n"
        "  workers=2)\n"
    )
    Path("script.py").write_text(content)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, env=environment, check=False)
    (said,) = re.findall("^secmix.errors.SecmixError: (.*)", done.stderr, re.MULTILINE)
    assert "put the call under if __name__" in said
    assert done.returncode == 1
