"""Numeric columns of a delimited text file: of a user's own, or one that its owner offers for download.

The values in a file of a user's own may be private: errors name places, never values.
"""

from __future__ import annotations

import csv as csv_module
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.safe_files import read_regular
from secmix.data.dataset import Dataset
from secmix.errors import DataError, nearest, shown

PARKINSONS_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/parkinsons.data"
Missing = Literal["refuse", "drop", "mean"]
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", ".")
"""What stands for a value that is not there, in capitals or not."""

ENCODINGS = (
    "utf-8",
    "utf-16",
    "utf-32",
    "ascii",
    "latin-1",
    "iso-8859-2",
    "iso-8859-15",
    "cp1250",
    "cp1251",
    "cp1252",
    "mac_roman",
    "shift_jis",
    "gbk",
    "big5",
    "euc_kr",
)
_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_MARK = 'say missing = "drop", or "mean"'
_MOST_BYTES = 2**31
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class DelimitedTable:
    """A delimited file in its fields."""

    names: tuple[str, ...]  # of the columns: those of the first line, or "column 1" and so on
    rows: list[list[str]]  # as many fields each as there are names
    headed: bool  # whether the first line was taken for names
    sure: bool  # whether that line cannot be a row of values: only then may errors and reports show a name

    def shown(self, j: int) -> str:
        """Name column ``j`` as others may read it."""
        return self.names[j] if self.sure else f"column {j + 1}"

    def called(self, j: int) -> str:
        """Name column ``j`` in a sentence."""
        name = self.shown(j)
        return name if name == f"column {j + 1}" else f"column '{name}'"

    def place(self, name: str) -> int | None:
        """Return the column of this name, or else of this number as in "column 3"; None where there is none."""
        numbered = [f"column {j}" for j in range(1, len(self.names) + 1)]
        return next((names.index(name) for names in (list(self.names), numbered) if name in names), None)


def csv(
    path: str | Path,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    delimiter: str = ",",
    label: str | None = None,
    keep_label: bool = False,
    missing: Missing = "refuse",
    missing_marks: Sequence[str] = (),
    header: bool | None = None,
    encoding: str | None = None,
    decimal: Literal[".", ","] = ".",
    group: str | None = None,
) -> Dataset:
    """Load the numeric columns of a delimited text file.

    Parameters
    ----------
    path : path
        In a scenario: from the folder of the scenario's file.
    columns : sequence of str, optional
        The columns to use, by name or as "column 3"; default all.
    drop : sequence of str
        Columns to leave out.
    delimiter : str
        A single character, such as ";" or a tab.
    label : str, optional
        The column that says what a row is, such as a diagnosis: no measurement, and left out.
    keep_label : bool
        Whether the label, in numbers, is kept as the last column: where protocols that predict look for it.
    missing : {"refuse", "drop", "mean"}
        What is done where a value is missing: nothing, the row is left out, or the mean of its column is put in. The
        report counts the rows.
    missing_marks : sequence of str
        What stands for a missing value, such as "999", beside an empty field, NA, N/A, NaN, null, none, "?", "-", ".".
    header : bool, optional
        Whether the first line names the columns; default: unless it holds numbers only. Columns without a name are
        called "column 1", "column 2" and so on.
    encoding : str, optional
        Of the text, such as "cp1252"; default UTF-8, or UTF-16 where the file begins with its mark.
    decimal : {".", ","}
        What stands before the fraction of a number.
    group : str, optional
        The column that says whose a row is, such as a hospital: the rows of each value are one node's. It is left out.

    Raises
    ------
    DataError
        If the file cannot be read, has no such column, or holds something that is not a number.
    """
    if missing not in ("refuse", "drop", "mean"):
        raise DataError(f"missing is 'refuse', 'drop' or 'mean'; given {shown(missing)}")
    if decimal not in (".", ",") or decimal == delimiter:
        raise DataError(f"decimal is '.' or ',', and not the delimiter; given {shown(decimal)}")
    table = read_table(path, delimiter, header, encoding)
    used = _used_columns(table, path, columns, [*drop, *([group] if group is not None else [])], label, keep_label)
    marks = {mark.strip() for mark in missing_marks}
    numbers = np.empty((len(table.rows), len(used)))
    for r, row in enumerate(table.rows):
        for c, j in enumerate(used):
            value = number(row[j], decimal, marks)
            if fault := _wrong_with(row[j], value, decimal, alone=len(used) == 1):
                # The value itself may be private: only its place is named.
                out = f"leave the column out with drop = [{json.dumps(table.shown(j), ensure_ascii=False)}]"
                raise DataError(f"row {r + 1}, {table.called(j)} of '{path}' {fault.format(out=out)}")
            numbers[r, c] = np.nan if value is None else value
    groups = (
        None
        if group is None
        else _groups(table, path, group, np.asarray(~np.isnan(numbers).any(axis=1) | (missing != "drop")))
    )
    numbers, remarks = _filled(numbers, [table.called(j) for j in used], missing, path)
    if not table.headed:
        remarks.append("its first line is all numbers and was read as a row" if header is None else "without a header")
    more = f" ({'; '.join(remarks)})" if remarks else ""
    return Dataset(numbers, tuple(table.shown(j) for j in used), f"the file {Path(path).name}{more}", groups=groups)


