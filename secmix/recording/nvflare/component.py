"""The component that records: it is NVFlare's, so this file is imported where NVFlare is."""

from __future__ import annotations

from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey

from secmix.errors import DataError
from secmix.recording.nvflare.chains import CHAINS, ProbedTable, configured, watch_site
from secmix.recording.nvflare.names import missing
from secmix.recording.nvflare.run_log import RunLog


class MessageRecorder(FLComponent):  # type: ignore[misc]
    """Record every message of tasks that passes this participant.

    ``folder``: an absolute path: participants of a simulation have working folders of their own; ``lines``: how the
    report is to take the lines; a provisioned NVFlare encrypts them.
    """

    def __init__(self, folder: str, lines: str = "encrypted") -> None:
        super().__init__()
        if lines not in ("encrypted", "plain"):
            raise ValueError(f"lines = {lines!r}; expected 'encrypted' or 'plain'")
        self.folder, self.lines = folder, lines
        self._log: RunLog | None = None

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Put the probes in place before the first task, and note the end of the run."""
        if event_type in (EventType.ABOUT_TO_START_RUN, EventType.START_RUN) and self._log is None:
            try:
                self._log = install(fl_ctx, self.folder, self.lines == "encrypted")
            except (DataError, AttributeError, OSError) as error:
                # A recorder that records nothing, and says nothing, would be worse than no run.
                self.system_panic(f"secmix cannot record: {error}", fl_ctx)
        elif event_type == EventType.END_RUN and self._log is not None:
            self._log.note("end")


def install(fl_ctx: Any, folder: str, encrypted: bool) -> RunLog:
    """Put probes around the filters of the runner in ``fl_ctx``.

    Raises DataError if this version of NVFlare keeps its filters elsewhere.
    """
    runner = fl_ctx.get_prop(FLContextKey.RUNNER)
    server = hasattr(getattr(runner, "config", None), f"{CHAINS[0]}_filters")
    owner = runner.config if server else runner
    for chain in CHAINS:
        if not hasattr(owner, f"{chain}_filters"):
            raise DataError(missing(type(runner).__name__, f"{chain}_filters"))
    tables = {chain: getattr(owner, f"{chain}_filters") or {} for chain in CHAINS}
    filters, names = configured(tables, "job")
    log = RunLog(folder, str(fl_ctx.get_identity_name()), server, encrypted)
    scope = fl_ctx.get_prop(FLContextKey.SCOPE_OBJECT)
    of_site, arrived = watch_site(scope, log) if scope else ([], {})
    log.begin(bool(fl_ctx.get_prop(FLContextKey.SECURE_MODE, False)), [*of_site, *filters])
    for chain in CHAINS:
        probed = ProbedTable(tables[chain], chain, log, names)
        probed.arrived = arrived.get(chain, frozenset())
        setattr(owner, f"{chain}_filters", probed)
    return log
