"""Probes before and behind every filter that NVFlare applies to tasks and their results.

``apply_filters`` of NVFlare looks up the filters of a task under ``task/direction`` in a table, and calls one after the
other. :class:`ProbedTable` stands in the place of that table. On the way out the probe behind the last filter sees what
is sent; on the way in the probe before the first sees what arrived. Each filter is called between a look at the message
before it and a look at the message behind it. Filters of the site (its privacy policy) are called before those of the
job, on both ways.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from secmix.recording.nvflare.changes import change, snapshot
from secmix.recording.nvflare.contents import contents
from secmix.recording.nvflare.names import used
from secmix.recording.nvflare.run_log import RunLog

CHAINS = ("task_data", "task_result")


class LineProbe:
    """Look at a message where it is on the line, and pass it on."""

    def __init__(self, log: RunLog, chain: str, direction: str, task: str | None) -> None:
        self._log, self._chain, self._direction, self._task = log, chain, direction, task

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        """Record the message and return it."""
        task = self._task or str(fl_ctx.get_prop(used("nvflare.apis.fl_constant", "FLContextKey.TASK_NAME")))
        self._log.message(shareable, fl_ctx, self._chain, task, self._direction)
        return shareable


class WatchedFilter:
    """A filter, called as before, between two looks at the message."""

    def __init__(self, watched: Any, name: str, log: RunLog, key: str | None) -> None:
        self._watched, self._name, self._log, self._key = watched, name, log, key

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        """Let the filter process the message; note what it changed, or that it refused the message."""
        key = self._key or str(fl_ctx.get_prop(used("nvflare.apis.fl_constant", "FLContextKey.TASK_NAME")))
        before = snapshot(shareable)
        try:
            passed = self._watched.process(shareable, fl_ctx)
        except BaseException as error:
            self._log.note("passage", filter=self._name, key=key, refused=type(error).__name__)
            raise
        if isinstance(passed, Mapping):
            self._log.note("passage", filter=self._name, key=key, **change(before, contents(passed)))
        return passed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._watched, name)


class ProbedTable(dict[str, list[Any]]):
    """A table of filters by ``task/direction``, in which each list has its probes."""

    def __init__(
        self, table: Mapping[str, list[Any]] | None, chain: str, log: RunLog, names: Mapping[int, str]
    ) -> None:
        super().__init__(table or {})
        self._chain, self._log, self._names = chain, log, names
        self.arrived: frozenset[str] = frozenset()
        """Directions in which a probe before the site's filters has seen the message already."""

    def __bool__(self) -> bool:
        return True  # NVFlare puts another table in the place of an empty one

    def get(self, key: str, default: Any = None) -> Any:
        """Return the filters of ``key`` between their probes."""
        task, _, direction = key.rpartition(used("nvflare.apis.fl_constant", "FilterKey.DELIMITER"))
        probe = LineProbe(self._log, self._chain, direction, task)
        filters = super().get(key) or []
        watched = [WatchedFilter(each, self._names[id(each)], self._log, key) for each in filters]
        if direction == "out":
            return [*watched, probe]
        return watched if direction in self.arrived else [probe, *watched]


def configured(
    tables: Mapping[str, Mapping[str, Iterable[Any]]], source: str
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """List all filters of the tables of ``source``, by chain and then by key; and their names by identity."""
    names: dict[int, str] = {}
    listed: dict[int, dict[str, Any]] = {}
    count = itertools.count()
    for chain, table in tables.items():
        for key, filters in table.items():
            for step in filters:
                if id(step) not in names:
                    names[id(step)] = f"{source}-{next(count)}"
                    listed[id(step)] = {
                        **{"id": names[id(step)], "class": type(step).__name__, "module": type(step).__module__},
                        **{"parents": [base.__name__ for base in type(step).__mro__[1:]], "chain": chain},
                        **{"keys": [], "source": source, "arguments": _arguments(step)},
                    }
                listed[id(step)]["keys"].append(key)
    return list(listed.values()), names


def _arguments(filter: Any) -> dict[str, Any]:
    """Return what a filter was made with, as far as it is numbers and texts."""
    arguments: dict[str, Any] = {}
    for name, value in vars(filter).items():
        if isinstance(value, re.Pattern):
            arguments[name] = {"pattern": value.pattern}
        elif isinstance(value, str | int | float | bool) or (
            isinstance(value, list) and all(isinstance(each, str | int | float) for each in value)
        ):
            arguments[name] = value
    return {name: value for name, value in arguments.items() if not name.startswith("_")}


def watch_site(scope: Any, log: RunLog) -> tuple[list[dict[str, Any]], dict[str, frozenset[str]]]:
    """Put probes around the filters of a site's privacy scope.

    Returns the filters, as :func:`configured` lists them, and for each chain the directions in which a probe before
    them sees what arrives.
    """
    tables = {chain: getattr(scope, f"{chain}_filters") for chain in CHAINS}
    listed, names = configured(tables, "site")
    arrived: dict[str, frozenset[str]] = {}
    for chain, table in tables.items():
        for direction, filters in table.items():
            watched = [WatchedFilter(each, names[id(each)], log, None) for each in filters]
            probe = [LineProbe(log, chain, direction, None)] if direction == "in" and watched else []
            table[direction] = [*probe, *watched]
        arrived[chain] = frozenset(direction for direction in ("in",) if table.get(direction))
    return listed, arrived
