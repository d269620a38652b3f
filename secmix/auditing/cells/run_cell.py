"""One cell of an audit from its scenario: built, tried, run and judged; a run that fails is a finding too."""

from __future__ import annotations

from secmix._base.random import sequence
from secmix.auditing.cells.audit_cell import CellResult, audit_cell
from secmix.auditing.cells.fields import failed
from secmix.auditing.coalitions import with_coalitions
from secmix.auditing.observation import collaborations, observe
from secmix.auditing.observation.observe import Seeds
from secmix.auditing.setup import CollaborationSetup, Given, build_setup
from secmix.errors import SecmixError
from secmix.scenario import Scenario


def run_cell(cell: Scenario, given: Given | None, reproduce: str) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause."""
    from threadpoolctl import threadpool_limits

    # One thread, always: the sums inside BLAS would else depend on how many there are, and so on the workers.
    with threadpool_limits(limits=1):
        setup = build_setup(cell, given)
        try:
            judged, findings = audit_cell(cell, setup, seeds(cell), reproduce)
            return with_coalitions(cell, setup, judged, reproduce), findings
        except SecmixError as error:
            return failed(cell, setup, f"the run failed: {error}", reproduce), []
        except Exception as error:  # its message may hold private values: only the kind is told
            return failed(cell, setup, f"the run failed with {type(error).__name__}", reproduce), []


def try_out(cell: Scenario, given: Given | None) -> None:
    """Build what the cell names and run them once, in small: whatever does not fit together shows here.

    Raises
    ------
    SecmixError
        If it cannot be run.
    """
    setup = build_setup(cell, given)
    if isinstance(setup, CollaborationSetup):
        collaborations.block_size(cell, setup)
    else:
        observe.block_size(cell, setup)


def seeds(cell: Scenario) -> Seeds:
    """Of the data, the same in all cells of an audit; and of the protocol, the cell's own."""
    own = (cell.protocol.model_dump(), cell.adversary.model_dump())
    return sequence(cell.seed, "data"), sequence(cell.seed, "protocol", *own)
