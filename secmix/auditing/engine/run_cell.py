"""One cell of an audit from its scenario: built, tried, run and judged; a run that fails is a finding too."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from secmix._base.plugins import code_allowed
from secmix.auditing.cells.audit_cell import CellResult, audit_cell
from secmix.auditing.cells.fields import failed
from secmix.auditing.exposure.policy import with_coalitions
from secmix.auditing.observation import collaborations, observe
from secmix.auditing.observation.observe import seeds_of
from secmix.auditing.report import Verdict
from secmix.auditing.setup import CollaborationSetup, Given, Ready, SumSetup, build_setup
from secmix.auditing.soundness import fresh
from secmix.auditing.weighing import weigh
from secmix.errors import SecmixError
from secmix.kernel.state import is_protocol
from secmix.scenario import Scenario
from secmix.transcript import at_most, unrelated

_CELLS = threading.RLock()
_PACKAGE = str(Path(__file__).parents[2])


def run_cell(
    cell: Scenario,
    given: Given | None,
    reproduce: str,
    allow_code: bool = False,
    early: Callable[[Verdict], None] | None = None,
    ready: dict[str, Ready] | None = None,
) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause.

    Names like ``package.module:name`` are loaded only where ``allow_code`` says so. ``early`` is told the verdict where
    it stands before all is measured. ``ready`` holds rows, as in :func:`build_setup`.
    """
    from threadpoolctl import threadpool_limits

    # One thread, always: the sums inside BLAS would else depend on how many there are, and so on the workers.
    # One cell at a time in a process: the kernel replaces names in the modules of a protocol while it follows it.
    with _CELLS, threadpool_limits(limits=1), code_allowed(allow_code), unrelated():
        setup = build_setup(cell, _new(given), ready)
        try:
            judged, findings = audit_cell(cell, setup, seeds_of(cell), reproduce, early)
            return with_coalitions(cell, setup, judged, reproduce), findings
        except SecmixError as error:
            return failed(cell, setup, f"the run failed: {error}", reproduce), []
        except KeyboardInterrupt:
            raise
        except MemoryError:
            why = "the run failed for want of memory; run it again with fewer --workers or a smaller --memory-limit"
            return failed(cell, setup, why, reproduce), []
        except BaseException as error:  # sys.exit too; a message may hold private values: only the kind is printed
            return failed(cell, setup, f"the run failed with {type(error).__name__}{_place(error)}", reproduce), []


def _place(error: BaseException) -> str:
    """Say at which line of the user's code an error arose; nothing where it is not theirs."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [each for each in frames if is_protocol(each.filename) and not each.filename.startswith(_PACKAGE)]
    return f" at {os.path.basename(mine[-1].filename)}, line {mine[-1].lineno}" if mine else ""


def try_out(
    cell: Scenario, given: Given | None, allow_code: bool = False, ready: dict[str, Ready] | None = None
) -> None:
    """Build what the cell names and run them once, in small: whatever does not fit together shows here.

    ``ready`` holds rows, as in :func:`build_setup`.

    Raises
    ------
    SecmixError
        If it cannot be run.
    """
    with code_allowed(allow_code), unrelated():
        _trial(cell, build_setup(cell, _new(given), ready))


def _trial(cell: Scenario, setup: SumSetup | CollaborationSetup) -> None:
    setup = replace(setup, protocol=fresh(setup.protocol))  # an object that remembers begins its life in the audit
    if isinstance(setup, CollaborationSetup):
        too_large = (
            f"its messages take more than memory_limit = {cell.memory_limit} MiB in one run; raise it, or use less"
        )
        with at_most(2 * cell.memory_limit * 2**20, too_large):  # the messages of a run, and of all runs joined
            collaborations.block_size(cell, setup)
    else:
        weigh(cell, setup)
        observe.block_size(cell, setup)


def _new(given: Given | None) -> Given | None:
    """``given`` with copies of the adversaries: one that remembers is asked for the first time in every cell."""
    if given is None:
        return None
    return {key: fresh(part) if key[0] == "adversary" else part for key, part in given.items()}
