"""The study of Li 2022 on small settings: it runs, and what it reads comes from the transcript."""

from __future__ import annotations

import copy
import importlib
import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.network import Network
from secmix.protocols import PDMM, Plain, SecureSum

pytestmark = pytest.mark.build

STUDY = "analysis.li_2022.run"


@pytest.fixture(scope="module")
def privacy(study: ModuleType) -> ModuleType:
    return importlib.import_module("analysis.li_2022.privacy")


@pytest.fixture(scope="module")
def decoder(study: ModuleType) -> ModuleType:
    return importlib.import_module("analysis.li_2022.decoder")


@pytest.fixture(scope="module")
def figure_3(study: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("li-2022")
    assert study.main(["--quick", "--only", "3", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def found(figure_3: Path) -> Any:
    return json.loads((figure_3 / "numbers.json").read_text(encoding="utf-8"))["figure_3"]


def test_writes_the_report_the_numbers_and_a_figure(figure_3: Path) -> None:
    assert {path.name for path in figure_3.iterdir()} == {"README.md", "numbers.json", "figure-3.svg", "seconds.json"}
    ET.parse(figure_3 / "figure-3.svg")
    text = (figure_3 / "README.md").read_text(encoding="utf-8")
    assert "figure-3.svg" in text
    assert "--only 3" in text


def test_report_says_where_ksg_passes_a_reading_below_a_proven_bound(study: ModuleType, found: Any) -> None:
    numbers = {"command": "", "seed": 0, "versions": {}, "figure_3": copy.deepcopy(found)}
    pdmm = numbers["figure_3"]["protocols"]["PDMM"]
    for reading in (pdmm["power_sums"], *pdmm["raw"]):
        reading |= {"status": "unresolved", "high": None}
    text = study.report(numbers)
    assert "Its own checks mark both *unresolved*." in text
    assert "do not rely on the KSG number alone" not in text
    pdmm["raw"][1] |= {"status": "resolved", "high": pdmm["decoder_single"][1]["low"] - 0.1}
    text = study.report(numbers)
    assert "on the sums of iteration 2, which with the public μ give at least" in text
    assert "do not rely on the KSG number alone" in text
    pdmm["raw"][1]["high"] = pdmm["decoder_single"][1]["high"] + 0.1
    assert "do not rely on the KSG number alone" not in study.report(numbers)
    pdmm["power_sums"] |= {"status": "resolved", "high": pdmm["exact_power_sums"] - 0.1}
    text = study.report(numbers)
    assert "mark the first *resolved* and the second *unresolved*" in text
    assert "on the two numbers, where" in text


def test_order_of_the_paper_with_intervals_apart(found: Any) -> None:
    protocols = found["protocols"]
    for t in range(found["iterations"]):
        federated, ring, pdmm = (protocols[p]["raw"][t] for p in ("federated", "secure summation", "PDMM"))
        for more, less in ((federated, ring), (ring, pdmm)):
            assert more["nmi_paper"] - more["nmi_half_width"] > less["nmi_paper"] + less["nmi_half_width"]
        assert pdmm["nmi_paper"] - pdmm["nmi_half_width"] > 0


def test_leaked_sums_are_those_of_equations_6_10_and_12(found: Any) -> None:
    assert found["protocols"]["federated"]["sum_over"] == [1]
    assert found["protocols"]["secure summation"]["sum_over"] == [1, 5]
    assert found["protocols"]["PDMM"]["sum_over"] == [1, 3, 5]
    assert found["eavesdropper"]["PDMM"]["sum_over"] == [1, 2, 3, 4, 5]
    assert found["eavesdropper"]["secure summation"]["sum_over"] == []
    assert found["lone_node"]["secure summation"]["revealed"]  # eq. (11)
    assert not found["lone_node"]["PDMM"]["revealed"]


def test_gaussian_anchor_is_that_of_the_sums(found: Any) -> None:
    protocols = found["protocols"]
    assert protocols["federated"]["gaussian_anchor"] is None
    assert protocols["secure summation"]["gaussian_anchor"] == pytest.approx(0.5 * math.log(2), abs=1e-9)
    assert protocols["PDMM"]["gaussian_anchor"] == pytest.approx(0.5 * math.log(1.5), abs=1e-9)


def test_full_disclosure_is_not_cleared(found: Any) -> None:
    federated, ring = found["protocols"]["federated"], found["protocols"]["secure summation"]
    assert all(reading["normalised_leakage"] == 1.0 for reading in federated["raw"] + federated["ratio"])
    assert federated["recovered_largest_error"] < 1e-9
    assert ring["recovered_to_1e-6"] > 0.99
    assert ring["exact_power_sums"] is None


def test_decoder_meets_the_closed_form_and_only_gains_with_iterations(found: Any) -> None:
    pdmm = found["protocols"]["PDMM"]
    check = pdmm["decoder_check"]
    assert check["low"] < pdmm["exact_power_sums"] < check["high"]
    assert pdmm["decoder_single"][0]["low"] > pdmm["exact_power_sums"]
    values = [bound["nats"] for bound in pdmm["decoder_cumulative"]]
    assert values[0] == pytest.approx(pdmm["decoder_single"][0]["nats"])
    assert all(later > earlier for earlier, later in pairwise(values))


def test_decoder_learns_nothing_from_another_run(privacy: ModuleType, decoder: ModuleType) -> None:
    """The target of each run is another run's: a decoder whose density is none would gain here as well."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1000, 3))
    share = rng.random((1000, 3, 2))
    share /= share.sum(axis=2, keepdims=True)
    mu = np.zeros((1000, 2))
    moment = decoder.moments(privacy.local_vectors(x, share, mu).sum(axis=1), mu)
    (own,) = decoder.decoder_bounds(x[:, 0], [moment], cumulative=True)
    (other,) = decoder.decoder_bounds(rng.permutation(x[:, 0]), [moment], cumulative=True)
    assert own["low"] > 1.0
    assert other["high"] < 0.0


def test_decoder_density_integrates_to_one(decoder: ModuleType) -> None:
    """Whatever the weights, or the bound would be none."""
    moment = np.array([[[1.2, 1.8], [0.4, -0.9], [1.0, 2.1]]])  # (Σa, Σax, Σax²) by component
    (centre,), (radius,) = decoder._circle(moment)
    count = 3 * decoder.GRID * 4  # half a circle, four angles in each image of a cell
    angle = (np.arange(count) + 0.5) * math.pi / count
    x = centre + radius * np.cos(angle)
    beyond = 1 - (norm.cdf(centre + radius) - norm.cdf(centre - radius))
    far = centre + radius * np.array([-3.0, -1.001, 1.001, 3.0])
    for log_weight in (
        decoder._angle_weights(moment),
        np.random.default_rng(0).normal(scale=3.0, size=(1, decoder.GRID)),
        np.full((1, decoder.GRID), -np.inf),
    ):

        def density(points: Any, weight: Any = log_weight) -> Any:
            gain = [
                decoder._gain(part, moment, np.repeat(weight, len(part), axis=0))
                for part in np.array_split(points, 1 + len(points) // 1000)
            ]
            return np.exp(np.concatenate(gain) - 0.5 * points**2) / math.sqrt(2 * math.pi)

        inside = float((density(x) * radius * np.sin(angle)).mean() * math.pi)
        np.testing.assert_allclose(density(far), 0.001 * norm.pdf(far))
        assert inside + 0.001 * beyond == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_power_sum_information_against_numerical_integration(decoder: ModuleType, n: int) -> None:
    """E ln p(x | Σx, Σx²) over draws, with the density normalised by a sum over a grid of x."""
    x = np.random.default_rng(n).standard_normal((20_000, n))
    u = (x[:, 0] - x.mean(axis=1)) / (np.sqrt((n - 1) / n) * np.sqrt(x.var(axis=1) * n))
    # u = cos φ turns (1 − u²)^((n−4)/2) du into sin(φ)^(n−3) dφ, which has no pole to integrate over.
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    mass = (np.sin(angle) ** (n - 3)).mean() * np.pi
    log_u = (n - 4) / 2 * np.log1p(-(u**2)) - math.log(mass)
    scale = np.sqrt((n - 1) / n) * np.sqrt(x.var(axis=1) * n)
    gain = log_u - np.log(scale) + 0.5 * (x[:, 0] ** 2 + math.log(2 * math.pi))
    error = gain.std() / math.sqrt(len(gain))
    assert error < 0.02
    assert abs(gain.mean() - decoder.power_sum_information(n)) < 4 * error


@pytest.mark.parametrize(
    ("protocol", "adversary", "members"),
    [
        (Plain(), CuriousServer(), [0]),
        (SecureSum(sigma=1e3), HonestButCurious({1, 3}), [0, 4]),
        (SecureSum(sigma=1e3), HonestButCurious({2}), [0, 1, 3, 4]),
        (PDMM(sigma=1e3), HonestButCurious({1, 3}), [0, 2, 4]),
        (PDMM(sigma=1e3, schedule="asynchronous"), HonestButCurious({1, 3}), [0, 2, 4]),
        (PDMM(sigma=1e3), HonestButCurious({1, 2, 4}), [0]),
    ],
)
def test_what_is_read_off_the_transcript_is_the_sum(
    privacy: ModuleType, protocol: Any, adversary: Any, members: list[int]
) -> None:
    network = Network.from_edges(5, [*privacy.RING, *privacy.CHORDS])
    vectors = np.random.default_rng(1).standard_normal((50, 5, 4))
    averages, leaked = privacy.leak(protocol, network, adversary, vectors, np.random.default_rng(2))
    assert leaked.members == members
    np.testing.assert_allclose(leaked.of_target, vectors[:, members].sum(axis=1), atol=1e-8)
    np.testing.assert_allclose(averages, vectors.mean(axis=1), atol=1e-8)


def test_same_seed_same_files(study: ModuleType, tmp_path: Path) -> None:
    for name in ("one", "two"):
        arguments = ["--quick", "--only", "3", "--runs", "200", "--seed", "3", "--out", str(tmp_path / name)]
        assert study.main(arguments) == 0
    paths = [path for path in (tmp_path / "one").iterdir() if path.suffix in (".svg", ".json")]
    assert len(paths) == 3
    for path in (path for path in paths if path.name != "seconds.json"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_protocols_follow_pooled_em(study: ModuleType, data_file: Any, tmp_path: Path) -> None:
    path = data_file("parkinsons.csv")
    assert study.main(["--quick", "--only", "2", "--data", str(path), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figure-2.svg").is_file()
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["figure_2"]
    assert numbers["rows"] == 195
    assert np.all(np.diff(numbers["pooled"]) > 0)
    for name, entry in numbers["protocols"].items():
        assert entry["largest_deviation"] < (1e-12 if name == "plain" else 1e-9), name
    assert set(numbers["protocols"]) == {"plain", "secure summation", "PDMM", "PDMM, asynchronous, any y⁽⁰⁾"}
    small, middle, large = (point["largest_deviation"] for point in numbers["pdmm_by_sigma"])
    assert small < middle < large


def test_an_arbitrary_start_is_a_moved_mask(study: ModuleType) -> None:
    """B_{j|i} c y_j on the arc from j to i; tests/reference has PDMM with it beside equations (8) and (9)."""
    network = Network.cycle(3)
    y = np.array([[[1.0], [10.0], [100.0]]])
    found = {
        tuple(arc): value for arc, value in zip(network.arcs.tolist(), study.moved(y, network, 0.5)[0], strict=True)
    }
    assert {arc: float(value[0]) for arc, value in found.items()} == {
        (0, 1): -0.5, (0, 2): -0.5, (1, 0): 5.0, (1, 2): -5.0, (2, 0): 50.0, (2, 1): 50.0
    }  # fmt: skip
    rng = np.random.default_rng(0)
    drawn = study.ArbitraryStart(sigma=1.0, start=1e6).draw_masks(1, 1, network, rng)
    assert np.abs(drawn).min() > 1e3  # the start, not σ, is what is seen


def test_data_of_another_shape_are_refused(
    study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.csv"
    path.write_text("name,a,b,status\nx,1,2,0\ny,2,1,1\n", encoding="utf-8")
    assert study.main(["--only", "2", "--data", str(path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "195" in message
    assert "Traceback" not in message
    assert not (tmp_path / "out").exists()


def test_missing_data_are_named(study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.main(["--only", "2", "--data", str(tmp_path / "none.csv"), "--out", str(tmp_path)]) == 2
    assert "none.csv" in capsys.readouterr().err
