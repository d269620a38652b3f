"""Jobs of NVFlare, written as its own examples have them, for the tests of recordings."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PLAIN = "nvflare.app_common"

LINEAR = """
import json

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import nvflare.client as flare

flare.init()
first = int(flare.get_site_name()[-1]) - 1
x, y = load_breast_cancer(return_X_y=True)
x, y = StandardScaler().fit_transform(x[:, :10])[first::2][: 200 + 50 * first], y[first::2][: 200 + 50 * first]
model = SGDClassifier(loss="log_loss", eta0=0.01, learning_rate="constant", max_iter=1, tol=None, warm_start=True)
model.classes_, model.coef_, model.intercept_ = np.array([0, 1]), np.zeros((1, 10)), np.zeros(1)
while flare.is_running():
    received = flare.receive()
    if "coef" in received.params:
        model.coef_, model.intercept_ = received.params["coef"].copy(), received.params["intercept"].copy()
    model.fit(x, y)
    print("LOGGED", json.dumps({"coef": model.coef_.ravel().tolist(), "intercept": model.intercept_.tolist()}))
    params, told = {"coef": model.coef_, "intercept": model.intercept_}, {"NUM_STEPS_CURRENT_ROUND": len(y)}
    flare.send(flare.FLModel(params=params, metrics={"accuracy": model.score(x, y)}, meta=told))
"""

KMEANS = """
import json

import numpy as np
from sklearn.cluster import MiniBatchKMeans, kmeans_plusplus

import nvflare.client as flare

flare.init()
x = np.array(json.loads(open(f"{PLACE}/patients-{flare.get_site_name()}.json").read()))
while flare.is_running():
    received = flare.receive()
    if received.current_round == 0:
        center, _ = kmeans_plusplus(x, n_clusters=received.params["n_clusters"], random_state=0)
        params = {"center": center, "count": None}
    else:
        start = received.params["center"]
        fitted = MiniBatchKMeans(
            n_clusters=len(start), batch_size=len(x), max_iter=1, init=start, n_init=1, reassignment_ratio=0,
            random_state=0,
        ).fit(x)
        params = {"center": fitted.cluster_centers_, "count": fitted._counts}
    logged = {**params, "start": received.params.get("center")}
    said = {name: array for name, array in logged.items() if array is not None}
    print("LOGGED", json.dumps({name: np.ravel(array).tolist() for name, array in said.items()}))
    flare.send(flare.FLModel(params=params, metrics={"metrics": 0.0}, meta={"NUM_STEPS_CURRENT_ROUND": len(x)}))
"""

ENCRYPTED = """
import json

import numpy as np

from nvflare.apis.dxo import from_shareable
from nvflare.apis.fl_component import FLComponent
from nvflare.app_common.abstract.model import make_model_learnable
from nvflare.app_common.abstract.model_persistor import ModelPersistor
from nvflare.app_common.np.np_trainer import NPTrainer
from nvflare.fuel.sec.security_content_service import SecurityContentManager, SecurityContentService


class Keys(FLComponent):
    # Hands over the contexts that a provisioned site has in its startup kit.
    def __init__(self, folder):
        super().__init__()
        SecurityContentService.content_folder = folder
        SecurityContentService.security_content_manager = SecurityContentManager(folder)


class Persistor(ModelPersistor):
    # Starts from a model that everybody knows; what comes of it stays encrypted.
    def load_model(self, fl_ctx):
        return make_model_learnable({"numpy_key": np.arange(6.0)}, {})

    def save_model(self, model, fl_ctx):
        pass


class Trainer(NPTrainer):
    # NVFlare's decryptor leaves lists.
    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        dxo = from_shareable(shareable)
        dxo.data = {name: np.array(numbers) for name, numbers in dxo.data.items()}
        trained = super().execute(task_name, dxo.update_shareable(shareable), fl_ctx, abort_signal)
        self.log_info(fl_ctx, "LOGGED " + json.dumps({"numpy_key": from_shareable(trained).data["numpy_key"].tolist()}))
        return trained
"""


def encrypted(folder: Path) -> Path:
    """FedAvg of a NumPy model under CKKS, from the clients' encryptors to their decryptors."""
    import tenseal

    keys, he = folder / "keys", "nvflare.app_opt.he"
    keys.mkdir(parents=True)
    kind = {"encryption_type": tenseal.ENCRYPTION_TYPE.SYMMETRIC, "coeff_mod_bit_sizes": [60, 40, 40]}
    context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, 8192, **kind)
    context.global_scale = 2**40
    for name, secret in (("client", True), ("server", False)):
        (keys / f"{name}_context.tenseal").write_bytes(context.serialize(save_secret_key=secret))
    key = {"id": "keys", "path": "he_job.Keys", "args": {"folder": str(keys)}}
    controller = {
        **{"min_clients": 2, "num_rounds": 2, "wait_time_after_min_received": 0, "train_timeout": 0},
        **{"persistor_id": "persistor", "shareable_generator_id": "generator", "aggregator_id": "aggregator"},
    }
    workflow = {"id": "sag", "path": f"{PLAIN}.workflows.scatter_and_gather.ScatterAndGather", "args": controller}
    aggregator = "intime_accumulate_model_aggregator.HEInTimeAccumulateWeightedAggregator"
    summed = {"expected_data_kind": "WEIGHTS", "weigh_by_local_iter": False}
    components = {
        "persistor": ("he_job.Persistor", {}),
        "generator": (f"{he}.model_shareable_generator.HEModelShareableGenerator", {}),
        "aggregator": (f"{he}.{aggregator}", summed),
    }
    parts = [{"id": name, "path": path, "args": args} for name, (path, args) in components.items()]
    filters = {
        f"task_{chain}_filters": [{"tasks": ["train"], "filters": [{"path": f"{he}.model_{name}", "args": {}}]}]
        for chain, name in (("result", "encryptor.HEModelEncryptor"), ("data", "decryptor.HEModelDecryptor"))
    }
    trainer = {"tasks": ["train"], "executor": {"path": "he_job.Trainer", "args": {"sleep_time": 0}}}
    server = {"workflows": [workflow], "components": [key, *parts]}
    job = written(folder / "encrypted", server, {"executors": [trainer], "components": [key], **filters})
    (job / "app" / "custom").mkdir()
    (job / "app" / "custom" / "he_job.py").write_text(ENCRYPTED)
    return job


