"""Count what must be believed where something holds: the lines that a clearance executes, and where they lie."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import Clearance, clear, clear_bounds, clear_coalitions, clear_unheard, prove
from secmix.protocols import PDMM, Plain, SecureAggregation, SecureSum

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12"),
]
PACKAGE = Path(secmix.__file__).parent
NETWORK = Network.complete(5)
INPUTS = [np.random.default_rng([3, call]).normal(size=(1, 5, 3)) for call in range(3)]
AUDITED = ("protocols", "adversaries", "transcript", "network.py", "_base", "errors.py")
"""What is audited, and what it runs on: the protocol, who reads, and the record of what passes."""


def proved(protocol: Any, adversary: Any) -> Any:
    return clear(prove(protocol, NETWORK, INPUTS), NETWORK, adversary)


OTHER_SEEDS = 300
"""What ciphers that are streams, generators of old (RandomState, random.Random) and seeds of several words in one
number take beside all other seeds: they are written into a protocol's modules in every trace, used or not."""

LARGE_NETWORKS = 215
"""What it takes to look only at encodings that are sent, to join rows in one pass and bounded memory, and to make
sums of many terms once for all entries: PDMM on a cycle of 30 and a complete network of 20 is proved by that."""

TABLES = 650
"""What it takes to follow vectors of which all entries are treated alike as one matrix of coefficients, and numbers
wherever they are not: PDMM on a cycle of 20 is traced in a quarter of the time. 150 of them join the rows of whole
matrices and work out once what equal ones tell: PDMM on a hundred nodes, 706 edges, is proved by that."""

FRESH_SLIPS = 160
"""The cost of 24 slips of a set by another hand: encodings that may be no number, guards that may be caught, functions
that NumPy calls, and what caches, loggers, pools, generators and the process keep from call to call."""

SLIPS_OF_TYPE = 330
"""The cost of 39 slips of another set: what types, attributes and hashes tell of a number, what is made of the
iteration, tests that hand a value out, masks that runs of a batch share, modules that parts and functions bring along,
and what uniform draws leave visible. Some ninety of them run in every clearance."""

PREPARING = 508
"""The cost of how practice prepares numbers: rounding by lot and noise of a node's own, norms by hand, tables at a
secret place, histograms, keys made one of another and the iteration in a log; and of nineteen slips of a further set,
against these rules: what is compared by identity, where laws lie, what coins make large, what is written and read."""

CELLS: dict[str, Callable[[], Any]] = {
    "plain": lambda: proved(Plain(encrypted=True), HonestButCurious({1})),
    "secure sum": lambda: proved(SecureSum(), HonestButCurious({1})),
    "secure aggregation": lambda: proved(SecureAggregation(), CuriousServer()),
    "pdmm": lambda: proved(PDMM(), HonestButCurious({1})),
    "coalition": lambda: clear_coalitions({"node 0": [frozenset({1, 2}), frozenset({3, 4})]}, 2),
    "collaboration that is sent nothing": lambda: clear_unheard([], 100),
    "robustness by a theorem": lambda: clear_bounds([("the error", 1.0, 2.0)]),
}


SLIPS_BEYOND = 169
"""The cost of nineteen slips of one more set: residues of residues, draws of many runs, lots and clocks of libraries,
tests that do more than look, and what powers and tables give beyond the data audited; 58 run in every clearance."""

NAMES_OF_CHANGES = 14
"""The cost of naming what a protocol keeps that is not the same after two calls; it runs in no clearance."""

SOFTMAX, CHOSEN = 12, 6
"""The cost of softmax, its logarithm and log-sum-exp as SciPy has them, which are finite where the same by hand is not
known to be; and of the size of what ``np.where`` chooses from, by which a residue with a sign fits a word."""

AGREEMENT, GUESSES = 166, 16
"""The cost of keys that two nodes agree on by X25519, the key pairs included; and of seeds that hide data: a guess of
these tells such a seed."""

HABITS = 39
"""The cost of what another hand's protocols of practice met: functions that never fail where something catches, tasks
of a pool in turn, and a nought that is added."""

BY_HAND = 52
"""The cost of a softmax by hand, of whose sum one term is 1, of labels that are looked up in an identity matrix, and of
powers of public numbers modulo a prime, as points of shares are."""

SUMS = 75
"""The cost of functions of several sums, each of which counts as these; of calls on few entries, which stand for
others; and of comparing what nodes add as far as it is known: quotients, E-steps and rotations are proved by that."""

QUIET = 180
"""The cost of thirty-eight slips of an eighth set: errors that Python or a file keeps to itself, what an error leaves
behind, counts on loggers, threads, classes and modules of others, parts in any container, and seeds of few words."""

IN_USE = 200
"""The cost of seventeen slips that stood open: batches and calls without a channel, each traced like any other call,
threads that outlive one, types that do not hold every iteration, and numbers chosen of whole and other ones; then of
twenty-seven of a ninth set: what batches leave behind, guards that they alone meet, and waits with a limit of time."""

MATRICES = 42
"""The cost of eigenvalues, singular values, least squares and their kin, of each of several matrices."""

MACHINE = 323
"""The cost of eighty slips of a ninth set, by one rule: what of Python's library answers by what it is given, and that
whatever else a call asks narrows a claim. It is a file of its own, of tables and of what a text says; three are of
dates that a clock makes."""

PRACTICE = 280
"""The cost of what sixteen right protocols of practice were open for: what a secret mask selects and puts back, writes
at secret places, bits that are packed, keys by ``struct.pack``, PBKDF2, spawn keys, counters and single bytes, words
that leave out a value, and functions of SciPy's and of ``statistics``; of calls that repeat, of a text that is
hashed once, and of twelve slips of a tenth set against these."""

