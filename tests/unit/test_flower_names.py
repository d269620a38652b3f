"""Flower's names: asked for one by one, in one place; which Flower lacks one is said with it, whatever its version."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import secmix
from secmix.errors import SecmixError
from secmix.protocols.flower import names
from secmix.protocols.flower.names import NAMES, TESTED, FlowerName, check, flower

ROOT = Path(__file__).parents[2]
HAS_FLOWER = importlib.util.find_spec("flwr") is not None


@pytest.fixture
def table(monkeypatch):
    """A table of names in place of Flower's, and that of a Flower that was never tried."""

    def put(**entries):
        monkeypatch.setattr(names, "NAMES", entries)
        monkeypatch.setattr(names, "version", lambda package: "9.7.1")
        flower.cache_clear()

    yield put
    flower.cache_clear()


def test_no_other_module_imports_flower():
    homes = set()
    texts = {file: file.read_text(encoding="utf-8") for file in Path(secmix.__file__).parent.rglob("*.py")}
    for file, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "flwr" in text else []:
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            places = [str(node.value)] if isinstance(node, ast.Constant) else []
            if any(each.split(".")[0] == "flwr" for each in imported) or any(
                re.fullmatch(r"flwr(\.\w+)+", each) for each in places
            ):
                homes.add(file.name)
    assert homes == {"names.py"}


def test_the_package_asks_for_the_oldest_that_works_and_excludes_no_newer():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["flower"] == [f"flwr>={TESTED[0]}"]


def test_a_name_is_found_where_it_is(table):
    table(PurePath=FlowerName(("no.such.module", "pathlib"), "nothing", ("joinpath",)))
    from pathlib import PurePath

    assert flower("PurePath") is PurePath
    check()


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (FlowerName(("pathlib",), "sending", ("joinpath", "teleport")), "pathlib.Path has no attribute 'teleport'"),
        (FlowerName(("pathlib.never",), "sending"), "pathlib.never has no 'Path'"),
        (FlowerName(("math", "json"), "sending"), "math and json have no 'Path'"),
    ],
)
def test_what_is_missing_is_named_with_its_use_and_the_versions_seen_to_work(table, entry, what):
    table(Path=entry)
    with pytest.raises(SecmixError, match=f"flwr 9.7.1: {what}, which is used for this: sending") as raised:
        check()
    assert f"seen to work were {TESTED[0]} to {TESTED[1]}" in str(raised.value)
    assert f"pip install 'flwr=={TESTED[1]}.*'" in str(raised.value)


@pytest.mark.skipif(not HAS_FLOWER, reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")
def test_this_flower_has_every_name():
    flower.cache_clear()
    check()
    assert [flower(name).__name__ for name in NAMES] == list(NAMES)
    for each in names.OF_SECAGG:
        importlib.import_module(names.OF_SECAGG[each].places[0])
        assert list(names.modules_of_secagg(each))


@pytest.mark.skipif(HAS_FLOWER, reason="flwr is installed")
def test_without_flower_an_app_says_how_to_install_it():
    from secmix.protocols.flower import FlowerApp

    with pytest.raises(SecmixError, match=r"pip install 'secmix\[flower\]'"):
        FlowerApp("m:server", "m:client")
