"""Probes around NVFlare's filters, called as NVFlare calls them, and what is said of each filter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from secmix.auditing.recorded import audit_job, audit_recording
from secmix.cli.recorded_audit import as_lines
from secmix.errors import DataError
from secmix.recording import read_recording
from secmix.recording.nvflare.ends import read_job

pytest.importorskip("nvflare", reason="NVFlare is installed in an environment of its own")
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.filter import ContentBlockedException, Filter
from nvflare.apis.fl_constant import FLContextKey, FLMetaKey
from nvflare.apis.fl_context import FLContext, FLContextManager
from nvflare.apis.shareable import ReservedHeaderKey, Shareable
from nvflare.apis.utils.task_utils import apply_filters
from nvflare.app_common.filters.exclude_vars import ExcludeVars
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
from nvflare.app_common.filters.svt_privacy import SVTPrivacy
from nvflare.fuel.utils import fobs
from nvflare.private.privacy_manager import Scope

from secmix.recording.nvflare import MessageRecorder, names
from secmix.recording.nvflare.component import install
from secmix.recording.nvflare.contents import contents

STEPS = FLMetaKey.NUM_STEPS_CURRENT_ROUND


class Runner:
    """Filters of a client's runner."""

    def __init__(self, data=None, result=None):
        self.task_data_filters, self.task_result_filters = data or {}, result or {}


class Silent(Filter):
    """A filter that looks, and lets everything pass."""

    def process(self, shareable, fl_ctx):
        return shareable


class Forgetful(PercentilePrivacy):
    """A privacy filter with a slip: what it clips it does not put into the message."""

    def process_dxo(self, dxo, shareable, fl_ctx):
        kept = dict(dxo.data)
        super().process_dxo(dxo, shareable, fl_ctx)
        dxo.data = kept
        return dxo


class Blocker(Filter):
    def process(self, shareable, fl_ctx):
        raise ContentBlockedException("not this")


def a_context(name="site-1", peer="server", **props) -> FLContext:
    context = FLContextManager(identity_name=name, job_id="job").new_context()
    other = FLContext()
    other.set_prop("__identity_name__", peer, private=False)
    context.set_peer_context(other)
    for key, value in props.items():
        context.set_prop(getattr(FLContextKey, key), value, private=True, sticky=False)
    return context


def a_model(seed=0, kind=DataKind.WEIGHTS, **arrays) -> Shareable:
    draw = np.random.default_rng(seed)
    data = arrays or {"layer": draw.standard_normal((4, 5)), "bias": draw.standard_normal(4)}
    return DXO(kind, data=data, meta={STEPS: 3}).to_shareable()


def run(folder, result=None, data=None, tasks=("train",), messages=None, scope=None):
    """Pass results of tasks through a client's chain, as its runner does; return what left, and the audit."""
    runner = Runner(data, result)
    context = a_context(RUNNER=runner, **({"SCOPE_OBJECT": scope} if scope else {}))
    install(context, str(folder), True)
    left = []
    for k, task in enumerate(tasks):
        message = messages[k] if messages else a_model(k)
        given = a_context(TASK_NAME=task, TASK_ID=str(k), **({"SCOPE_OBJECT": scope} if scope else {}))
        try:
            left.append(apply_filters("task_result_filters", message, given, runner.task_result_filters, task, "out"))
        except ContentBlockedException:
            left.append(None)
    return left, audit_job(read_job(folder / "site-1")) if any(left) else None


def the_control(found):
    (control,) = found.controls
    return control