def parkinsons(path: str | Path | None = None) -> Dataset:
    """Load Oxford Parkinson's disease detection: 195 voice recordings, 22 measurements (no names, no diagnosis).

    Parameters
    ----------
    path : path, optional
        The file ``parkinsons.data`` of the UCI repository; downloaded from there when not given.
    """
    source = "Parkinson's voice recordings (UCI)"
    if path is not None:
        return replace(csv(path, drop=("name", "status")), source=source)
    import tempfile
    import urllib.request

    try:
        with urllib.request.urlopen(PARKINSONS_URL, timeout=30) as answer:
            text = answer.read()
    except OSError as error:
        raise DataError(f"{PARKINSONS_URL} could not be read ({error}); download the file and give its path") from None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "parkinsons.csv")
        copy.write_bytes(text)
        return replace(csv(copy, drop=("name", "status")), source=source, public=True)


def read_table(
    path: str | Path, delimiter: str = ",", header: bool | None = None, encoding: str | None = None
) -> DelimitedTable:
    """Split a delimited file into its fields; a line of names is found where ``header`` does not say.

    Raises DataError if the file cannot be read, or its lines have not as many fields each.
    """
    lines = _lines(path, delimiter, encoding)
    first = [name.strip() for name in lines[0]]
    if header is None:
        numbers = [_looks_like_number(name) for name in first]
        if any(numbers) and not all(n or name.lower() in MISSING for n, name in zip(numbers, first, strict=True)):
            # Not even the column is named: what stands there are somebody's values.
            raise DataError(
                f"the first line of '{path}' holds names and numbers: say header = true if it names the columns (such "
                "as years), header = false if it is a row"
            )
        header = not any(numbers)
    if len(lines) < 1 + header:
        raise DataError(f"the data file '{path}' has {len(lines)} line(s); needed are a line of names and rows")
    rows = lines[header:]
    # Where no field of the first row is a number, the line above may be data as well: then columns go by number.
    sure = (
        header and any(_looks_like_number(field) for field in rows[0]) and not any(name[:1].isdigit() for name in first)
    )
    names = [name if header and name else f"column {j}" for j, name in enumerate(first, 1)]
    table = DelimitedTable(tuple(names), rows, header, sure)
    for j, name in enumerate(names):
        if name in names[:j]:
            raise DataError(f"the first line of '{path}' names {table.called(j)} twice; rename one")
    for r, row in enumerate(rows):
        if len(row) != len(names):
            which = "the first line names" if header else "the first has"
            raise DataError(
                f"row {r + 1} of '{path}' has {len(row)} fields, {which} {len(names)}; is the delimiter right?"
            )
    return table


def number(field: str, decimal: str = ".", marks: set[str] | frozenset[str] = frozenset()) -> float | None:
    """Read the number in a field, NaN where it is missing; None where it is something else.

    >>> number(" 1,5", ","), number("NA"), number("999", marks={"999"}), number("Meyer")
    (1.5, nan, nan, None)
    """
    text = field.strip()
    if text.lower() in MISSING or text in marks:
        return float("nan")
    try:
        return None if "_" in text else float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None


def _used_columns(
    table: DelimitedTable,
    path: str | Path,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    label: str | None,
    keep_label: bool,
) -> list[int]:
    """List the columns that are used, in order, the label last."""
    for name in (*(columns or ()), *drop, *((label,) if label is not None else ())):
        if table.place(name) is None:
            hint = nearest(name, table.names) if table.sure or not table.headed else "is the delimiter right?"
            raise DataError(f"the data file '{path}' has no column {shown(name)}; {hint}")
    if keep_label and label is None:
        raise DataError("keep_label = true keeps the label as the last column; name that column under label")
    out = {table.place(name) for name in drop}
    asked = None if columns is None else {table.place(name) for name in columns}
    measured = None if label is None else table.place(label)
    used = [j for j in range(len(table.names)) if j not in out and j != measured and (asked is None or j in asked)]
    if keep_label and measured is not None:
        used.append(measured)
    if not used:
        raise DataError(f"no column of '{path}' is left after 'drop' and 'label'; keep at least one")
    return used


def _groups(table: DelimitedTable, path: str | Path, group: str, used: NDArray[np.bool_]) -> tuple[str, ...]:
    """Read the group of each row that is used."""
    j = table.place(group)
    assert j is not None  # looked for with the columns to drop
    owners = [row[j].strip() for row in table.rows]
    if "" in owners:
        raise DataError(
            f"row {owners.index('') + 1}, {table.called(j)} of '{path}' is empty, and group says that it names whose "
            "the row is; fill it in, or drop the row"
        )
    return tuple(owner for owner, is_used in zip(owners, used, strict=True) if is_used)


