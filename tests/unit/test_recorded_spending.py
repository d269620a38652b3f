"""The account of epsilon of a recorded run: by the rounds in which each really took part, on a stated noise's word."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy_protocols import NORM, SCALE, Sampled, of_rows
from typer.testing import CliRunner

from secmix.auditing.recorded.recorded_job import audit_job
from secmix.auditing.recorded.recorded_spending import (
    StatedClaim,
    StatedNoise,
    read_stated,
    spending_in_words,
    spent_as_stated,
)
from secmix.cli.app import app
from secmix.errors import ScenarioError
from secmix.network import Network
from secmix.privacy import gaussian_epsilon
from secmix.recording import Recorder, Recording, read_recording
from secmix.recording.nvflare.ends import JobMessage, JobRecording, Participant
from secmix.scenario import ClaimSpec
from secmix.transcript import SERVER, Channel

DELTA = 1e-5
STATED = StatedClaim(
    claim=ClaimSpec(epsilon=3.0, delta=DELTA), noise=StatedNoise(kind="gaussian", scale=SCALE, sensitivity=2 * NORM)
)


def exact(releases: int) -> float:
    return gaussian_epsilon(math.sqrt(releases) * 2 * NORM / SCALE, DELTA)


def recorded(folder: Path, *, rounds: int = 6) -> tuple[Recording, list[list[int]]]:
    """Record a run in which two of three nodes are drawn in each round; return it with the rounds of each node."""
    channel, network = Channel(), Network.complete(3)
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((1, 5, 3)) for _ in range(3)]
    Sampled(of_rows, rounds=rounds).collaborate(parts, network, rng, channel=channel)
    recorder, took_part = Recorder(folder), [[], [], []]  # type: ignore[var-annotated]
    for block in channel.transcript:
        if block.kind == "gradient":
            for sender, row in zip(block.sender.tolist(), block.content.tolist(), strict=True):
                took_part[sender].append(block.round // 2)
                said = [("gradient", (), block.payload[row, 0]), ("metrics", ("loss",), np.array([0.5]))]
                recorder.write(
                    block.round // 2, 1, sender, SERVER, said, roles={"gradient": "update", "loss": "statistic"}
                )
    return read_recording(folder), took_part


def test_each_node_spent_by_the_rounds_in_which_it_took_part(tmp_path: Path) -> None:
    recording, took_part = recorded(tmp_path / "recording")
    spent = spent_as_stated(recording, STATED)
    assert [each.rounds for each in spent] == took_part
    assert len({len(rounds) for rounds in took_part}) > 1  # or the plan would say as much
    for each in spent:
        assert each.epsilon == pytest.approx([exact(k + 1) for k in range(len(each.rounds))])
        assert each.beside == ["loss"]
        words = spending_in_words(each)
        assert ("more than the 3 that is claimed" in words) == (each.total > 3.0)
        assert "On the configuration's word: Gaussian noise of scale 4 on what moves by 2 at most" in words
        assert "without noise that anything was said of: loss" in words


def test_one_update_to_several_is_one_release_and_two_are_two(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "recording")
    for receiver in (1, 2):
        recorder.write(0, 0, 0, receiver, [("w", (), np.ones(3))], roles={"w": "model"})
    for number in (2.0, 3.0):
        recorder.write(1, 0, 0, 1, [("w", (), np.full(3, number))], roles={"w": "model"})
    recorder.write(2, 0, 0, 1, [("error", ("code",), np.array([5.0]))], roles={"error": "error"})
    first, second, third = spent_as_stated(read_recording(tmp_path / "recording"), STATED)
    assert first.rounds == [0, 1]
    assert first.epsilon == pytest.approx([exact(1), exact(3)])
    assert not second.rounds
    assert spending_in_words(third) == "node 2: took part in no round"


def test_without_a_delta_gaussian_noise_spends_without_bound_and_laplace_adds_up(tmp_path: Path) -> None:
    recording, took_part = recorded(tmp_path / "recording")
    gaussian = STATED.model_copy(update={"claim": ClaimSpec(epsilon=3.0)})
    unbounded = spent_as_stated(recording, gaussian)[0]
    assert unbounded.total == math.inf
    assert set(unbounded.as_plain()["epsilon"]) == {None}
    laplace = StatedClaim(claim=gaussian.claim, noise=StatedNoise(kind="laplace", scale=4.0, sensitivity=2.0))
    assert [each.total for each in spent_as_stated(recording, laplace)] == pytest.approx(
        [0.5 * len(rounds) for rounds in took_part]
    )


# --- a job of NVFlare ---


def a_job() -> JobRecording:
    """Two clients with the sparse vector technique: the second missed a round."""
    svt = {"id": "job-0", "class": "SVTPrivacy", "parents": [], "chain": "task_result", "keys": ["train/out"]}
    svt |= {"source": "job", "arguments": {"fraction": 0.1, "epsilon": 0.1, "noise_var": 0.1, "gamma": 1e-5}}
    passage = {
        "filter": "job-0", "key": "train/out", "changed": True, "numbers": 995, "single": 0,
        "nonzero": [995, 90], "moved": 995, "same": 0,
        "largest": 1e-5, "removed": [], "left": [], "sealed": 0, "steps": 1.0, "claims": [], "withheld": {},
    }  # fmt: skip
    draw = np.random.default_rng(0)
    messages = []
    for t, clients in enumerate([("a", "b"), ("a",)]):
        for client in clients:
            arrays: dict[str, Any] = {"weight_diff/w": draw.standard_normal(995)}
            messages.append(
                JobMessage(client, "server", "train", f"round {t}", True, arrays, {}, {"weight_diff/w": (995,)},
                           frozenset(), "OK", (), "both ends", float(t), True)
            )  # fmt: skip
    people = (
        Participant("a", False, True, "2.9.0", (svt,), (passage, passage), True),
        Participant("b", False, True, "2.9.0", (svt,), (passage,), True),
    )
    return JobRecording("server", ("a", "b"), people, tuple(messages), ())


def test_a_job_has_the_budget_of_the_sparse_vector_technique_without_a_file() -> None:
    spent = audit_job(a_job()).spent
    assert [(each.client, each.rounds) for each in spent] == [("a", [0, 1]), ("b", [0])]
    assert spent[0].epsilon == pytest.approx([0.1 + 100 * 0.1, 2 * 10.1])  # a hundred numbers of 995


def test_a_job_is_accounted_for_by_a_stated_noise_too() -> None:
    spent = audit_job(a_job(), STATED).spent
    stated = {each.client: each for each in spent if each.delta}
    assert stated["a"].epsilon == pytest.approx([exact(1), exact(2)])
    assert stated["b"].epsilon == pytest.approx([exact(1)])


# --- the file and the command ---

FILE = """
[claim]
epsilon = 3.0
delta = 1e-5
[noise]
scale = 4.0
sensitivity = 2.0
"""


def test_the_command_writes_the_account(tmp_path: Path) -> None:
    recorded(tmp_path / "recording")
    (tmp_path / "noise.toml").write_text(FILE)
    assert read_stated(tmp_path / "noise.toml") == STATED
    told = ["audit", "--recorded", str(tmp_path / "recording"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*told, "--claim", str(tmp_path / "noise.toml")])
    assert result.exit_code == 3
    assert "What each spent, on the configuration's word" in result.output
    plain = json.loads((tmp_path / "out" / "recorded.json").read_text())
    assert [each["client"] for each in plain["spent"]] == ["node 0", "node 1", "node 2"]
    assert "What each spent" not in CliRunner().invoke(app, told).output


def test_a_claim_in_a_file_goes_with_a_recording() -> None:
    result = CliRunner().invoke(app, ["audit", "scenario.toml", "--claim", "noise.toml"])
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FILE.replace("scale = 4.0", ""), "noise.scale: Field required; expected .claim. with epsilon"),
        (FILE.replace("sensitivity = 2.0", "sensitivity = 0.0"), "noise.sensitivity"),
        (FILE + "clip = 1.0\n", "noise.clip"),
        (FILE.replace("[noise]", 'against = ["x"]\n[mechanism]'), "noise: Field required"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_its_key(text: str, words: str, tmp_path: Path) -> None:
    place = tmp_path / "noise.toml"
    place.write_text(text)
    with pytest.raises(ScenarioError, match=words):
        read_stated(place)
    with pytest.raises(ScenarioError, match="cannot be read"):
        read_stated(tmp_path / "none.toml")
