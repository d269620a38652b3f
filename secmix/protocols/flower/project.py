"""The folder of a Flower project: what its pyproject.toml says, and where its clients get their data.

Nothing of the project is run here.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from secmix._base import plugins
from secmix._base.safe_files import read_regular
from secmix._base.toml_text import read_toml
from secmix.errors import ScenarioError, nearest, shown
from secmix.scenario.scenario import check_size

_MOST_BYTES = 2**22
_OWN = ("data", "load", "nodes", "rows_per_node", "runs", "rows")
_DATA = re.compile(r"data(set)?s?(?![a-z])|partition|load(er)?s?(?![a-z])", re.IGNORECASE)
_NO_DATA = re.compile(r"model|weight|param|state|net(work)?(?![a-z])|config|metric", re.IGNORECASE)


@dataclass(frozen=True)
class Project:
    """The settings of a Flower project."""

    folder: Path
    # server_app, client_app: as ``[tool.flwr.app.components]`` names them, ``package.module:name``
    server_app: str
    client_app: str
    # ``[tool.flwr.app.config]``; keys of tables in it are joined by dots, as Flower joins them
    config: Mapping[str, Any] = field(default_factory=dict)
    # ``[tool.secmix]``: data, load, nodes, rows_per_node, runs, rows
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_project(folder: str | Path) -> Project:
    """Read the Flower project in ``folder``.

    Raises ScenarioError if there is no pyproject.toml, or it describes no Flower app.
    """
    path = Path(folder, "pyproject.toml")
    source = f"'{path}'"
    content = read_toml(_text(path), source)
    check_size(content, source, "")
    app = _table(content, source, "tool", "flwr", "app")
    components = _table(content, source, "tool", "flwr", "app", "components")
    named = []
    for key in ("serverapp", "clientapp"):
        name = components.get(key)
        if not plugins.names_code(name):
            raise ScenarioError(
                f'{source}: [tool.flwr.app.components] needs {key} = "package.module:name"; given {shown(name)}'
            )
        named.append(str(name))
    config = app.get("config", {})
    if not isinstance(config, Mapping):
        raise ScenarioError(f"{source}: [tool.flwr.app.config] is a table; given {shown(config)}")
    tool = content["tool"].get("secmix", {})
    if not isinstance(tool, Mapping):
        raise ScenarioError(f"{source}: [tool.secmix] is a table; given {shown(tool)}")
    for key in tool:
        if key not in _OWN:
            raise ScenarioError(f"{source}: [tool.secmix] has no key {shown(key)}; {nearest(key, _OWN)}")
    return Project(Path(folder), named[0], named[1], dict(_flat(config)), dict(tool))


def calls_for_data(project: Project) -> list[str]:
    """List the functions from which the clients seem to get data, by the names under which they call them.

    They are found in the text of the client app's module: what is called there, and is named after data, loading or
    partitions.
    """
    module = project.client_app.partition(":")[0]
    try:
        tree = ast.parse(_text(_module_file(project.folder, module)))
    except (SyntaxError, ValueError, RecursionError, ScenarioError):
        return []
    top = _names(tree.body, module)
    calls: dict[str, None] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = _imports(ast.walk(part), module)
            for call in (node for node in ast.walk(part) if isinstance(node, ast.Call)):
                path = _dotted(call.func)
                if path and _is_of_data(path[-1]):
                    if path[0] in inner and len(path) == 1:
                        calls[inner[path[0]]] = None
                    elif path[0] in top:
                        calls[f"{module}:{'.'.join(path)}"] = None
    return list(calls)


@contextlib.contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Put ``folder`` first where modules are looked for, as where Flower runs the app."""
    if folder is None:
        yield
        return
    where = str(folder)
    sys.path.insert(0, where)
    try:
        yield
    finally:
        sys.path.remove(where)


def check_origin(name: str, folder: Path) -> None:
    """Check that the loaded module of ``name`` is the project's, not one of the same name from elsewhere.

    Raises ScenarioError if it is another.
    """
    module = name.partition(":")[0]
    where = getattr(sys.modules.get(module), "__file__", None)
    if where is not None and not Path(where).resolve().is_relative_to(folder.resolve()):
        raise ScenarioError(
            f"the module {shown(module)} of the Flower project '{folder}' is hidden by '{where}', which was loaded "
            "before; rename one of them, or audit the project in a process of its own"
        )


def _text(path: Path) -> str:
    try:
        return read_regular(path, most=_MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError(f"there is no '{path}'; name the folder of a Flower project") from None
    except OSError as error:
        raise ScenarioError(f"'{path}' cannot be read: {error.strerror or type(error).__name__}") from None
    except ValueError:
        raise ScenarioError(f"'{path}' cannot be read: it is not UTF-8 text") from None


def _table(content: Any, source: str, *path: str) -> Mapping[str, Any]:
    for step in path:
        content = content.get(step) if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping):
        raise ScenarioError(f"{source} has no [{'.'.join(path)}]: it describes no Flower app")
    return content


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _module_file(folder: Path, module: str) -> Path:
    """Locate the file of a module; of a package, the file that is run first."""
    path = folder.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


def _names(body: list[ast.stmt], module: str) -> set[str]:
    """List what a module's top level defines or imports."""
    defined = {part.name for part in body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
    return defined | set(_imports(body, module, modules=True))


def _imports(parts: Any, module: str, modules: bool = False) -> dict[str, str]:
    """Map each name that is imported from a module to its origin; names of modules too, if asked for."""
    origins: dict[str, str] = {}
    for part in parts:
        if isinstance(part, ast.ImportFrom):
            above = module.split(".")[: -part.level] if part.level else []
            origin = ".".join([*above, *([part.module] if part.module else [])])
            origins |= {each.asname or each.name: f"{origin}:{each.name}" for each in part.names}
        elif isinstance(part, ast.Import) and modules:
            origins |= {each.asname or each.name.partition(".")[0]: each.name for each in part.names}
    return origins


def _dotted(node: ast.expr) -> list[str]:
    """Split ``a.b.c`` into its names; return none where it is anything else."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return [*above, node.attr] if above else []
    return []


def _is_of_data(name: str) -> bool:
    return bool(_DATA.search(name)) and not _NO_DATA.search(name)
