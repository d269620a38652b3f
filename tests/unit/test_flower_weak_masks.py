"""SecAgg+ with wrong masks, by a generator that is replaced, is accused by the scenario that ``init --flower`` writes.

The right one, of the same app under the same policy, is not accused.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import secmix
from secmix._base.plugins import code_allowed
from secmix.cli.flower_scaffold import flower_scenario
from secmix.scenario import parse

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")

pytestmark = pytest.mark.build
PROJECT = Path(__file__).parents[1] / "flower_projects" / "secaggplus"
# The masks cover a model that counts for as much of the sum as there are rows: of one of at most ten.
CONFIG = 'config = { report-loss = false, max-weight = 10.0 }\n[measure]\nnodes = [0]\nevidence = ["decoders"]\n'
USERS = (
    "flwr.common.secure_aggregation.secaggplus_utils",
    "flwr.client.mod.secure_aggregation.secaggplus_mod",
    "flwr.server.workflow.secure_aggregation.secaggplus_workflow",
)


def constant(genuine):
    return lambda seed, most, sizes: [np.full(size, 12_345, dtype=np.int64) for size in sizes]


def of_ten_bits(genuine):
    return lambda seed, most, sizes: genuine(seed, 1 << 10, sizes)


def as_it_is(genuine):
    return genuine


@pytest.fixture
def masks(monkeypatch):
    """Replaces the function that expands a seed to masks, wherever Flower has imported it."""

    def replace(change):
        modules = [importlib.import_module(name) for name in USERS]
        changed = change(modules[0].pseudo_rand_gen)
        for module in modules:
            monkeypatch.setattr(module, "pseudo_rand_gen", changed)

    return replace


@pytest.mark.parametrize(
    ("change", "runs", "verdict"),
    [
        (as_it_is, 100, "inconclusive"),
        (constant, 100, "violated"),
        # They leave 30 % of a row known. That more than a tenth is, at the level of a report, 100 runs show in most
        # draws, 200 (the default) in all of some ten: 16 to 18 %.
        (of_ten_bits, 200, "violated"),
    ],
)
def test_masks_that_hide_too_little_violate_what_init_writes(masks, change, runs, verdict):
    masks(change)
    text, _ = flower_scenario(PROJECT)
    text = text.replace("[policy]", f"{CONFIG}\n[policy]").replace("runs = 100\n", f"runs = {runs}\n")
    assert f"runs = {runs}\n" in text
    with code_allowed(True):
        report = secmix.audit(parse(text, "the scenario that init writes"), cell=1, allow_code=True)
    assert report.cells[0].adversary == "The server"
    assert report.verdict == verdict
    notes = "\n".join(report.cells[0].notes)
    assert ("all masks of SecAgg+ are the same here" in notes) == (change is constant)
    assert ("each mask of SecAgg+ spans 10 of the 32 bits" in notes) == (change is of_ten_bits)
    assert ("opaque to this adversary" in report.model_dump_json()) == (change is as_it_is)
