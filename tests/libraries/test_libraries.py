"""Audit libraries that nobody here wrote, which share, mask or seal: each tells what its theory says, and no more.

Every folder beside this file has the glue for one library. They are installed in an environment of their own, see
``.ci/run``; where one is not there, its tests are skipped.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import Open, clear, prove
from secmix.network import Network
from secmix.wrap import ShareSum

pytestmark = pytest.mark.build
FOLDER = Path(__file__).parent
NODES = 4
SHARES = {"shamirs": 3, "mpyc": 3, "tno": 3, "cicada_shamir": 3, "additive": NODES}
"""How many shares tell the number that is shared."""
MASKS = [("declearn", "PROTOCOL"), ("declearn", "INTEGERS"), ("cicada", "PROTOCOL"), ("flwr", "PROTOCOL")]
"""Whose nodes add masks that cancel at a server."""
OPEN = {
    "flwr": "a seed computed from secrets",  # the exclusive or of its words: 32 bits
}
"""What ends the proof of a library: nobody is cleared."""
IMPORTED = {"cicada_shamir": "cicada.shamir", "tno": "tno.mpc.encryption_schemes.shamir"}


def glue_of(library: str) -> Any:
    """Import the glue of a library; skip the test where the library is not installed."""
    imported = IMPORTED.get(library, library)
    pytest.importorskip(imported, reason=f"{imported} is not installed, see .ci/run", exc_type=ImportError)
    spec = importlib.util.spec_from_file_location(f"glue_of_{library}", FOLDER / library / "glue.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cells_of(protocol: Any, adversaries: dict[str, Any], nodes: int = NODES) -> dict[str, Any]:
    """Audit a protocol, and return its cells by adversary."""
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": nodes},
            "data": {"name": "wine", "features": 2, "rows_per_node": 20},
            "model": {"iterations": 2},
            "runs": 100,
            "measure": {"evidence": ["structure", "gaussian"]},
            "policy": {"max_normalised_leakage": 0.8},
        },
        protocols={"it": protocol},
        adversaries=adversaries,
    )
    return {cell.adversary: cell for cell in report.cells}


def check(cells: dict[str, Any], expected: dict[str, str]) -> None:
    found = {name: cell.verdict for name, cell in cells.items()}
    assert found == expected, [(name, cell.proof, [node.why for node in cell.nodes]) for name, cell in cells.items()]


def judge(library: str, protocol: Any, adversaries: dict[str, Any]) -> None:
    """Hold a protocol to what it hides from all but ``enough``; where no proof is, of a server less follows anyway."""
    if library in OPEN:
        del adversaries["server"]
    cells, hides = cells_of(protocol, adversaries), "inconclusive" if library in OPEN else "holds"
    check(cells, {name: "violated" if name == "enough" else hides for name in adversaries})
    assert OPEN.get(library, "") in cells["too few"].proof


@pytest.mark.parametrize("library", SHARES)
def test_too_few_nodes_learn_the_sum_and_enough_learn_everything(library: str) -> None:
    protocol, enough = glue_of(library).PROTOCOL, SHARES[library]
    # Every node holds one share of each other node's number, and its own.
    few, many = frozenset(range(min(enough - 1, NODES - 2))), frozenset(range(min(enough, NODES - 1)))
    adversaries = {
        "server": CuriousServer(),
        "too few": HonestButCurious(corrupt=few),
        "enough": HonestButCurious(corrupt=many),
    }
    judge(library, protocol, adversaries)


def test_a_library_that_seeds_itself_by_63_bits_is_not_cleared() -> None:
    glue = glue_of("cicada_shamir")

    def split(word: Any, n: int) -> Any:
        return glue.shares_of(word, type(glue.SUITE)(glue.WORLD, threshold=3, encoding=glue.Identity()))

    protocol = ShareSum(split, glue.join, modulus=glue.SUITE.field.order, coins=glue.shamir)
    inputs = np.random.default_rng(0).normal(size=(3, 1, NODES, 2))
    proof = prove(protocol, Network.complete(NODES), inputs, in_other_calls=False)
    found = clear(proof, Network.complete(NODES), HonestButCurious({0, 1}))
    assert isinstance(found, Open)
    assert "masks follow from a seed of 63 bits, of 128 that it must have: shamir.py, line " in found.reason


@pytest.mark.parametrize(("library", "name"), MASKS)
def test_masks_hide_from_a_server_until_all_who_share_them_help_it(library: str, name: str) -> None:
    protocol = getattr(glue_of(library), name)
    adversaries = {
        "server": CuriousServer(),
        "too few": CuriousServer(corrupt=[0, 1]),
        "enough": CuriousServer(corrupt=[0, 1, 2]),
    }
    judge(library, protocol, adversaries)


def test_on_a_ring_of_seeds_a_server_and_the_two_neighbours_read_a_node() -> None:
    adversaries = {"one": CuriousServer(corrupt=[0]), "both": CuriousServer(corrupt=[0, 2])}
    check(cells_of(glue_of("declearn").RING, adversaries), {"one": "holds", "both": "violated"})


def test_a_server_without_the_key_learns_nothing_of_what_is_sealed() -> None:
    adversaries = {
        "server": CuriousServer(),
        "with the key": HonestButCurious({0}),
        "both": CuriousServer(corrupt=[0]),
    }
    cells = cells_of(glue_of("phe").PROTOCOL, adversaries, nodes=5)
    check(cells, {"server": "holds", "with the key": "holds", "both": "violated"})
    assert "without its key, a sealed message reveals only" in cells["server"].proof
    assert "these are low" not in cells["server"].model_dump_json()


def test_a_server_opens_what_is_sealed_without_blinding() -> None:
    cells = cells_of(glue_of("phe").NOT_BLINDED, {"server": CuriousServer()}, nodes=5)
    check(cells, {"server": "violated"})
    assert "its input is computed without the key" in cells["server"].nodes[0].why


def test_every_folder_is_audited() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/glue.py")} == {*SHARES, *(name for name, _ in MASKS), "phe"}


@pytest.mark.parametrize("glue", sorted(FOLDER.glob("*/glue.py")), ids=lambda path: path.parent.name)
def test_glue_is_short(glue: Path) -> None:
    lines = glue.read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 15
