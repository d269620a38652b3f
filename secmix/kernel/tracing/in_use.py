"""Compare calls as they come in use with those that are traced: without a channel, and with many runs in one call."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from secmix.kernel.tracing.trace import ROUNDING, Fit, copied, have_draws_in_common
from secmix.kernel.tracing.untraced import frame_of, near
from secmix.kernel.tracing.world import with_method
from secmix.network import Network
from secmix.transcript import Block, Channel

FEW_ENTRIES = 2  # entries of what is traced beside the fit: how a call is made does not hang on their number
MOST_FOLLOWED = 331  # runs of a batch that is traced
_MOST_RUNS, _NUMBERS = 1009, 10**6  # of the largest batch that is called: a prime, and how many numbers it may send
_EVERY, _MESSAGES = 65, 60_000  # below the first all batches are called, as far as they send no more messages


def largest_batch(numbers: int) -> int:
    """Return the runs of the largest batch that is called where one of them sends so many numbers."""
    return min(_MOST_RUNS, max(_NUMBERS // max(numbers, 1), 2))


def other_calls(protocol: Any, network: Network, fit: Fit, inputs: Sequence[Any], *, seed: int) -> str:
    """Say how a call in use differs from a traced one, of a single run on a channel; empty where it does not.

    In use nobody hands over a channel, and many runs may be averaged in one call: each run of a batch sends what it
    sends in any other, by the same masks and coins. ``inputs`` are those of the calls of ``fit``, (runs, n, m) each.
    """
    inputs = [each[:1] for each in inputs[: len(fit.iterations) or 1]]
    alike = not fit.trace.system_seeds  # else calls of one seed send other numbers
    try:
        _, alone = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]))
        _, together = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]), channel=Channel())
        if difference := _unlike(list(alone), list(together), alike):
            return f"{difference} is another message where no channel is given"
        if alike and (difference := _handed_over(protocol, network, inputs[0], seed)):
            return f"{difference} is another message where masks are handed over"
        messages = sum(len(block.sender) for block in together) * len(inputs)
        return _other_batches(protocol, network, fit, inputs, seed, messages, alike)
    except Exception as error:
        return f"a call in use ends in {type(error).__name__}: {error}"[:200]


def _handed_over(protocol: Any, network: Network, given: Any, seed: int) -> str:
    """Name the first block that is another where a call is given the masks that it would draw first; empty: none.

    It is a long vector's only call of that kind with all entries. Where other masks are drawn, nothing is said.
    """
    drawn, own, size = list[Any](), getattr(type(protocol), "draw_masks", None), np.shape(given)[2]

    def noted(self: Any, *args: Any, **kw: Any) -> Any:
        masks = own(self, *args, **kw)  # type: ignore[misc]
        drawn.append(copy.deepcopy(masks))
        return masks

    if own is None:
        return ""
    with with_method(type(protocol), "draw_masks", noted):
        _, before = copied(protocol).average(given, network, np.random.default_rng([seed]), channel=Channel())
    one, rng = copied(protocol), np.random.default_rng([seed])
    masks = one.draw_masks(len(given), size, network, rng)
    if len(drawn) != 1 or not np.array_equal(drawn[0], masks):
        return ""
    _, handed = one.average(given, network, rng, masks=masks, channel=Channel())
    return _unlike(list(handed), list(before), alike=True)


def _other_batches(
    protocol: Any, network: Network, fit: Fit, inputs: Any, seed: int, messages: int, alike: bool
) -> str:
    most = largest_batch(messages * inputs[0].shape[2])
    batches = [each * (1 + np.arange(most) / most)[:, None, None] for each in inputs]
    draws = [
        copied(protocol).draw_masks(most, each.shape[2], network, np.random.default_rng([seed, 9])) for each in inputs
    ]

    def call(part: slice) -> list[Block]:
        channel, rng, of_these = Channel(), np.random.default_rng([seed]), copied(protocol)
        for channel.iteration, batch, masks in zip(fit.iterations or (0,), batches, draws, strict=True):
            of_these.average(batch[part], network, rng, masks=masks[part], channel=channel)
        return list(channel.transcript)

    if any(map(_is_repeated, draws)):
        return f"two of {most} runs in one call have the same masks"
    runs = min(most, _DRAWN_OF_SEEDS if fit.trace.streams else MOST_FOLLOWED)
    if have_draws_in_common(protocol, network, runs, min(inputs[0].shape[2], FEW_ENTRIES), seed):
        return f"masks of several of {runs} runs in one call are made of the same draws"
    if _share_masks(protocol, network, fit, inputs[0], draws[0], seed):
        return f"two of {most} runs in one call have the same masks, where the protocol draws them"
    together = call(slice(None))
    for some in _batches(most, min(most, _EVERY, max(_MESSAGES // max(messages, 1), 2))):
        if difference := _unlike(together, call(some), alike, some, most):
            return f"{difference} is another message among {most} runs in one call than among {len(batches[0][some])}"
    return ""


def _batches(most: int, sizes: int) -> Iterator[slice]:
    """Yield which runs are called together: none is left out, and no size below so many.

    What hangs on the size of a batch, and on the place in it, shows whichever runs it is of: so batches of all sizes
    lie side by side, from the last run on and once more where they do not fit, and then come the largest.
    """
    end, size = most, 0
    while end > 0 or size < sizes - 1:
        end, size = (end if end > 0 else most), (size + 1 if size < sizes - 1 else _EVERY)
        yield slice(max(end - size, 0), end if size == _EVERY else max(end, size))
        end -= size


_DRAWN_OF_SEEDS = 17  # runs whose masks are followed where seeds make them: each is compared with all others
_FEW_RUNS = 5  # of equal inputs: where masks cancel, rounding and wrapped words leave fewer different numbers


def _share_masks(protocol: Any, network: Network, fit: Fit, inputs: Any, masks: Any, seed: int) -> bool:
    """Say whether runs of equal inputs send the same numbers in a large batch, where a few runs send all others.

    They do so in one call, or in the one after it, with masks that the protocol draws; ``masks`` are as many others.
    """
    draws = {v for v, each in fit.trace.variables.items() if each.kind == "draw"}
    masked = set[str]()
    for each in fit.messages:  # of a kind until one has a draw
        if each.frame[2] not in masked and not draws.isdisjoint(each.variables.tolist()):
            masked.add(each.frame[2])

    def calls(runs: int, most: int = 2, given: Any = None) -> list[list[Block]]:
        one, same = copied(protocol), np.repeat(inputs, runs, axis=0)
        rngs = [np.random.default_rng([seed, 5 + call]) for call in range(most)]
        return [list(one.average(same, network, rng, masks=given)[1]) for rng in rngs]

    runs = [_FEW_RUNS, _FEW_RUNS, *[len(masks)] * 3]
    several = zip(*calls(_FEW_RUNS), *calls(len(masks)), *calls(len(masks), 1, masks), strict=False)  # may send others
    blocks = [
        [block.payload for block in matching]
        for matching in several
        if matching[0].kind in masked
        and [block.payload.shape[1] for block in matching] == runs
        and matching[0].payload.dtype.kind in "iuf"
    ]
    sizes = [float(np.abs(few).max(initial=0)) for few, *_ in blocks if few.dtype.kind == "f"]
    allowed = ROUNDING * max(sizes, default=0.0)
    of_all = ([payload[: min(map(len, block))] for payload in block] for block in blocks)  # a lot may decide who sends
    return any(_are_shared(allowed, *block) for block in of_all)


def _are_shared(allowed: float, few_runs: Any, few_again: Any, many_runs: Any, many_again: Any, others: Any) -> bool:
    """Say whether runs of some row (P, runs, m) have the same numbers, in any order or entry, not so by chance.

    Others are those that differ by more than rounding. What all runs send alike has no mask in it, since a coin has it
    that another node begins, say.
    """

    def arenear(runs: Any) -> Any:
        runs = runs.astype(float)
        return near(runs[:, :1], runs[:, 1:], allowed).all(axis=2)

    def are_as_before(runs: Any, before: Any) -> Any:
        return (runs == before).mean(axis=1) > 0.5

    of_each = ~(arenear(few_runs).any(axis=1) | arenear(many_runs).all(axis=1))
    several = (each[of_each] for each in (few_runs, few_again, many_runs, many_again, others))
    few_runs, few_again, many_runs, many_again, others = several
    different = _different(many_runs)
    fresh = ~are_as_before(few_again, few_runs) & (_different(few_runs) == few_runs.shape[1]) & (different > 1)
    shared = (2 * different < _different(others)) | are_as_before(many_again, many_runs)
    rows = zip(many_runs, few_runs, strict=True)
    return bool((fresh & shared).any() or any(_is_repeated(many) and not _is_repeated(few) for many, few in rows))


def _different(runs: Any) -> Any:
    """Count the different numbers of each entry, (P, m)."""
    ordered = np.sort(runs, axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


def _is_repeated(numbers: Any) -> bool:
    """Say whether two runs have the same numbers, in whatever order, where no two have by chance."""
    kind = numbers.dtype.kind
    bits = 64.0 if kind == "f" else math.log2(2.0 + float(numbers.max(initial=0)) - float(numbers.min(initial=0)))
    several = np.sort(numbers.reshape(len(numbers), -1), axis=1)
    return bool(several[:1].size * bits >= 64 and len({of_run.tobytes() for of_run in several}) < len(several))


def _unlike(blocks: list[Block], others: list[Block], alike: bool, part: slice = slice(None), most: int = 1) -> str:
    """Name the first block that differs from the other, by more than rounding where they are ``alike``; empty: none."""
    if len(blocks) != len(others):
        return f"one of {len(blocks)} or {len(others)} blocks"
    # Of another length than ``most`` it is the same for all runs, of which the others are ``part``.
    payloads = [x[:, part] if x.shape[1] == most else x for x in (block.payload for block in blocks)]
    for block, payload, other in zip(blocks, payloads, others, strict=True):
        same_kind = payload.dtype == other.payload.dtype and payload.dtype.kind in "biuf"
        if not same_kind or frame_of(block, payload) != frame_of(other, other.payload):
            return f"'{block.kind}' in round {block.round}"
    if not alike or all((x == other.payload).all() for x, other in zip(payloads, others, strict=True)):
        return ""
    a, b = (np.concatenate([x.ravel() for x in each], dtype=float) for each in (payloads, [x.payload for x in others]))
    sizes = [x.payload.ravel() for x in others if x.payload.dtype.kind != "b"]
    same = near(a, b, ROUNDING * np.fmax.reduce(abs(np.concatenate([np.zeros(1), *sizes]))))
    place = np.cumsum([each.size for each in payloads]).searchsorted(same.argmin(), "right")
    return "" if same.all() else f"'{blocks[place].kind}' in round {blocks[place].round}"
