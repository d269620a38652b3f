"""One cell of an audit: one protocol against one adversary, run, measured and judged."""

from __future__ import annotations

import hashlib

import numpy as np

from secmix.auditing.cells import collaborations as whole
from secmix.auditing.cells import sums as summed
from secmix.auditing.cells.fields import failed
from secmix.auditing.observation.observe import Seeds, block_size
from secmix.auditing.report import Cell, Finding
from secmix.auditing.setup import CollaborationSetup, Given, build_setup
from secmix.errors import SecmixError
from secmix.scenario import Scenario

CellResult = tuple[Cell, list[Finding]]


def run_cell(cell: Scenario, given: Given | None, reproduce: str) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause."""
    from threadpoolctl import threadpool_limits

    # One thread, always: the sums inside BLAS would else depend on how many there are, and so on the workers.
    with threadpool_limits(limits=1):
        setup = build_setup(cell, given)
        try:
            if isinstance(setup, CollaborationSetup):
                return whole.audit_cell(cell, setup, seeds(cell), reproduce)
            return summed.audit_cell(cell, setup, seeds(cell), reproduce)
        except SecmixError as error:
            return failed(cell, setup, f"the run failed: {error}", reproduce), []
        except Exception as error:  # its message may hold private values: only the kind is told
            return failed(cell, setup, f"the run failed with {type(error).__name__}", reproduce), []


def try_out(cell: Scenario, given: Given | None) -> None:
    """Build the cell's parts and run them once, in small: whatever does not fit together shows here.

    Raises
    ------
    SecmixError
        If it cannot be run.
    """
    setup = build_setup(cell, given)
    if isinstance(setup, CollaborationSetup):
        whole.block_size(cell, setup)
    else:
        block_size(cell, setup)


def seeds(cell: Scenario) -> Seeds:
    """Of the data, the same in all cells of an audit; and of the protocol, the cell's own."""
    own = hashlib.sha256(repr((cell.protocol.model_dump(), cell.adversary.model_dump())).encode()).digest()
    numbers = np.frombuffer(own, dtype=np.uint32).tolist()
    return np.random.SeedSequence([cell.seed, 0]), np.random.SeedSequence([cell.seed, 1, *numbers])
