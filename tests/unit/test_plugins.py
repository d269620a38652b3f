"""Parts by name: entry points, a user's own module, settings checked against the signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from secmix._base.plugins import available, build, check_settings, load
from secmix.adversaries import Eavesdropper
from secmix.errors import ScenarioError
from secmix.protocols import PDMM
from secmix.scenario.settings import OWN_KEYS


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("protocols", {"plain", "secure_sum", "pdmm"}),
        ("adversaries", {"eavesdropper", "honest_but_curious", "curious_server"}),
        ("datasets", {"breast_cancer", "wine", "digits", "gaussian", "parkinsons", "csv"}),
    ],
)
def test_built_in_parts_are_entry_points_that_load(group: str, names: set[str]) -> None:
    found = available(group)
    assert names <= set(found)
    for name in names:
        assert callable(load(group, name))


def test_parts_are_made_with_their_settings() -> None:
    assert build("protocols", {"name": "pdmm", "sigma": 3.0}) == PDMM(sigma=3.0)


def test_a_users_own_part_loads_by_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secmix_plugin_under_test.py").write_text(
        "class Outer:\n    class Inner:\n        def __init__(self, size=1):\n            self.size = size\n"
        "        def average(self): ...\n        def draw_masks(self): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    part = build("protocols", {"name": "secmix_plugin_under_test:Outer.Inner", "size": 4})
    assert part.size == 4


@pytest.mark.parametrize("name", ["no_such_module:X", "secmix.protocols:NoSuch", "secmix.protocols:", ":X", "..x:Y"])
def test_what_cannot_be_loaded_is_named(name: str) -> None:
    with pytest.raises(ScenarioError, match="cannot be loaded") as caught:
        load("protocols", name)
    assert name in str(caught.value)


@pytest.mark.parametrize("text", ["def broken(:\n", "raise RuntimeError('on import')\n", "1 / 0\n"])
def test_a_module_that_fails_on_import_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secmix_broken_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ScenarioError, match="secmix_broken_plugin:X"):
        load("protocols", "secmix_broken_plugin:X")


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'pdmm'"):
        load("protocols", "pdm")
    with pytest.raises(ScenarioError, match=r"known: .*plain"):
        load("protocols", "zzz")


def test_unknown_and_missing_settings_are_named() -> None:
    with pytest.raises(ScenarioError, match=r"'sigm'.*did you mean 'sigma'"):
        build("protocols", {"name": "pdmm", "sigm": 3.0})
    with pytest.raises(ScenarioError, match=r"needs the setting.*corrupt"):
        build("adversaries", {"name": "honest_but_curious"})


def test_of_an_unknown_setting_a_key_of_the_table_may_be_meant() -> None:
    with pytest.raises(ScenarioError, match="no setting 'featurs'; did you mean 'features'"):
        build("datasets", {"name": "breast_cancer", "featurs": 2}, OWN_KEYS["data"])


def test_parts_that_take_any_setting_or_several_are_not_refused() -> None:
    def anything(**settings: int) -> None: ...

    def several(*rest: int, size: int = 1) -> None: ...

    check_settings(anything, "anything", {"whatever": 1})
    check_settings(several, "several", {"size": 1})


def test_an_object_that_cannot_be_called_is_refused_in_words() -> None:
    with pytest.raises(ScenarioError, match="secmix:__version__"):
        build("aggregators", {"name": "secmix:__version__"})


@pytest.mark.parametrize(
    ("tapped", "reason"),
    [
        ([0, 1], r"tapped: expected a list at \[0\]; given \[0, 1\]"),
        ([[0, 1], 2], r"tapped: expected a list at \[1\]; given \[\[0, 1\], 2\]"),
        (3, "tapped: .*; given 3"),
    ],
)
def test_a_list_within_a_list_is_named_by_its_place(tapped: object, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        check_settings(Eavesdropper, "eavesdropper", {"tapped": tapped})