READ_AGAIN = 324
"""The cost of what passes as bytes and is read again, as practice uploads words; of keys that an object keeps for its
next fit, by four slips of an eleventh hand; of a file of its own for what a protocol's text says; and of figures that
are kept elsewhere and calls of several kinds, by twenty-one slips of a twelfth hand."""

ELSEWHERE = 130
"""The cost of seventeen slips of a thirteenth hand: what counts in namespaces that no module has, on loops of events
and on the path, what of the machine is asked by ways without a name, and what Python's numbers say of themselves."""

PRODUCTS = 106
"""The cost of tables that carry what random vectors make of their coefficients, in later calls of large protocols, of
comparing the runs of a whole block at once (PDMM on a hundred nodes is proved in less than half of the time), and of
leaving out rows that repeat others, of which rounding added up to a known number of PDMM on a cycle of forty."""

KINDS = 88
"""The cost of twenty-six slips of a fourteenth hand: turns are tried in calls of every kind, known sums are compared by
entry and to the last digits, and calls of a large protocol by the laws of their draws."""

PLAIN_CALLS = 385
"""The cost of forty-two slips of a fifteenth hand: plain calls beside every trace, and calls of every kind; of files of
their own for turns, checks and calls in use; and of sums that are made once for all entries of a product."""

SENDERS = 225
"""The cost of asking whether senders can make what they send, a file of its own, by four slips of a sixteenth hand; and
of masks that Python draws of the system, and words that are read of a key."""

OF_SEEDS = 734
"""What follows from secret seeds, and is made of their bytes: where a protocol has none, nothing goes through it."""

JOINED = 30
"""The cost of four right protocols of an eighteenth hand: seeds that shares are joined to, sequences that spawn others,
hashes of the package ``cryptography``, and messages without numbers."""

SHORT = 97
"""The cost of splitting seven functions, so that none has more than forty lines or ten decisions."""

STATED = 93
"""The cost of what eight right protocols of a nineteenth hand were open for: counts and public tables that sessions
keep, sums of stretches, and bit generators that are seeded by the iteration too; and of what calls of one kind leave to
those of another in a session."""

REPEATED = 22
"""The cost of looking often at a protocol among a large package, of which what stays as it is is kept once; and of
asking the same of a public number again and again, which is answered once in a call."""

FIRST, HANDED = 23, 28
"""The cost of eleven slips of a twentieth hand: what an object makes of the kind of its first call; and what a session
changes in the keys that it is handed, or does where it is handed none; and of what it leaves to them where it fails."""

ONE_WAY = 57
"""The cost of eight slips of a seventh set: seeds that are one seed though they are written down in two ways."""


@contextmanager
def lines_executed() -> Iterator[set[tuple[str, int]]]:
    found: set[tuple[str, int]] = set()
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "lines")
    monitoring.register_callback(
        monitoring.COVERAGE_ID,
        monitoring.events.LINE,
        lambda code, line: found.add((code.co_filename, line)) or monitoring.DISABLE,
    )
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
    monitoring.restart_events()
    try:
        yield found
    finally:
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
        monitoring.free_tool_id(monitoring.COVERAGE_ID)


def _forget() -> None:
    """Have the kernel remember nothing of other tests: it would run fewer lines."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("secmix.kernel"):
            for member in vars(module).values():
                getattr(member, "cache_clear", lambda: None)()


@pytest.mark.parametrize("name", CELLS)
def test_a_clearance_is_worked_out_in_the_kernel_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "enumerate", lambda: [])  # a runner's own threads are looked at in more lines
    _forget()
    with lines_executed() as found:
        assert isinstance(CELLS[name](), Clearance)
    ours = {(Path(file).relative_to(PACKAGE), line) for file, line in found if file.startswith(f"{PACKAGE}/")}
    believed = {(file, line) for file, line in ours if file.parts[0] not in AUDITED}
    assert {file.parts[0] for file, _ in believed} == {"kernel"}
    # Of secure aggregation; 130 for plain calls, 80 for senders, 20 for short functions and sessions.
    assert len(believed) <= 2640
    lines = sum(len((PACKAGE / file).read_text().splitlines()) for file in {file for file, _ in believed})
    slips = FRESH_SLIPS + SLIPS_OF_TYPE + SLIPS_BEYOND
    more = (
        OTHER_SEEDS
        + LARGE_NETWORKS
        + TABLES
        + PREPARING
        + NAMES_OF_CHANGES
        + SOFTMAX
        + CHOSEN
        + AGREEMENT
        + GUESSES
        + HABITS
        + ONE_WAY
        + BY_HAND
        + SUMS
        + QUIET
        + IN_USE
        + MATRICES
        + MACHINE
        + PRACTICE
        + READ_AGAIN
        + ELSEWHERE
        + PRODUCTS
        + KINDS
        + PLAIN_CALLS
        + SENDERS
        + JOINED
        + SHORT
        + STATED
        + REPEATED
        + FIRST
        + HANDED
    )
    assert lines <= 4808 + more + slips - OF_SEEDS
    print(name, len(believed), "lines of", len({file for file, _ in believed}), "files")


def test_no_function_is_long() -> None:
    texts = [path.read_text() for path in (PACKAGE / "kernel").rglob("*.py")]
    functions = [x for text in texts for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef)]
    long = {x.name for x in functions if (x.end_lineno or 0) - x.lineno >= 40}
    assert not long
