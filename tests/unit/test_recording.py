"""Recordings of real runs: what is written is read back, what is hostile is refused, and one run clears nobody."""

from __future__ import annotations

import html
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from secmix.auditing.recorded import audit_recording
from secmix.cli.app import app
from secmix.cli.recorded_audit import as_lines, audited
from secmix.cli.run_in_words import as_plain
from secmix.errors import DataError, SecmixError
from secmix.recording import Recorder, Recording, faults_of_recording, read_recording
from secmix.recording.format import ROLES, faults_of_line, json_schema, published
from secmix.reporting.formats.recorded_report import RecordedReport, Statement
from secmix.reporting.formats.recorded_report import html as page_of
from secmix.transcript import SERVER

CLIENTS = {0: [[0.5, -1.25, 2.0]], 1: [[1.0, 3.0, -0.5], [0.25, 0.75, 1.0]], 2: [[-2.0, 0.5, 0.125]]}


def federation(folder, rounds=3, precision="float64", say=True):
    """FedAvg of a linear model on x and y, the last number of a row; weighted by rows."""
    recorder = Recorder(folder)
    weights, bias = np.zeros(2), np.zeros(1)

    def arrays(kind, w, b):
        return [
            (f"{kind}: arrays/0", (), w.astype(precision)),
            (f"{kind}: arrays/1", (), b.astype(precision)),
        ]

    def roles(kind):
        return {f"{kind}: arrays/{k}": "model" for k in range(2)}

    for t in range(rounds):
        for node in CLIENTS:
            recorder.write(t, 0, SERVER, node, arrays("train", weights, bias), roles=roles("train"))
        sent = []
        for node, rows in CLIENTS.items():
            x, y = np.array(rows)[:, :-1], np.array(rows)[:, -1]
            off = x @ weights + bias - y
            w, b = weights - 0.1 * off @ x / len(x), bias - 0.1 * off.mean()
            metrics = ("train reply: metrics", ("loss", "num-examples"), np.array([float((off**2).mean()), len(x)]))
            parts = [*([metrics] if say else []), *arrays("train reply", w, b)]
            declared = roles("train reply") | ({"loss": "statistic", "num-examples": "count"} if say else {})
            recorder.write(t, 1, node, SERVER, parts, roles=declared)
            sent.append((len(x), w.astype(precision), b.astype(precision)))
        total = sum(count for count, _, _ in sent)
        weights = sum(count * w.astype(float) for count, w, _ in sent) / total
        bias = sum(count * b.astype(float) for count, _, b in sent) / total
    return read_recording(folder)


def test_what_is_written_is_read_back(tmp_path):
    recorder = Recorder(tmp_path / "r", "node")
    numbers = np.array([1.5, np.nan, -0.0], dtype=np.float32)
    recorder.write(
        3,
        1,
        0,
        SERVER,
        [("reply", (), numbers), ("metrics", ("loss",), [0.25])],
        encrypted=False,
        roles={"reply": "update", "loss": "statistic"},
    )
    Recorder(tmp_path / "r", "node").write(4, 0, SERVER, 0, [])  # gone on with after a restart
    found = read_recording(tmp_path / "r")
    assert (found.by, found.nodes, len(found.messages)) == ("node", (0,), 2)
    first = found.messages[0]
    assert (first.iteration, first.round, first.sender, first.receiver, first.encrypted) == (3, 1, 0, -1, False)
    assert first.parts[0][2].dtype == np.float32
    assert_array_equal(first.parts[0][2], numbers)
    assert first.parts[1][:2] == ("metrics", ("loss",))
    assert first.roles == {"reply": "update", "loss": "statistic"}
    assert [each.tolist() for each in first.of_role("statistic")] == [[0.25]]
    assert first.of_role("model") == []
    with pytest.raises(DataError, match="a recording by a node, expected server"):
        Recorder(tmp_path / "r", "server")
    with pytest.raises(DataError, match="expected a vector of real numbers"):
        recorder.write(0, 0, -1, 0, [("a", (), np.array([{}]))])
    for roles, message in (
        ({"a": "weights"}, "expected one of model, update, count"),
        ({"b": "model"}, "'b' is neither"),
    ):
        with pytest.raises(DataError, match=message):
            recorder.write(0, 0, -1, 0, [("a", (), [1.0])], roles=roles)


