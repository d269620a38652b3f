"""Aggregation rules: exact small cases, definitions written out naively, and every kind of wrong input."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secmix import aggregators
from secmix.aggregators import (
    TRAITS,
    RejectedMessages,
    bucketing,
    bulyan,
    centered_clipping,
    coordinate_median,
    geometric_median,
    krum,
    mda,
    meamed,
    mean,
    median_of_means,
    multi_krum,
    nnm,
    screened,
    traits_of,
    trimmed_mean,
)
from secmix.aggregators.numerics.geometry import distances
from secmix.errors import DataError, SecmixError

pytestmark = pytest.mark.delicate

RULES = {name: getattr(aggregators, name) for name in TRAITS}
ALL = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
WRAPPED = [nnm(trimmed_mean), nnm(krum), bucketing(geometric_median), bucketing(nnm(coordinate_median), size=3)]
EVERY = pytest.mark.parametrize("rule", [*RULES.values(), *WRAPPED], ids=lambda rule: rule.__name__)


def cloud(n=11, p=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


small = st.integers(5, 9).flatmap(
    lambda n: st.integers(1, 3).flatmap(
        lambda p: st.lists(st.lists(st.integers(-9, 9), min_size=p, max_size=p), min_size=n, max_size=n)
    )
)


def columns(rows):
    return [[Fraction(v) for v in column] for column in zip(*rows, strict=True)]


def exact_median(values):
    ranked = sorted(values)
    return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2


def exact_around_median(values, count):
    """By sorting distances; values tied for the last places share them equally."""
    centre = exact_median(values)
    reach = sorted(abs(v - centre) for v in values)[count - 1]
    inside = [v for v in values if abs(v - centre) < reach]
    edge = [v for v in values if abs(v - centre) == reach]
    return (sum(inside) + Fraction(count - len(inside), len(edge)) * sum(edge)) / count


@given(small, st.data())
def test_exact_arithmetic_coordinate_by_coordinate(rows, data):
    n = len(rows)
    f = data.draw(st.integers(0, (n - 1) // 2))
    medians = [exact_median(c) for c in columns(rows)]
    trimmed = [sum(sorted(c)[f : n - f]) / (n - 2 * f) for c in columns(rows)]
    around = [exact_around_median(c, n - f) for c in columns(rows)]
    assert coordinate_median(rows, f=f) == pytest.approx(np.array(medians, dtype=float), rel=1e-14, abs=1e-14)
    assert trimmed_mean(rows, f=f) == pytest.approx(np.array(trimmed, dtype=float), rel=1e-14, abs=1e-14)
    assert meamed(rows, f=f) == pytest.approx(np.array(around, dtype=float), rel=1e-13, abs=1e-13)


def exact_scores(rows, f, among):
    def apart(i, j):
        return sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))

    nearest = max(len(among) - f - 2, 1)
    return {i: sum(sorted(apart(i, j) for j in among if j != i)[:nearest]) for i in among}


@given(small, st.data())
def test_exact_arithmetic_krum_with_ties(rows, data):
    n = len(rows)
    f = data.draw(st.integers(0, (n - 3) // 2))
    scores = exact_scores(rows, f, range(n))
    ranked = sorted(range(n), key=lambda i: (scores[i], rows[i]))
    assert krum(rows, f=f).tolist() == rows[ranked[0]]
    for m in (1, 2, n - f):
        expected = [sum(c) / m for c in columns([rows[i] for i in ranked[:m]])]
        assert multi_krum(rows, f=f, m=m) == pytest.approx(np.array(expected, dtype=float), abs=1e-13)


@given(st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=2), min_size=7, max_size=10), st.integers(0, 1))
def test_exact_arithmetic_bulyan(rows, f):
    n, left, chosen = len(rows), list(range(len(rows))), []
    for _ in range(n - 2 * f):
        scores = exact_scores(rows, f, left) if len(left) > 1 else {left[0]: 0}
        best = min(left, key=lambda i: (scores[i], rows[i]))
        chosen.append(rows[best])
        left.remove(best)
    expected = [exact_around_median(c, n - 4 * f) for c in columns(chosen)]
    assert bulyan(rows, f=f) == pytest.approx(np.array(expected, dtype=float), abs=1e-12)


@given(small, st.data())
def test_mda_against_all_subsets(rows, data):
    n = len(rows)
    f = data.draw(st.integers(0, (n - 1) // 2))
    best = None
    for members in itertools.combinations(range(n), n - f):
        pairs = [
            sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
            for i, j in itertools.combinations(members, 2)
        ]
        average = [sum(c) / (n - f) for c in columns([rows[i] for i in members])]
        key = (max(pairs, default=0), sum(pairs), average)
        best = key if best is None else min(best, key)
    assert mda(rows, f=f) == pytest.approx(np.array(best[2], dtype=float), abs=1e-12)


def test_mda_finds_the_planted_set_among_many():
    honest = cloud(60, 5)
    planted = np.vstack([honest, 50 + cloud(6, 5, 1), -50 + cloud(6, 5, 2)])
    assert mda(planted, f=12) == pytest.approx(honest.mean(axis=0), abs=1e-13)
    with pytest.raises(SecmixError, match=r"f = 13 of n = 60 may take too long; f <= 12"):
        mda(honest, f=13)
    assert mda(cloud(20, 2), f=0) == pytest.approx(cloud(20, 2).mean(axis=0))


def test_centered_clipping_by_hand():
    x = cloud(9, 3) * [[1.0]] * 5
    v = np.median(x, axis=0)
    radius = np.median(np.linalg.norm(x - v, axis=1))
    for steps in range(1, 4):
        away = x - v
        v = v + (away * np.minimum(1, radius / np.linalg.norm(away, axis=1))[:, None]).mean(axis=0)
        assert centered_clipping(x, f=4, steps=steps) == pytest.approx(v, abs=1e-12)
    far = centered_clipping(x, radius=1e9, steps=1, start=np.zeros(3))
    assert far == pytest.approx(x.mean(axis=0), abs=1e-12)
    for wrong in ({"radius": 0.0}, {"radius": np.inf}, {"steps": 0}, {"start": [0.0, 1.0]}, {"start": [np.nan] * 3}):
        with pytest.raises(SecmixError, match=next(iter(wrong))):
            centered_clipping(x, **wrong)


def test_median_of_means_by_hand():
    x = cloud(11, 2)
    groups = np.array_split(x, 5)
    expected = geometric_median(np.stack([g.mean(axis=0) for g in groups]), f=2)
    assert median_of_means(x, f=2) == pytest.approx(expected, abs=1e-13)
    assert median_of_means(x, f=2, groups=11) == pytest.approx(geometric_median(x), abs=1e-12)
    assert not np.allclose(median_of_means(x, f=2, rng=1), median_of_means(x, f=2))
    for groups in (4, 12):
        with pytest.raises(SecmixError, match="use 5 to 11"):
            median_of_means(x, f=2, groups=groups)


def test_nnm_and_bucketing_by_hand():
    x = cloud(9, 3)
    apart = np.linalg.norm(x[:, None] - x, axis=2)
    mixed = np.stack([x[np.argsort(row)[:7]].mean(axis=0) for row in apart])
    assert nnm(trimmed_mean)(x, f=2) == pytest.approx(trimmed_mean(mixed, f=2), abs=1e-13)
    order = np.random.default_rng(5).permutation(9)
    buckets = np.stack([x[order[i : i + 2]].mean(axis=0) for i in range(0, 9, 2)])
    assert bucketing(krum, rng=5)(x, f=1) == pytest.approx(krum(buckets, f=1), abs=1e-13)
    draw = np.random.default_rng(5)
    again = bucketing(krum, rng=draw)
    assert len({again(x, f=1).tobytes() for _ in range(20)}) > 1
    assert traits_of(again).stochastic
    assert not traits_of(bucketing(krum)).stochastic


def test_wrapping_a_users_own_rule():
    def first(messages, f):
        return messages[0]

    assert traits_of(first) is None
    assert traits_of(nnm(first)) is None
    assert nnm(first)(np.ones((3, 2)), f=1).tolist() == [1.0, 1.0]
    assert nnm(trimmed_mean).__name__ == "nnm(trimmed_mean)"
    assert traits_of(bucketing(krum)).least(1) == 9  # ⌈9/2⌉ = 5 buckets
    assert traits_of(krum) is TRAITS["krum"]


def test_geometric_median_known_cases():
    square = np.array([[0.0, 0], [2, 0], [0, 2], [2, 2]])
    assert geometric_median(square) == pytest.approx([1.0, 1.0], abs=1e-15)
    assert geometric_median(square * [1, 0]).tolist() == [1.0, 0.0]  # two pairs on a line: the midpoint
    obtuse = np.array([[0.0, 0], [1, 0], [-1, 0.1]])  # an angle above 120°: the corner itself
    assert geometric_median(obtuse).tolist() == [0.0, 0.0]
    fermat = geometric_median(np.array([[0.0, 0], [1, 0], [0.5, math.sqrt(3) / 2]]))
    assert fermat == pytest.approx([0.5, math.sqrt(3) / 6], abs=1e-15)
    assert geometric_median([[3.0, 4.0]]).tolist() == [3.0, 4.0]
    assert geometric_median([[3.0, 4.0], [5.0, 4.0]]).tolist() == [4.0, 4.0]
    heavy = np.vstack([np.repeat([[7.0, 7.0, 7.0]], 5, axis=0), cloud(5, 3)])
    assert geometric_median(heavy, f=4).tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("p", [2, 50])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("n", [2, 5, 8])
def test_geometric_median_of_messages_on_a_line(p, offset, n):
    rng = np.random.default_rng(n)
    at, direction = np.sort(rng.normal(size=n)), rng.normal(size=p)
    x = offset + at[:, None] * direction
    expected = (x[(n - 1) // 2] + x[n // 2]) / 2
    assert geometric_median(x[rng.permutation(n)]) == pytest.approx(expected, rel=1e-15, abs=1e-15)


@EVERY
def test_rejected_messages_are_reported_and_do_no_harm(rule):
    x = cloud(30, 5)
    x[4, 2], x[17] = np.nan, -np.inf
    f = 2
    with pytest.warns(RejectedMessages, match=r"2 of 30 messages \(rows 4, 17\)") as caught:
        found = rule(x, f=f)
    assert [w.filename for w in caught] == [__file__]
    assert caught[0].message.indices == (4, 17)
    assert np.array_equal(found, rule(np.delete(x, [4, 17], axis=0), f=0))
    with pytest.warns(RejectedMessages, match="more than the f = 1 allowed for"):
        assert np.isfinite(rule(x, f=1)).all()
    with pytest.raises(DataError, match="none of the 9 messages is finite"):
        rule(np.full((9, 2), np.nan), f=1)


def test_screening_by_itself():
    kept, f, rejected = screened([[1, 2], [3, math.inf], [5, 6]], f=2)
    assert (kept.tolist(), f, rejected) == ([[1.0, 2.0], [5.0, 6.0]], 1, (1,))
    assert screened(np.full((3, 4), 1e308)).rejected == ()  # the sum overflows, the message does not
    again = pickle.loads(pickle.dumps(RejectedMessages((1, 2), 5, 1)))
    assert (again.indices, again.n, again.f, str(again)) == ((1, 2), 5, 1, str(RejectedMessages((1, 2), 5, 1)))


@EVERY
def test_the_limit_on_f_is_exact_and_the_error_says_what_would_do(rule):
    traits = traits_of(rule)
    for f in range(4):
        enough = traits.least(f)
        assert rule(cloud(enough), f=f).shape == (4,)
        if enough - 1 > f:
            most = traits.largest_f(enough - 1)
            remedy = f"f can be at most {most}" if most >= 0 else "give more messages"
            with pytest.raises(SecmixError, match=rf"needs n >= {enough} messages; given {enough - 1}; .*{remedy}"):
                rule(cloud(enough - 1), f=f)


def test_the_published_limits():
    assert [TRAITS["krum"].least(f) for f in (0, 1, 5)] == [3, 5, 13]
    assert [TRAITS["bulyan"].least(f) for f in (0, 1, 5)] == [3, 7, 23]
    assert [TRAITS["trimmed_mean"].least(f) for f in (0, 1, 5)] == [1, 3, 11]
    assert TRAITS["krum"].breakdown(13, 5) == pytest.approx(5 / 13)
    assert TRAITS["krum"].largest_f(13) == 5


@EVERY
@pytest.mark.parametrize(
    ("messages", "f", "says"),
    [
        (np.zeros(9), 1, r"shape \(n, p\).*messages\[:, None\]"),
        (np.zeros((9, 2, 2)), 1, r"shape \(n, p\)"),
        (3.0, 1, r"shape \(n, p\)"),
        (np.zeros((0, 3)), 0, "empty"),
        (np.zeros((9, 0)), 1, "empty"),
        ([], 0, r"shape \(n, p\)"),
        ([[1.0, 2.0], [3.0]], 0, "array of real numbers"),
        ([["a", "b"]], 0, "array of real numbers"),
        (np.zeros((9, 2), dtype=complex), 1, "complex"),
        (np.zeros((9, 2), dtype=object), 1, "object"),
        (np.ma.masked_equal([[1.0, 0.0]] * 9, 0.0), 1, "masked"),
        (np.zeros((9, 2)), -1, "at least 0"),
        (np.zeros((9, 2)), 1.0, "must be an integer"),
        (np.zeros((9, 2)), True, "must be an integer"),
        (np.zeros((9, 2)), "1", "must be an integer"),
        (np.zeros((9, 2)), np.nan, "must be an integer"),
        (np.zeros((9, 2)), None, "must be an integer"),
        (np.zeros((9, 2)), 9, "nothing honest is left"),
    ],
)
def test_wrong_input_is_refused(rule, messages, f, says):
    with pytest.raises(SecmixError, match=says):
        rule(messages, f=f)


entries = st.one_of(
    st.floats(width=64), st.floats(width=32), st.integers(-9, 9), st.sampled_from([1e308, -1e308, 5e-324, 1e-200])
)
rows = st.integers(0, 3).flatmap(lambda p: st.lists(st.lists(entries, min_size=p, max_size=p), max_size=9))


LARGEST = [[0.0, 0.0], [1.7976931348623143e308, 0.0], [-1.7976931348623143e308, 0.0]]
LARGE_PIVOT = [[0.0, 0.0], [0.0, 1.2711610061536462e308], [3.8e301, 1e308]]
A_STEP_TOO_FAR = [[0.0, 9e75], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]


@EVERY
@example(messages=LARGEST, f=1)  # what two equal distances may differ by was added to the largest float
@example(messages=LARGE_PIVOT, f=0)  # its length was more than the largest float
@example(messages=A_STEP_TOO_FAR, f=0)  # Newton's step from the middle went to 4e241, whose square is none
@given(messages=rows | st.lists(st.lists(entries, max_size=3), max_size=4), f=st.integers(-1, 5))
def test_any_input_gives_a_finite_result_or_a_clear_error(rule, messages, f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedMessages)
        try:
            found = rule(messages, f=f)
        except SecmixError:
            return
        else:
            kept = screened(messages, f).kept
            assert found.shape == (kept.shape[1],)
            assert np.isfinite(found).all()
            # No rule leaves the range of the messages, coordinate by coordinate.
            room = 1e-9 * (np.abs(kept).max() / 2 + 1e-300)
            assert (found / 2 >= kept.min(axis=0) / 2 - room).all()
            assert (found / 2 <= kept.max(axis=0) / 2 + room).all()


@EVERY
def test_one_message_is_its_own_aggregate_or_refused(rule):
    if traits_of(rule).least(0) == 1:
        assert rule([[2.0, 3.0]], f=0).tolist() == [2.0, 3.0]
    else:
        with pytest.raises(SecmixError, match="needs n >="):
            rule([[2.0, 3.0]], f=0)


@EVERY
def test_types(rule):
    whole = np.random.default_rng(1).integers(-50, 50, size=(15, 6))
    expected = rule(whole.astype(np.float64), f=2)
    assert expected.dtype == np.float64
    for dtype in (np.int8, np.int64, np.float16, ">f8", np.longdouble):
        assert np.array_equal(rule(whole.astype(dtype), f=2), expected)
    single = rule(whole.astype(np.float32), f=2)
    assert single.dtype == np.float32
    assert single == pytest.approx(expected, rel=2e-7, abs=1e-5)


@EVERY
def test_float32_is_worked_out_in_double_precision(rule):
    x = (1000 + cloud(15, 40)).astype(np.float32)
    found, exact = rule(x, f=2), rule(x.astype(np.float64), f=2)
    # Rules that average first and then choose pass means on as float32: two roundings instead of one.
    assert np.abs(found - exact).max() <= 4 * np.spacing(np.float32(1000))


@EVERY
def test_layout_does_not_matter_and_input_stays_as_it_is(rule):
    x = cloud(15, 8)
    x.flags.writeable = False
    expected = rule(x, f=2)
    wide = np.zeros((30, 24))
    wide[::2, ::3] = x
    for other in (wide[::2, ::3], np.asfortranarray(x), x[::-1, ::-1].copy()[::-1, ::-1], x.tolist()):
        assert rule(other, f=2) == pytest.approx(expected, abs=1e-13)
    found = rule(wide[::2, ::3], f=2)
    found[:] = 99.0
    assert not (wide == 99.0).any()


@EVERY
@pytest.mark.parametrize("factor", [2.0**1020, 2.0**600, 2.0**-600, 2.0**-990])
def test_huge_and_minute_messages(rule, factor):
    x = cloud(15, 6)
    assert rule(x * factor, f=2) / factor == pytest.approx(rule(x, f=2), rel=1e-9, abs=1e-11)


@EVERY
@pytest.mark.parametrize("far", [1e150, 1e200, 1.7e308])
def test_messages_of_very_different_size(rule, far):
    if rule is mean:
        pytest.skip("the mean goes where one message sends it")
    x = cloud(19, 6)
    x[3], x[8] = far, -far
    moderate = x.copy()
    moderate[3], moderate[8] = 1e9, -1e9
    assert rule(x, f=2) == pytest.approx(rule(moderate, f=2), abs=1e-6)


@EVERY
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-100, 1e-280])
@pytest.mark.parametrize("p", [3, 60])
def test_a_message_pulls_the_same_from_1e30_and_from_1e308(rule, size, p):
    """On one side, so that no opposite cancels it. Seen in units of the others it may be further than any float."""
    if rule is mean:
        pytest.skip("the mean goes where one message sends it")
    x = cloud(13, p) * size
    x[2], x[7] = 0.7 * x[0], -0.4 * x[1]
    near, far = x.copy(), x.copy()
    for i, direction in ((2, x[0]), (7, x[1])):
        unit = direction / np.abs(direction).max()
        near[i], far[i] = unit * 1e30 * size, unit * 1.7e308
    assert rule(far, f=2) / size == pytest.approx(rule(near, f=2) / size, abs=1e-9)


def test_far_messages_are_not_mixed_with_their_opposites():
    """Were both infinitely far, ties by value would put +far and −far among the same neighbours: 0, not far."""
    for far in (1e150, 1e200, 1.7e308):
        x = cloud(19, 6)
        x[3], x[8] = far, -far
        mixed = nnm(lambda messages, f: messages[[3, 8]])(x, f=2)
        assert mixed == pytest.approx(np.array([x[3], x[8]]) / 17, rel=1e-12)


ranged = st.integers(5, 9).flatmap(
    lambda n: st.lists(
        st.lists(
            st.builds(math.ldexp, st.integers(-9, 9), st.sampled_from([-1070, -600, -300, -1, 0, 1, 300, 900])),
            min_size=2,
            max_size=2,
        ),
        min_size=n,
        max_size=n,
    )
)


@given(ranged)
@example([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, -8e-323], [7.1e-322, 7.1e-322]])
def test_distances_over_the_whole_range_of_floats_are_those_of_exact_arithmetic(rows):
    x = np.array(rows)
    n, exact = len(rows), [[Fraction(entry) for entry in row] for row in rows]
    square = [[sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) for other in exact] for one in exact]
    found, unit = distances(x), 2**64 if np.abs(x).max() > 2.0**900 else 1
    least = Fraction(unit, 2**1073)
    for i in range(n):
        for j in range(n):
            got = Fraction(found[i, j]) * unit
            # The distance is off by its ninth digit, or by the least float there is, in its unit.
            assert abs(got**2 - square[i][j]) <= square[i][j] / 10**9 + (2 * got + least) * least

    if any(0 < entry < Fraction(unit, 2**1000) ** 2 for row in square for entry in row):
        return  # floats so small have too few digits to rank
    scores = [sum(sorted(square[i])[1 : n - 2]) for i in range(n)]
    chosen = krum(x, f=1)
    at = next(i for i in range(n) if (x[i] == chosen).all())
    assert scores[at] <= min(scores) * (1 + Fraction(1, 10**9))


def test_huge_messages_that_hide_in_one_coordinate():
    # Far away where a sample of the coordinates does not look: the rest must keep their distances.
    x = cloud(21, 3000)
    expected = {rule: rule(x[4:], f=0) for rule in (geometric_median, krum)}
    for far in (1e10, 1e160, 1e300):
        for spot in (1, 2, 7):
            x[:4, :] = 0.0
            x[:4, spot] = far * np.arange(1, 5)
            assert np.abs(krum(x, f=4)).max() < 10
            assert np.linalg.norm(geometric_median(x, f=4) - expected[geometric_median]) < 30


def test_mean_ignores_f_but_checks_it():
    assert mean([[1.0], [3.0]], f=1).tolist() == [2.0]
    with pytest.raises(SecmixError):
        mean([[1.0], [3.0]], f=2)


def test_multi_krum_refuses_to_average_everybody():
    with pytest.raises(SecmixError, match="use m <= 9"):
        multi_krum(cloud(11), f=2, m=10)


@pytest.mark.parametrize("p", [2, 5, 100])
@pytest.mark.parametrize("sizes", [(1e150, 1e100, 1e50), (1e214, 1e185, 1.0), (1e300, 1e30, 1e5), (1e18, 1e9, 1.0)])
@pytest.mark.parametrize("name", sorted(set(TRAITS) - {"mean"}))
def test_liars_each_of_whom_drowns_the_next_do_not_move_those_who_agree(name, sizes, p):
    """Seen from the second liar, whom the first makes look central, the third lay where the honest are."""
    messages = np.zeros((20, p))
    messages[0, 0], messages[1, -1], messages[2, -1] = -sizes[0], -sizes[1], sizes[2]
    for order in (np.arange(20), np.arange(20)[::-1], np.roll(np.arange(20), 7)):
        assert not getattr(aggregators, name)(messages[order], f=3).any()


def test_the_geometric_median_ends_where_messages_differ_in_the_last_digit():
    """Means of equal messages do; beside liars of 10²⁹⁰ it went from one of them to the other and back, and gave up."""
    agreed = np.zeros(15)
    agreed[-1] = -1.74e-7
    liar = [
        *(1e290, 1.98e-7, -1.13e-7, -6.39e-6, 4.34e-7, -2.95e-7, 3.77e-7, 3.49e-7, 9.65e-8, -7.88e-8),
        *(-6e-8, -4.93e-7, 3.75e-8, 1.61e-7, 1.13e-7),
    ]
    messages = np.concatenate([np.tile(agreed, (13, 1)), np.tile(liar, (3, 1))])
    messages[14:, 3] = -3.42e-7
    assert median_of_means(messages, f=3) == pytest.approx(agreed, abs=1e-20)


def test_mda_counts_sets_of_equal_messages_once():
    assert mda(np.zeros((25, 1)), f=12) == 0
    assert mda(np.repeat([[0.0], [1.0], [5.0]], [8, 8, 9], axis=0), f=12) == pytest.approx([5 / 13])