def _filled(numbers: Array, called: list[str], missing: Missing, path: str | Path) -> tuple[Array, list[str]]:
    """Fill in or drop what is missing, and say in words what was done."""
    gaps = np.isnan(numbers)
    rows = gaps.any(axis=1)
    if not rows.any():
        return numbers, []
    counts = {name: int(k) for name, k in zip(called, gaps.sum(axis=0), strict=True) if k}
    worst = sorted(counts, key=lambda name: -counts[name])
    listing = ", ".join(f"{name}: {counts[name]}" for name in worst[:3])
    listing += f" and {len(counts) - 3} more columns" if len(counts) > 3 else ""
    of = f"{int(rows.sum())} of {len(numbers)} rows"
    if missing == "refuse":
        first = int(np.argmax(rows)) + 1
        raise DataError(
            f"{of} of '{path}' lack values ({listing}), first row {first}; say missing = \"drop\" to leave those rows "
            'out, or "mean" to put in the mean of the column'
        )
    if missing == "drop":
        if rows.all():
            raise DataError(f"every row of '{path}' lacks a value ({listing}); drop those columns")
        return numbers[~rows], [f"{of} left out, which lack values ({listing})"]
    empty = np.flatnonzero(gaps.all(axis=0))
    if len(empty):
        raise DataError(f"{called[empty[0]]} of '{path}' holds no number at all; drop it")
    filled = np.where(gaps, np.nanmean(numbers, axis=0), numbers)
    return filled, [f"in {of} the mean of the column in place of missing values ({listing})"]


def decoded(content: bytes, encoding: str | None, cannot: str) -> str:
    """Decode the text in ``content``; errors begin with ``cannot``."""
    if encoding is None:
        encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8"
    if encoding not in ENCODINGS:
        raise DataError(f"{cannot}no encoding is called {shown(encoding)} here; {nearest(str(encoding), ENCODINGS)}")
    try:
        return content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeError:
        if encoding == "utf-8":
            hint = 'it is not UTF-8 text; say which encoding it has, such as encoding = "cp1252", or save it as UTF-8'
        else:
            hint = f"it is not text in the encoding {encoding}; name another, or save it as UTF-8"
        raise DataError(f"{cannot}{hint}") from None


def _lines(path: str | Path, delimiter: str, encoding: str | None) -> list[list[str]]:
    """Read the fields of every line that has any; at least one."""
    cannot = f"the data file '{path}' cannot be read: "
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise DataError(f"{cannot}delimiter is a single character such as ';'; given {shown(delimiter)}")
    try:
        content = read_regular(Path(path), most=_MOST_BYTES)
    except OSError as error:
        raise DataError(f"{cannot}{error.strerror or type(error).__name__}") from None
    except ValueError:
        raise DataError(f"{cannot}no file can have that name") from None
    reader = csv_module.reader(io.StringIO(decoded(content, encoding, cannot), newline=""), delimiter=delimiter)
    try:
        lines = [line for line in reader if line]
    except csv_module.Error:
        raise DataError(f"{cannot}line {reader.line_num} is not what a CSV file holds") from None
    if not lines:
        raise DataError(f"the data file '{path}' has 0 line(s); needed are a line of names and rows")
    return lines


def _looks_like_number(field: str) -> bool:
    try:
        float(field.replace(",", "."))  # a decimal comma too
    except ValueError:
        return False
    return field.strip().lower() not in ("nan", "inf", "infinity")


def _wrong_with(field: str, value: float | None, decimal: str, *, alone: bool) -> str:
    """Say why a field is no number that can be used, with ``{out}`` for how to leave its column out; "" where it is.

    ``value``: as it was read: NaN where it is missing; ``decimal``: what stands before the fraction of a number;
    ``alone``: whether the field is its row's only one, as where the delimiter is wrong.

    >>> _wrong_with("1,5", None, ".", alone=False)
    'is not a number with a decimal point; say decimal = ","'
    """
    if value is not None and math.isnan(value):
        return ""
    if decimal == "," and "." in field:
        return (
            'holds a point, though decimal = ","; write thousands without one, or say decimal = "." where points stand '
            "before fractions"
        )
    if value is None and decimal == "." and _COMMA.fullmatch(field):
        return 'is not a number with a decimal point; say decimal = ","'
    if value is None and alone and (sign := next((each for each in ";\t|" if each in field), "")):
        return f"is not a number but several fields; say delimiter = {sign!r}".replace("'", '"')
    if value is None:
        return f"is not a number; if it marks a missing value, list it under missing_marks and {_MARK}; else {{out}}"
    if math.isinf(value):
        return f"is infinite, or too large for a number; list its mark under missing_marks and {_MARK}, or {{out}}"
    return ""
