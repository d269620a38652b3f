"""All cases: wrong ones, parted by what made them wrong, and right ones."""

from __future__ import annotations

from types import ModuleType
from typing import Literal

from .beyond import BEYOND
from .case import Case
from .honest import (
    bits,
    calls,
    channel,
    front_ends,
    metadata,
    modular,
    powers,
    scale,
    shares,
    state,
    surroundings,
    word,
)
from .honest.bare import sometimes, words, written
from .honest.fresh import clock, kept, lots, memory, numbers, process, stops, taken, workers
from .honest.longer import corners, fits, schedule, seldom, shrunk, unsampled
from .honest.masks import generator, mixed, structure, values
from .honest.practice import (
    afterwards,
    agreements,
    batches,
    beyond,
    elsewhere,
    guards,
    kinds,
    libraries,
    noise,
    overruns,
    prices,
    remembered,
    residues,
    resumed,
    rounds,
    swallowed,
    uncompared,
)
from .honest.practice import preparing as prepared
from .honest.seeds import agreed, aligned, ciphers, committed, encoded, known, reused, same, short, small
from .honest.together import beside, collaborations, handed, rows
from .honest.unseen import (
    clocks,
    counts,
    errors,
    fields,
    figures,
    large,
    lasting,
    later,
    limits,
    octets,
    optimised,
    orders,
    polls,
    races,
    rolled,
    selected,
    told,
    unwatched,
    used_again,
)
from .right import agreed as right_agreed
from .right import ciphers as right_ciphers
from .right import (
    expanded,
    fresh,
    idioms,
    odd,
    practice,
    preparing,
    published,
    seeds,
    serialised,
    sessions,
    styles,
    systems,
)
from .right import front_ends as encoders
from .right import longer as long_lived
from .right import mixed as mixtures
from .right import surroundings as habits
from .right import together as right_collaborations
from .right import words as right_words
from .sabotage import digits, objects, occasions, record, watched
from .sabotage import handed as looked_at

_HONEST = (
    values,
    structure,
    mixed,
    generator,
    state,
    scale,
    bits,
    calls,
    metadata,
    schedule,
    modular,
    powers,
    channel,
    word,
    collaborations,
    rows,
    handed,
    beside,
    surroundings,
    seldom,
    fits,
    corners,
    unsampled,
    memory,
    kept,
    clock,
    process,
    workers,
    taken,
    lots,
    stops,
    numbers,
    front_ends,
    words,
    written,
    sometimes,
    same,
    small,
    encoded,
    reused,
    known,
    short,
    shares,
    ciphers,
    agreed,
    committed,
    afterwards,
    overruns,
    uncompared,
    prices,
    agreements,
    remembered,
    resumed,
    swallowed,
    aligned,
    shrunk,
    rounds,
    guards,
    batches,
    elsewhere,
    noise,
    kinds,
    prepared,
    residues,
    libraries,
    beyond,
    large,
    lasting,
    polls,
    clocks,
    later,
    optimised,
    counts,
    figures,
    orders,
    errors,
    races,
    limits,
    octets,
    used_again,
    selected,
    fields,
    unwatched,
    rolled,
    told,
)
_SABOTAGE = (digits, record, objects, occasions, looked_at, watched)
CASES_OF: dict[str, list[Case]] = {}
"""By name of a module its cases."""


def _taken(*modules: ModuleType) -> list[Case]:
    """Take the cases out of their modules: a trace looks through all that lies beside a protocol, each time."""
    for module in modules:
        CASES_OF[module.__name__] = vars(module).pop("CASES")
    return [case for module in modules for case in CASES_OF[module.__name__]]


HONEST: list[Case] = _taken(*_HONEST)
"""Slips: an audit clears none of them."""

SABOTAGE: list[Case] = _taken(*_SABOTAGE)
"""What only somebody writes who hides data from the audit on purpose; ``sabotage/README.md`` says why, a line each."""

WRONG: list[Case] = [*HONEST, *SABOTAGE]
RIGHT: list[Case] = _taken(
    published,
    encoders,
    odd,
    habits,
    styles,
    mixtures,
    right_collaborations,
    long_lived,
    fresh,
    right_words,
    expanded,
    seeds,
    right_ciphers,
    right_agreed,
    serialised,
    sessions,
    preparing,
    practice,
    systems,
    idioms,
)
ALL: list[Case] = [*WRONG, *RIGHT]
"""All cases but ``BEYOND``, which no audit of messages can find."""

assert len({case.name for case in [*ALL, *BEYOND]}) == len(ALL) + len(BEYOND), "two cases have the same name"

Side = Literal["honest", "sabotage", "right", "beyond"]
_SIDES: dict[Side, list[Case]] = {"honest": HONEST, "sabotage": SABOTAGE, "right": RIGHT, "beyond": BEYOND}


def side(case: Case) -> Side:
    """The part of the corpus that ``case`` comes from."""
    return next(side for side, cases in _SIDES.items() if case in cases)


__all__ = ["ALL", "BEYOND", "CASES_OF", "HONEST", "RIGHT", "SABOTAGE", "WRONG", "Side", "side"]
