"""What is proved, and what is not, of short protocols: each slip is found, or ends the proof at its line."""

import ast
import itertools
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel import examples
from unit.kernel.parts import in_turns

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.auditing.soundness.linear_masks import drawn_masks
from secmix.kernel import (
    Clearance,
    KnownSums,
    Open,
    Proof,
    clear,
    clear_bounds,
    clear_coalitions,
    clear_unheard,
    prove,
)
from secmix.kernel.randomness.coins import Public, coin_among
from secmix.kernel.tracing.checks import other_frames
from secmix.kernel.tracing.trace import Way, follow
from secmix.kernel.values.current_trace import Trace, following, now
from secmix.transcript import SERVER, Channel, Origin, View

NETWORK = Network.complete(5)
_PROOFS = pytest.Stash()  # a dict in this module would be among what its protocols keep
_BY_NAME = pytest.StashKey[dict[str, Proof]]()
EVERYBODY = frozenset(range(5))
PROVED = [
    examples.RingSum,
    examples.WordSum,
    examples.LongWordSum,
    examples.SignedWordSum,
    examples.ResidueSum,
    examples.Clipped,
    examples.MeanByCount,
    examples.SolvedByTheServer,
    examples.WordsByCount,
    examples.WeighedAtHome,
    examples.UnseededMasks,
    examples.SystemMasks,
    examples.Guarded,
    examples.TurnedByLot,
    examples.TurnedByIteration,
    examples.TurnedByWeights,
    examples.TurnedByOrder,
    examples.TurnedByTwoCoins,
    examples.CoinsSent,
    examples.ArrayOfCoins,
    examples.Counts,
    examples.DrawnJointly,
    examples.HeavyTails,
    examples.Asserted,
    examples.AssertedByAChain,
    examples.GuardWithAText,
    examples.GuardOfLongInputs,
    examples.ListOfRows,
    examples.ReadsWhatIsNotSent,
    examples.ReadsCoinsThatAreNotSent,
    examples.WithALock,
    examples.WrappedRing,
    examples.SameResidueTwice,
    examples.GeneratorOfAGenerator,
]
LEAKING = [
    examples.FixedSeed,
    examples.MaskedTwice,
    examples.Late,
    examples.EveryTenThousand,
    examples.WarmUpAndPeriod,
    examples.RareCoin,
    examples.SpawnedFromFixedSeed,
    examples.IndexThirteen,
    examples.TextOfACoin,
    examples.ThreeOfSeven,
    examples.TwoCoinsTogether,
    examples.OneCoinTwice,
    examples.OneOrder,
    examples.SomeOfFive,
    examples.RareChoice,
    examples.ByEndpoint,
    examples.CountsToAHundred,
    examples.CoinsAddUp,
    examples.OneSitsOut,
    examples.WeightsByLot,
    examples.ShortTable,
    examples.Quotient,
]
OPEN = [
    (examples.CaughtGuard, "whose error the protocol may catch, at examples.py, line"),
    (examples.CaughtGuardWithASeed, "whose error the protocol may catch, at examples.py, line"),
    (examples.CaughtGuardWithAText, "whose error the protocol may catch, at examples.py, line"),
    (examples.MessageAfterGuard, "is sent after a guard has found an error"),
    (examples.MessageInARareError, "decides what is done after a guard has found an error"),
    (examples.Branch, "a branch on a secret at examples.py, line"),
    (examples.FallBack, "a branch on a secret at examples.py, line"),
    (examples.MissingValue, "made of draws that it does not have for itself alone: examples.py, line"),
    (examples.SignedZero, "'zero' in round 3 is no linear function"),
    (examples.NotReduced, "no linear function"),
    (examples.IndexedByASecret, "an array at a secret place (write np.take(array, place, axis=0))"),
    (examples.IndexedByOneSecret, "an array at a secret place (write np.take(array, place, axis=0))"),
    (examples.ShortMasks, "numbers that lie between the steps of the masks"),
    (examples.HiddenHandOver, "neither holds nor was sent"),
    (examples.Unrounded, "numbers of no known step beside masks that are whole words"),
    (examples.HiddenInput, "from 0 has in it what 0 neither holds nor was sent"),
    (examples.WeighedByAnother, "from 2 has in it what 2 neither holds nor was sent"),
    (examples.UnexplainedResult, "from 2 has in it what 2 neither holds nor was sent"),
    (examples.GuardBehindACoin, "is sent after a guard has found an error"),
    (examples.KeptMasks, "where public numbers are others"),
    (examples.CopiedGenerator, "a copy of a generator"),
    (examples.FlatMasks, "two of 1009 runs in one call have the same masks"),
    (examples.FlatAlongAnAxis, "has other numbers untraced"),
    (examples.SinglePrecision, "a law that is not followed"),
    (examples.CaughtAtTheEnd, "raised is caught"),
    (examples.SwallowedExit, "a branch on a secret"),
    (examples.GuardWithElse, "a branch on a secret"),
    (examples.GuardThatKeeps, "a branch on a secret"),
    (examples.WritesInputs, "the inputs were written to"),
    (examples.OtherChannel, "another channel"),
    (examples.KeptElsewhere, "kept outside the protocol's object"),
    (examples.BatchOfTwo, "among 1009 runs in one call"),
    (examples.BatchOf16, "among 1009 runs in one call"),
    (examples.WithoutChannel, "where no channel is given"),
    (examples.UnwrittenMemory, "memory that nobody wrote to"),
    (examples.UnwrittenEntry, "memory that nobody wrote to"),
    (examples.TwoEncodings, "encode in several ways"),
    (examples.FastPath, "an untraced fit sends"),
    (examples.FastPathOfNumbers, "has other numbers untraced"),
    (examples.FastPathOfWords, "has other numbers untraced"),
    (examples.FastPathOfKinds, "is another message untraced"),
    (examples.FastPathOfResults, "ends with other results"),
    (examples.GuardMetOnce, "the guard is not met again: examples.py, line"),
    (examples.BusyAfterAnError, "a call that ends in an error leaves something behind"),
    (examples.BranchOnGivenMasks, "a branch on a secret"),
    (examples.KindWithoutChannel, "'alone' in round 1 is another message where no channel is given"),
    (examples.ChannelForgotten, "where no channel is given"),
    (examples.FastPathOfShapes, "ends with other results"),
    (examples.TextAmongNumbers, "has other numbers untraced"),
    (examples.ListAsResult, "a result of type list"),
    (examples.FlatResult, "average returned shape (5, 3); expected (runs, nodes, entries)"),
    (examples.HeldByAnother, "'row' is given to hold(), but its sender and receiver differ"),
    (examples.SentToNobody, "passes from or to [7]; nodes are 0 to 4, -1 the server"),
    (examples.NoCovariance, "secret draws of what is no covariance"),
    (examples.FastPathOfErrors, "an untraced call ends in ValueError: plain arrays"),
]


