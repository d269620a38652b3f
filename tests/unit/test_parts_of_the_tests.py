"""Of tests that take long, a build runs a part: together the parts run each of them, and none of nine is empty."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

CONFTEST = Path(__file__).parent.parent / "conftest.py"


class Item:
    def __init__(self, name: str, *marks: str) -> None:
        self.name = name
        self._marks = [SimpleNamespace(name=mark) for mark in marks]

    def iter_markers(self) -> list[SimpleNamespace]:
        return self._marks


def test_each_part_of_the_tests_that_take_long_holds_some(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    conftest = pytestconfig.pluginmanager.get_plugin(str(CONFTEST))
    collected = [Item("short"), *(Item(f"long {number}", "build") for number in range(9)), Item("quick", "other")]
    left_out: list[Item] = []
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)))
    ran: Counter[str] = Counter()
    for part in range(16, 24):
        monkeypatch.setenv("SECMIX_PART", str(part))
        items = list(collected)
        left_out.clear()
        conftest.pytest_collection_modifyitems(config, items)
        names = [item.name for item in items]
        assert names[0] == "short"
        assert names[-1] == "quick"
        assert len(names) > 2, f"part {part} runs nothing that takes long"
        assert sorted(names + [item.name for item in left_out]) == sorted(item.name for item in collected)
        ran.update(names)
    assert ran == Counter({"short": 8, "quick": 8, **{f"long {number}": 1 for number in range(9)}})
