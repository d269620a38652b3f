"""Names are the field's words: private ones name nothing, or a reason is given here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import secmix

PACKAGE = Path(secmix.__file__).parent
PRIVATE = frozenset(
    """
    beginning clue company corners counting course deal dealt doubt doubts exposed exposing faint fresh handed
    heard heavy held in_short keeping kept law light lives logged mine moves noticed pushed said sayings score
    service settled settles sound spared stand stands tape taped tell ties told turn understood whereabouts
    whole witness
    """.split()  # noqa: SIM905
)
CLASSES = frozenset("Bench Carrying Case Eyes Given Look Mixed Ready Roles Seen Shown".split())  # noqa: SIM905
REASONS = {
    "deal": "a dealer deals shares (Shamir 1979)",
    "exposed": "a node is exposed to a coalition",
    "fresh": "fresh randomness, as cryptographers say",
    "heard": "lines that an eavesdropper hears",
    "held": "messages that a node holds",
    "kept": "what a selection keeps, as the rules' papers say of machines",
    "law": "the probability law of draws",
    "score": "the score of a critic, and of a test of membership",
    "turn": "the outcome of a branch in a trace",
    "witness": "a witness that a number is composite (Miller 1976, Rabin 1980)",
}
VAGUE = frozenset(
    """
    both dealt each few found given heard held here kept made many mine one ours ready said same seen some stands
    theirs these those told whole
    """.split()  # noqa: SIM905
)
IN_THE_KERNEL = frozenset("given heard held same".split())  # noqa: SIM905
LINES = 3  # that a vague name may be used on


def named(file: Path) -> Iterator[tuple[str, int]]:
    """Yield each name that a file gives to a variable, parameter, attribute, function or class, with its line."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def test_nothing_is_named_by_a_private_word() -> None:
    private = PRIVATE - REASONS.keys()
    assert not [
        f"{file.relative_to(PACKAGE)}, line {line}: {name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for name, line in named(file)
        if not name.isupper() and (name.strip("_").casefold() in private or name.strip("_") in CLASSES)
    ]


def test_each_reason_is_of_a_word_that_is_used() -> None:
    used = {name.strip("_").casefold() for file in PACKAGE.rglob("*.py") for name, _ in named(file)}
    assert not REASONS.keys() - used


def test_a_name_that_lives_for_lines_says_what_it_holds() -> None:
    assert not [
        f"{file.relative_to(PACKAGE)}, lines {min(lines)} to {max(lines)}: {name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for name, lines in _used(ast.parse(file.read_text(encoding="utf-8")), {})
        if max(lines) - min(lines) >= LINES and not (name in IN_THE_KERNEL and file.is_relative_to(PACKAGE / "kernel"))
    ]


def _used(node: ast.AST, scope: dict[str, list[int]]) -> Iterator[tuple[str, list[int]]]:
    """Yield each vague variable below a node, with the lines it is used on, once its scope has ended.

    A scope is a function, a comprehension, or a loop over such a variable.
    """
    bound = _bound(node)
    if bound is not None:
        own: dict[str, list[int]] = {name: [] for name in bound}
        scope = {**scope, **own}
    if isinstance(node, ast.arg):
        scope.get(node.arg, []).append(node.lineno)
    if isinstance(node, ast.Name):
        scope.get(node.id, []).append(node.lineno)
    for child in ast.iter_child_nodes(node):
        yield from _used(child, scope)
    if bound is not None:
        yield from ((name, lines) for name, lines in own.items() if lines)


def _bound(node: ast.AST) -> frozenset[str] | None:
    """Return the vague names that have a meaning of their own within a node; None if it is no scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        named: list[ast.AST] = [node]
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        named = [generator.target for generator in node.generators]
    elif isinstance(node, ast.For):
        named = [node.target]
    else:
        return None
    below = [name for each in named for name in ast.walk(each)]
    stored = {name.id for name in below if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return VAGUE & (stored | {name.arg for name in below if isinstance(name, ast.arg)})
