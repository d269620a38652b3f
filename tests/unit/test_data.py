"""Data sets: what loaders return, what is wrong with a file, how rows are prepared and dealt."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from secmix._base import plugins
from secmix.auditing.setup import build_setup
from secmix.cli.validation import faults_of_parts
from secmix.data import (
    Dataset,
    breast_cancer,
    csv,
    digits,
    gaussian,
    parkinsons,
    prepared,
    sample_rows,
    wine,
)
from secmix.errors import DataError, SecmixError
from secmix.scenario import from_dict
from secmix.scenario.editor_schema import json_schema


@pytest.mark.parametrize(
    ("load", "shape"), [(breast_cancer, (569, 30)), (wine, (178, 13)), (digits, (1797, 61)), (gaussian, (5000, 2))]
)
def test_loaders_return_named_numbers(load: Any, shape: tuple[int, int]) -> None:
    data = load()
    assert data.rows.shape == shape
    assert data.rows.dtype == np.float64
    assert len(set(data.columns)) == shape[1]
    assert data.source
    assert prepared(data).shape == shape


def test_gaussian_centres_lie_as_far_out_as_asked() -> None:
    data = gaussian(rows=40_000, features=3, components=1, separation=5.0, seed=3)
    # The mean of 40000 standard Gaussians is off by about 0.005 an entry.
    assert abs(np.linalg.norm(data.rows.mean(axis=0)) - 5.0) < 0.05
    assert np.abs(np.cov(data.rows, rowvar=False) - np.eye(3)).max() < 0.05
    assert (gaussian(rows=5, seed=1).rows == gaussian(rows=5, seed=1).rows).all()
    assert (gaussian(rows=5, seed=1).rows != gaussian(rows=5, seed=2).rows).all()


def test_parkinsons_from_the_file(data_file: Any) -> None:
    data = parkinsons(data_file("parkinsons.csv"))
    assert data.rows.shape == (195, 22)
    assert not {"name", "status"} & set(data.columns)
    assert prepared(data, features=2).shape == (195, 2)


def _written(folder: Path, text: str | bytes, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_reads_what_is_asked_for(tmp_path: Path) -> None:
    path = _written(tmp_path, b"\xef\xbb\xbf who, age ,height\r\nana,41,1.5\r\n\r\nbo,32,-2e1\r\n")
    data = csv(path, drop=["who"])
    assert data.columns == ("age", "height")
    assert data.rows.tolist() == [[41.0, 1.5], [32.0, -20.0]]
    assert csv(path, columns=["height"]).rows.tolist() == [[1.5], [-20.0]]
    assert csv(_written(tmp_path, "a;b\n1;2\n"), delimiter=";").rows.tolist() == [[1.0, 2.0]]


SECRET = "secret7731"


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("age,height\n1,2\n", {"columns": ["heigth"]}, ["'heigth'", "did you mean 'height'"]),
        ("age,height\n1,2\n", {"drop": ["agee"]}, ["'agee'", "did you mean 'age'"]),
        (f"age,height\n1,2\n3,{SECRET}\n", {}, ["row 2", "'height'", "not a number"]),
        ("age,height\n1,2\n3,\n", {}, ["row 2", "'height'", "1 of 2 rows", "lack values"]),
        (f"age,height\n1,2\n{SECRET}\n", {}, ["row 2", "1 field", "2"]),
        (f"age,height\n1,2,{SECRET}\n", {}, ["row 1", "3 field", "2"]),
        ("", {}, ["0 line"]),
        ("age,height\n", {}, ["1 line", "rows"]),
        ("age,height\n1,nan\n", {}, ["lack values", 'missing = "drop"', '"mean"']),
        ("age,height\n1,inf\n", {}, ["row 1", "'height'", "infinite", 'drop = ["height"]', "missing_marks"]),
        ("age,height\n1,2\n1,1e400\n", {}, ["row 2", "'height'", "too large", 'drop = ["height"]']),
        ("age,height\n1,2\nk. A.,3\n", {}, ["row 2", "'age'", "missing_marks", 'missing = "drop"', 'drop = ["age"]']),
        (f"{SECRET},1,5\n", {"header": False}, ["row 1, column 1", 'drop = ["column 1"]']),
        ('age,height\n1,2\n"1,5",3\n', {}, ["row 2", "'age'", 'decimal = ","']),
        ("a;b\n1,5;2\n1.500;3\n", {"delimiter": ";", "decimal": ","}, ["row 2", "'a'", 'decimal = "."']),
        ("a;b\n1;2\n", {}, ["row 1", "column 1", 'delimiter = ";"']),
        ("a\tb\n1\t2\n", {}, ["row 1", "column 1", 'delimiter = "\\t"']),
        ("age,age\n1,2\n", {}, ["'age'", "twice"]),
        (b"age\n\xff\xfe\n", {}, ["cannot be read"]),
        (b"age\n1\x00\n", {}, []),
        ("age,height\n1,2\n", {"columns": []}, []),
        ("age,height\n1,2\n", {"delimiter": ";;"}, ["delimiter"]),
        ("age,height\n1,1_0\n", {}, ["row 1", "'height'", "not a number"]),
        ("age,height\n1,\n,2\n", {"missing": "drop"}, ["every row", "'age'", "'height'"]),
        ("age,height\n1,\n2,\n", {"missing": "mean"}, ["'height'", "no number at all"]),
        ("age,height\n1,\n", {"missing": "guess"}, ["'refuse', 'drop' or 'mean'", "'guess'"]),
        ("age,height\n1,2\n", {"label": "status"}, ["'status'", "no column"]),
        ("age,height\n1,2\n", {"keep_label": True}, ["label"]),
        ("age\n1\n", {"label": "age"}, ["keep at least one"]),
        ("age,2019\n1,2\n", {}, ["header = true", "header = false"]),
        (f"{SECRET},5.25\n{SECRET},3.5\n", {}, ["header = true", "header = false"]),
        ("age\n1\n", {"encoding": "utf8"}, ["'utf8'", "did you mean 'utf-8'"]),
        (b"gr\xf6\xdfe\n1\n", {}, ["not UTF-8", "cp1252"]),
        (b"age\n1", {"encoding": "utf-16"}, ["utf-16"]),
        ("age,height\n1,2\n", {"decimal": ","}, ["not the delimiter"]),
    ],
)
def test_a_wrong_file_is_told_without_its_values(
    text: str | bytes, settings: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    path = _written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        csv(path, **settings)
    message = str(caught.value)
    assert SECRET not in message
    for word in expected:
        assert word in message


def test_columns_go_by_their_number_too(tmp_path: Path) -> None:
    path = _written(tmp_path, "name,age,height\nana,41,1.5\nbo,32,2\n")
    assert csv(path, drop=["column 1"]).columns == ("age", "height")
    assert csv(path, columns=["column 3"]).columns == ("height",)
    assert csv(path, drop=["column 1"], label="column 2").columns == ("height",)


def test_missing_values_are_left_out_or_filled_and_counted(tmp_path: Path) -> None:
    path = _written(tmp_path, "age,height,who\n1,2,a\nNA,4,b\n5,?,c\n7,-9,d\n")
    left = csv(path, drop=["who"], missing="drop", missing_marks=["-9"])
    assert left.rows.tolist() == [[1.0, 2.0]]
    assert left.source.endswith("(3 of 4 rows left out, which lack values (column 'height': 2, column 'age': 1))")
    filled = csv(path, drop=["who"], missing="mean")
    assert filled.rows.tolist() == [[1.0, 2.0], [13 / 3, 4.0], [5.0, -1.0], [7.0, -9.0]]
    assert "2 of 4 rows" in filled.source
    assert csv(path, columns=["age"], missing="drop").rows.tolist() == [[1.0], [5.0], [7.0]]  # used columns count only


@given(seeds, st.integers(1, 30), st.integers(1, 4))
def test_every_row_is_kept_or_counted(seed: int, rows: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    values, gaps = rng.normal(size=(rows, d)).round(3), rng.random((rows, d)) < 0.3
    gaps[0] = False
    lines = [
        ",".join("" if gone else repr(float(v)) for v, gone in zip(*row, strict=True))
        for row in zip(values, gaps, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        header = ",".join(f"c{j}" for j in range(d))
        # A row of one empty field would be an empty line.
        path = _written(Path(folder), "\n".join([header, *(line or '""' for line in lines)]) + "\n")
        left, filled = csv(path, missing="drop"), csv(path, missing="mean")
    assert (left.rows == values[~gaps.any(axis=1)]).all()
    assert (filled.rows[~gaps] == values[~gaps]).all()
    assert np.allclose(filled.rows.mean(axis=0), [np.mean(values[~gaps[:, j], j]) for j in range(d)])
    lost = int(gaps.any(axis=1).sum())
    assert (f"{lost} of {rows} rows left out" in left.source) == (lost > 0)


def test_the_label_is_no_measurement(tmp_path: Path) -> None:
    path = _written(tmp_path, "status,age,height\n0,1,2\n1,3,4\n")
    assert csv(path, label="status").columns == ("age", "height")
    kept = csv(path, label="status", keep_label=True)
    assert (kept.columns, kept.rows.tolist()) == (("age", "height", "status"), [[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])
    words = _written(tmp_path, "status,age\nill,1\nwell,3\n", "words.csv")
    assert csv(words, label="status").rows.tolist() == [[1.0], [3.0]]


def test_a_first_line_of_numbers_is_a_row_unless_it_is_said_to_name_columns(tmp_path: Path) -> None:
    path = _written(tmp_path, "2019,2020\n1,2\n3,4\n")
    found = csv(path)
    assert (found.columns, len(found.rows)) == (("column 1", "column 2"), 3)
    assert "first line is all numbers and was read as a row" in found.source
    assert csv(path, header=True).rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert csv(path, header=True, columns=["2020"]).rows.tolist() == [[2.0], [4.0]]
    mixed = _written(tmp_path, "Meyer,5.25\nSmith,3.5\n", "mixed.csv")
    assert csv(mixed, header=False, drop=["column 1"]).rows.tolist() == [[5.25], [3.5]]
    assert csv(_written(tmp_path, ",age\n0,41\n1,32\n", "index.csv")).columns == ("column 1", "age")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("größe,alter\n1,2\n".encode("cp1252"), "cp1252"),
        ("größe,alter\n1,2\n".encode("utf-16"), None),
        ("größe,alter\n1,2\n".encode("utf-8-sig"), None),
        ("größe,alter\n1,2\n".encode("utf-8-sig"), "utf-8"),
    ],
)
def test_encodings(content: bytes, encoding: str | None, tmp_path: Path) -> None:
    found = csv(_written(tmp_path, content), encoding=encoding)
    assert (found.columns, found.rows.tolist()) == (("größe", "alter"), [[1.0, 2.0]])


def test_a_decimal_comma(tmp_path: Path) -> None:
    path = _written(tmp_path, "a;b\n1,5;-2\n3;0,25\n")
    assert csv(path, delimiter=";", decimal=",").rows.tolist() == [[1.5, -2.0], [3.0, 0.25]]


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(DataError, match="cannot be read") as caught:
            csv(path)
        assert str(path) in str(caught.value)


def _data(rows: Any) -> Dataset:
    table = np.asarray(rows, dtype=float)
    return Dataset(table, tuple(f"c{j}" for j in range(table.shape[1])), "a test")


@given(seeds, st.integers(2, 6), st.integers(1, 5))
def test_prepared_columns_have_mean_zero_and_variance_one(seed: int, d: int, features: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, d)) * 10.0 ** rng.integers(-3, 4, size=d) + rng.normal(scale=100, size=d)
    ready = prepared(_data(rows), features=min(features, d))
    assert ready.shape == (40, min(features, d))
    assert np.abs(ready.mean(axis=0)).max() < 1e-9
    assert np.abs(ready.std(axis=0) - 1).max() < 1e-9
    # Principal components are uncorrelated.
    assert np.abs(ready.T @ ready / 40 - np.eye(ready.shape[1])).max() < 1e-6


def test_rows_are_left_alone_where_nothing_is_asked_of_them() -> None:
    rows = np.arange(6.0).reshape(3, 2) ** 2
    assert (prepared(_data(rows), standardise=False) == rows).all()


def test_what_cannot_be_prepared_is_refused() -> None:
    with pytest.raises(DataError, match="'c1' is constant"):
        prepared(_data([[1, 5], [2, 5], [4, 5]]))
    with pytest.raises(DataError, match=r"'c0', 'c2' are constant in all 2 rows .* drop = .*c0.*c2"):
        prepared(_data([[1, 5, 3], [1, 6, 3]]))
    with pytest.raises(DataError, match=r"1 row, where two at least.*header = false"):
        prepared(_data([[1, 5, 3]]))
    # A column may be constant to the last bit but one.
    with pytest.raises(DataError, match="constant"):
        prepared(_data([[0.1 + 0.2, 1], [0.3, 2], [0.3, 5]]))
    with pytest.raises(DataError, match=r"features = 3.*2 columns"):
        prepared(_data([[1, 5], [2, 7], [4, 6], [0, 1]]), features=3)
    with pytest.raises(DataError, match=r"index \(1, 0\)"):
        _data([[1, 5], [np.nan, 5]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("standardise", [True, False])
def test_numbers_whose_squares_cannot_be_computed_with_are_called_so_and_not_constant(standardise: bool) -> None:
    with pytest.raises(DataError, match=r"'c1' has numbers above 1e\+150, whose squares are too large .* drop = ..c1"):
        prepared(_data([[1, 5], [2, 1e308], [4, -1e308]]), standardise=standardise)
    with pytest.raises(DataError, match=r"'c0', 'c1' vary by less than 1e-150, whose square is too small"):
        prepared(_data([[1e-200, 5e-200], [2e-200, 1e-200]]), standardise=standardise)
    prepared(_data([[1e100, 5e-100], [2e100, 1e-100], [-1e100, 1e-100]]), standardise=standardise)


def test_principal_components_that_carry_nothing_are_refused() -> None:
    # Two columns that are the same carry one component; the second would be rounding error, blown up.
    x = np.random.default_rng(0).standard_normal(30)
    with pytest.raises(DataError, match="features"):
        prepared(_data(np.column_stack([x, 2 * x, 3 * x])), features=2)


@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(1, 20))
def test_rows_are_dealt_without_replacement(seed: int, counts: list[int], runs: int) -> None:
    rows = np.arange(40.0).reshape(20, 2)
    dealt = sample_rows(rows, counts, runs, np.random.default_rng(seed))
    assert [part.shape for part in dealt] == [(runs, count, 2) for count in counts]
    for run in range(runs):
        hand = np.concatenate([part[run] for part in dealt])
        assert len(np.unique(hand, axis=0)) == sum(counts)
        assert np.isin(hand[:, 0], rows[:, 0]).all()
    again = sample_rows(rows, counts, runs, np.random.default_rng(seed))
    assert all((a == b).all() for a, b in zip(dealt, again, strict=True))


def test_each_run_is_dealt_anew_and_each_row_as_often_to_each_node() -> None:
    rows = np.arange(10.0)[:, None]
    runs = 5000
    first, second = sample_rows(rows, [1, 1], runs, np.random.default_rng(5))
    for hand in (first, second):
        often = np.bincount(hand.ravel().astype(int), minlength=10)
        # Binomial with mean 500 and standard deviation 21: five of them.
        assert np.abs(often - runs / 10).max() < 106
    assert (first != second).all()
    assert len(np.unique(np.column_stack([first.ravel(), second.ravel()]), axis=0)) == 90


def test_a_deal_that_cannot_be_made_is_refused() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    with pytest.raises(DataError, match=r"4 rows, but the data have 3.*rows_per_node"):
        sample_rows(rows, [2, 2], 10, np.random.default_rng(0))
    with pytest.raises(SecmixError, match="node 1"):
        sample_rows(rows, [1, 0], 10, np.random.default_rng(0))
    assert [part.shape for part in sample_rows(rows, [1, 2], 7, np.random.default_rng(0))] == [(7, 1, 2), (7, 2, 2)]


OWN_FEATURES = """
import numpy as np
from secmix.data import Dataset
def wide(rows, features) -> Dataset:
    drawn = np.random.default_rng(0).standard_normal((rows, features))
    return Dataset(drawn, tuple(f"x{j}" for j in range(features)), "drawn")
"""


@pytest.mark.parametrize("name", ["gaussian", "of_ones_own:wide"])
def test_a_data_set_gets_its_own_features(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_ones_own.py").write_text(OWN_FEATURES)
    monkeypatch.syspath_prepend(tmp_path)
    data = {"name": name, "rows": 50, "features": 5, "standardise": False}
    with plugins.code_allowed(True):
        setup = build_setup(from_dict({"network": {"kind": "cycle", "nodes": 4}, "data": data}))
        assert list(faults_of_parts({"data": data}, "it", "")) == []
    assert setup.rows.shape == (50, 5)
    if name == "gaussian":
        assert (setup.rows == gaussian(rows=50, features=5).rows).all()  # no components of them


def test_the_schema_tells_whose_features_they_are() -> None:
    of_part = {
        branch["if"]["properties"]["name"]["const"]: branch["then"]["properties"]["features"]["description"]
        for branch in json_schema()["definitions"]["data"]["allOf"]
        if "properties" in branch["if"]
        and "features" in branch["then"]["properties"]
        and "description" in branch["then"]["properties"]["features"]
    }
    assert "Principal components" in of_part["wine"]
    assert "Principal" not in of_part.get("gaussian", "")