def inputs() -> list[Any]:
    """Return the inputs of three calls."""
    return [np.random.default_rng([3, call]).normal(size=(1, 5, 3)) for call in range(3)]


def proof_of(protocol: type) -> Proof:
    """Prove an example, once."""
    made = _PROOFS.setdefault(_BY_NAME, {})
    if protocol.__name__ not in made:
        made[protocol.__name__] = prove(protocol(), NETWORK, inputs())
    return made[protocol.__name__]


def test_what_is_kept_of_long_vectors_alone_is_seen() -> None:
    """The calls after the first are then followed with all entries, too."""
    long = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 201))
    found = clear(prove(examples.KeptLongMasks(), NETWORK, long), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert found.exact[0] == pytest.approx(1.0)


@pytest.mark.build
@pytest.mark.parametrize("protocol", [examples.EntriesOfTwoKinds, examples.AbsoluteOfMany])
def test_entries_that_mean_different_things_are_traced_in_full(protocol: type) -> None:
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 6))
    proof = prove(protocol(), NETWORK, inputs)
    found = clear(proof, NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert found.exact[0] == pytest.approx(0.2)
    assert not found.covers
    assert {message.rows.shape[-1] for fit in proof.fits for message in fit.messages} == {6}


@pytest.mark.build
def test_encodings_of_a_width_of_their_own_are_counted_beside_all_inputs() -> None:
    """Of few entries, as later calls are traced with, they are as many as the inputs."""
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 8))
    assert isinstance(
        clear(prove(examples.ThreeCounts(), NETWORK, inputs), NETWORK, HonestButCurious({1, 2, 3})), KnownSums
    )
    assert isinstance(clear(prove(examples.PowerSums(), NETWORK, inputs), NETWORK, CuriousServer()), Open)


