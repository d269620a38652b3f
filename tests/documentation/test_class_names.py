"""Check that a name means one thing: a public class in one module of the package, a module or a member of a package."""

import ast
from collections import defaultdict
from pathlib import Path

import secmix

PACKAGE = Path(secmix.__file__).parent


def test_a_class_name_exists_once() -> None:
    homes = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(PACKAGE)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_no_package_has_a_module_and_a_member_of_one_name() -> None:
    """Whichever is imported later hides the other."""
    twins = []
    for file in sorted(PACKAGE.rglob("__init__.py")):
        modules = {path.stem for path in file.parent.iterdir()}
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                twins += [f"{file.parent.name}.{alias.name}" for alias in node.names if alias.name in modules]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in modules:
                twins.append(f"{file.parent.name}.{node.name}")
    assert not twins
