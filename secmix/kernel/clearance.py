"""Clearance: the only value that clears, and the only place that makes one.

A protocol is proved once for a network (``proving.py``); each adversary then asks what the messages that it reads tell
(:func:`clear`). Whoever is sent nothing, what a theorem bounds, and whom too few collude against are cleared by
functions of their own. Each may end in an :class:`Open`, which says why nothing is proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix.kernel.proving import Proof
from secmix.kernel.randomness.streams import AGREED, ENOUGH, PUBLIC, opened, seeds_of
from secmix.kernel.tracing.trace import RESULT, Fit, Message, uncollected
from secmix.kernel.values.algebra import (
    UNSEEN,
    Combination,
    Component,
    Knowledge,
    Sums,
    as_many_as_inputs,
    determined,
    knowledge_of_all,
    known_together,
)
from secmix.kernel.values.arrays import secrets_in, variables_of
from secmix.kernel.values.current_trace import Place
from secmix.kernel.values.numbers import traced_back
from secmix.network import Network
from secmix.transcript import SEALED, WITHOUT_KEY, Transcript, View

_MADE_HERE = object()
_NOT_LINEAR = "is no linear function of inputs and masks, nor one of such sums alone"
_ROUNDING = 1e-6  # of a coefficient that is one
_MARGIN = 1e-3  # of a share that is known beside that of the sum of all
_ALMOST = "words whose range is no multiple of the modulus pass for uniform: a guess succeeds more often"


@dataclass(frozen=True)
class Open:
    """Why nothing is proved: a sentence that names the line, the message or the masks."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Clearance:
    """Say what is proved, and what that assumes; made in this module alone."""

    says: str = ""  # what is proved, in a sentence; of sums it is what the fields say
    assumes: tuple[str, ...] = ()  # in sentences
    _maker: object = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._maker is not _MADE_HERE:
            raise TypeError("a Clearance is made in secmix.kernel.clearance alone")


@dataclass(frozen=True, kw_only=True)
class KnownSums(Clearance):
    """Say what is proved of one adversary on one network, who reads messages of a sum protocol."""

    exact: dict[int, float]  # by honest node: of its best-known direction the share known whatever the masks are
    behind_masks: dict[int, float]  # the same behind real masks of their size, should all calls be of the same data
    sums: tuple[frozenset[int], ...]  # the nodes of each sum that is known
    uneven: bool  # several combinations are known of the same numbers, and not all of them are plain sums
    # In each sum all nodes take part alike, and no node is in sums over other nodes: of independent nodes of equal
    # distribution, no function of it explains more than one part in so many (Efron, Stein 1981).
    symmetric: bool
    numbers: int  # that are summed of a node in a call
    encoders: tuple[Place, ...]  # where a node encodes its own data before it sends them
    covers: tuple[str, ...]  # how public numbers were used by value; empty: every iteration, and no public coins
    iterations: tuple[int, ...]  # of which this is said, and of no others; empty: of all


