"""Check that the docstring of every function says first what the function does: its first word is a verb."""

import ast
from collections.abc import Iterator
from pathlib import Path

import secmix

PACKAGE = Path(secmix.__file__).parent
# In the imperative; one that is missing is added here.
VERBS = frozenset((Path(__file__).parent / "verbs.txt").read_text(encoding="utf-8").split())


def without_a_verb(file: Path) -> Iterator[str]:
    """Yield where a function's docstring begins with something else; a property is named like what it holds."""
    for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(function)
        is_property = any("property" in ast.unparse(decorator) for decorator in function.decorator_list)
        if docstring and not is_property and docstring.split()[0].strip(".,:;") not in VERBS:
            yield f"{file.relative_to(PACKAGE)}, line {function.lineno}: {docstring.splitlines()[0]}"


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    assert not [line for file in sorted(PACKAGE.rglob("*.py")) for line in without_a_verb(file)]
