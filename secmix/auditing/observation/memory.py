"""Weigh messages by a trial run: how many runs fit into memory at a time, and whether the probes of one run do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secmix._base.random import stream
from secmix.auditing.setup import SumSetup, build_model, deep_copy, with_active_adversary
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed
from secmix.kernel.values.forms import MOST_TERMS
from secmix.kernel.values.tables import MOST_VECTORS
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


class TooLong(SecmixError):
    """Raised where the messages of a single run take more memory than there is for them.

    ``unproved`` says why a proof did not take the place of their probes, where one was tried.
    """

    def __init__(self, message: str, unproved: str = "") -> None:
        super().__init__(message)
        self.unproved = unproved


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
    d = setup.rows.shape[1]
    entries = cell.model.components * (1 + d + d * (d + 1) // 2)
    shape = np.shape(setup.protocol.draw_masks(1, entries, setup.network, rng))
    masks = shape[1] if len(shape) == 3 else 0
    probes = -(-(setup.network.n + masks) // entries)
    allowed = room_for_messages(cell, setup)
    limit = allowed * 2**20
    sizes = f"the {allowed:.1f} MiB that memory_limit = {cell.memory_limit} leaves for them"
    remedy = "raise it, or use fewer nodes or components, or a larger tol"
    may_be_unprobed = (exact and masks <= MOST_VECTORS) or SumTraits.of(setup.protocol).modulus is not None
    message = f"the messages of a single run, with the {probes} that show what they depend on, take more than {sizes}"
    sums = with_active_adversary(setup, Probed(setup.protocol, probing=False))
    with at_most(limit if may_be_unprobed else limit / (1 + probes), TooLong(f"{message}; {remedy}")):
        run = _first_iteration(cell, setup, sums, rng)
    iterations = cell.model.iterations + len(run.transcript.iterations) - 1
    fit = iterations * sum(block.payload.nbytes for block in run.transcript) * (1 + probes) <= limit
    if fit or not may_be_unprobed:
        return ""
    is_real = masks and SumTraits.of(setup.protocol).modulus is None
    if is_real and (terms := _terms_of_proof(setup, rng)) > _BEYOND * MOST_TERMS:
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