def cleared(protocol: type, adversary: Any) -> Clearance:
    found = clear(proof_of(protocol), NETWORK, adversary)
    assert isinstance(found, Clearance), found
    return found


@pytest.mark.parametrize("protocol", PROVED)
def test_the_server_learns_the_sum_of_all_and_a_node_that_of_the_others(protocol: type) -> None:
    server = cleared(protocol, CuriousServer())
    assert server.sums == (EVERYBODY,)
    assert server.exact == pytest.approx(dict.fromkeys(range(5), 0.2), abs=1e-9)
    assert server.behind_masks == pytest.approx(server.exact, abs=1e-5)
    assert server.covers == ()
    node = cleared(protocol, HonestButCurious({2}))
    assert node.sums == (EVERYBODY - {2},)
    assert node.exact == pytest.approx(dict.fromkeys((0, 1, 3, 4), 0.25), abs=1e-9)


@pytest.mark.parametrize("protocol", in_turns(LEAKING, examples.Late, examples.CountsToAHundred, examples.Quotient))
def test_what_goes_out_in_some_call_is_found(protocol: type) -> None:
    """In calls of a fit: those of other kinds are not needed for it."""
    found = clear(prove(protocol(), NETWORK, inputs(), in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert found.exact[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("protocol", "reason"), OPEN)
def test_what_is_no_sum_behind_masks_is_open(protocol: type, reason: str) -> None:
    found = clear(proof_of(protocol), NETWORK, CuriousServer())
    assert isinstance(found, Open)
    assert reason in found.reason


@pytest.mark.build
@pytest.mark.parametrize(("protocol", "corrupt"), [(examples.WeighedByOne, {2}), (examples.MaskedProducts, {0, 2})])
def test_a_function_of_what_tells_more_than_the_sum_is_open(protocol: type, corrupt: set[int]) -> None:
    """What it tells may be less than what it is made of, so that nobody is cleared and nobody is accused."""
    found = clear(proof_of(protocol), NETWORK, HonestButCurious(corrupt))
    assert isinstance(found, Open)
    assert "is no linear function of inputs and masks, nor one of such sums alone" in found.reason


def test_products_of_what_is_masked_tell_who_lacks_the_masks_no_more() -> None:
    assert cleared(examples.MaskedProducts, HonestButCurious({2})).sums == (EVERYBODY - {2},)


@pytest.mark.build
def test_as_many_sums_of_powers_as_numbers_are_open() -> None:
    assert clear(proof_of(examples.PowerSums), NETWORK, CuriousServer()) == Open(
        "as many sums are known of what nodes encode as there are numbers behind them"
    )


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (examples.RingSum, examples.RingSum, ""),
        (examples.RingSum, examples.Sent, "other inputs make other messages"),
        (examples.FastPathOfKinds, examples.Sent, "is another message for other inputs"),
        (examples.RingSum, examples.Doubled, "is made otherwise for other inputs"),
        (examples.RingSum, examples.Shifted, "is made otherwise for other inputs"),
        (examples.Sent, examples.SentOther, "is made otherwise for other inputs"),
        (examples.Sent, examples.SentSecret, "is made otherwise for other inputs"),
    ],
)
def test_two_traces_that_are_made_otherwise_are_told_apart(one: type, other: type, difference: str) -> None:
    fits = [
        follow(protocol(), NETWORK, [inputs()[k]], ways=Way(masks_seed=k)) for k, protocol in enumerate((one, other))
    ]
    assert not fits[0].error + fits[1].error
    found = other_frames(*fits)
    assert found.endswith(difference)
    assert bool(found) == bool(difference)


