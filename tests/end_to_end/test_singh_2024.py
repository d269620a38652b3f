"""The study of Singh 2024 at small sizes: it runs from the command line, repeats, and its claims hold."""

from __future__ import annotations

import importlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from secmix.errors import DataError
from secmix.protocols import FederatedPCA
from secmix.protocols.subspace.federated_pca import own_basis

pytestmark = pytest.mark.build

STUDY = "analysis.singh_2024.run"
ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ("alternating", "ones", "orthogonal", "orthogonal × 100")


@pytest.fixture(scope="module")
def written(study, tmp_path_factory) -> tuple[Path, dict]:
    out = tmp_path_factory.mktemp("singh-2024")
    assert study.main(["--quick", "--out", str(out)]) == 0
    return out, json.loads((out / "numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def numbers(written):
    return written[1]


def test_the_subspace_median_does_not_depend_on_the_attack(numbers):
    for tail, found in numbers["tables"].items():
        for norm in ("fro", "2"):
            means = [found[f"SubsMed / {attack}"][norm]["mean"] for attack in ATTACKS]
            assert max(means) <= 1.01 * min(means)
            # Of two honest nodes one is returned. Over three times their samples errors are √3 less, and the paper
            # finds 1.8 and 1.9: less than 2.5 tells that from a broken rule, which is beyond 5.
            assert max(means) < 2.5 * found["PowMeth / none"][norm]["mean"], tail


def test_rank_one_attacks_break_the_resilient_power_method(numbers):
    found = numbers["tables"]["rank r + 1"]
    for attack in ("alternating", "ones"):
        cell, median = found[f"ResPowMeth / {attack}"]["2"], found[f"SubsMed / {attack}"]["2"]
        assert cell["mean"] - cell["half"] > median["mean"] + median["half"]
    # Orthogonal columns are harmless at the honest ones' tenth, and not at ten times them.
    weak, strong = (found[f"ResPowMeth / {attack}"]["fro"]["mean"] for attack in ATTACKS[2:])
    assert strong > 2 * weak


def test_intervals_are_those_of_student(study):
    found = study.interval([1.0, 2.0, 4.0])
    assert found["mean"] == pytest.approx(7 / 3)
    assert found["half"] == pytest.approx(4.303 * np.std([1, 2, 4], ddof=1) / math.sqrt(3), rel=1e-3)


def test_no_constant_exceeds_its_bound_and_the_sharp_ones_are_attained(numbers):
    for row in numbers["constants"]:
        found = (row["searched"], row["searched among the worst"], row["attained"])
        assert max(found) <= row["sharp"] * (1 + 1e-9) < row["triangle"]
        assert row["attained"] > 0.995 * row["sharp"]
        assert row["searched among the worst"] > 0.98 * row["sharp"]
        assert row["searched"] > 1  # worse than any honest basis
        assert row["median attained"] == pytest.approx(row["median sharp"], rel=1e-3)
        assert row["median sharp"] < row["median published"]
        assert (row["published"] is None) == (row["tau"] > 0.4001)
    at = next(row for row in numbers["constants"] if row["tau"] == pytest.approx(0.4))
    assert (at["published"], at["median published"]) == pytest.approx((23.0, 6.0))
    assert (at["sharp"], at["triangle"]) == pytest.approx((math.sqrt(6), 1 + 1.2 / math.sqrt(0.2)))


def test_costs_are_those_of_the_messages(numbers):
    rows = {row["rule"]: row for row in numbers["costs"]}
    n, r, nodes, rounds = (numbers["pca"][key] for key in ("n", "r", "nodes", "rounds"))
    assert (rows["SubsMed"]["messages"], rows["SubsMed"]["numbers"]) == (2 * nodes, 2 * nodes * n * r)
    for rule in ("ResPowMeth", "PowMeth"):
        assert rows[rule]["messages"] == (2 * rounds + 1) * nodes
        assert rows[rule]["numbers"] == (2 * rounds + 1) * nodes * n * r
        assert rows[rule]["error"] < rows["SubsMed"]["error"]  # without attack, all samples are better than one node's
    assert rows["SVD-RCE"]["numbers"] > rows["SubsMed"]["numbers"]
    needed = numbers["samples"]["needed"]
    assert all(needed[rule] is not None for rule in needed)
    assert needed["PowMeth, no attack"] <= min(needed.values())


def test_altgdmin_converges_linearly_but_not_with_the_mean(numbers):
    for name, curve in numbers["convergence"].items():
        if name.startswith("mean"):
            assert min(curve[10:]) > 0.1
        else:
            assert curve[-1] <= 1e-8, name
            first = next(t for t, error in enumerate(curve) if error <= 1e-8)
            half = next(t for t, error in enumerate(curve) if error <= 1e-4)
            assert first < 3 * half  # twice the digits in about twice the iterations


def test_groups_gain_while_they_are_covered_and_break_beyond(numbers):
    report = importlib.import_module("analysis.singh_2024.report_means")
    better, cells = report.gains(numbers["of_means"])
    assert cells == 8
    assert better > cells / 2  # four trials; the report has twenty, and there
    committed = json.loads((ROOT / "reports" / "singh-2024" / "numbers.json").read_text(encoding="utf-8"))
    assert report.gains(committed["of_means"]) == (8, 8)
    three = next(row for row in numbers["of_means"]["rows"] if row["groups"] == 3)
    (broken, half), (one, _) = (three["errors"][place] for place in ("2 nodes of two groups", "2 nodes of one group"))
    assert broken - half > 0.7 > one  # √½ is what a protocol calls broken
    for found in numbers["of_means"]["slopes"]:
        assert -0.8 < found["slope"][0] < -0.2


def test_the_median_fails_no_more_often_than_the_theorem_allows(numbers):
    report = importlib.import_module("analysis.singh_2024.report_means")
    rows = numbers["probability"]
    assert report.exceeding(rows) == 0
    assert report.exceeding([row | {"beyond_23": row["trials"]} for row in rows]) == len(rows)
    assert all(23 * row["delta"] < math.sqrt(2) for row in rows)  # or nothing could exceed it
    psi = importlib.import_module("analysis.singh_2024.probability").psi
    assert rows[1]["bound"] == pytest.approx(math.exp(-10 * psi(0.2, 0.05)))
    assert psi(0.2, 0.05) == pytest.approx(0.8 * math.log(0.8 / 0.95) + 0.2 * math.log(4))


def test_mean_gradients_converge_while_they_are_covered(numbers):
    rows = numbers["descent"]["rows"]
    for row in rows:
        if row["covered"]:
            assert row["worst_end"] < 1e-4, row
            assert 0 < row["theta"][0] < 20  # θ_k falls as SD_F does, by a constant above it
    beyond = [row for row in rows if (row["groups"], row["corrupt"]) == (4, "2 nodes of two groups")]
    assert (beyond[0]["arrived"], beyond[0]["worst_end"] > 0.3) == (0, True)


def test_few_samples_are_told_by_a_basis_and_more_by_products(numbers):
    rows = {row["q"]: row for row in numbers["leakage"]}
    assert [rows[q]["basis"] for q in (1, 5, 10, 11, 20, 100, 1000)] == [99, 95, 90, 0, 0, 0, 0]
    assert [rows[q]["products"] for q in (1, 5, 10, 11, 100, 1000)] == [99, 95, 90, 89, 0, 0]
    assert all(row["captured"] > 2 * row["chance"] for row in rows.values())


def test_the_report_says_what_was_measured(written):
    out, numbers = written
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "nan" not in text
    assert numbers["command"] in text
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (out / picture).read_bytes()[:4] == b"\x89PNG"
    for tail, found in numbers["tables"].items():
        assert f", {tail}" in text
        for key, cell in found.items():
            rule, attack = key.split(" / ")
            assert f"| {rule} | {attack} | {cell['2']['mean']:.3f} ± {cell['2']['half']:.3f} |" in text
    flat = dict(numbers["tables"]["flat tail"])
    assert "ResPowMeth breaks under alternating and ones | **does not hold**" in text
    assert sum(path.stat().st_size for path in out.iterdir()) < 400_000
    # A claim that holds is said to hold.
    report = importlib.import_module("analysis.singh_2024.report")
    for attack in ("alternating", "ones"):
        flat[f"ResPowMeth / {attack}"] = {norm: {"mean": 9.0, "half": 0.0} for norm in ("2", "fro")}
    assert "**" not in "".join(report._claims({"flat tail": flat}))


@pytest.mark.filterwarnings("ignore::secmix.aggregators.RejectedMessages")
def test_the_same_command_gives_the_same_files(study, written, tmp_path):
    out, numbers = written
    report = importlib.import_module("analysis.singh_2024.report")
    pca, samples = numbers["pca"], numbers["samples"]
    for tail, found in numbers["tables"].items():
        assert study.table(tail, pca, numbers["trials"], 0) == found
        assert study.table(tail, pca, numbers["trials"], 1) != found  # another seed, other draws
    assert study.leakage(0) == numbers["leakage"]
    assert study.samples_needed(samples["sizes"], samples["goal"], samples["most"], 5, 0) == samples["needed"]
    text, took = (out / "README.md").read_text(encoding="utf-8").rstrip().rsplit("\n\n", 1)
    assert text == report.report(numbers).rstrip()
    assert took.startswith("It took ")  # what is not the same twice
    report.figures(numbers, tmp_path)
    for picture in tmp_path.iterdir():
        assert picture.read_bytes() == (out / picture.name).read_bytes()


@pytest.mark.parametrize("wrong", [["--trials", "1"], ["--seed", "-1"]])
def test_bad_input_is_refused(study, capsys, wrong):
    assert study.main(wrong) == 2
    assert "at least" in capsys.readouterr().err


def test_a_basis_reveals_a_node_with_few_samples():
    revealed = importlib.import_module("analysis.singh_2024.revealed").revealed
    n, r = 10, 4
    rng = np.random.default_rng(0)
    few, many = rng.standard_normal((1, 3, n)), rng.standard_normal((1, 50, n))
    run = FederatedPCA(r).run([few, many, many[:, ::-1] + 1], rng=rng)
    sent = next(b for b in run.transcript if b.kind == "basis").payload[:, 0].reshape(3, n, r)
    told = revealed(sent[0], few[0])
    assert told.equations.tolist() == [n - r] * 3
    assert told.captured == pytest.approx(np.ones(3), abs=1e-12)
    # The equations are true: three samples solve them, and others' do not.
    assert revealed(sent[0], many[0]).equations.tolist() == [0] * 50
    assert revealed(sent[0], many[0]).captured.mean() == pytest.approx(told.by_chance, abs=0.1)
    # Of many samples the basis captures more than chance would, which is what it is for.
    assert revealed(sent[1], many[0]).captured.mean() > told.by_chance + 0.1
    exactly = rng.standard_normal((1, r, n))
    assert revealed(own_basis(exactly, r, rng)[0], exactly[0]).equations.tolist() == [n - r] * r
    with pytest.raises(DataError, match="samples of length 3"):
        revealed(sent[0], np.ones((2, 3)))