@pytest.mark.parametrize(
    ("ends", "kind", "message"),
    [((0, 0, -2, 0), "k", "sender: -2"), ((0, 0, 0, 2**40), "k", "receiver: "), ((0, 0, 0, 0), "k" * 300, "kind")],
)
def test_what_would_not_be_read_is_not_written(tmp_path, ends, kind, message):
    with pytest.raises(DataError, match=f"cannot be recorded: .*{message}"):
        Recorder(tmp_path).write(*ends, [(kind, (), [1.0])])
    assert [place.name for place in tmp_path.iterdir()] == ["recording.json"]


def test_threads_may_write_at_once_and_two_recorders_may_not(tmp_path):
    recorder = Recorder(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        for node in range(64):
            threads.submit(recorder.write, 0, 1, node, SERVER, [("k", (), [float(node)])])
    messages = read_recording(tmp_path).messages
    assert sorted((m.sender, *m.parts[0][2].tolist()) for m in messages) == [(node, float(node)) for node in range(64)]
    first, second = Recorder(tmp_path), Recorder(tmp_path)
    first.write(0, 1, 0, SERVER, [])
    with pytest.raises(DataError, match="another recorder writes"):
        second.write(0, 1, 0, SERVER, [])


def test_a_recording_that_was_cut_off_holds_what_passed_before(tmp_path):
    federation(tmp_path, rounds=1)
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-20])
    assert len(read_recording(tmp_path).messages) == 5


def damaged(tmp_path, how):
    federation(tmp_path, rounds=1)
    index, first, header = tmp_path / "index.jsonl", tmp_path / "000000.npz", tmp_path / "recording.json"
    lines = index.read_text().splitlines()
    said = json.loads(lines[0])

    def members(content):
        with zipfile.ZipFile(first, "w", how.get("compression", zipfile.ZIP_STORED)) as archive:
            for name, data in content.items():
                archive.writestr(name, data)

    def npy(array):
        out = io.BytesIO()
        np.save(out, array, allow_pickle=True)
        return out.getvalue()

    match how["what"]:
        case "version":
            header.write_text('{"format": "secmix recording", "version": 2, "by": "server"}')
        case "header":
            header.write_text("[" * 4000)
        case "line":
            index.write_text("\n".join([json.dumps({**said, **how["said"]}), *lines[1:]]) + "\n")
        case "deep":
            index.write_text("[" * 100_000 + "\n")
        case "link":
            first.unlink()
            first.symlink_to(header)
        case "pipe":
            first.unlink()
            os.mkfifo(first)
        case "pickle":
            members({"0.npy": npy(np.array([{}], dtype=object)), "1.npy": npy(np.zeros(1))})
        case "bomb":
            members({"0.npy": npy(np.zeros(10**6)), "1.npy": npy(np.zeros(1))})
        case "table":
            members({"0.npy": npy(np.zeros((2, 2))), "1.npy": npy(np.zeros(1))})
        case "junk":
            first.write_bytes(b"PK\x05\x06 and so on")
        case "header that lies":
            text = npy(np.zeros(2)).replace(b"(2,)", b"(9,)")
            members({"0.npy": text, "1.npy": npy(np.zeros(1))})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"what": "version"}, "version 2 of the format, expected 1"),
        ({"what": "header"}, "not the header"),
        ({"what": "deep"}, "is not JSON"),
        ({"what": "line", "said": {"file": "../../etc/passwd"}}, "line 1 .* not a message of this format"),
        ({"what": "line", "said": {"file": "/000001.npz"}}, "not a message of this format"),
        ({"what": "line", "said": {"roles": {"train: arrays/0": "weights"}}}, "not a message of this format"),
        ({"what": "line", "said": {"roles": {"another": "model"}}}, "not a message of this format"),
        ({"what": "line", "said": {"roles": [1]}}, "not a message of this format"),
        ({"what": "line", "said": {"sender": True}}, "not a message of this format"),
        ({"what": "line", "said": {"sender": -2}}, "not a message of this format"),
        ({"what": "line", "said": {"parts": 5}}, "not a message of this format"),
        ({"what": "line", "said": {"parts": [{"kind": "k" * 500, "names": []}]}}, "not a message of this format"),
        ({"what": "line", "said": {"parts": [], "roles": {}}}, "does not contain the 0 parts"),
        ({"what": "line", "said": {"file": "000099.npz"}}, "cannot read"),
        ({"what": "link"}, "cannot read"),
        ({"what": "pipe"}, "not a regular file"),
        ({"what": "pickle"}, "is damaged"),
        ({"what": "bomb", "compression": zipfile.ZIP_DEFLATED}, "uncompressed"),
        ({"what": "table"}, "something else than vectors"),
        ({"what": "junk"}, "damaged"),
        ({"what": "header that lies"}, "damaged"),
    ],
    ids=lambda value: "-".join(map(str, value.values()))[:40] if isinstance(value, dict) else "",
)
def test_what_is_hostile_or_damaged_is_refused_in_a_line(tmp_path, how, message):
    damaged(tmp_path, how)
    with pytest.raises(DataError, match=message) as refused:
        read_recording(tmp_path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) <= 300