class InOtherUnits(examples.RingSum):
    """Sends what is masked in other units, so that rounding is in those units too: of all nodes, and of each alone."""

    def __init__(self, factor: float, more: float = 0.0) -> None:
        self.factor, self.more = factor, more

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        together = (rows + masks).transpose(1, 0, 2) * self.factor
        channel.send(1, np.arange(len(together)), SERVER, "together", together, encrypted=True)

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return super().mask(word, own, other) * self.factor

    def decode(self, total: Any) -> Any:
        return super().decode(total) / self.factor + self.more


@pytest.mark.parametrize("factor", [1.0, 3e12, 2.0**40, 1e-12])
def test_rounding_in_other_units_is_no_other_form(factor: float) -> None:
    given = [inputs()[k] for k in range(2)]
    one, same = (follow(InOtherUnits(factor), NETWORK, [given[k]], ways=Way(masks_seed=k)) for k in range(2))
    other = follow(InOtherUnits(factor, 0.1), NETWORK, [given[1]], ways=Way(masks_seed=1))
    assert not one.error + same.error + other.error
    assert {message.rows.table is None for message in one.messages} == {True, False}
    assert other_frames(one, same) == ""
    assert other_frames(one, other) == "'mean' in round 2 is made otherwise for other inputs"


class TwiceTheMean(examples.RingSum):
    def decode(self, total: Any) -> Any:
        return 2.0 * total


class MeanAndOne(examples.RingSum):
    def decode(self, total: Any) -> Any:
        return total + 1.0


class LastAlone(examples.RingSum):
    def add(self, sent: list[Any]) -> Any:
        return super().add([*sent[:-1], 0.5 * sent[-1]])


@pytest.mark.parametrize("other", [examples.RingSum, TwiceTheMean, MeanAndOne, LastAlone])
def test_two_traces_of_long_sums_are_told_apart(other: type) -> None:
    network = Network.cycle(30)
    given = [np.random.default_rng([4, call]).normal(size=(1, 30, 2)) for call in range(2)]
    fits = [
        follow(kind(), network, [given[k]], ways=Way(masks_seed=k)) for k, kind in enumerate((examples.RingSum, other))
    ]
    assert not fits[0].error + fits[1].error
    same = other is examples.RingSum
    assert other_frames(*fits) == ("" if same else "'mean' in round 2 is made otherwise for other inputs")


@pytest.mark.parametrize(
    ("example", "named"),
    [
        (examples.IndexOfAThousand, "a public coin (examples.py, line"),
        (examples.CoinsAsFactors, "public coins (examples.py, line"),
        (examples.FourCoins, "a public coin, on which more hangs than was tried"),
        (examples.OnlyWhereOthersAre, "what the protocol keeps from call to call"),
        (examples.SetBack, "the state of a generator (examples.py, line"),
        (examples.CoinOfTheModule, "coins of the module random"),
        (examples.CoinOfNumPy, "coins of NumPy's global generator"),
        (examples.CoinOfTheClock, "the clock"),
        (examples.CountsInAnArray, "what the protocol keeps from call to call"),
        (examples.ReadsTheRecord, "what the channel has carried (examples.py, line"),
        (examples.ChoiceOfText, "public coins (examples.py, line"),
        (examples.Shuffled, "public coins (examples.py, line"),
        (examples.ChoiceOfMany, "a public coin (examples.py, line"),
        (examples.CoinsAsAList, "public coins (examples.py, line"),
    ],
)
def test_public_numbers_are_named_of_which_only_those_drawn_are_covered(example: type, named: str) -> None:
    *others, covers = proof_of(example).covers
    assert covers.startswith(named)
    assert others == ["the iteration, on which more hangs than was tried"] * (example is examples.OnlyWhereOthersAre)


@pytest.mark.build
def test_heavy_tails_hide_as_much_as_normal_draws_of_their_information() -> None:
    assert min(cleared(examples.SmallTails, CuriousServer()).behind_masks.values()) > 0.99


