"""The recipes of CONTRIBUTING, followed to the letter in a copy of the sources: each adds two files and a line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import secmix.aggregators
import secmix.testing

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {
    title: re.findall(r"^```(?:python|toml)\n# (\S+)(?:, under \[(.*?)\])?\n(.*?)^```", body, flags=re.M | re.S)
    for title, body in re.findall(r"^## (Add .*?)\n(.*?)(?=^## )", TEXT, flags=re.M | re.S)
}
WITH_CODE = {title: blocks for title, blocks in RECIPES.items() if blocks}
# What a recipe is written for, and is not in this version yet.
DUE = {
    "Add a sum protocol": hasattr(secmix.testing, "check_protocol"),
    "Add an adversary": True,
    "Add an attack": find_spec("secmix.adversaries.attacks.attack") is not None,
    "Add an aggregation rule": hasattr(secmix.aggregators, "rule_named"),
    "Add evidence": True,
}


def test_every_family_has_a_recipe() -> None:
    assert len(RECIPES) == 8
    assert WITH_CODE.keys() == DUE.keys()


@pytest.mark.parametrize("title", WITH_CODE)
def test_a_recipe_is_the_thing_its_test_and_one_line(title: str) -> None:
    (thing, _, _), (project, _, lines), (test, _, _) = WITH_CODE[title]
    assert thing.startswith("secmix/")
    assert test == f"tests/unit/test_{Path(thing).stem}.py"
    assert project == "pyproject.toml"
    assert len(lines.strip().splitlines()) == 1


@pytest.mark.build
@pytest.mark.parametrize("title", WITH_CODE)
def test_a_recipe_works(title: str, tmp_path: Path) -> None:
    if not DUE[title]:
        pytest.skip("what the recipe is written for is not in this version yet")
    (thing, _, code), (_, table, line), (test, _, checks) = WITH_CODE[title]
    shutil.copytree(ROOT / "secmix", tmp_path / "secmix", ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in ((thing, code), (test, checks)):
        assert not (tmp_path / path).exists()
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    install(tmp_path, table, line)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-W", "error", "--rootdir", ".", test]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout


def install(folder: Path, table: str, line: str) -> None:
    """What ``pip install -e`` writes of the entry points, with one more ``line`` in its ``table``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["entry-points"]
    group = re.fullmatch(r'project\.entry-points\."(.*)"', table)
    assert group is not None
    assert group[1] in groups, "the table must be there, or more than a line is added"
    groups[group[1]] |= tomllib.loads(line)
    info = folder / "secmix-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: secmix\nVersion: 0\n")
    text = "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in parts.items()) for name, parts in groups.items()
    )
    (info / "entry_points.txt").write_text(text)