def clear(proof: Proof, network: Network, adversary: Any, *, calls: int = 1) -> KnownSums | Open:
    """Prove what ``adversary`` learns of each honest node; or say why that is open.

    ``calls`` is the number of averagings: data that stay the same meet so many masks.
    """
    if proof.open:
        return Open(proof.open)
    corrupt = frozenset(adversary.corrupt_nodes(network))
    honest = [node for node in range(network.n) if node not in corrupt]
    known_to_it = _knowledge(proof, network, adversary, corrupt, calls)
    if isinstance(known_to_it, Open):
        return known_to_it
    learnt, beyond = known_to_it
    fits = {id(fit): fit for fit in proof.fits}
    exact, behind = _largest_shares(learnt, fits, honest)
    if beyond and max([*exact.values(), *behind.values()], default=0.0) > 1 / max(len(honest), 1) + _MARGIN:
        return Open(beyond)
    sums = dict.fromkeys(frozenset(node for (node, _), _ in each) for _, _, known in learnt for each in known.sums)
    several = [known.sums for _, _, known in learnt if len(known.sums) > 1]
    variables = [each for _, component, _ in learnt for each in component.variables]
    used = {each.place for each in variables if each.kind == "code" and each.place}
    torn = _overlapping(list(sums))
    distance = calls * sum(known.distance * len(component.columns) for _, component, known in learnt)
    if reason := _left_open(learnt, fits, corrupt, torn if used else "", distance):
        return Open(reason)
    return KnownSums(
        exact=exact,
        behind_masks=behind,
        sums=tuple(sums),
        uneven=any(abs(abs(c) - 1) > _ROUNDING for known in several for each in known for _, c in each),
        symmetric=all(known.symmetric for _, _, known in learnt) and not torn,
        numbers=_numbers(proof.fits, honest),
        encoders=tuple(sorted(used, key=str)),
        covers=(*proof.covers, *_sized_by_lot(learnt, fits)),
        iterations=proof.iterations,
        assumes=proof.assumes + (f"{_ALMOST} by at most {distance:.1g}",) * (distance > 0),
        _maker=_MADE_HERE,
    )


def _left_open(
    learnt: list[tuple[Any, Component, Knowledge]],
    fits: Mapping[int, Fit],
    corrupt: frozenset[int],
    torn: str,
    distance: float,
) -> str:
    """Say what of encodings, or of masks so far from uniform words, is left open; nothing where nothing is."""
    if torn:
        return f"sums over {torn} are known of numbers that nodes encode in several ways: what they differ by is open"
    if distance > UNSEEN:
        return f"masks are no uniform words: they are off by {distance:.1g} in all, more than {UNSEEN:.1g}"
    is_solved = _as_many(learnt, fits, corrupt)
    return "as many sums are known of what nodes encode as there are numbers behind them" if is_solved else ""


