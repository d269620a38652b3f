"""Audits of a recorded job: who reads what of whom, rows that follow, and averages; without NVFlare."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from secmix.auditing.recorded import audit_job
from secmix.cli.job_in_words import as_plain
from secmix.cli.recorded_audit import as_lines, audited
from secmix.errors import DataError, SecmixError
from secmix.recording import Recorder
from secmix.recording.nvflare.ends import JobMessage, JobRecording, Participant, read_job

SERVER, LISTENER, STEPS = "server", "a listener on the line", "meta/NUM_STEPS_CURRENT_ROUND"


def sent(sender, receiver, arrays=(), task="train", tag="round 0", reply=None, **more):
    arrays = {path: np.asarray(array) for path, array in dict(arrays).items()}
    values = {
        "sender": sender, "receiver": receiver, "task": task, "tag": tag,
        "reply": receiver == SERVER if reply is None else reply,
        "arrays": {path: array.ravel() for path, array in arrays.items()},
        "shapes": {path: array.shape for path, array in arrays.items()},
        "singles": {}, "opaque": frozenset(), "code": "OK", "history": (), "recorded_at": "both ends", "time": 0.0,
        "encrypted": True,
    }  # fmt: skip
    return JobMessage(**{**values, **more})


def a_job(*messages, clients=("a", "b"), **more):
    ordered = tuple(dataclasses.replace(m, time=float(k)) for k, m in enumerate(messages))
    everyone = [Participant(name, name == SERVER, True, "2.9.0", (), (), True) for name in (SERVER, *clients)]
    return dataclasses.replace(JobRecording(SERVER, clients, tuple(everyone), ordered, ()), **more)


def fedavg(weights=(1.0, 3.0), difference=False, **more):
    """Two rounds of two clients, who send models or differences to them."""
    draw, model = np.random.default_rng(0), np.zeros(4)
    messages = []
    for t in range(2):
        made = []
        for client, weight in zip("ab", weights, strict=True):
            messages.append(sent(SERVER, client, {"weights/w": model}, tag=f"round {t}"))
            made.append(model + draw.standard_normal(4))
            content = {"weight_diff/w": made[-1] - model} if difference else {"weights/w": made[-1]}
            messages.append(sent(client, SERVER, content, tag=f"round {t}", singles={STEPS: weight}))
        model = np.average(made, axis=0, weights=weights)
    return a_job(*messages, **more)


def learned(found, client, party):
    (only,) = (each for each in found.learned if (each.client, each.party) == (client, party))
    return only


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize(
    ("weights", "how"), [((1.0, 3.0), "by NUM_STEPS_CURRENT_ROUND"), ((2.0, 2.0), "equal weights")]
)
def test_the_rest_of_an_average_is_what_a_client_sent(weights, how, difference):
    found = audit_job(fedavg(weights, difference))
    knows = learned(found, "a", "b").knows
    assert len(knows) == 1
    assert knows[0].startswith("can compute what it sent in train, round 0, from its own and the next model")
    assert how in knows[0]
    assert not learned(found, "a", "b").reads
    assert found.verdict == "inconclusive"


def test_no_average_is_claimed_where_the_next_model_is_none():
    job = fedavg()
    noisy = [
        dataclasses.replace(m, arrays={"weights/w": m.arrays["weights/w"] + 1e-6}) if m.sender == SERVER else m
        for m in job.messages
    ]
    assert not learned(audit_job(dataclasses.replace(job, messages=tuple(noisy))), "a", "b").knows


def test_what_is_passed_on_number_by_number_is_known_to_who_gets_it():
    model, another = np.arange(3.0), np.arange(3.0) + 5
    job = a_job(
        sent(SERVER, "a", {"weights/w": np.zeros(3)}),
        sent("a", SERVER, {"weights/w": model}),
        sent(SERVER, "b", {"weights/w": model}, tag="round 1"),
        sent("b", SERVER, {"weights/w": model}, tag="round 1"),  # sends on what it got: not its own
        sent("b", SERVER, {"weights/w": another}, tag="round 2"),
        sent(SERVER, "b", {"weights/w": model}, tag="round 2"),  # it has that already
    )
    found = audit_job(job)
    assert learned(found, "a", "b").knows == ["gets weights/w as it sent it, in train (data) from server"]
    assert not learned(found, "b", "a").knows


def test_equal_arrays_of_two_clients_are_not_passed_on():
    bins = {"statistics/histogram/train/age/bins": [[0.0, 1.0, 2.0], [1.0, 2.0, 5.0]]}
    found = audit_job(a_job(sent("a", SERVER, bins), sent("b", SERVER, bins)))
    assert not any("as it sent it" in fact for each in found.learned for fact in each.knows)


def test_a_bin_that_counts_one_row_is_told():
    bins = {"statistics/histogram/train/age/bins": [[0.0, 1.0, 1.0], [1.0, 2.0, 5.0], [2.0, 3.0, 1.0]]}
    found = audit_job(a_job(sent("a", SERVER, bins), sent("b", SERVER, bins)))
    assert learned(found, "a", SERVER).knows == ["2 bins of the histogram of train/age count one row each"]


def test_a_cluster_that_counts_one_row_is_that_row_and_whoever_gets_it_is_named():
    row = [0.25, -3.0]
    mine = {"weights/center": [row, [7.0, 8.0]], "weights/count": [1.0, 2.0]}
    job = a_job(
        sent("a", SERVER, mine),
        sent("b", SERVER, {"weights/center": [[1.0, 1.0], [2.0, 2.0]], "weights/count": [3.0, 4.0]}),
        sent(SERVER, "b", {"weights/center": [row, [3.0, 4.0]]}, tag="round 1"),
    )
    found = audit_job(job)
    assert found.verdict == "violated"
    assert [(known.client, known.known_to) for known in found.rows] == [("a", (SERVER, "b"))]
    assert_array_equal(found.rows[0].row, row)
    assert learned(found, "a", "b").knows[0].startswith("a row of 2 numbers")
    assert "rows" not in as_plain(found)["rows"][0]
    assert "row" not in as_plain(found)["rows"][0]
    assert as_plain(found, show_private=True)["rows"][0]["row"] == row
    assert not any("-3" in line for line in as_lines(found))
    assert any("0.25, -3" in line for line in as_lines(found, show_private=True))


def test_starting_centres_are_no_rows_but_may_be():
    found = audit_job(a_job(sent("a", SERVER, {"weights/center": [[1.0, 2.0]]})))
    assert (found.verdict, found.rows) == ("inconclusive", [])
    assert any(each.startswith("a sends centres without counts") for each in found.remarks)


def layer(count, said):
    """A client's layer moves along its rows in two rounds; it says how many rows it has, and how many steps it took."""
    rows, model = np.random.default_rng(1).standard_normal((count, 3)), np.zeros((2, 3))
    bias, messages = np.zeros(2), []
    for t in range(2):
        messages.append(sent(SERVER, "a", {"weights/layer": model, "weights/bias": bias}, tag=f"round {t}"))
        off = np.random.default_rng(2 + t).standard_normal((count, 2))
        model, bias = model - 0.1 * off.T @ rows, bias - 0.1 * off.sum(axis=0)
        arrays = {"weights/layer": model, "weights/bias": bias}
        messages.append(sent("a", SERVER, arrays, tag=f"round {t}", singles=said))
    return rows, a_job(*messages, clients=("a",))


