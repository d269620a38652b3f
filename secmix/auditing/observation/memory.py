"""Weigh runs: how many fit into memory, by sizes alone and by a trial run, and whether the probes of one run do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from secmix._base.random import stream
from secmix.auditing.evidence.interface import installed, is_exact
from secmix.auditing.setup import CollaborationSetup, SumSetup, build_model, deep_copy, with_active_adversary
from secmix.errors import DataError, SecmixError
from secmix.estimators.exact.linear import Probed
from secmix.kernel.values.forms import MOST_TERMS
from secmix.kernel.values.tables import MOST_VECTORS
from secmix.mixture import width
from secmix.protocols import EMRun, SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.scenario import FEWEST_RUNS, Scenario
from secmix.transcript import Transcript, at_most

ENOUGH = 30  # least number of runs for a check of masks
_OF_FEW_RUNS = 1 / 4  # of the memory: what runs leave behind them is then smaller than their messages
_EXACT_BLOCKS = 8  # of messages that fill the memory; each may take seconds, and exact evidence is read off the first
_BEYOND = 2  # times what a proof follows: an estimate may be so much too large
_SAMPLED, _FAR = 16, 2.0**40  # masks that are changed, and by how much, to see what hangs on one, however little
_TOGETHER = 4 * 10**6  # summed numbers of a block: its mixtures and messages take some fifteen times as much
_EXACT_RUNS, _EXACT_NUMBERS = 500, 10**7  # runs, and summed numbers in all of them, that check masks well enough
_SAFETY = 2  # factor by which the estimate of memory may be too small
BLOCKS, _COPIES = 2, 6  # copies of a block of runs, and of all summed numbers, that are in memory at a time
FEW_RUNS = 2  # that show how messages are made: one is read by probes, and all are held against what was read
SHOWN_BY_FEW = f"{FEW_RUNS} runs were made, which show how messages are made of inputs and masks, and no more"


class TooLong(SecmixError):
    """Raised where the messages of a single run take more memory than there is for them.

    ``unproved`` says why a proof did not take the place of their probes, where one was tried.
    """

    def __init__(self, message: str, unproved: str = "") -> None:
        super().__init__(message)
        self.unproved = unproved


def check_memory(cell: Scenario, setup: SumSetup) -> None:
    """Check from the sizes alone, before anything runs, whether the fewest runs of a sum fit into ``memory_limit``.

    Raises DataError if they do not, with the settings that would do.
    """
    fewest = _fewest(cell, setup)
    if _fit(cell, setup, fewest):
        return
    error = DataError(f"[data] with {_beyond(cell, setup, fewest)}")
    error.key = ("data", "features")
    raise error


def too_wide(cell: Scenario, setup: SumSetup) -> str:
    """Say why no more than a few runs of a sum are made: of its width more do not fit; "" if they do.

    Exact evidence reads off these few, in all entries, how messages are made of inputs and masks, which does not depend
    on how many runs there are. The law of masks and data takes many; it stays open, and nobody is cleared.
    """
    if _fit(cell, setup, FEWEST_RUNS):
        return ""
    return f"{SHOWN_BY_FEW}: with {_beyond(cell, setup, FEWEST_RUNS)}"


def planned_runs(cell: Scenario, setup: SumSetup | CollaborationSetup) -> tuple[int, str]:
    """Count the runs to make, and say why they are fewer than the scenario asks for; "" if they are not.

    No more are made than fit into ``memory_limit``, and none that cannot change what the evidence says: exact evidence
    reads what a single run reveals from how messages depend on data and masks, and only checks the masks on many.
    """
    if isinstance(setup, CollaborationSetup):  # little is stored of its runs
        return cell.runs, ""
    summed = numbers_summed(cell, setup, setup.rows.shape[1])
    room = cell.memory_limit - BLOCKS * cell.message_limit
    if setup.too_wide:
        return FEW_RUNS, ""  # said among what is not met
    fitting = max(int(room / (_SAFETY * mebibytes_of_run(summed))), FEWEST_RUNS)
    enough = max(min(_EXACT_RUNS, _EXACT_NUMBERS // summed), FEWEST_RUNS) if is_exact(cell, setup) else cell.runs
    runs = min(cell.runs, fitting, enough)
    of_all = f"{runs} of {cell.runs} runs were made: "
    if runs == cell.runs:
        return runs, ""
    if runs < fitting:
        return runs, of_all + "what exact evidence says does not depend on their number"
    return runs, of_all + f"memory_limit = {cell.memory_limit} MiB allows no more"


def _fewest(cell: Scenario, setup: SumSetup) -> int:
    return FEW_RUNS if is_exact(cell, setup) else FEWEST_RUNS


def _fit(cell: Scenario, setup: SumSetup, runs: int) -> bool:
    """Check whether the summed numbers of so many runs fit into the memory that messages leave."""
    return runs * mebibytes_of_run(numbers_summed(cell, setup, setup.rows.shape[1])) <= _share(cell) * cell.memory_limit


def _share(cell: Scenario) -> float:
    """Compute the share of ``memory_limit`` that messages leave."""
    return 1 - BLOCKS * cell.message_limit / cell.memory_limit


def _beyond(cell: Scenario, setup: SumSetup, runs: int) -> str:
    """Say that so many runs do not fit into ``memory_limit``, and which settings would do."""
    d, room = setup.rows.shape[1], _share(cell) * cell.memory_limit
    of_a_run = {k: mebibytes_of_run(numbers_summed(cell, setup, k)) for k in range(1, d + 1)}
    need = runs * of_a_run[d]
    columns = max((k for k, each in of_a_run.items() if runs * each <= room), default=0)
    fewer = f"set features to at most {columns}, or" if columns else "use fewer nodes or iterations, or set"
    exact = [evidence.name for evidence in installed() if evidence.exact and evidence.name in cell.measure.evidence]
    if _fewest(cell, setup) == FEWEST_RUNS and exact and not setup.is_unequal and FEW_RUNS * of_a_run[d] <= room:
        fewer = f"{fewer.removesuffix(', or')}, [measure] evidence to {exact} alone, or"
    return (
        f"{d} columns each of {setup.network.n} nodes sums {width(cell.model.components, d):,} numbers in an "
        f"iteration, and {runs} runs take {need / 1024:.1f} GiB, where memory_limit = {cell.memory_limit} leaves "
        f"{room / 1024:.1f}; {fewer} memory_limit to at least {math.ceil(need / _share(cell))}"
    )


def numbers_summed(cell: Scenario, setup: SumSetup, d: int) -> int:
    """Count the numbers that all nodes sum in all iterations of a run, of rows of ``d`` columns."""
    return setup.network.n * width(cell.model.components, d) * cell.model.iterations


def mebibytes_of_run(summed: int) -> float:
    """Compute the MiB that one run needs in all."""
    return _COPIES * 8 * summed / 2**20


def room_for_messages(cell: Scenario, setup: SumSetup) -> float:
    """Return the MiB of ``memory_limit`` that messages may take: more of it where only a few runs are made."""
    return _OF_FEW_RUNS * cell.memory_limit if setup.too_wide else cell.message_limit


def too_large_to_probe(cell: Scenario, setup: SumSetup, *, exact: bool) -> str:
    """Say why messages are not probed: the probes of one run would not fit into ``memory_limit``; "" if they do.

    A copy runs the first iteration once, without probes, which may outnumber runs by thousands. What messages are made
    of is then known from a proof alone; of real masks that bounds what their size leaves visible, which ``exact``
    evidence can say. Raises TooLong if one run does not fit even without probes, if other evidence needs probes, or if
    real masks, or what is made of them, are more than a proof follows.
    """
    setup = replace(setup, protocol=deep_copy(setup.protocol), adversary=deep_copy(setup.adversary))
    rng = stream(cell.seed, "trial run")
    entries = width(cell.model.components, setup.rows.shape[1])
    shape = np.shape(setup.protocol.draw_masks(1, entries, setup.network, rng))
    masks = shape[1] if len(shape) == 3 else 0
    probes = -(-(setup.network.n + masks) // entries)
    allowed = room_for_messages(cell, setup)
    limit = allowed * 2**20
    fewer = "use fewer nodes or components, or a larger tol"
    room = f"the {allowed:.1f} MiB that memory_limit = {cell.memory_limit} leaves for them; raise it, or {fewer}"
    sums = with_active_adversary(setup, Probed(setup.protocol, probing=False))
    with at_most(limit, TooLong(f"the messages of a single run take more than {room}")):
        run = _first_iteration(cell, setup, sums, rng)
    iterations = cell.model.iterations + len(run.transcript.iterations) - 1
    need = iterations * sum(block.payload.nbytes for block in run.transcript) * (1 + probes)
    if need <= limit:
        return ""
    takes = f"take {need / 2**20:,.0f} MiB, where memory_limit = {cell.memory_limit} leaves {allowed:,.0f}"
    message = f"the messages of a single run, with the {probes} that show what they depend on, {takes}"
    is_of_words = SumTraits.of(setup.protocol).modulus is not None
    if not is_of_words and not (exact and masks <= MOST_VECTORS):
        raise TooLong(f"{message}; set it to at least {math.ceil(need / limit * cell.memory_limit):,}, or {fewer}")
    if masks and not is_of_words and (terms := _terms_of_proof(setup, rng)) > _BEYOND * MOST_TERMS:
        keys = " or ".join(key for key in ("c", "tol") if hasattr(setup.protocol, key))
        fewer = f"change {keys} so that there are fewer rounds, or use fewer nodes" if keys else "use fewer nodes"
        raise TooLong(f"{message}, and a proof would add up {terms:.1g} terms, of {MOST_TERMS:.0g} at most; {fewer}")
    return f"{message}: they are not read as linear functions of masks"


def _terms_of_proof(setup: SumSetup, rng: np.random.Generator) -> float:
    """Estimate the terms that a proof adds up at least for one averaging of real masks, by changing a few of the masks.

    It keeps two of each message for each input and mask that its block hangs on; which share that is, runs tell in
    which one mask is another.
    """
    masks = np.asarray(setup.protocol.draw_masks(1, 1, setup.network, rng))
    changed = rng.integers(masks.shape[1], size=_SAMPLED)
    several = np.repeat(masks, 1 + len(changed), axis=0)
    several[1 + np.arange(len(changed)), changed] += _FAR * np.abs(masks).max()
    inputs = np.repeat(rng.standard_normal((1, setup.network.n, 1)), len(several), axis=0)
    _, transcript = setup.protocol.average(inputs, setup.network, rng, masks=several)
    variables = setup.network.n + masks.shape[1]
    blocks = [block.payload for block in transcript if block.payload.shape[1] == len(several)]
    hang = [(len(x), (x[:, 1:] != x[:, :1]).any(axis=(0, 2)).mean()) for x in blocks]
    return float(sum(2.0 * rows * share * variables for rows, share in hang))


def block_size(cell: Scenario, setup: SumSetup) -> int:
    """Compute the runs of a block, as :func:`trial_run`."""
    return trial_run(cell, setup)[0]


def trial_run(cell: Scenario, setup: SumSetup) -> tuple[int, int]:
    """Return the runs of a block, and the messages of one iteration, from one run of the first iteration.

    The run depends on the scenario alone. It also checks, before any work is done, that the parts fit together.
    """
    probed = Probed(setup.protocol, probing=not setup.unprobed)
    rng = stream(cell.seed, "trial run")
    run = _first_iteration(cell, setup, with_active_adversary(setup, probed), rng)
    setup.adversary.observe(run.transcript, setup.network)
    iterations = cell.model.iterations + len(run.transcript.iterations) - 1
    numbers = iterations * max(int(inputs[0].size) for inputs, _ in probed.recorded)
    messages = sum(len(block.sender) for block in run.transcript if block.line != "held")
    limit = room_for_messages(cell, setup)
    return min(fitting(cell, run.transcript, 1, iterations, limit=limit), max(_TOGETHER // numbers, ENOUGH)), messages


def _first_iteration(cell: Scenario, setup: SumSetup, sums: SumProtocol, rng: np.random.Generator) -> EMRun:
    first = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    return build_model(first, setup, sums).run(setup.sample_rows(1, rng), network=setup.network, rng=rng)


def fitting(cell: Scenario, transcript: Transcript, real: int, times: int = 1, *, limit: float | None = None) -> int:
    """Compute how many runs' messages, ``times`` over, fit into ``limit`` MiB; ``transcript`` is of ``real`` runs.

    The limit is ``message_limit``, where none is given.
    """
    limit = cell.message_limit if limit is None else limit
    if not transcript.iterations:
        raise SecmixError("the protocol sent no message through its channel; send every message with channel.send")
    per_run = times * sum(b.payload.nbytes / b.runs for b in transcript)
    units = max(b.runs for b in transcript) - real
    room = int(limit * 2**20 / per_run) - units
    if room < 1:
        raise TooLong(
            f"the messages of a single run take {per_run * (1 + units) / 2**20:.1f} MiB, where memory_limit = "
            f"{cell.memory_limit} leaves {limit:.1f} for them; raise memory_limit, or use fewer nodes, "
            "columns (features), iterations or components, or a larger tol"
        )
    return min(room, 500, cell.runs)


def exact_runs(size: int) -> int:
    """Return how many runs in blocks of ``size`` check what exact evidence presumes of masks, however long they take.

    Examples
    --------
    >>> exact_runs(500), exact_runs(20), exact_runs(3)
    (4000, 160, 102)
    """
    return size * max(_EXACT_BLOCKS, -(-FEWEST_RUNS // size))