RIGHT = {
    "svt": lambda: SVTPrivacy(fraction=0.5, epsilon=50.0, gamma=1.0),
    "percentile": lambda: PercentilePrivacy(percentile=20, gamma=0.1),
    "excluded": lambda: ExcludeVars(["bias"]),
    "excluded by pattern": lambda: ExcludeVars("^bi"),
}
WRONG = {
    "limits that bind nothing": lambda: PercentilePrivacy(percentile=0, gamma=1e9),
    "no limit": lambda: PercentilePrivacy(gamma=0),
    "another name": lambda: ExcludeVars(["biases"]),
    "another pattern": lambda: ExcludeVars("^fc"),
    "no names": lambda: ExcludeVars(),
    "another kind": lambda: PercentilePrivacy(gamma=0.1, data_kinds=[DataKind.WEIGHT_DIFF]),
    "a slip": lambda: Forgetful(gamma=0.1),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_filter_that_acts_is_in_force(name, tmp_path):
    _, found = run(tmp_path, {"train/out": [RIGHT[name]()]}, tasks=["train", "train"])
    assert (the_control(found).outcome, the_control(found).calls, the_control(found).changed) == ("in force", 2, 2)
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize("name", WRONG)
def test_a_filter_that_does_not_act_is_the_first_line(name, tmp_path):
    _, found = run(tmp_path, {"train/out": [WRONG[name]()]}, tasks=["train", "train"])
    assert the_control(found).outcome == "violated"
    lines = list(as_lines(found))
    assert lines[0].endswith("violated")
    assert "was not in force" in lines[2]


@pytest.mark.parametrize("key", ["*/out", "trian/out", "train/in"])
def test_a_filter_under_a_key_that_nothing_passes_is_never_called(key, tmp_path):
    left, found = run(tmp_path, {key: [SVTPrivacy()]})
    assert_array_equal(left[0]["DXO"]["data"]["layer"], a_model(0)["DXO"]["data"]["layer"])
    assert the_control(found).outcome == "violated"
    assert "never called" in the_control(found).how
    assert ("no task is called *" in the_control(found).how) == key.startswith("*")


@pytest.mark.parametrize("control", [RIGHT["svt"](), RIGHT["percentile"](), ExcludeVars(["seen"]), ExcludeVars("^se")])
def test_a_variable_of_one_number_is_no_array(control, tmp_path):
    """NVFlare's filters let it pass, but for those that exclude it: a count of batches is one."""
    message = a_model(layer=np.random.default_rng(0).standard_normal((4, 5)), seen=np.array(1000.0))
    left, found = run(tmp_path, {"train/out": [control]}, messages=[message])
    assert the_control(found).outcome == "in force"
    assert ("seen" in left[0]["DXO"]["data"]) == (not isinstance(control, ExcludeVars))


def test_the_fraction_of_the_sparse_vector_technique_is_of_all_variables(tmp_path):
    """Of 20 numbers in an array and a single one half is 11; by this seed all of them are in the array."""
    np.random.seed(229)  # noqa: NPY002 NVFlare draws so
    message = a_model(layer=np.random.default_rng(0).standard_normal((4, 5)), seen=np.array(1000.0))
    left, found = run(tmp_path, {"train/out": [RIGHT["svt"]()]}, messages=[message])
    assert np.count_nonzero(left[0]["DXO"]["data"]["layer"]) == 11
    assert the_control(found).outcome == "in force"


def test_a_model_that_leaves_by_another_task_is_let_through(tmp_path):
    messages = [a_model(0), a_model(0)]
    _, found = run(tmp_path, {"train/out": [SVTPrivacy()]}, tasks=["train", "submit_model"], messages=messages)
    assert the_control(found).outcome == "violated"
    assert "left all the same in submit_model (result) to server" in the_control(found).how


def test_another_model_in_another_task_is_no_bypass(tmp_path):
    _, found = run(tmp_path, {"train/out": [SVTPrivacy()]}, tasks=["train", "submit_model"])
    assert the_control(found).outcome == "in force"


def test_a_filter_of_unknown_purpose_that_changes_nothing_is_not_accused(tmp_path):
    _, found = run(tmp_path, {"train/out": [Silent()]})
    assert (the_control(found).outcome, found.verdict) == ("unclear", "inconclusive")
    assert "changed none of 1" in the_control(found).how


def test_a_filter_that_refuses_a_message_keeps_its_error_and_is_in_force(tmp_path):
    left, found = run(tmp_path, {"train/out": [Blocker()]}, tasks=["train", "validate"])
    assert left[0] is None
    assert (the_control(found).outcome, the_control(found).calls) == ("in force", 1)
    assert "refused all of 1 message (ContentBlockedException)" in the_control(found).how


def test_the_probes_change_no_message_and_see_what_is_on_the_line(tmp_path):
    np.random.seed(0)  # noqa: NPY002 NVFlare draws so
    wanted = SVTPrivacy().process(a_model(0), a_context())
    np.random.seed(0)  # noqa: NPY002
    left, _ = run(tmp_path, {"train/out": [SVTPrivacy()]})
    sent = read_job(tmp_path / "site-1").messages[0]
    for name, array in wanted["DXO"]["data"].items():
        assert_array_equal(left[0]["DXO"]["data"][name], array)
        assert_array_equal(sent.arrays[f"weights/{name}"], array.ravel())


def test_filters_of_the_site_are_watched_too(tmp_path):
    scope = Scope()
    scope.add_task_result_filter(ExcludeVars(["bias"]), "out")
    scope.add_task_data_filter(Silent(), "in")
    left, found = run(tmp_path, scope=scope)
    assert list(left[0]["DXO"]["data"]) == ["layer"]
    assert [(each.name, each.source, each.outcome) for each in found.controls] == [
        ("Silent", "site", "violated"),  # no task data came
        ("ExcludeVars", "site", "in force"),
    ]
    assert "has received the message before" not in found.controls[1].how


def test_bytes_that_nvflare_packed_are_read_and_others_are_opaque():
    packed = fobs.dumps({"mean": {"age": 52.5}, "histogram": [1, 2, 3]})
    message = DXO(DataKind.STATISTICS, data={"task": packed, "cipher": bytes(range(256)), "name": "x"}).to_shareable()
    message.set_header(ReservedHeaderKey.TASK_NAME, "train")
    read = contents(message)
    assert read.singles == {"statistics/task/mean/age": 52.5}
    assert [(part.path, part.numbers.size, part.opaque) for part in read.arrays] == [
        ("statistics/task/histogram", 3, False),
        ("statistics/cipher", 256, True),
    ]
    assert read.texts == ["statistics/name"]


@pytest.mark.parametrize("layers", [None, ["layer"]])
def test_encrypted_arrays_are_opaque_and_the_encryptor_is_in_force(layers, tmp_path):
    tenseal = pytest.importorskip("tenseal", reason="TenSEAL is not installed")
    from nvflare.app_opt.he.model_encryptor import HEModelEncryptor

    encryptor = HEModelEncryptor(encrypt_layers=layers)
    encryptor.tenseal_context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40])
    encryptor.tenseal_context.global_scale = 2**40
    encryptor.encrypt_layers = layers or [True]  # as at the start of a run
    _, found = run(tmp_path, {"train/out": [encryptor]})
    assert (the_control(found).outcome, found.verdict) == ("in force", "inconclusive")
    (message,) = read_job(tmp_path / "site-1").messages
    assert message.opaque == ({"weights/layer"} if layers else {"weights/layer", "weights/bias"})
    assert len(message.arrays["weights/layer"]) > 10_000
    assert ("1 other stayed readable" in the_control(found).how) == bool(layers)