MESSAGE = jsonschema.Draft202012Validator({"$ref": "#/$defs/message", "$defs": json_schema()["$defs"]})


def test_the_schema_that_ships_is_that_of_the_code_and_accepts_what_is_recorded(tmp_path):
    assert published() == json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    federation(tmp_path, rounds=1)
    schema = jsonschema.Draft202012Validator(json_schema())
    for text in [(tmp_path / "recording.json").read_text(), *(tmp_path / "index.jsonl").read_text().splitlines()]:
        schema.validate(json.loads(text))


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"file": "a.npz"}, "file: 'a.npz'; expected six to nine digits"),
        ({"iteration": "1"}, "iteration: '1'; expected an integer"),
        ({"receiver": -2}, "receiver: -2; expected"),
        ({"encrypted": 1}, "encrypted: 1; expected true or false"),
        ({"parts": {}}, "parts: {}; expected a list"),
        ({"parts": [{"names": []}]}, r"parts\[0\]: .* expected an object with a 'kind'"),
        ({"parts": [{"kind": "k", "names": [1]}], "roles": {}}, r"parts\[0\]\.names: \[1\]; expected a list of texts"),
        (
            {"roles": {"train: arrays/0": "heavy"}},
            r"roles\['train: arrays/0'\]: 'heavy'; expected one of model, update",
        ),
        ({"roles": ["model"]}, "roles: .*; expected an object"),
    ],
)
def test_a_fault_names_its_line_its_key_and_what_is_expected(tmp_path, said, fault):
    damaged(tmp_path, {"what": "line", "said": said})
    faults = faults_of_recording(tmp_path)
    assert re.search(f"line 1: {fault}", faults[0]), faults
    lines = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    assert [MESSAGE.is_valid(line) for line in lines] == [False] + [True] * 5
    assert len(faults_of_recording(tmp_path)) <= 2 + len(said)


LINE = {
    **{"file": "000000.npz", "iteration": 0, "round": 0, "sender": -1, "receiver": 0, "encrypted": True},
    "parts": [{"kind": "weights", "names": ["a", "b"]}],
    "roles": {"weights": "model"},
}
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(list(ROLES)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*LINE, "kind", "names", "a"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(LINE)), ANY), st.sets(st.sampled_from(list(LINE)), max_size=1))
@example({"roles": {"a": "count"}}, set())
@example({"parts": [{"kind": "weights", "names": [[]]}]}, set())
def test_whatever_a_line_holds_it_is_judged_and_what_is_accepted_the_schema_accepts(said, gone):
    line = {key: value for key, value in {**LINE, **said}.items() if key not in gone}
    faults = list(faults_of_line(line))
    assert faults or MESSAGE.is_valid(line)
    assert all(len(fault) < 300 and "\n" not in fault for fault in faults)


