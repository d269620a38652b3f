"""Privacy filters of NVFlare as they come, put to the test: what they say of epsilon, and what is seen at least."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from secmix.auditing.recorded.recorded_spending import spent_as_configured
from secmix.privacy import epsilon_lower_bound
from secmix.recording.nvflare.ends import JobRecording, Participant

pytest.importorskip("nvflare", reason="NVFlare is installed in an environment of its own")
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.exclude_vars import ExcludeVars
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

from secmix.recording.nvflare.chains import _arguments

RUNS = 1000


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def filtered(privacy_filter, variables):
    """Return what a filter lets pass of a client's update, and what it says of it."""
    content = {name: np.array(value, dtype=float) for name, value in variables.items()}
    return privacy_filter.process_dxo(DXO(DataKind.WEIGHT_DIFF, data=content), Shareable(), FLContext())


def seen(privacy_filter, first, second, of=np.concatenate, runs=RUNS):
    """Bound epsilon from below by what passes of two updates; the filters draw from NumPy's global generator."""

    def mechanism(variables, rng):
        np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
        data = filtered(privacy_filter, variables).data
        return of([np.ravel(data[name]) for name in sorted(data)])

    return epsilon_lower_bound(mechanism, (first, second), runs=runs).epsilon


def accounted(privacy_filter, numbers, single=0):
    """Return epsilon of one call by the account of a recorded job."""
    line = {
        "id": "job-0", "class": type(privacy_filter).__name__, "parents": [], "chain": "task_result",
        "keys": ["train/out"], "source": "job", "arguments": _arguments(privacy_filter),
    }  # fmt: skip
    passage = {"filter": "job-0", "numbers": numbers, "single": single}
    (spent,) = spent_as_configured(
        JobRecording("server", ("a",), (Participant("a", False, True, "", (line,), (passage,), True),), (), ())
    )
    return spent.total


@pytest.mark.parametrize("numbers", [1, 10, 995])
def test_the_account_of_a_recorded_job_is_that_of_the_filter_itself(numbers):
    budget = filtered(SVTPrivacy(), {"w": np.ones(numbers)}).get_meta_prop("svt_privacy_budget")
    if budget is None:
        pytest.skip("this NVFlare has no accountant")
    assert accounted(SVTPrivacy(), numbers) == pytest.approx(budget["epsilon_total"])
    beside_one = filtered(SVTPrivacy(), {"w": np.ones(numbers), "batches": 1.0}).get_meta_prop("svt_privacy_budget")
    assert accounted(SVTPrivacy(), numbers, single=1) == pytest.approx(beside_one["epsilon_total"])


def test_the_sparse_vector_technique_spends_more_than_its_epsilon_and_less_than_it_counts():
    """Epsilon = 0.1 is of which numbers are sent; these carry Laplace noise of twenty times gamma, and add up."""
    up, down = ({"w": np.full(10_000, sign)} for sign in (1.0, -1.0))
    bound = seen(SVTPrivacy(), up, down, of=lambda parts: [np.concatenate(parts).sum()])
    assert 10 * SVTPrivacy().epsilon < bound < accounted(SVTPrivacy(), 10_000)


def test_few_numbers_keep_what_is_counted_for_them():
    up, down = ({"w": np.full(10, sign)} for sign in (1.0, -1.0))
    assert accounted(SVTPrivacy(), 10) == pytest.approx(0.2)
    assert seen(SVTPrivacy(), up, down) <= 0.2


def test_a_variable_of_one_number_passes_the_sparse_vector_technique_bare():
    """As the count of batches of a batch normalisation does, whatever epsilon is configured."""
    one, two = ({"w": np.ones(10), "batches": float(count)} for count in (4, 5))
    assert accounted(SVTPrivacy(), 10, single=1) == pytest.approx(0.3)
    assert seen(SVTPrivacy(), one, two) > 4.0


def test_the_largest_percentile_adds_no_noise():
    """It claims no epsilon, and keeps none: updates of another sign are told apart in every run."""
    up, down = ({"w": sign * np.arange(10.0)} for sign in (1, -1))
    assert seen(PercentilePrivacy(), up, down) > 4.0


def test_excluded_variables_tell_nothing_and_all_others_tell_all():
    base = {"head": np.zeros(4), "body": np.zeros(4)}
    exclusion = ExcludeVars(exclude_vars=["head"])
    assert seen(exclusion, base, {**base, "head": np.ones(4)}) == 0.0
    assert seen(exclusion, base, {**base, "body": np.ones(4)}) > 4.0