def test_the_row_of_a_client_that_says_it_has_one_follows_from_its_models():
    rows, job = layer(1, {"meta/num-examples": 1.0, STEPS: 1.0})
    found = audit_job(job)
    assert [known.client for known in found.rows] == ["a"]
    assert np.abs(found.rows[0].row - rows[0]).max() <= found.rows[0].error


def test_steps_are_no_rows_and_the_row_stays_a_possibility():
    _, job = layer(1, {STEPS: 1.0})
    found = audit_job(job)
    assert (found.verdict, found.rows) == ("inconclusive", [])
    assert any("moved along one vector" in each for each in found.remarks)
    _, several = layer(5, {STEPS: 1.0})
    assert not any("moved along one vector" in each for each in audit_job(several).remarks)


def test_who_reads_what_is_by_line_and_receiver():
    between = sent("a", "b", {"weights/w": np.arange(2.0)}, task="learn", reply=False)
    sealed = sent(SERVER, "a", singles={"cwf.config/cwf.private_p2p": 1.0})
    for private, reader in (
        (sealed, False),
        (dataclasses.replace(sealed, singles={"cwf.config/cwf.private_p2p": 0.0}), True),
    ):
        found = audit_job(a_job(private, between))
        assert bool(learned(found, "a", SERVER).reads) == reader
        assert learned(found, "a", "b").reads == ["learn (data), 1 time: weights/w (2 numbers)"]
        assert not learned(found, "a", LISTENER).reads
    heard = audit_job(a_job(dataclasses.replace(between, encrypted=False)))
    assert learned(heard, "a", LISTENER).reads == ["learn (data), 1 time: weights/w (2 numbers)"]