@given(ANY)
def test_any_line_at_all_is_judged(line):
    assert list(faults_of_line(line))


def test_all_faults_of_a_recording_are_listed_not_the_first_alone(tmp_path):
    federation(tmp_path, rounds=1)
    lines = (tmp_path / "index.jsonl").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), "sender": -5, "encrypted": "no"})
    lines[3] = "[]"
    (tmp_path / "index.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "000004.npz").write_bytes(b"junk")
    faults = faults_of_recording(tmp_path)
    assert [re.search(r"(line \d|damaged)", fault)[1] for fault in faults] == ["line 2", "line 2", "line 4", "damaged"]
    assert faults_of_recording(tmp_path / "nowhere") == [f"'{tmp_path / 'nowhere'}' is not a folder; give the folder "
                                                         "that a Recorder wrote"]  # fmt: skip


def test_validate_says_what_a_recording_holds_and_what_is_wrong_in_either_format(tmp_path):
    federation(tmp_path / "run", rounds=1)
    call = lambda *more: CliRunner().invoke(app, ["validate", "--recorded", str(tmp_path / "run"), *more])  # noqa: E731
    right, plain = call(), call("--format", "json")
    assert (right.exit_code, plain.exit_code) == (0, 0)
    assert (
        "is right: 6 messages of 3 nodes, recorded by the server; declared: 3 count, 12 model, 3 stat" in right.stdout
    )
    assert json.loads(plain.stdout) == {"valid": True, "faults": [], "summary": right.stdout.strip()}
    (tmp_path / "run" / "000002.npz").unlink()
    wrong, plain = call(), call("--format", "json")
    assert (wrong.exit_code, wrong.stdout, plain.exit_code, plain.stderr) == (2, "", 2, "")
    assert "000002.npz" in wrong.stderr
    assert [json.loads(plain.stdout)[key] for key in ("valid", "summary")] == [False, ""]
    assert "text or json" in call("--format", "sarif").stderr
    assert "name what to validate" in CliRunner().invoke(app, ["validate"]).stderr
    printed = CliRunner().invoke(app, ["schema", "--recorded"])
    assert printed.stdout == published()


def test_a_scenario_is_validated_in_either_format_too(tmp_path):
    (tmp_path / "wrong.toml").write_text("network.kind = 'cycle'\nruns = 5\n")
    text, plain = (CliRunner().invoke(app, ["validate", str(tmp_path / "wrong.toml"), *more])
                   for more in ([], ["--format", "json"]))  # fmt: skip
    assert (text.exit_code, plain.exit_code, plain.stderr) == (2, 2, "")
    assert [f"secmix: {fault}" for fault in json.loads(plain.stdout)["faults"]] == text.stderr.splitlines()


def test_what_has_no_role_is_named_by_validate(tmp_path):
    Recorder(tmp_path).write(0, 0, SERVER, 0, [("weights", (), [1.0]), ("sum", (), [1.0])], roles={"sum": "statistic"})
    told = CliRunner().invoke(app, ["validate", "--recorded", str(tmp_path)]).stdout
    assert "Without a role, so that nothing is computed from them: 'weights'" in told


def test_too_much_is_not_read(tmp_path, monkeypatch):
    from secmix.recording import folder

    federation(tmp_path, rounds=1)
    monkeypatch.setattr(folder, "MOST_BYTES", 1500)
    with pytest.raises(DataError, match="larger than"):
        read_recording(tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_row_of_a_client_that_says_it_has_one_is_certified_without_the_truth(tmp_path, precision):
    found = audit_recording(federation(tmp_path, precision=precision))
    assert found.verdict == "violated"
    assert [known.node for known in found.rows] == [0, 2]
    for known in found.rows:
        assert np.abs(known.row - CLIENTS[known.node][0][:-1]).max() <= max(known.error, 1e-12)
        assert known.error < (1e-9 if precision == "float64" else 1e-2)


def test_without_a_count_nothing_is_certified_and_nothing_is_ever_cleared(tmp_path):
    found = audit_recording(federation(tmp_path, say=False))
    assert (found.verdict, found.rows) == ("inconclusive", [])
    assert any("repetitions" in each for each in found.not_said)
    assert "holds" not in "\n".join(as_lines(found)).replace("never *holds*", "")


def with_roles(recording, change):
    """The same messages, with other roles."""
    return Recording(recording.by, tuple(replace(m, roles=change(m.roles)) for m in recording.messages))


def test_what_has_no_role_is_listed_and_nothing_is_computed_from_it(tmp_path):
    found = audit_recording(with_roles(federation(tmp_path), lambda roles: {}))
    assert (found.verdict, found.rows) == ("inconclusive", [])
    assert any(reading.kind == "train reply: arrays/0" for reading in found.read)
    assert "no next model was found" in found.coalitions[0]


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_updates_lead_to_the_rows_and_to_the_average_as_models_do(tmp_path, precision):
    whole = federation(tmp_path, precision=precision)
    got, messages = {}, []
    for m in whole.messages:
        models = {kind: numbers for kind, _, numbers in m.parts if "/" in kind}
        if m.sender == SERVER:
            got[m.receiver] = list(models.values())
        else:
            moved = dict(zip(models, (a - b for b, a in zip(got[m.sender], models.values(), strict=True)), strict=True))
            parts = tuple((kind, names, moved.get(kind, numbers)) for kind, names, numbers in m.parts)
            m = replace(m, parts=parts, roles=m.roles | dict.fromkeys(models, "update"))
        messages.append(m)
    found = audit_recording(Recording("server", tuple(messages)))
    alone = audit_recording(Recording("server", tuple(m for m in messages if m.sender != SERVER)))
    assert [known.node for known in found.rows] == [known.node for known in alone.rows] == [0, 2]
    assert all(np.abs(known.row - CLIENTS[known.node][0][:-1]).max() <= max(known.error, 1e-12) for known in found.rows)
    assert "any 2 of these nodes together" in found.coalitions[0]


def test_all_clients_but_one_can_compute_what_that_one_sent(tmp_path):
    recording = federation(tmp_path)
    [said] = audit_recording(recording).coalitions
    assert "any 2 of these nodes together" in said
    assert "by the numbers of rows" in said
    moved = [m for m in recording.messages if not (m.iteration and m.sender == SERVER)]
    assert "no next model was found" in audit_recording(Recording("server", tuple(moved))).coalitions[0]


def test_a_node_reads_what_another_sends_it_and_the_server_does_not(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.write(0, 0, 0, 1, [("mean", (), np.zeros(2))], roles={"mean": "statistic"})
    [reading] = audit_recording(read_recording(tmp_path)).read
    assert (reading.party, reading.sender, reading.role) == ("node 1", "node 0", "statistic")


def test_who_reads_and_who_notices(tmp_path):
    recorder = Recorder(tmp_path)
    for node in range(3):
        recorder.write(0, 0, SERVER, node, [("train: arrays/0", (), np.zeros(2))])
    recorder.write(0, 1, 0, SERVER, [("train reply: metrics", ("loss",), [0.5])], encrypted=False)
    recorder.write(0, 1, 1, SERVER, [("train reply: error", ("code",), [2.0])], roles={"train reply: error": "error"})
    recorder.write(1, 0, SERVER, 0, [("train: arrays/0", (), np.zeros(2))])
    found = audit_recording(read_recording(tmp_path))
    assert {(r.party, r.sender, r.names) for r in found.read} == {
        ("the server", "node 0", ("loss",)),
        ("the server", "node 1", ("code",)),
        ("an outsider", "node 0", ("loss",)),
    }
    assert found.seen == [
        "iteration 0: answered with an error: node 1",
        "iteration 0: silent: node 2",
        "iteration 1: not asked: node 1, node 2",
        "iteration 1: silent: node 0",
    ]


@pytest.mark.parametrize(
    ("answers", "first"),
    [
        ([("fit", "error"), ("eval", "error")], "Nobody answered but with errors (node 0)"),
        ([("fit", "error"), ("eval", "statistic"), ("fit", "error")], "Nobody sent 'fit' but with errors (node 0)"),
        ([("fit", "error"), ("fit", "statistic")], None),
    ],
)
def test_that_all_clients_fail_is_said_first(tmp_path, answers, first):
    recorder = Recorder(tmp_path)
    for t, (kind, role) in enumerate(answers):
        recorder.write(t, 0, SERVER, 0, [("ask", (), [1.0])])
        recorder.write(t, 1, 0, SERVER, [(f"{kind}: {role}", (), [1.0])], roles={f"{kind}: {role}": role})
    found = audit_recording(read_recording(tmp_path))
    lines = list(as_lines(found))
    assert lines[2].startswith(f"**{first}") if first else lines[2].startswith("No row"), lines[2]
    assert bool(as_plain(found)["first"]) == (first is not None)


def test_what_is_masked_is_opaque_to_who_reads_it(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.write(0, 1, 0, SERVER, [("masked", (), np.ones(4)), ("loss", (), [1.0])], roles={"masked": "opaque"})
    readings = [line for line in as_lines(audit_recording(read_recording(tmp_path))) if "reads of" in line]
    assert [line.endswith("opaque to this adversary") for line in readings] == [False, True]


def test_no_private_value_is_shown_unless_asked(tmp_path):
    recording = federation(tmp_path / "run")
    for asked in (False, True):
        found, _, places = audited(tmp_path / "run", tmp_path / f"out-{asked}", show_private=asked)
        texts = [place.read_text() for place in places]
        assert all(("-1.25" in text) == asked for text in texts)
        assert json.loads(texts[1])["verdict"] == found.verdict == "violated"
    assert "row" not in as_plain(audit_recording(recording))["rows"][0]


def test_only_formats_that_there_are_are_written(tmp_path):
    federation(tmp_path / "run")
    *_, places = audited(tmp_path / "run", tmp_path / "out", False, ["json"])
    assert [place.name for place in places] == ["recorded.json"]
    assert {place.name for place in (tmp_path / "out").iterdir()} == {"recorded.json"}
    for wrong, said in (
        (["md", "sarif"], "expected md, json, html or release; given sarif"),
        ([], "given nothing"),
    ):
        with pytest.raises(SecmixError, match=said):
            audited(tmp_path / "run", tmp_path / "none", False, wrong)
    assert not (tmp_path / "none").exists()


def test_the_page_says_what_the_lines_do_and_runs_nothing(tmp_path):
    federation(tmp_path / "run")
    audited(tmp_path / "run", tmp_path / "out", False)
    page = (tmp_path / "out" / "recorded.html").read_text("utf-8")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page[page.index("<body") :])).split())
    for line in (tmp_path / "out" / "recorded.md").read_text("utf-8").splitlines():
        said = re.sub(r"^[#\s-]*|\*", "", line).removesuffix(": violated")
        assert " ".join(said.split()) in text.replace(" .", ".")
    assert f"secmix audit --recorded {tmp_path / 'run'}" in text
    assert "-1.25" not in text
    assert not re.search(r"<script|<link|src=|url\(|@import", page)
    assert "default-src 'none'" in page


def test_names_of_a_hostile_recording_are_text():
    hostile = "<script>alert(1)</script>\x1b **x**"
    report = RecordedReport("it", "inconclusive", (hostile,), ((hostile, (Statement(hostile, (hostile,)),)),), hostile)
    page = page_of(report)
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;") == 5


@pytest.mark.build
def test_the_command_says_what_the_report_does(tmp_path):
    federation(tmp_path / "run", rounds=2)
    command = [sys.executable, "-W", "ignore", "-m", "secmix", "audit"]
    done = subprocess.run([*command, "--recorded", "run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "# A recorded run: violated" in done.stdout
    assert (tmp_path / "audit-run" / "recorded.md").read_text() in done.stdout
    for wrong in ([], ["passive-neighbours", "--recorded", "run"], ["--recorded", "nowhere"]):
        assert subprocess.run([*command, *wrong], cwd=tmp_path, capture_output=True, check=False).returncode == 2