def _largest_shares(
    learnt: list[tuple[Any, Component, Knowledge]], fits: Mapping[int, Fit], honest: Iterable[int]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return what is known of each node at most, exactly and behind masks: by single components, and by all together.

    What is summed may be the same in all calls.
    """
    exact, behind = dict.fromkeys(honest, 0.0), dict.fromkeys(honest, 0.0)
    named = (_named(fits[call[0]], component, known) for call, component, known in learnt)
    together = known_together(dict.fromkeys(each for several in named for each in several))
    shares = [(known.exact, known.behind_masks) for _, _, known in learnt]
    for one, other in (*shares, (together, together)):
        for node, share in one.items():
            exact[node], behind[node] = max(exact[node], share), max(behind[node], other[node])
    return exact, behind


def _named(fit: Fit, component: Component, known: Knowledge) -> Iterator[Combination]:
    """Yield the known sums of each column of a component, of numbers named by the entries that they are made of."""
    for column in component.columns if known.sums else ():
        numbered = {k: v for v, k in column.items()}
        for combination in known.sums:
            met: Counter[Any] = Counter()
            names = []
            for (node, k), coefficient in combination:
                own = fit.encodings.inputs.get(numbered[k], (numbered[k],))
                name = tuple(sorted(fit.trace.variables[v].entry for v in own))
                names.append(((node, (name, met[node, name])), coefficient))
                met[node, name] += 1
            yield tuple(names)


def _as_many(learnt: list[tuple[Any, Component, Knowledge]], fits: Mapping[int, Fit], corrupt: frozenset[int]) -> bool:
    """Say whether in some call the known sums of encodings may be solved for the inputs of honest nodes behind them."""
    by_call: dict[Any, list[Sums]] = {}
    stand_ins = _stand_ins(fits)
    for call, component, known in learnt:
        fit = fits[call[0]]
        for column in component.columns if known.sums and call not in stand_ins else ():
            data = [v for v, k in column.items() if component.variables[k].node >= 0]
            behind = {v for each in data for v in fit.encodings.inputs.get(each, {each})}
            honest = frozenset(v for v in behind if fit.trace.variables[v].node not in corrupt)
            by_call.setdefault(call, []).append((honest, len(known.sums), any(v in fit.encodings.inputs for v in data)))
    return any(map(as_many_as_inputs, by_call.values()))


def _stand_ins(fits: Mapping[int, Fit]) -> set[Any]:
    """Find calls on few entries that send the same messages, no longer ones, as a call on all of them does."""
    calls: dict[Any, list[Message]] = {}
    for name, fit in fits.items():
        for message in fit.messages:
            calls.setdefault((name, message.frame[0]), []).append(message)
    entries = {
        call: max((m.rows.shape[2] for m in of if m.frame[2] == RESULT), default=0) for call, of in calls.items()
    }
    most = max(entries.values(), default=0)
    in_full = [of for call, of in calls.items() if entries[call] == most]

    def stands_in(brief: list[Message]) -> bool:
        return any(
            [m.frame[1:4] for m in brief] == [m.frame[1:4] for m in of]
            and all(m.rows.shape[2] <= other.rows.shape[2] for m, other in zip(brief, of, strict=True))
            for of in in_full
        )

    return {call for call, of in calls.items() if entries[call] < most and stands_in(of)}


def _sized_by_lot(learnt: list[tuple[Any, Component, Knowledge]], fits: Mapping[int, Fit]) -> tuple[str, ...]:
    """Name an encoding with coins in it behind real masks: other coins may make it larger than these hide."""
    for call, component, _ in learnt:
        coins = fits[call[0]].encodings.coins
        by_lot = [component.variables[k] for column in component.columns for v, k in column.items() if v in coins]
        if by_lot and any(each.kind == "draw" and not each.range for each in component.variables):
            return (f"how large coins make what a node encodes (mask it by uniform words) ({by_lot[0].place})",)
    return ()


def _numbers(fits: Sequence[Fit], honest: Collection[int]) -> int:
    """Count the numbers of one node that the messages of a call of one run are made of, at most."""
    of_call: dict[tuple[int, int], list[Message]] = {}
    for k, fit in enumerate(fits):
        for message in fit.messages:
            if message.frame[3] != "held" and message.rows.shape[1] == 1:
                of_call.setdefault((k, message.frame[0]), []).append(message)
    made_of = {(k, t): fits[k].made_of(messages) for (k, t), messages in of_call.items()}
    counts = Counter((k, t, fits[k].trace.variables[v].node) for (k, t), used in made_of.items() for v in used)
    return max((count for (*_, node), count in counts.items() if node in honest), default=0)


@uncollected()
def _knowledge(
    proof: Proof, network: Network, adversary: Any, corrupt: frozenset[int], calls: int
) -> tuple[list[tuple[Any, Component, Knowledge]], str] | Open:
    """Work out what each component tells, by fit and call; or say why that is open.

    Of a message that is a function of several sums this says what these tell, which may be more: then, too, say so.
    """
    beyond = ""
    asked: list[tuple[Fit, Component, list[int], set[int]]] = []
    for fit, table in zip(proof.fits, proof.tables, strict=True):
        read = readable(fit, network, adversary)
        if isinstance(read, Open):
            return read
        if missed := _overlooked(fit, read, corrupt):
            return Open(missed)
        for k, row in sorted(read):
            cells = fit.messages[k].rows
            lost = [] if cells.table is not None else [x for x in secrets_in(cells[row]) if not x.is_followed]
            beyond = beyond or f"{fit.messages[k]} {_NOT_LINEAR}" * bool(lost)
            if not traced_back(lost)[1]:
                return Open(beyond)
        draws = _known_draws(fit, table, read)
        if isinstance(draws, Open):
            return draws
        for component in table:
            rows = [place for place, where in enumerate(component.rows) if where in read]
            asked.append((fit, component, rows, draws))
    learnt = []
    several = knowledge_of_all(((component, rows, draws) for _, component, rows, draws in asked), corrupt, calls)
    for (fit, component, rows, _), known in zip(asked, several, strict=True):
        first = fit.messages[component.rows[rows[0] if rows else 0][0]]
        if known.open:
            return Open(f"{known.open}: {first}")
        learnt.append(((id(fit), first.frame[0]), component, known))
    return learnt, beyond


def _known_draws(fit: Fit, table: Iterable[Component], read: set[tuple[int, int]]) -> set[int] | Open:
    """Return the draws that follow from seeds of which the adversary reads anything; or say which seed is short."""
    trace = fit.trace
    if not trace.streams:
        return set()
    seeds = seeds_of(trace)
    public = {v for stream in trace.streams if stream.key[0] == PUBLIC for v in stream.numbers}
    known, hiding = public, set[int]()
    while True:
        before = len(known)
        shown: set[int] = set()
        for component in table:
            rows = [place for place, where in enumerate(component.rows) if where in read]
            alone, beside = determined(component, rows, seeds, known)
            shown, hiding = shown | alone, hiding | beside
        known = public | opened(trace, shown)
        if len(known) == before:
            break
    used = set().union(*(variables_of(fit.messages[k].rows[row]).tolist() for k, row in read))
    checks = used & opened(trace, hiding)
    if checks:
        where = trace.variables[min(checks)].place
        return Open(f"a seed hides data, and who guesses these sees whether what follows from it fits: {where}")
    for stream in trace.streams:
        if stream.key[0] == AGREED and used & {*stream.numbers} - known:
            return Open(
                f"what a pair agreed on, which is no uniform word, is in a message: derive keys of it: {stream.place}"
            )
        if stream.bits < ENOUGH and used & {*stream.numbers} - known:
            return Open(
                f"masks follow from a seed of {stream.bits:.0f} bits, of {ENOUGH} that it must have: {stream.place}"
            )
    return known


def _overlooked(fit: Fit, read: set[tuple[int, int]], corrupt: frozenset[int]) -> str:
    """Name a message from or to a corrupt node that an adversary does not read; empty: none."""
    for k, message in enumerate(fit.messages):
        for sender, receiver, row in zip(message.sender, message.receiver, message.content, strict=True):
            if (sender in corrupt or receiver in corrupt) and (k, row) not in read and message.rows.size:
                return f"the adversary does not read {message}, which one of its own nodes holds"
    return ""


def _overlapping(sums: list[frozenset[int]]) -> str:
    """Name two sums whose sets of nodes overlap; of numbers encoded in two ways these are no equations."""
    pairs = ((a, b) for k, a in enumerate(sums) for b in sums[:k])
    return next((f"{sorted(a)} and {sorted(b)}" for a, b in pairs if a & b and a != b), "")


def readable(fit: Fit, network: Network, adversary: Any) -> set[tuple[int, int]] | Open:
    """Find which rows of which messages an adversary reads, by numbering them: it must read the same of real ones."""
    places = [(k, row) for k, message in enumerate(fit.messages) for row in range(len(message.rows))]
    numbered, sent = (adversary.observe(Transcript(list(each)), network) for each in (fit.numbered, fit.sent))
    if numbered.origins != sent.origins:
        return Open("which messages the adversary reads hangs on the numbers in them")
    read = {*np.unique(np.concatenate([np.empty(0), *map(np.ravel, numbered.rows)])).tolist()}
    if not read <= {*map(float, range(len(places)))}:
        return Open("the adversary holds numbers that no message carries")
    return {places[int(x)] for x in read}


def clear_unheard(views: Iterable[View], runs: int, *, same_in: int = 0) -> Clearance | Open:
    """Clear everybody where no message reaches the adversary, in any of ``runs`` runs that were watched.

    ``views`` are what it holds in runs of each kind. Where something reaches it, that must have been the same to the
    last bit in ``same_in`` calls on other rows.
    """
    heard = [origin for view in views for origin in view.origins if origin.line != "held"]
    if heard and not same_in:
        return Open(f"the adversary reads '{heard[0].kind}', which no theorem speaks of")
    sealed = (WITHOUT_KEY,) * any(origin.kind.endswith(SEALED) for origin in heard)
    same = f"What reaches this adversary is the same to the last bit in {same_in} calls on other rows"
    return Clearance(
        says=same if heard else f"No message reaches this adversary in any of {runs} runs",
        assumes=("what passes goes by the channel, and who is sent what does not change after these runs", *sealed),
        _maker=_MADE_HERE,
    )


def clear_bounds(bounds: Sequence[tuple[str, float, float]], *, source: str = "") -> Clearance | Open:
    """Clear what the policy limits, each (what, the most that is proved, the limit); of nothing nobody is cleared.

    Examples
    --------
    >>> clear_bounds([("the error", 1.5, 2.0)]).says
    'the error is at most 1.5, the limit 2'
    >>> clear_bounds([("the error", 2.5, 2.0)])
    Open(reason='of the error at most 2.5 is proved, the limit is 2')
    """
    for what, most, limit in bounds:
        if not most <= limit:
            return Open(f"of {what} at most {most:.3g} is proved, the limit is {limit:.3g}")
    if not bounds:
        return Open("nothing is limited")
    says = "; ".join(f"{what} is at most {most:.3g}, the limit {limit:.3g}" for what, most, limit in bounds)
    return Clearance(says=says, assumes=(source,) if source else (), _maker=_MADE_HERE)


def clear_coalitions(
    guards: Mapping[str, Sequence[frozenset[Any]]], fewer_than: float, searched: Mapping[str, float] | None = None
) -> Clearance | Open:
    """Clear nodes against all coalitions of fewer than so many, of whom each would have to meet all their guards.

    A guard is a set of agents such that everybody else together learns nothing of the node: so whoever exposes it has
    somebody of each. That no coalition meets them is worked out here, whoever found the guards. ``searched`` are nodes
    of which an exhaustive search says how many it takes at least; what is named so is named in the assumptions.

    Examples
    --------
    >>> clear_coalitions({"node 0": [frozenset({1, 2}), frozenset({3, 4})]}, 2).says
    'No coalition of fewer than 2 meets all guards of any node'
    >>> clear_coalitions({"node 0": [frozenset({1, 2}), frozenset({2, 3})]}, 2)
    Open(reason='the guards of node 0 are met by [2]')
    """
    for node, of_node in guards.items():
        met = _meeting(of_node, frozenset(), math.ceil(fewer_than) - 1)
        if met is not None:
            return Open(f"the guards of {node} are met by {sorted(met, key=str)}")
    for node, least in (searched or {}).items():
        if least < fewer_than:
            return Open(f"that fewer than {fewer_than:g} do not suffice is not proved of {node}")
    if not guards and not searched:
        return Open("nobody is asked about")
    assumes = ["everybody but a guard learns nothing of the node: that was asked of the messages themselves"]
    assumes += [f"an exhaustive search found no smaller coalition against {', '.join(searched)}"] if searched else []
    says = f"No coalition of fewer than {fewer_than:g} meets all guards of any node"
    return Clearance(says=says, assumes=tuple(assumes), _maker=_MADE_HERE)


def _meeting(guards: Sequence[frozenset[Any]], chosen: frozenset[Any], more: int) -> frozenset[Any] | None:
    """Find agents, ``chosen`` and at most ``more`` others, who meet every guard; None where there are none."""
    unmet = [guard for guard in guards if not guard & chosen]
    if not unmet:
        return chosen
    if more <= 0:
        return None
    tried = (_meeting(unmet, chosen | {agent}, more - 1) for agent in min(unmet, key=len))
    return next((met for met in tried if met is not None), None)