def test_a_client_that_is_started_anew_goes_on_with_its_recording(tmp_path):
    for k in range(3):
        runner = Runner()
        install(a_context(RUNNER=runner), str(tmp_path), True)
        for chain, direction in (("task_data", "in"), ("task_result", "out")):
            given = a_context(TASK_NAME="train", TASK_ID=str(k))
            table = getattr(runner, f"{chain}_filters")
            apply_filters(f"{chain}_filters", a_model(k), given, table, "train", direction)
    own = read_recording(tmp_path / "site-1")
    assert [(m.iteration, m.round, m.sender) for m in own.messages] == [
        *[(0, 0, -1), (0, 1, 0), (1, 0, -1)],
        *[(1, 1, 0), (2, 0, -1), (2, 1, 0)],
    ]
    assert [m.tag for m in read_job(tmp_path).messages] == [f"number {k}" for k in (0, 0, 1, 1, 2, 2)]


def test_the_neutral_form_declares_what_the_parts_are(tmp_path):
    difference = DXO(DataKind.WEIGHT_DIFF, data={"w": np.ones(2)}, meta={"num-examples": 1, STEPS: 3}).to_shareable()
    run(tmp_path, tasks=["train", "train", "stop"], messages=[a_model(0), difference, Shareable({"key": b"\xc1" * 9})])
    model, update, other = read_recording(tmp_path / "site-1").messages
    assert model.roles == {
        **{"train reply: weights/layer": "model", "train reply: weights/bias": "model"},
        f"meta/{STEPS}": "statistic",
    }
    assert update.roles == {
        **{"train reply: weight_diff/w": "update", "meta/num-examples": "count"},
        f"meta/{STEPS}": "statistic",
    }
    assert other.roles == {"stop reply: key": "opaque"}
    assert read_job(tmp_path).neutral().messages[1].roles == update.roles
    assert audit_recording(read_recording(tmp_path / "site-1")).verdict == "inconclusive"


