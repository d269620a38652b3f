"""Models in one flat vector: their arrays are found in it, and a row behind it only where one layout explains all."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.adversaries.reconstructions.flat import layouts, row_in_flat
from secmix.auditing.recorded import audit_recording
from secmix.recording import Recorder, read_recording
from secmix.transcript import SERVER

WIDTH, HIDDEN = 6, 4


def trained(rows, rounds=3, by_unit=True, biases=True, signs=False, precision="float64", seed=0):
    """A network of two layers, flat, before and after a step of each round on rows that end with the label."""
    rng = np.random.default_rng(seed)
    x, y = rows[:, :-1], rows[:, -1]
    moves = []
    for _ in range(rounds):
        first, one, second = rng.normal(size=(HIDDEN, WIDTH)), rng.normal(size=HIDDEN), rng.normal(size=HIDDEN)
        inner = x @ first.T + one
        off = (np.maximum(inner, 0) @ second - y) / len(x)
        back = off[:, None] * second * (inner > 0)
        slopes = [back.T @ x, back.sum(axis=0), off @ np.maximum(inner, 0)]
        slopes = [np.sign(slope) for slope in slopes] if signs else slopes
        model, after = [first, one, second], []
        for array, slope in zip(model, slopes, strict=True):
            after.append(array - 0.1 * slope)
        if not by_unit:
            model[0], after[0] = model[0].T, after[0].T
        flat = [
            np.concatenate([each.ravel() for k, each in enumerate(arrays) if biases or k != 1]).astype(precision)
            for arrays in (model, after)
        ]
        moves.append((flat[0], flat[1]))
    return moves


def row(seed=1):
    return np.random.default_rng(seed).normal(size=(1, WIDTH + 1))


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(4))
def test_the_only_row_is_found_in_a_flat_vector_without_its_layout(precision, seed):
    only = row(seed)
    found = row_in_flat(trained(only, precision=precision, seed=seed))
    assert found is not None
    assert found.certified
    assert np.abs(found.rows[0] - only[0, :-1]).max() <= max(found.error, 1e-12)
    assert found.error < (1e-9 if precision == "float64" else 2e-2)


@pytest.mark.parametrize(
    ("rows", "how"),
    [
        (np.random.default_rng(0).normal(size=(3, WIDTH + 1)), {}),  # a mean of three is no row
        (row(), {"biases": False}),  # nothing to divide by
        (row(), {"signs": True}),
        (row(), {"by_unit": False}),  # what is the last column, what the biases?
        (row(), {"by_unit": False, "biases": False}),
        (np.ones((1, WIDTH + 1)), {}),  # constant rows fit several layouts
    ],
    ids=["three rows", "no biases", "signs", "by column", "by column, no biases", "a constant row"],
)
def test_nothing_false_is_certified_where_no_layout_or_several_explain_it(rows, how):
    for seed in range(12):
        assert row_in_flat(trained(rows, seed=seed, **how)) is None


def test_one_unit_is_not_certified_since_any_of_its_numbers_may_be_the_bias():
    x = np.array([0.5, -1.25, 3.0, 1.0])
    moves = [(np.zeros(4), g * x) for g in (0.3, -0.2, 0.1)]
    assert row_in_flat(moves) is None


def moved(weights, biases, scales=(0.3, -0.2, 0.5)):
    """Rounds in which a flat vector moves along weights and biases, by other scales."""
    m = np.concatenate([np.ravel(weights), biases])
    return [(np.zeros(len(m)), g * m) for g in scales]


ROW, STEPS = np.array([0.5, -1.25]), np.array([1.0, 2.0, -3.0])


def test_a_layer_is_found_by_its_own_arithmetic():
    assert row_in_flat(moved(np.outer(STEPS, ROW), STEPS)).rows[0].tolist() == pytest.approx(ROW.tolist())


@pytest.mark.parametrize(
    ("weights", "biases"),
    [
        # Four units of two inputs, or two of four: 1, r, r, r² divide either way.
        (np.outer([1.0, 2.0, 2.0, 4.0], ROW), [1.0, 2.0, 2.0, 4.0]),
        # What follows the weights of two units that move alike are no biases of theirs.
        (np.outer([1.0, 1.0], ROW), [2.0, 2.0]),
        # The last of nine units, whose weights move a little, its bias not at all.
        (np.vstack([np.outer(np.arange(1.0, 9.0), ROW), [0.003, 0.001]]), [*np.arange(1.0, 9.0), 0.0]),
    ],
    ids=["two layouts", "equal moves", "a still bias"],
)
def test_what_fits_two_layouts_or_none_in_full_is_not_certified(weights, biases):
    assert row_in_flat(moved(weights, biases)) is None


def test_arrays_are_found_by_their_sizes_or_by_their_numbers_in_any_order():
    weights, bias = np.array([1.5, 2.5, -3.0]), np.array([0.25])
    assert layouts([[weights, bias], [np.zeros(4)]]) == {4: (slice(0, 3), slice(3, 4))}
    reversed_with_more = np.array([9.0, 0.25, 1.5, 2.5, -3.0, 7.0])
    assert layouts([[weights, bias], [reversed_with_more]]) == {6: (slice(2, 5), slice(1, 2))}
    assert layouts([[weights, bias], [np.arange(7.0)]]) == {}
    assert layouts([[weights, bias], [np.array([*weights, *weights, 0.25])]]) == {}  # which of both?
    assert layouts([[np.array([1.0, 2.0]), np.array([2.0, 3.0])], [np.array([1.0, 2.0, 3.0, 9.0, 8.0])]]) == {}
    assert layouts([[np.zeros(3), np.zeros(1)], [np.zeros(1), np.zeros(3)], [np.zeros(4)]]) == {}  # in two ways


def record(folder, flat_answers, flat_questions, as_one_unit=True, count=1):
    """A linear model of one row, in arrays or flat; in the second round the server sends what it was sent."""
    recorder, x, y = Recorder(folder), np.array([0.5, -1.25, 3.0]), 2.0
    weights, bias = np.array([0.1, 0.2, 0.3]), np.array([0.4])
    for t in range(3):
        for asks in (True, False):
            if not asks:
                off = x @ weights + bias - y
                weights, bias = weights - 0.1 * off * x, bias - 0.1 * off
            flat = flat_questions if asks else flat_answers
            arrays = [np.concatenate([weights, bias])] if flat else [weights, bias]
            parts = [(f"array {k}", (), each) for k, each in enumerate(arrays)]
            roles = {kind: "model" for kind, _, _ in parts}
            if asks:
                recorder.write(t, 0, SERVER, 0, parts, roles=roles)
            else:
                recorder.write(t, 1, 0, SERVER, [*parts, ("n", (), [count])], roles=roles | {"n": "count"})
    return audit_recording(read_recording(folder))


@pytest.mark.parametrize(("answers", "questions"), [(True, False), (False, True), (False, False)])
def test_flat_vectors_of_a_recording_are_cut_like_the_arrays_of_its_other_messages(tmp_path, answers, questions):
    found = record(tmp_path, answers, questions)
    assert found.verdict == "violated"
    assert np.abs(found.rows[0].row - [0.5, -1.25, 3.0]).max() < 1e-9


def test_where_no_layout_is_found_the_report_says_what_to_declare(tmp_path):
    found = record(tmp_path, True, True)
    assert (found.verdict, found.rows) == ("inconclusive", [])
    assert "node 0 sends its model as one vector of 4 numbers" in found.not_said[-1]
    assert record(tmp_path / "many", True, True, count=5).not_said[-1] != found.not_said[-1]