def test_bytes_are_opaque_to_this_adversary_and_nothing_more():
    arrays = {"weights/w": np.arange(200, dtype=np.uint8)}
    found = audit_job(
        a_job(sent("a", SERVER, arrays, opaque=frozenset(arrays)), sent("b", SERVER, arrays, opaque=frozenset(arrays)))
    )
    assert learned(found, "a", SERVER).reads == [
        "train (result), 1 time: weights/w, encrypted: opaque to this adversary"
    ]
    assert found.verdict == "inconclusive"
    assert any("opaque to this adversary, no more" in each for each in found.remarks)


def test_where_every_client_fails_the_report_says_so_first():
    found = audit_job(a_job(*(sent(name, SERVER, code="EXECUTION_EXCEPTION") for name in "ab")))
    assert "No client sent anything but errors" in list(as_lines(found))[2]
    assert audit_job(a_job(sent(SERVER, "a"))).all_failed
    one = audit_job(a_job(sent("a", SERVER, code="EXECUTION_EXCEPTION"), sent("b", SERVER)))
    assert not one.all_failed
    assert one.remarks[0] == "a answered with errors (train: EXECUTION_EXCEPTION)"


PARTICIPANT = {"is": "participant", "name": "a", "server": False, "secure": True, "nvflare": "2.9.0"}
MESSAGE = {
    "is": "message", "file": "000000.npz", "chain": "task_result", "direction": "out", "task": "train", "task_id": "1",
    "tag": "round 0", "ends": ["a", "server"], "peer_is_server": True, "code": "OK", "time": 1.0,
    "shapes": {"weights/w": [2, 3]}, "opaque": [], "history": [],
}  # fmt: skip
FILTER = {
    "is": "filter", "id": "job-0", "class": "SVTPrivacy", "parents": ["Filter"], "chain": "task_result",
    "keys": ["train/out"], "source": "job", "arguments": {"fraction": 0.1},
}  # fmt: skip
PASSAGE = {
    "is": "passage", "filter": "job-0", "key": "train/out", "changed": True, "numbers": 6, "single": 0,
    "nonzero": [6, 1], "moved": 6, "same": 0, "largest": 1.0, "removed": [], "left": ["weights/w"],
    "sealed": 0, "steps": 1.0, "claims": [], "withheld": {},
}  # fmt: skip


