"""Repetitions of a study survive an interruption, and never that of other code or another setting."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

STUDY = "analysis.repetitions"


def test_an_interrupted_study_goes_on_where_it_stopped(study: ModuleType, tmp_path: Path) -> None:
    made: list[int] = []

    def make(i: int) -> list[float]:
        if i == 2 and len(made) == 2:
            raise KeyboardInterrupt
        made.append(i)
        return [i / 3]

    with pytest.raises(KeyboardInterrupt):
        study.repeated(tmp_path, "part", (0, 1), 4, make, study="zhang_2024")
    file = tmp_path / study.FOLDER / "part.jsonl"
    with file.open("a", encoding="utf-8") as cut:
        cut.write("[2, [0.6")  # as it was written when the power failed
    made.append(-1)
    assert study.repeated(tmp_path, "part", (0, 1), 4, make, study="zhang_2024") == [[i / 3] for i in range(4)]
    assert made == [0, 1, -1, 2, 3]
    assert study.repeated(tmp_path, "part", (0, 1), 3, make, study="zhang_2024") == [[i / 3] for i in range(3)]
    assert made == [0, 1, -1, 2, 3]


def test_what_another_setting_or_other_code_made_is_made_anew(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert study.repeated(tmp_path, "part", "first", 2, lambda i: "old", study="zhang_2024") == ["old", "old"]
    assert study.repeated(tmp_path, "part", "other", 2, lambda i: "new", study="zhang_2024") == ["new", "new"]
    monkeypatch.setattr(study, "_sources", lambda name: "other code")
    assert study.repeated(tmp_path, "part", "other", 1, lambda i: "newer", study="zhang_2024") == ["newer"]