def test_coins_of_an_earlier_call_are_any_number() -> None:
    """What was listed for one call does not bound what several add up to."""
    with following(Trace()):
        now().call = 0
        coin = coin_among([0, 1], 1, "a coin")
        total = coin + coin
        assert isinstance(total, Public)
        assert total.is_known
        assert total.used() == 2
        now().call = 1
        assert not total.is_known
        assert total.used() == 2
        assert list(now().by_value) == ["a coin"]


@pytest.mark.build
def test_the_largest_entry_says_what_shows_behind_masks() -> None:
    """Entries that are masked alike are worked out once: with the data that the masks hide least."""
    given = [each * [1.0, 1e6, 1.0] for each in inputs()]
    found = clear(prove(examples.RingSum(), NETWORK, given), NETWORK, CuriousServer())
    assert isinstance(found, Clearance)
    assert min(found.behind_masks.values()) > 0.3


class OddAdversary(CuriousServer):
    """Reads a number that no message carries."""

    def observe(self, transcript: Any, network: Any) -> Any:
        return SimpleNamespace(origins=(), rows=[np.array([0.5])])


def test_an_adversary_that_reads_what_no_message_carries_is_open() -> None:
    found = clear(proof_of(examples.RingSum), NETWORK, OddAdversary())
    assert found == Open("the adversary holds numbers that no message carries")


def test_a_branch_on_a_secret_names_its_line() -> None:
    found = clear(proof_of(examples.Branch), NETWORK, CuriousServer())
    assert isinstance(found, Open)
    lines = Path(examples.__file__).read_text().splitlines()
    line = next(k for k, text in enumerate(lines, 1) if "here the proof ends" in text)
    assert f"examples.py, line {line}: " in found.reason


@pytest.mark.build
def test_two_entries_behind_one_mask_tell_their_difference_and_no_more() -> None:
    server = cleared(examples.MaskedTwice, CuriousServer())
    assert set(server.sums) == {EVERYBODY, EVERYBODY - {0}}
    assert [server.exact[node] for node in range(1, 5)] == pytest.approx([0.25] * 4)


def test_a_guard_is_noted_and_printed() -> None:
    (stop,) = [each for each in cleared(examples.Guarded, CuriousServer()).assumes if "ends in an error" in each]
    assert "if not np.all(np.abs(rows) < 1e9):" in stop
    assert not any("the text of that error" in each for each in cleared(examples.Guarded, CuriousServer()).assumes)


def test_data_in_the_text_of_an_error_are_assumed_to_stay_with_their_node() -> None:
    (told,) = [each for each in cleared(examples.GuardWithAText, CuriousServer()).assumes if "the text of that" in each]
    assert "is read by their node alone (examples.py, line" in told


@pytest.mark.build
def test_a_function_that_may_fail_is_printed_as_a_stop() -> None:
    (stop,) = [each for each in cleared(examples.Rooted, CuriousServer()).assumes if "ends in an error" in each]
    assert "math.sqrt(1e9 - x)" in stop
    assert "np.linalg.inv(np.eye(1)" in stop
    assert "math.sqrt(abs(x))" not in stop


def test_results_that_no_message_brings_end_the_proof() -> None:
    """Node 2 ends with data of another, of which it was told a sum alone."""
    assert "'what the node ends with' from 2 takes a sum apart" in proof_of(examples.TellingResult).open


@pytest.mark.build
def test_of_a_protocol_that_keeps_a_growing_list_only_the_calls_that_were_traced_are_covered() -> None:
    (covers,) = proof_of(examples.GrowingList).covers
    assert covers.startswith("what the protocol keeps from call to call (past of ")
    assert covers.endswith("examples.GrowingList)")


def test_of_an_iteration_that_is_used_by_its_value_only_those_that_were_traced_are_covered() -> None:
    (covers,) = proof_of(examples.ByIteration).covers
    assert covers.startswith("the iteration (examples.py, line")


def test_encodings_are_named_by_their_line() -> None:
    (encoder,) = cleared(examples.Clipped, CuriousServer()).encoders
    assert encoder.code == "return np.where(row > 0.5, 0.5, row)"