def recorded(folder, *lines):
    recorder = Recorder(folder, "node")
    recorder.write(0, 1, 0, -1, [("train reply: weights/w", (), np.arange(6.0))])
    (folder / "nvflare.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_lines_that_are_whole_are_read(tmp_path):
    job = read_job(recorded(tmp_path, PARTICIPANT, FILTER, MESSAGE, PASSAGE))
    assert (job.server, job.clients) == ("server", ("a",))
    assert [control.outcome for control in audit_job(job).controls] == ["in force"]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        (PARTICIPANT, "name", 3),
        (PARTICIPANT, "is", "somebody"),
        (FILTER, "arguments", {"fraction": {"a": 1}}),
        (FILTER, "keys", "train/out"),
        (MESSAGE, "ends", ["a"]),
        (MESSAGE, "time", float("nan")),
        (MESSAGE, "shapes", {"weights/w": [-2, -3]}),
        (MESSAGE, "shapes", {"weights/w": [2, 4]}),
        (MESSAGE, "shapes", {"weights/other": [6]}),
        (MESSAGE, "opaque", ["weights/other"]),
        (MESSAGE, "chain", "another"),
        (PASSAGE, "nonzero", [1]),
        (PASSAGE, "left", {"a": 1}),
    ],
)
def test_lines_that_are_not_of_the_format_are_refused(line, key, value, tmp_path):
    lines = [{**each, key: value} if each is line else each for each in (PARTICIPANT, FILTER, MESSAGE, PASSAGE)]
    with pytest.raises(DataError, match=r"damaged|other arrays"):
        read_job(recorded(tmp_path, *lines))


def test_a_link_is_not_followed(tmp_path):
    folder = recorded(tmp_path / "mine", PARTICIPANT, MESSAGE)
    (folder / "nvflare.jsonl").rename(tmp_path / "elsewhere")
    (folder / "nvflare.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="cannot read"):
        read_job(folder)


def test_a_folder_that_is_none_or_is_damaged_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"has no nvflare\.jsonl"):
        read_job(tmp_path)
    (tmp_path / "nvflare.jsonl").write_text("[]\n")
    with pytest.raises(DataError, match="is damaged"):
        read_job(tmp_path)
    with pytest.raises(SecmixError, match="--format of a recording: expected md, json, html or release; given sarif"):
        audited(tmp_path, tmp_path / "out", False, ["sarif"])


def test_rows_that_stand_in_the_last_arrays_are_the_public_s():
    row, other = [0.25, -3.0], [7.0, 8.0]
    mine = {"weights/center": [row, other], "weights/count": [1.0, 2.0]}
    centres = {"weights/center": [[3.0, 4.0], row]}
    job = a_job(sent("a", SERVER, mine), sent(SERVER, "b", centres, tag="round 1"))
    last = audit_job(job).last
    assert last.what.startswith("the last arrays that server sent, in train (data) (round 1): weights/center (4 num")
    (told,) = last.rows
    assert told.startswith("a row of 2 numbers of a stands in weights/center: its cluster counts one row")
    assert not last.copies
    away = {"weights/center": [[3.0, 4.0], [0.25, -3.0001]]}
    later = a_job(*job.messages, sent(SERVER, "b", away, tag="round 2"))
    assert not audit_job(later).last.rows  # only the last arrays are released


def test_support_vectors_of_the_last_model_are_rows_whoever_sent_them():
    vectors = {"weights/support_x": [[1.0, 2.0], [3.0, 5.0]], "weights/support_y": [0.0, 1.0]}
    found = audit_job(a_job(sent(SERVER, "b", vectors)))
    assert found.verdict == "violated"
    (told,) = found.last.rows
    assert told.startswith("2 times a row of 2 numbers of a client stands in weights/support_x: it is a support vector")
    assert any("last arrays give" in line for line in as_lines(found))
    sealed = a_job(sent(SERVER, "b", vectors, opaque=frozenset(vectors)))
    assert (audit_job(sealed).verdict, audit_job(sealed).last.rows) == ("inconclusive", ())
    assert "opaque" in audit_job(sealed).last.what


def test_last_arrays_that_one_client_sent_are_named():
    model = np.arange(3.0)
    job = a_job(sent("a", SERVER, {"weights/w": model}), sent(SERVER, "b", {"weights/w": model}, tag="round 1"))
    assert audit_job(job).last.copies == ("weights/w is, number by number, what a sent",)
    assert any("number by number" in line for line in as_lines(audit_job(job)))
    assert as_plain(audit_job(job))["last"]["copies"]
