"""Jobs of NVFlare, recorded in its simulator: what is recorded is what the jobs' own logs and results say.

All jobs run side by side, once: they mostly wait. A simulation starts some five processes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import nvflare_jobs
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from secmix.auditing.recorded import audit_job
from secmix.cli.job_in_words import headline
from secmix.cli.recorded_audit import as_lines, audited
from secmix.recording import read_recording
from secmix.recording.nvflare.ends import JobRecording, is_job, read_job

pytest.importorskip("nvflare", reason="NVFlare is installed in an environment of its own")
from secmix.recording.nvflare.job import with_recorder

SERVER = "simulator_server"
PERCENTILE = {"path": "nvflare.app_common.filters.percentile_privacy.PercentilePrivacy", "args": {"gamma": 0.5}}
EXCLUDE = {"path": "nvflare.app_common.filters.exclude_vars.ExcludeVars", "args": {"exclude_vars": ["numpy_key"]}}


@dataclass
class Jobs:
    """The recorded jobs by name, where they ran, and the processor time of those that are compared."""

    folder: Path
    recordings: dict[str, JobRecording]
    seconds: dict[str, float]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> Jobs:
    place = tmp_path_factory.mktemp("nvflare")
    linear = nvflare_jobs.linear(place / "a", {"site-1": ["train"], "site-2": ["*"]})
    with_recorder(linear, place / "with", place / "linear")
    simulator = [sys.executable, "-m", "nvflare.cli", "simulator", "-n", "2", "-t", "2"]
    running = {
        name: nvflare_jobs.begun([*simulator, str(job), "-w", str(place / name / "run")], place / f"{name}.log")
        for name, job in (("unrecorded", linear), ("linear-workspace", place / "with"))
    }
    right = {"tasks": ["swarm_report_learn_result"], "direction": "out", "filters": [PERCENTILE]}
    wrong = {"tasks": ["train"], "filters": [EXCLUDE]}
    replies = {"tasks": ["swarm_report_learn_result"], "filters": [EXCLUDE]}
    swarm = nvflare_jobs.swarm(place / "c", {"task_data_filters": [right], "task_result_filters": [wrong, replies]})
    for name, job in (("kmeans", nvflare_jobs.kmeans(place / "b")), ("swarm", swarm)):
        running[name] = nvflare_jobs.recorded(job, place / name)
    ended = {name: nvflare_jobs.ended(process) for name, process in running.items()}
    for name, (status, _) in ended.items():
        assert status == 0, (place / f"{name}.log").read_text()[-3000:]
    recordings = {name: read_job(place / name) for name in ("linear", "kmeans", "swarm")}
    return Jobs(place, recordings, {name: seconds for name, (_, seconds) in ended.items()})


def results(job: JobRecording, sender: str, task: str = "train"):
    return [m for m in job.messages if m.sender == sender and m.task == task and m.reply]


def test_recorded_messages_are_those_that_the_clients_log(jobs):
    job = jobs.recordings["linear"]
    assert (job.server, job.clients, job.changed) == (SERVER, ("site-1", "site-2"), ())
    assert all(m.recorded_at == "both ends" for m in job.messages)
    said, sent = nvflare_jobs.logged(jobs.folder / "linear-workspace", "site-2"), results(job, "site-2")
    assert len(said) == len(sent) == 2
    for logged, message in zip(said, sent, strict=True):
        assert_array_equal(message.arrays["weights/coef"], logged["coef"])
        assert_array_equal(message.arrays["weights/intercept"], logged["intercept"])
        assert message.singles["meta/NUM_STEPS_CURRENT_ROUND"] == 250
        assert message.shapes["weights/coef"] == (1, 10)


def test_what_leaves_is_recorded_behind_the_filter(jobs):
    said = nvflare_jobs.logged(jobs.folder / "linear-workspace", "site-1")
    for logged, message in zip(said, results(jobs.recordings["linear"], "site-1"), strict=True):
        left = message.arrays["weights/coef"]
        assert 0 < np.count_nonzero(left) <= 6
        assert not np.isin(left[left != 0], logged["coef"]).any()
        assert message.history == ("SVTPrivacy",)
    written = b"".join(place.read_bytes() for place in (jobs.folder / "linear" / "site-1").iterdir())
    assert np.array(said[0]["coef"]).tobytes() not in written  # what stands before a control is not written


def test_a_filter_that_is_configured_and_never_called_is_violated_and_its_right_twin_is_not_accused(jobs, tmp_path):
    found, _, files = audited(jobs.folder / "linear", tmp_path, show_private=False)
    by_site = {control.participants: control for control in found.controls}
    assert by_site[("site-1",)].outcome == "in force"
    assert by_site[("site-1",)].calls == by_site[("site-1",)].changed == 2
    assert by_site[("site-2",)].outcome == "violated"
    assert "no task is called *" in by_site[("site-2",)].how
    assert found.verdict == "violated"
    lines = list(as_lines(found))
    assert lines[0] == "# A recorded job of NVFlare: violated"
    assert lines[2].startswith("**SVTPrivacy of site-2 was not in force**")
    assert not any("site-1 was not in force" in line for line in lines)
    assert json.loads(files[1].read_text())["headline"][0].startswith("**SVTPrivacy of site-2")


def test_the_other_client_can_compute_what_a_client_sent_from_the_average(jobs):
    found = audit_job(jobs.recordings["linear"])
    by_pair = {(each.client, each.party): each for each in found.learned}
    knows = " ".join(by_pair["site-1", "site-2"].knows)
    assert "from its own and the next model: the next model is the average by NUM_STEPS_CURRENT_ROUND" in knows
    assert not by_pair["site-1", "site-2"].reads
    assert "weights/coef (10 numbers)" in " ".join(by_pair["site-1", SERVER].reads)
    assert not by_pair["site-1", "a listener on the line"].reads


def test_a_cluster_of_one_row_gives_that_row_away(jobs):
    job, told = jobs.recordings["kmeans"], []
    logs = {site: nvflare_jobs.logged(jobs.folder / "kmeans-workspace", site) for site in job.clients}
    for site, said in logs.items():
        assert [m.arrays["weights/center"].tolist() for m in results(job, site)] == [each["center"] for each in said]
        centers, counts = np.reshape(said[1]["center"], (3, 4)), np.array(said[1]["count"])
        told += [(site, center.tolist()) for center in centers[counts == 1]]
    found = audit_job(job)
    assert found.verdict == "violated"
    assert sorted((row.client, row.row.tolist()) for row in found.rows) == sorted(told)
    assert told  # both clients draw from fixed seeds
    for row in found.rows:
        # The server groups the first centres, which are rows, by a k-means without a seed: it sends some on.
        starts = {site: np.reshape(said[1]["start"], (3, 4)) for site, said in logs.items() if site != row.client}
        others = {site for site, start in starts.items() if np.abs(start - row.row).max(axis=1).min() <= row.error}
        assert set(row.known_to) == {SERVER, *others}
        mine = nvflare_jobs.patients(int(row.client[-1]) - 1)
        assert np.abs(mine - row.row).max(axis=1).min() <= row.error  # a row indeed
    assert any(each.startswith("site-1 sends centres without counts") for each in found.remarks)
    assert next(iter(headline(found))).startswith(f"The messages give {len(told)} row")


def test_swarm_learning_is_read_by_the_client_that_aggregates_and_not_by_the_server(jobs):
    job = jobs.recordings["swarm"]
    sent = [m for m in job.messages if m.task == "swarm_report_learn_result" and not m.reply]
    assert sent
    assert all({m.sender, m.receiver} == {"site-1", "site-2"} and m.recorded_at == "both ends" for m in sent)
    found = audit_job(job)
    for message in sent:
        learned = {each.party: each for each in found.learned if each.client == message.sender}
        assert any("swarm_report_learn_result" in kind for kind in learned[message.receiver].reads)
        assert not any("swarm_report_learn_result" in kind for kind in learned[SERVER].reads)


def test_a_swarm_sends_its_results_as_tasks_past_a_filter_of_results(jobs):
    job = jobs.recordings["swarm"]
    excluded = [control for control in audit_job(job).controls if control.name == "ExcludeVars"]
    (of_train,) = (control for control in excluded if "train/out" in control.keys)
    of_replies = [control for control in excluded if control is not of_train]
    assert (of_train.outcome, of_train.participants) == ("violated", job.clients)
    assert "never called" in of_train.how
    # Who aggregates sends its own model to nobody, and its filter of replies sees acknowledgements.
    past = [control for control in of_replies if control.outcome == "violated"]
    senders = {m.sender for m in job.messages if m.task == "swarm_report_learn_result" and m.arrays and not m.reply}
    assert {name for control in past for name in control.participants} == senders
    left = "models left in swarm_report_learn_result (data) to site-"
    assert all(left in control.how or "never called" in control.how for control in past)
    differences = [m for m in job.messages if "weight_diff/numpy_key" in m.arrays]
    assert {np.abs(m.arrays["weight_diff/numpy_key"]).max() for m in differences} == {0.5}  # it adds 1, gamma is 0.5
    accused = [control for control in audit_job(job).controls if control.outcome == "violated"]
    senders = {m.sender for m in differences}
    assert not any(senders & set(control.participants) for control in accused if control.name == "PercentilePrivacy")


def test_each_participant_keeps_a_recording_of_the_neutral_form(jobs):
    own = read_recording(jobs.folder / "linear" / "site-1")
    assert (own.by, own.nodes, len(own.messages)) == ("node", (0,), 4)
    assert [(m.iteration, m.round, m.sender) for m in own.messages] == [(0, 0, -1), (0, 1, 0), (1, 0, -1), (1, 1, 0)]
    at_server = read_recording(jobs.folder / "linear" / SERVER)
    assert (at_server.by, at_server.nodes, len(at_server.messages)) == ("server", (0, 1), 8)
    joined = jobs.recordings["linear"].neutral()
    assert (joined.by, joined.nodes, len(joined.messages)) == ("server", (0, 1), 8)


def test_the_average_of_what_was_recorded_is_the_model_that_the_job_left(jobs):
    import joblib

    (place,) = (jobs.folder / "linear-workspace" / "run" / "server").rglob("*.joblib")
    left = joblib.load(place)
    sent = [results(jobs.recordings["linear"], site)[-1] for site in ("site-1", "site-2")]
    weights = [m.singles["meta/NUM_STEPS_CURRENT_ROUND"] for m in sent]
    mean = np.average([m.arrays["weights/coef"] for m in sent], axis=0, weights=weights)
    assert_allclose(np.ravel(left["coef"]), mean, rtol=1e-12)


def test_one_end_alone_is_audited_and_says_what_it_cannot_know(jobs):
    assert is_job(jobs.folder / "linear" / "site-1")
    found = audit_job(read_job(jobs.folder / "linear" / "site-1"))
    assert found.verdict == "inconclusive"
    assert any("no recording of simulator_server" in each for each in found.remarks)
    assert any("4 were recorded at one end alone" in each for each in found.remarks)


def test_recording_takes_less_than_a_tenth_more(jobs):
    """Processor time of the same job, with the recorder and without, run side by side."""
    with_it, without = jobs.seconds["linear-workspace"], jobs.seconds["unrecorded"]
    print(f"\nprocessor time: recorded {with_it:.2f} s, unrecorded {without:.2f} s ({with_it / without - 1:+.1%})")
    assert with_it < 1.1 * without


def test_a_job_that_is_encrypted_from_end_to_end_is_opaque_and_its_client_reads_it_by_its_key(tmp_path):
    tenseal = pytest.importorskip("tenseal", reason="TenSEAL is not installed")
    place = tmp_path / "recording"
    status, _ = nvflare_jobs.ended(nvflare_jobs.recorded(nvflare_jobs.encrypted(tmp_path / "job"), place))
    assert status == 0, place.with_suffix(".log").read_text()[-3000:]
    job = read_job(place)
    found = audit_job(job)
    outcomes = {control.name: control.outcome for control in found.controls}
    assert outcomes["HEModelEncryptor"] == "in force"
    assert (found.verdict, found.rows, job.changed) == ("inconclusive", [], ())
    context = tenseal.context_from((tmp_path / "job" / "keys" / "client_context.tenseal").read_bytes())
    for site in ("site-1", "site-2"):
        said, sent = nvflare_jobs.logged(place.with_name("recording-workspace"), site), results(job, site)
        assert len(said) == len(sent) == 2
        for logged, message in zip(said, sent, strict=True):
            assert message.opaque == {"weights/numpy_key"}
            numbers = tenseal.ckks_vector_from(context, message.arrays["weights/numpy_key"].tobytes()).decrypt()
            assert_allclose(numbers, logged["numpy_key"], atol=1e-5)  # weighted by one step
            written = b"".join(each.read_bytes() for each in (place / site).iterdir())
            assert np.array(logged["numpy_key"]).tobytes() not in written
    second = [m for m in job.messages if not m.reply and m.task == "train" and m.tag == "round 1"]
    assert len(second) == 2
    assert all(m.opaque for m in second)
    assert not found.last.readable
    assert any("opaque to who lacks the key" in line for line in as_lines(found))
