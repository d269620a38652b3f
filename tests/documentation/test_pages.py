"""Every example of the documentation runs, and prints what the page says it prints.

The ``python`` blocks between two ``console`` blocks are one program. A block with a title is a file that the reader
makes. A ``text`` block after a ``python`` block is its output. In a ``console`` block lines that begin with ``$`` are
commands, the others their output. An ellipsis stands for anything.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "```" in path.read_text(encoding="utf-8"))
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?[^\n]*\n(.*?)^```$', flags=re.M | re.S)
MARK = "-- end of a block --"
# A page that is written for what is not in this version yet, or for what may not be installed.
DUE = {
    "own-attack": find_spec("secmix.adversaries.attacks.attack") is not None,
    "flower": find_spec("flwr") is not None,
    "nvflare": find_spec("nvflare") is not None,
    "library": None not in map(find_spec, ("shamirs", "declearn", "phe")),
}


@dataclass
class Step:
    """What a reader does at one place of a page, and sees."""

    kind: str
    text: str
    title: str = ""
    shown: str | None = None


def steps(page: Path) -> list[Step]:
    """The blocks of a page, with what each prints."""
    found: list[Step] = []
    for language, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            found.append(Step("file", text, title))
        elif language == "python":
            found.append(Step("python", text))
        elif language == "text":
            assert found, "a text block is the output of the python block before it"
            assert found[-1].kind == "python", "a text block is the output of the python block before it"
            found[-1].shown = text
        elif language == "console":
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, flags=re.M):
                found.append(Step("console", command, shown=shown))
        else:
            raise AssertionError(f"{page.name}: a block of {language} needs a title, or is no example")
    return found


_PROGRESS = re.compile(r"^secmix: \d+ of \d+ done after .*\n", re.MULTILINE)


def alike(wanted: str, got: str) -> bool:
    """Whether the output is as the page has it, blank lines and spaces apart."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, flags)


@pytest.mark.build
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    if not DUE.get(page.stem, True):
        pytest.skip("what the page is about is not in this version yet, or not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }

    def run(command: list[str]) -> str:
        ran = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0 or command[0] == "bash", ran.stdout + ran.stderr
        errors = _PROGRESS.sub("", ran.stderr)  # every ten seconds: on a slow machine there is some
        return ran.stdout + (errors if command[0] == "bash" else "")

    def run_program(program: list[Step]) -> None:
        if not program:
            return
        lines = "".join(f"{step.text}\nprint({MARK!r}, flush=True)\n" for step in program)
        (tmp_path / "the_page.py").write_text(lines, encoding="utf-8")
        # flwr asks for an older typer, which click warns about.
        strict = ["-W", "error", "-W", "ignore:'click.utils:DeprecationWarning"]
        outputs = run([sys.executable, *strict, "the_page.py"]).split(MARK + "\n")
        for step, got in zip(program, outputs, strict=False):
            assert step.shown is None or alike(step.shown, got), f"{step.text}\nprints\n{got}"
        program.clear()

    program: list[Step] = []
    for step in steps(page):
        if step.kind == "python":
            program.append(step)
            continue
        if step.kind == "file":
            (tmp_path / step.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / step.title).write_text(step.text, encoding="utf-8")
            continue
        run_program(program)
        got = run(["bash", "-c", step.text])
        assert alike(step.shown or "", got), f"$ {step.text}\nprints\n{got}"
    run_program(program)


def test_there_are_pages() -> None:
    assert len(PAGES) >= 7
