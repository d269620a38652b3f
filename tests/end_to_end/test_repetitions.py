"""Repetitions of a study survive an interruption, and never that of other code or another setting."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import pytest

STUDY = "analysis.repetitions"


def test_an_interrupted_study_goes_on_where_it_stopped(study: ModuleType, tmp_path: Path) -> None:
    made: list[int] = []
    repeated = study.Repetitions("zhang_2024", tmp_path)

    def make(i: int) -> list[float]:
        if i == 2 and len(made) == 2:
            raise KeyboardInterrupt
        made.append(i)
        return [i / 3]

    with pytest.raises(KeyboardInterrupt):
        repeated("part", (0, 1), 4, make)
    file = tmp_path / study.FOLDER / "part.jsonl"
    with file.open("a", encoding="utf-8") as cut:
        cut.write("[2, [0.6")  # as it was written when the power failed
    made.append(-1)
    assert repeated("part", (0, 1), 4, make) == [[i / 3] for i in range(4)]
    assert made == [0, 1, -1, 2, 3]
    assert repeated("part", (0, 1), 3, make) == [[i / 3] for i in range(3)]
    assert made == [0, 1, -1, 2, 3]


def test_what_another_setting_or_other_code_made_is_made_anew(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated = study.Repetitions("zhang_2024", tmp_path)
    assert repeated("part", "first", 2, lambda i: "old") == ["old", "old"]
    assert repeated("part", "other", 2, lambda i: "new") == ["new", "new"]
    monkeypatch.setattr(study, "_sources", lambda name: "other code")
    assert repeated("part", "other", 1, lambda i: "newer") == ["newer"]


@pytest.mark.build
def test_processes_make_the_same_repetitions(study: ModuleType, tmp_path: Path) -> None:
    alone = study.Repetitions("zhang_2024")("part", 0, 5, math.sqrt)
    shared = study.Repetitions("zhang_2024", tmp_path, 2)
    assert shared("part", 0, 5, math.sqrt) == alone == [math.sqrt(i) for i in range(5)]
    assert len((tmp_path / study.FOLDER / "part.jsonl").read_text(encoding="utf-8").splitlines()) == 6
