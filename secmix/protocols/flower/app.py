"""A Flower app as a collaboration: its ServerApp and ClientApp, in one process, on rows that the audit draws."""

from __future__ import annotations

import contextlib
import importlib
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array
from secmix.errors import ScenarioError, SecmixError, cause, shown
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts, run_by_run
from secmix.protocols.flower import names, secagg_advice
from secmix.protocols.flower.project import check_origin, importable, read_project
from secmix.protocols.interfaces import Revealed
from secmix.transcript import Channel, Origin

Loader = Callable[[Array], Any]
Config = Mapping[str, bool | int | float | str]


@dataclass(frozen=True)
class FlowerApp:
    """A federation that is written for Flower, as it is.

    The ServerApp with its strategy, and the ClientApp with its mods, run unchanged. Whenever a client calls the
    function named ``data``, it gets the rows that the audit gave its node, in the form that ``load`` gives them.

    Parameters
    ----------
    server_app, client_app : str
        Where they are, as ``package.module:name``; by default as the project's ``[tool.flwr.app.components]`` says.
        This runs their code: in a scenario it must be allowed.
    data : str, optional
        The function in which clients get their data, ``package.module:name``, under the name by which they call it: if
        ``client_app.py`` says ``from task import load_data``, that is ``client_app:load_data``. Without it the clients
        get none of the audit's data, and nothing can be found out about any.
    load : str or callable, optional
        ``load(rows (N, d)) -> what data returns``; by default the rows as they are.
    config : mapping, optional
        The run config of the app, in place of single values in the project's ``[tool.flwr.app.config]``.
    project : path, optional
        The folder of the Flower project, with its pyproject.toml. Python looks there first for the app's modules.

    Raises
    ------
    SecmixError
        If flwr is not installed, or lacks a name that is used; if the parts are not named, not allowed to run, or not
        what they are named for. While it runs: if an app fails, if no client asks for its data, or if the server waits
        for more nodes than there are.

    Notes
    -----
    What it reveals by design: whatever the app sends. Lines between server and nodes are encrypted, as Flower's are;
    the server reads every message, metrics and numbers of examples among them.

    Each speaker has its own states of Python's and NumPy's global generators (and of torch's, where the app imports
    it). Python's at the server begins alike in all runs of a call, so that a strategy samples the same nodes in each;
    what the server adds as noise is drawn anew. A client
    that raises an error answers with that, as in Flower, and the strategy goes on without it; where all do in all
    runs, that is an error. Runs whose messages differ for that or another reason are judged in groups. The system's own
    generator, from which SecAgg+ draws its keys, gives each speaker a stream of its own too, see
    ``secmix.protocols.flower.system``; what is not repeatable in spite of that is found out as such.

    Examples
    --------
    >>> FlowerApp("m.server_app:app", "m.client_app:app", data="m.client_app:load_data")  # doctest: +SKIP
    """

    server_app: str = ""
    client_app: str = ""
    data: str | None = None
    load: str | Loader | None = None
    config: Config = field(default_factory=dict)
    project: str | Path | None = None
    unit = "distance of the last models received, relative to their size"

    def __post_init__(self) -> None:
        names.check_installed()
        if self.project is not None:
            project = read_project(self.project)
            object.__setattr__(self, "server_app", self.server_app or project.server_app)
            object.__setattr__(self, "client_app", self.client_app or project.client_app)
            object.__setattr__(self, "config", {**project.config, **self.config})
        parts = (self.server_app, self.client_app, self.data, self.load)
        code = [name for name in parts if isinstance(name, str)]
        for name in code:
            if not plugins.names_code(name):
                raise ScenarioError(f"parts of a Flower app are named as package.module:name; given {name!r}")
        with importable(self._folder):
            for name in code:
                plugins.load("flower apps", name)  # refuses what was not allowed
            self._check()

    def _check(self) -> None:
        """Check that each part is of the kind that it is named for, and comes from the project."""
        names.check()
        for name, kind in ((self.server_app, "ServerApp"), (self.client_app, "ClientApp")):
            if self._folder is not None:
                check_origin(name, self._folder)
            if not isinstance(loaded := plugins.imported(name), names.flower(kind)):
                raise ScenarioError(
                    f"{shown(name)}: expected a {kind} of Flower, loaded {type(loaded).__name__}; "
                    "name it as package.module:name"
                )
        for what, part in (("data", self.data), ("load", self.load)):
            if not callable(loaded := plugins.imported(part) if isinstance(part, str) else part) and part is not None:
                raise ScenarioError(f"{what}: expected a function, but {shown(part)} is {type(loaded).__name__}")

    @property
    def _folder(self) -> Path | None:
        return None if self.project is None else Path(self.project).absolute()

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the app on each run's rows; a node ends with the last arrays that the server sent it, or NaN."""
        from secmix.protocols.flower.grid import leaving_no_trace, nobody_joins

        data = checked_parts(parts, network)
        for_server, for_clients = rng.spawn(2)
        seed = int(for_server.integers(2**31))
        failures: list[str] = []
        with (
            importable(self._folder),
            _quietly(),
            leaving_no_trace(),
            nobody_joins(),
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
        ):
            try:
                return run_by_run(lambda rows, on: self._once(rows, on, seed, for_clients, failures), data, channel)
            finally:
                if len(failures) == len(data[0]):
                    raise SecmixError(f"every client app answered with an error, in every run: {failures[0]}")

    def premises(self, readable: Sequence[Origin]) -> list[str]:
        """State what is taken for granted of secure aggregation, and what passes beside its masks."""
        return secagg_advice.premises(readable)

    def opaque(self, readable: Sequence[Origin]) -> bool:
        """Check for numbers that are masked or encrypted for this adversary."""
        return secagg_advice.is_opaque(readable)

    def advise(self, revealed: Revealed) -> list[str]:
        """Suggest what to change in the app: its lines are encrypted already."""
        return secagg_advice.advice(revealed)

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the largest distance between models at a node, relative to the reference: (runs,)."""
        size = np.maximum(np.linalg.norm(reference, axis=2), 1e-12)
        off = np.linalg.norm(results - reference, axis=2) / size
        # Who is sampled in neither run ends with nothing in both; in one of them alone, that run has no outcome there.
        return np.asarray(
            np.where(np.isnan(results).all(axis=2) & np.isnan(reference).all(axis=2), 0.0, off).max(axis=1)
        )

    def _once(
        self, rows: list[Array], channel: Channel, seed: int, rng: np.random.Generator, failures: list[str]
    ) -> Array:
        from secmix.protocols.flower.grid import ChannelGrid, context, speaking, speech

        for i, part in enumerate(rows):
            channel.hold(-1, i, "input", part.reshape(1, -1))
        load = plugins.imported(self.load) if isinstance(self.load, str) else self.load
        with _named_as(f"load of the Flower app, given rows of shape {rows[0].shape},"):
            loaded = rows if load is None else [load(part.copy()) for part in rows]
        client_app = plugins.imported(self.client_app)
        *states, servers = [int(child.integers(2**31)) for child in rng.spawn(len(rows) + 1)]
        spoken = [speech(state) for state in states]
        contexts = [
            context(i + 1, self.config, {"partition-id": i, "num-partitions": len(rows)}) for i in range(len(rows))
        ]
        asked = [0]

        def answer(node: int, message: Any) -> Any:
            with _in_place_of(self.data, loaded[node], asked), speaking(node + 1, spoken[node]):
                return client_app(message, contexts[node])

        grid = ChannelGrid(channel, len(rows), answer, speech(seed, servers))
        try:
            with grid.at_the_server(), _named_as("the server app"):
                plugins.imported(self.server_app)(grid, context(0, self.config, {}))
            self._check_answers(grid.unanswered, bool(asked[0]), failures)
            return grid.ends
        except SecmixError as error:
            if not grid.unanswered:
                raise
            cause = f"every client app answered with an error: {grid.unanswered}"
            raise SecmixError(f"{cause}; after that: {error}") from error

    def _check_answers(self, unanswered: str, asked: bool, failures: list[str]) -> None:
        """Note where no client answered but with errors, or raise an error if none asked for its data."""
        if unanswered:
            failures.append(f"{unanswered}{'' if asked or not self.data else f'; nobody asked {self.data}'}")
        elif self.data is not None and not asked:
            raise SecmixError(
                f"no client asks {shown(self.data)} for its data, so what the audit draws does not go in; name the "
                "function as the module that calls it does, such as pkg.client_app:load_data"
            )


@contextlib.contextmanager
def _named_as(who: str) -> Iterator[None]:
    """Report an error of the user's code by its kind alone: its words may hold private values."""
    try:
        yield
    except (SecmixError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit too
        raise SecmixError(f"{who} fails with {cause(error)}") from error


@contextlib.contextmanager
def _in_place_of(name: str | None, value: Any, asked: list[int]) -> Iterator[None]:
    """Replace the function called ``name`` by one that returns ``value``; ``asked`` counts its calls."""
    if name is None:
        yield
        return
    module, _, attribute = name.partition(":")
    holder: Any = importlib.import_module(module)
    *path, last = attribute.split(".")
    for step in path:
        holder = getattr(holder, step)
    genuine = getattr(holder, last)

    def replacement(*arguments: Any, **settings: Any) -> Any:
        asked[0] += 1
        return value

    setattr(holder, last, replacement)
    try:
        yield
    finally:
        setattr(holder, last, genuine)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Silence Flower's progress on standard error."""
    logger = logging.getLogger("flwr")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
