"""Audit secret sharing of libraries that nobody here wrote: each tells what its theory says, and no more.

Every folder beside this file has the glue for one library. They are installed in an environment of their own, see
``.ci/run``; where one is not there, its test is skipped.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import secmix
from secmix.adversaries import CuriousServer, HonestButCurious

pytestmark = pytest.mark.build
FOLDER = Path(__file__).parent
NODES = 4
SHARES = {"shamirs": 3, "mpyc": 3, "additive": NODES}
"""How many shares tell the number that is shared."""


def glue_of(library: str) -> Any:
    """Import the glue of a library; skip the test where the library is not installed."""
    pytest.importorskip(library, reason=f"{library} is not installed: pip install {library}")
    spec = importlib.util.spec_from_file_location(f"glue_of_{library}", FOLDER / library / "glue.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("library", SHARES)
def test_too_few_nodes_learn_the_sum_and_enough_learn_everything(library: str) -> None:
    glue, enough = glue_of(library), SHARES[library]
    # Every node holds one share of each other node's number, and its own.
    few, many = frozenset(range(min(enough - 1, NODES - 2))), frozenset(range(min(enough, NODES - 1)))
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": NODES},
            "data": {"name": "wine", "features": 2, "rows_per_node": 20},
            "model": {"iterations": 2},
            "runs": 100,
            "measure": {"evidence": ["structure", "gaussian"]},
            "policy": {"max_normalised_leakage": 0.8},
        },
        protocols={library: glue.PROTOCOL},
        adversaries={
            "server": CuriousServer(),
            "too few": HonestButCurious(corrupt=few),
            "enough": HonestButCurious(corrupt=many),
        },
    )
    found = {cell.adversary: cell.verdict for cell in report.cells}
    assert found == {"server": "holds", "too few": "holds", "enough": "violated"}, [
        (cell.adversary, cell.proof, [node.why for node in cell.nodes]) for cell in report.cells
    ]


def test_every_folder_is_audited() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/glue.py")} == set(SHARES)


@pytest.mark.parametrize("library", SHARES)
def test_glue_is_short(library: str) -> None:
    lines = (FOLDER / library / "glue.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 15
