"""Check that a class name means one thing: no two modules of the package define a public class of one name."""

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