def test_messages_of_many_numbers_and_of_strange_things_are_recorded(tmp_path):
    many = DXO(DataKind.METRICS, data={f"m{k}": float(k) for k in range(12_000)}).to_shareable()
    loop = {"deeper": None}
    loop["deeper"] = loop
    strange = Shareable(
        {
            **{3: [1, "two", None, {"x": np.float16(1.5)}], "huge": 10**400, "loop": loop, "set": {1}, "no": None},
            **{
                "ragged": [[1], [2, 3]],
                "complex": np.array([1 + 2j]),
                "objects": np.array([{}]),
                "e" * 500: [1.0, 2.0],
            },
        }
    )
    run(tmp_path, tasks=["train", "odd"], messages=[many, strange])
    first, second = read_job(tmp_path / "site-1").messages
    assert first.singles == {f"metrics/m{k}": float(k) for k in range(12_000)}
    assert {path: numbers.tolist() for path, numbers in second.arrays.items() if len(path) < 100} == {
        **{"ragged/0": [1], "ragged/1": [2, 3], "complex": [1.0, 2.0]},
    }
    assert second.singles == {"3/0": 1.0, "3/3/x": 1.5}
    assert len(second.arrays) == 4


def test_support_vectors_are_rows_and_the_folder_says_who_gets_them(tmp_path):
    rows = np.array([[1.5, 2.0], [3.0, -1.0]])
    message = a_model(support_x=rows, support_y=np.array([0.0, 1.0]))
    _, found = run(tmp_path, messages=[message])
    assert found.verdict == "violated"
    assert [(row.client, row.known_to, row.row.tolist()) for row in found.rows] == [
        ("site-1", ("server",), [1.5, 2.0]),
        ("site-1", ("server",), [3.0, -1.0]),
    ]
    assert not any("1.5" in line for line in as_lines(found))
    assert any(line.endswith("- 1.5, 2") for line in as_lines(found, show_private=True))


def test_a_name_that_this_nvflare_lacks_is_named(tmp_path, monkeypatch):
    class Empty:
        pass

    with pytest.raises(DataError, match=r"has no Empty\.task_data_filters, which recording uses"):
        install(a_context(RUNNER=Empty()), str(tmp_path), True)
    with pytest.raises(DataError, match=r"has no nvflare.apis.dxo.MetaKey.NONE, which recording uses"):
        names.used("nvflare.apis.dxo", "MetaKey.NONE")


def test_a_recorder_that_cannot_record_stops_the_job(tmp_path, monkeypatch):
    stopped = []
    monkeypatch.setattr(MessageRecorder, "system_panic", lambda self, reason, context: stopped.append(reason))
    MessageRecorder(str(tmp_path)).handle_event("_about_to_start_run", a_context(RUNNER=object()))
    assert len(stopped) == 1
    assert stopped[0].startswith("secmix cannot record: NVFlare")


@pytest.mark.parametrize("seed", [0, 1])
def test_a_message_that_arrives_as_another_is_told(seed, tmp_path):
    run(tmp_path)  # sends what seed 0 draws
    server = type("ServerRunner", (), {"config": Runner()})()
    install(a_context("server", "site-1", RUNNER=server), str(tmp_path), True)
    given = a_context("server", "site-1", TASK_NAME="train", TASK_ID="0")
    apply_filters("task_result_filters", a_model(seed), given, server.config.task_result_filters, "train", "in")
    job = read_job(tmp_path)
    assert [m.recorded_at for m in job.messages] == ["server" if seed else "both ends"]
    assert len(job.changed) == seed
    assert any("arrived otherwise than it left" in each for each in audit_job(job).remarks) == bool(seed)