def linear(folder: Path, tasks: dict[str, list[str]]) -> Path:
    """FedAvg of scikit-learn's logistic regression; ``tasks`` are those of each client's SVTPrivacy."""
    from nvflare.app_common.filters.svt_privacy import SVTPrivacy
    from nvflare.app_opt.sklearn import SklearnFedAvgRecipe
    from nvflare.recipe import set_per_site_config

    with _script(folder, LINEAR):
        recipe = SklearnFedAvgRecipe(
            name="linear", min_clients=2, num_rounds=2, model_params={"n_classes": 2}, train_script="client.py"
        )
        set_per_site_config(recipe, {site: {} for site in tasks})
        for site, names in tasks.items():
            control = SVTPrivacy(fraction=0.5, epsilon=100.0, gamma=1.0, tau=1e-4)
            recipe.add_client_output_filter(control, tasks=names, clients=[site])
        recipe.export(str(folder))
    return folder / "linear"


def patients(client: int) -> np.ndarray:
    """Thirteen flowers of iris for each of two clients."""
    from sklearn.datasets import load_iris

    return load_iris().data[client::2][:13]


def kmeans(folder: Path) -> Path:
    """Federated k-means of NVFlare's on iris."""
    from nvflare.app_opt.sklearn import KMeansFedAvgRecipe

    folder.mkdir()
    for client in (0, 1):
        (folder / f"patients-site-{client + 1}.json").write_text(json.dumps(patients(client).tolist()))
    with _script(folder, KMEANS.replace("{PLACE}", str(folder))):
        recipe = KMeansFedAvgRecipe(name="kmeans", min_clients=2, num_rounds=2, n_clusters=3, train_script="client.py")
        recipe.export(str(folder))
    return folder / "kmeans"


def swarm(folder: Path, filters: dict[str, list[dict]]) -> Path:
    """Swarm learning of a NumPy model, as its test job hello-ccwf has it."""
    components = {
        "persistor": (f"{PLAIN}.ccwf.comps.np_file_model_persistor.NPFileModelPersistor", {}),
        "shareable_generator": (
            f"{PLAIN}.ccwf.comps.simple_model_shareable_generator.SimpleModelShareableGenerator",
            {},
        ),
        "aggregator": (
            f"{PLAIN}.aggregators.intime_accumulate_model_aggregator.InTimeAccumulateWeightedAggregator",
            {"expected_data_kind": "WEIGHT_DIFF"},
        ),
        "model_selector": (f"{PLAIN}.ccwf.comps.simple_intime_model_selector.SimpleIntimeModelSelector", {}),
    }
    controller = {
        **{"learn_task_name": "train", "learn_task_timeout": 60.0, "persistor_id": "persistor"},
        **{"aggregator_id": "aggregator", "shareable_generator_id": "shareable_generator"},
        **{"min_responses_required": 2, "wait_time_after_min_resps_received": 1},
    }
    executors = [(["train"], f"{PLAIN}.ccwf.comps.np_trainer.NPTrainer", {})]
    executors += [(["swarm_*"], f"{PLAIN}.ccwf.SwarmClientController", controller)]
    client = {
        "executors": [{"tasks": tasks, "executor": {"path": path, "args": args}} for tasks, path, args in executors],
        "components": [{"id": name, "path": path, "args": args} for name, (path, args) in components.items()],
        **filters,
    }
    workflow = {"id": "swarm", "path": f"{PLAIN}.ccwf.SwarmServerController", "args": {"num_rounds": 2}}
    return written(folder / "swarm", {"workflows": [workflow], "components": []}, client)


def written(job: Path, server: dict, client: dict) -> Path:
    """Write a job folder of one app for all."""
    config = job / "app" / "config"
    config.mkdir(parents=True)
    about = {"name": job.name, "resource_spec": {}, "min_clients": 2, "deploy_map": {"app": ["@ALL"]}}
    (job / "meta.json").write_text(json.dumps(about))
    for name, content in (("server", server), ("client", client)):
        lists = {"format_version": 2, "task_data_filters": [], "task_result_filters": [], **content}
        (config / f"config_fed_{name}.json").write_text(json.dumps(lists))
    return job


@contextlib.contextmanager
def _script(folder: Path, script: str):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "client.py").write_text(script)
    with contextlib.chdir(folder):
        yield


def recorded(job: Path, out: Path) -> subprocess.Popen:
    """Begin ``secmix record nvflare``, of two clients."""
    command = [sys.executable, "-m", "secmix", "record", "nvflare", str(job), "--out", str(out), "--clients", "2"]
    return begun(command, out.with_suffix(".log"))


def begun(command: list[str], log: Path) -> subprocess.Popen:
    """Begin a command of which all that it says goes to ``log``."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent)


def ended(process: subprocess.Popen) -> tuple[int, float]:
    """Wait for a process; return its status and the processor time of it and its children, in seconds."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def logged(workspace: Path, site: str) -> list[dict]:
    """Return the lines that a client's script printed before it sent a model."""
    lines = (workspace / "run" / site / "log.txt").read_text().splitlines()
    return [json.loads(line.partition("LOGGED ")[2]) for line in lines if "LOGGED " in line]