def test_data_that_stay_the_same_are_less_hidden_after_many_calls() -> None:
    proof = proof_of(examples.RingSum)
    few, many = (clear(proof, NETWORK, CuriousServer(), calls=calls) for calls in (1, 10**8))
    assert isinstance(few, Clearance)
    assert isinstance(many, Clearance)
    assert max(few.behind_masks.values()) < 0.2001 < min(many.behind_masks.values())


def test_a_clearance_cannot_be_made_elsewhere() -> None:
    with pytest.raises(TypeError, match="alone"):
        Clearance(says="all is well")


def test_no_other_module_makes_a_clearance() -> None:
    made_in = set()
    for file in Path(secmix.__file__).parent.rglob("*.py"):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "Clearance" in text or "_MADE_HERE" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Clearance", "KnownSums"):
                made_in.add(file.name)
            if isinstance(node, ast.Name) and node.id == "_MADE_HERE":
                made_in.add(file.name)
    assert made_in == {"clearance.py"}


@given(
    st.lists(st.frozensets(st.integers(0, 5), max_size=4), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_coalitions_are_cleared_where_none_so_small_meets_all_guards(
    guards: list[frozenset[int]], fewer_than: int
) -> None:
    """Against all coalitions, one by one."""
    small = [set(some) for size in range(fewer_than) for some in itertools.combinations(range(6), size)]
    met = any(all(guard & some for guard in guards) for some in small)
    found = clear_coalitions({"node 0": guards}, fewer_than)
    assert isinstance(found, Open) == met


def test_nobody_is_cleared_of_nothing() -> None:
    assert isinstance(clear_bounds([]), Open)
    assert isinstance(clear_bounds([("the error", math.nan, 1.0)]), Open)
    assert isinstance(clear_coalitions({}, 2), Open)
    assert isinstance(clear_coalitions({}, 2, {"node 3": 1.0}), Open)
    assert "node 3" in clear_coalitions({}, 2, {"node 3": 2.0}).assumes[-1]


def test_whoever_is_sent_nothing_is_cleared_and_whoever_reads_is_not() -> None:
    held, sent = (Origin(0, 0, "row", line, 0, (1,)) for line in ("held", "encrypted"))
    rows = np.zeros((1, 2))
    assert isinstance(clear_unheard([View((held,), (rows,))], 5), Clearance)
    found = clear_unheard([View((held,), (rows,)), View((held, sent), (rows, rows))], 5)
    assert isinstance(found, Open)
    assert "'row'" in found.reason


class Deaf(HonestButCurious):
    """An adversary that does not read all that its node is sent."""

    def observe(self, transcript: Any, network: Any) -> Any:
        seen = super().observe(transcript, network)
        kept = [k for k, origin in enumerate(seen.origins) if origin.kind != "mean"]
        return View(tuple(seen.origins[k] for k in kept), tuple(seen.rows[k] for k in kept))


def test_an_adversary_that_does_not_read_what_its_nodes_hold_clears_nobody() -> None:
    found = clear(proof_of(examples.RingSum), NETWORK, Deaf({2}))
    assert isinstance(found, Open)
    assert "one of its own nodes" in found.reason


def test_a_message_without_numbers_is_read_by_whoever_holds_it() -> None:
    """Of few entries, as calls are traced with, the first of several parts of a vector has none."""
    assert cleared(examples.SendsAThird, HonestButCurious({2})).sums == (EVERYBODY - {2},)


class Choosy(CuriousServer):
    """Reads what ``wanted`` says of a message's numbers."""

    def observe(self, transcript: Any, network: Any) -> Any:
        seen = super().observe(transcript, network)
        kept = [k for k, row in enumerate(seen.rows) if self.wanted(row)]
        return View(tuple(seen.origins[k] for k in kept), tuple(seen.rows[k] for k in kept))

    def wanted(self, row: Any) -> bool:
        raise NotImplementedError


class SkipsSingleNumbers(Choosy):
    def wanted(self, row: Any) -> bool:
        return bool(row.size > 1)


class SkipsSmallNumbers(Choosy):
    def wanted(self, row: Any) -> bool:
        return bool(np.abs(row).max() > 2.0)


def test_an_adversary_that_goes_by_length_reads_what_it_reads_in_use() -> None:
    assert cleared(examples.RingSum, SkipsSingleNumbers()).sums == cleared(examples.RingSum, CuriousServer()).sums


def test_an_adversary_that_goes_by_numbers_clears_nobody() -> None:
    found = clear(proof_of(examples.RingSum), NETWORK, SkipsSmallNumbers())
    assert isinstance(found, Open)
    assert "hangs on the numbers" in found.reason


@pytest.mark.build
def test_several_combinations_that_are_no_sums_are_told() -> None:
    known = clear(proof_of(examples.HalfOfOne), NETWORK, CuriousServer())
    assert isinstance(known, KnownSums)
    assert known.uneven
    assert not cleared(examples.RingSum, CuriousServer()).uneven


@pytest.mark.parametrize("where", ["proving", "tracing.trace"])
def test_more_than_can_be_followed_is_open(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the traces add up is foreseen from the first; where that takes too long itself, it is not finished."""
    monkeypatch.setattr(f"secmix.kernel.{where}.MOST_TERMS", 10)
    found = prove(examples.RingSum(), NETWORK, inputs()).open
    assert "terms" in found
    assert "use fewer nodes or entries" in found


def test_public_numbers_that_are_too_many_narrow_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sixty ways behind a rare coin eight are tried."""
    monkeypatch.setattr("secmix.kernel.proving._LEAST_TURNS", 8)
    monkeypatch.setattr("secmix.kernel.proving._MOST_WORK", 0)
    covers = prove(examples.SixtyBehindACoin(), NETWORK, inputs()).covers
    assert covers == ("a public coin, on which more hangs than was tried",)


@pytest.mark.build
def test_orders_of_five_are_tried_however_many_entries_there_are() -> None:
    """Of calls that leave nothing one is tried in all its ways, and no more than that is counted beforehand."""
    wide = [np.random.default_rng([3, call]).normal(size=(1, 5, 17)) for call in range(3)]
    assert prove(examples.InAnyOrder(), NETWORK, wide, in_other_calls=False).covers == ()


class Weighted(examples.RingSum):
    """Sums weights beside what they weigh, and divides by their sum, once it is whole or as it is."""

    def __init__(self, *, rounded: bool) -> None:
        self.rounded = rounded

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        weight = np.full((*rows.shape[:2], 1), 20.0)
        masked = np.concatenate([weight * rows, weight], axis=2).transpose(1, 0, 2)
        around = masked + np.concatenate([masks, masks[..., :1]], axis=2).transpose(1, 0, 2)
        around -= np.roll(np.concatenate([masks, masks[..., :1]], axis=2).transpose(1, 0, 2), 1, axis=0)
        total = channel.send(4, np.arange(rows.shape[1]), -1, "weighted", around, encrypted=True).sum(axis=0)
        divisor = np.rint(total[:, -1:]) if self.rounded else total[:, -1:]
        told = np.zeros(rows.shape[1], int)
        channel.send(5, -1, np.arange(rows.shape[1]), "mean", (total[:, :-1] / divisor)[None], content=told)


@pytest.mark.build
def test_a_divisor_that_masks_leave_is_public_where_it_is_whole() -> None:
    """Masks leave rounding: otherwise it is another in each trace."""
    assert "made otherwise for other inputs" in prove(Weighted(rounded=False), NETWORK, inputs()).open
    assert not prove(Weighted(rounded=True), NETWORK, inputs()).open


def test_batches_are_asked_for_unless_nothing_is_claimed_of_them() -> None:
    assert prove(examples.BatchOf16(), NETWORK, inputs()).open
    assert not prove(examples.BatchOf16(), NETWORK, inputs(), in_other_calls=False).open


@pytest.mark.parametrize(
    ("example", "size"),
    [
        (examples.RingSum, 15),
        (examples.SinglePrecision, None),
        (examples.FailingMasks, None),
        (examples.MasksOfOneRun, None),
        (examples.SwallowedExitOfMasks, None),
    ],
)
def test_masks_are_followed_or_none(example: type, size: int | None) -> None:
    found = drawn_masks(example(), NETWORK, 1, 3)
    assert (found and found[0].size) == size
    assert found is None or {each.kind for each in found[1].values()} == {"draw"}
