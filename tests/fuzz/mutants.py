"""Scenarios that no decent person would write: small ones that run, each changed in a few places by a seeded draw."""

from __future__ import annotations

import copy
import datetime
import random
import string
from typing import Any

import tomli_w

RING = {"kind": "cycle", "nodes": 4}
EDGES = {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2]]}
WINE = {"name": "wine", "features": 2}
MODEL = {"components": 2, "iterations": 2}
EXACT = {"evidence": ["structure"]}
DRAWN = {"name": "gaussian", "rows": 400, "features": 2, "rows_per_node": 8}

BASES: list[dict[str, Any]] = [
    {
        "network": RING,
        "model": MODEL,
        "data": WINE,
        "protocol": {"name": "plain", "encrypted": True},
        "adversary": {"name": "curious_server"},
    },
    {
        "network": EDGES,
        "model": MODEL,
        "data": {**WINE, "rows_per_node": [1, 2, 3, 2, 1]},
        "protocol": {"name": "secure_sum", "sigma": 100.0, "cycle": [0, 1, 2, 3, 4]},
        "adversary": {"name": "honest_but_curious", "corrupt": [1, 3], "eavesdrops": True},
        "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.9},
    },
    {
        "network": RING,
        "model": {**MODEL, "init": "moments", "reg_covar": 0.1},
        "data": {"name": "csv", "path": "rows.csv", "columns": ["a", "b"], "delimiter": ","},
        "protocol": {"name": "plain"},
        "adversary": {"name": "eavesdropper", "tapped": [[0, 1]]},
        "measure": {**EXACT, "nodes": [2], "target": "input"},
    },
    {
        "network": {"kind": "complete", "nodes": 5},
        "model": MODEL,
        "data": WINE,
        "protocol": {"name": "robust_server", "rule": "trimmed_mean", "f": 1},
        "adversary": {"name": "curious_server"},
        "accepted": [
            {
                "protocol": "robust_server",
                "adversary": "curious_server",
                "nodes": [1],
                "standing": "revealed",
                "reason": "a trial",
                "until": datetime.date(2099, 1, 1),
            }
        ],
    },
    {
        "network": {"kind": "random_geometric", "nodes": 5, "seed": 3, "radius": 0.9},
        "data": DRAWN,
        "protocol": {"name": "federated_pca", "r": 1, "rule": "power_method", "iterations": 3},
        "adversary": {"name": "honest_but_curious", "corrupt": [1]},
        "measure": {"evidence": ["reconstruction"]},
    },
    {
        "network": {"kind": "complete", "nodes": 4},
        "data": DRAWN,
        "protocol": {"name": "select_exchange_cluster", "candidates": ["ols"], "n_clusters": 2, "points": 5},
        "adversary": {"name": "eavesdropper"},
    },
    {
        "network": RING,
        "model": {**MODEL, "rounding": 0.01, "clip_radius": 3.0},
        "data": WINE,
        "adversary": {"name": "curious_server"},
        "sweep": {
            "protocol": [{"name": "plain", "label": "A"}, {"name": "plain", "label": "B"}],
            "data.rows_per_node": [1, 2],
        },
    },
    {
        "network": RING,
        "model": MODEL,
        "data": {
            "name": "csv",
            "path": "gaps.csv",
            "label": "who",
            "drop": ["c"],
            "delimiter": ";",
            "decimal": ",",
            "missing": "drop",
            "missing_marks": ["999"],
            "encoding": "cp1252",
            "header": True,
            "keep_label": False,
        },
        "protocol": {"name": "plain"},
        "adversary": {"name": "curious_server"},
        "policy": {"max_revealed_nodes": 0, "min_colluders": 2},
    },
    {
        "network": {**EDGES, "owners": ["A", "A", "B", "B", "C"]},
        "model": MODEL,
        "data": {"name": "csv", "path": "headerless.csv", "header": False, "missing": "mean"},
        "protocol": {"name": "pdmm"},
        "adversary": {"name": "honest_but_curious", "corrupt": [1, 3]},
        "sweep": {"data.path": ["rows.csv", "headerless.csv"], "data.missing": ["mean", "refuse"]},
    },
    {
        "network": {"kind": "complete", "nodes": 5},
        "data": DRAWN,
        "protocol": {"name": "graphfed_em", "n_components": 1, "n_rounds": 2, "local_steps": 1, "n_init": 1},
        "adversary": {"name": "honest_but_curious", "corrupt": [1]},
    },
]

ODD: list[Any] = [
    -1, 0, 1, 2, 3, 7, 10**5, 10**9, 10**15, 2**63 - 1, 2**63, -(10**30), 10**4200, 0.0, 0.5, -0.0, 1e-300,
    1e308, -2.5,
    float("nan"), float("inf"), True, False, "", " ", "a", "all", "plain", "\x1b[31mred\x1b[0m", "two\nlines",
    "nul\0",
    "\u202egnp.exe", "x" * 5000, "os:system", "fractions:Fraction", ":", "a:b:c", "__import__('os')", "{x}", "%s%n",
    "../../etc/passwd", "/dev/zero", "pipe.csv", "folder.csv", "headerless.csv", "binary.csv", "5.25",
    "\U0001f600", "é",
    [], [[]], [0], [0, 1], [1, 1], [-1], [99], ["a"], [[0, 1]], [[0, 0]], [None], [1e308], [True], list(range(300)),
    {}, {"name": "plain"}, {"name": 3}, {"a": {"b": {"c": 1}}}, {"": 0},
    datetime.date(2000, 1, 1), datetime.datetime(2030, 1, 1, 1, 1), datetime.time(1, 1),
]  # fmt: skip
NAMES = [
    "plain", "secure_sum", "pdmm", "robust_server", "federated_pca", "distributed_mixture", "graphfed_em",
    "select_exchange_cluster", "eavesdropper", "honest_but_curious", "curious_server", "colluders", "forgers",
    "steering",
    "malicious_server", "wine", "csv", "gaussian", "digits", "trimmed_mean", "krum", "edges", "complete", "cycle",
    "mean", "drop", "refuse", "gaps.csv", "who", "utf-16", "cp1252", "ascii", ",", ";",
    "random_geometric", "public", "kmeans", "moments", "structure", "ksg", "row", "input",
]  # fmt: skip
TABLES = ["data", "network", "model", "protocol", "adversary", "measure", "policy", "sweep", "accepted"]
KEYS = [
    "name", "label", "nodes", "edges", "kind", "radius", "seed", "runs", "corrupt", "tapped", "victim",
    "attack", "sigma",
    "rule", "f", "cycle", "path", "rows_per_node", "features", "components", "start", "loss", "dropout",
    "masks", "sweep",
    "model.components", "network.nodes", "title", "description", "min_count", "noise_std", "evidence",
    "target", "sigmas", "missing", "missing_marks", "label", "keep_label", "header", "encoding", "decimal",
    "delimiter", "owners", "min_colluders", "data.path", "data.missing",
]  # fmt: skip


_REPEATED = ("iterations", "n_rounds", "local_steps", "n_init")


def mutant(seed: int) -> str:
    """The text of one scenario; the same for the same seed."""
    draw = random.Random(seed)
    content = copy.deepcopy({"runs": 100, "measure": EXACT, **draw.choice(BASES)})
    if draw.random() < 0.5:  # parts that were not made for each other, with settings that may be right
        for table in draw.sample(TABLES, 3):
            other = copy.deepcopy(draw.choice(BASES).get(table))
            if other is not None:
                content[table] = other
        for _ in range(draw.choice([0, 1, 2])):
            _nudge(content, draw)
    else:
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            _change(content, draw)
    _tame(content)
    try:
        text = tomli_w.dumps(content)
    except Exception:  # what TOML cannot say, such as null
        text = tomli_w.dumps({"runs": 100, "network": RING, "title": str(content)[:200]}) + "\nx = [[[[\n"
    return _garbled(text, draw) if draw.random() < 0.1 else text


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, ...]] = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        inner += _places(item, (*path, key))
    return inner


def _nudge(content: dict[str, Any], draw: random.Random) -> None:
    path = draw.choice([path for path in _places(content) if path[0] != "runs"])
    holder: Any = content
    for step in path[:-1]:
        holder = holder[step]
    old = holder[path[-1]]
    if isinstance(old, bool):
        holder[path[-1]] = not old
    elif isinstance(old, int):
        holder[path[-1]] = old + draw.choice([-2, -1, 1, 2, 10])
    elif isinstance(old, float):
        holder[path[-1]] = old * draw.choice([-1.0, 0.0, 0.5, 1e-9, 1e9, 1e200, 1e-200])
    elif isinstance(old, str):
        holder[path[-1]] = draw.choice(NAMES)
    elif isinstance(old, list) and old:
        holder[path[-1]] = old[: draw.randrange(len(old))]


def _change(content: dict[str, Any], draw: random.Random) -> None:
    path = draw.choice(_places(content))
    holder: Any = content
    for step in path[:-1]:
        holder = holder[step]
    key, way = path[-1], draw.random()
    if draw.random() < 0.6:  # of the same kind as before: what gets past the first checks
        old = holder[key]
        alike = [one for one in ODD if type(one) is type(old)]
        holder[key] = copy.deepcopy(draw.choice(NAMES if isinstance(old, str) and way < 0.7 else alike or ODD))
    elif way < 0.45:
        holder[key] = copy.deepcopy(draw.choice(ODD))
    elif way < 0.6:
        holder[key] = draw.choice(NAMES)
    elif way < 0.68:
        del holder[key]
    elif way < 0.74:
        holder[key] = [copy.deepcopy(holder[key])] * draw.choice([1, 2, 50])
    elif way < 0.80 and isinstance(holder, dict):
        holder["".join(draw.choices(string.ascii_letters + "_ .\x1b\n'\"é", k=draw.choice([1, 5, 30])))] = holder.pop(
            key
        )
    elif way < 0.84:
        deep: Any = 1
        for _ in range(draw.choice([5, 60, 400])):
            deep = [deep] if draw.random() < 0.5 else {"a": deep}
        holder[key] = deep
    else:
        where = content.setdefault(draw.choice(TABLES), {})
        if isinstance(where, dict):
            where[draw.choice(KEYS)] = copy.deepcopy(draw.choice(ODD))


def _tame(content: dict[str, Any]) -> None:
    """An audit that is right and merely long is no fault: it is made short."""
    if not isinstance(content.get("runs", 2000), int) or 200 < content.get("runs", 2000) <= 10_000_000:
        content["runs"] = 100
    measure = content.get("measure")
    if not isinstance(measure, dict) or "evidence" not in measure:
        content["measure"] = measure or {"evidence": ["structure"]}
    sweep = content.get("sweep")
    swept = [each for table in ("model", "protocol") if isinstance(sweep, dict) for each in _listed(sweep.get(table))]
    for table in (content.get("model"), content.get("protocol"), *swept):
        for key in _REPEATED if isinstance(table, dict) else ():
            if isinstance(table.get(key), int) and 20 < table[key] < 10**6:
                table[key] = 20


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _garbled(text: str, draw: random.Random) -> str:
    at = draw.randrange(len(text) + 1)
    way = draw.randrange(7)
    if way == 0:
        return text[:at]
    if way == 1:
        return (
            text[:at]
            + draw.choice(["\x00", "\x1b", "\ufeff", "\u2028", '"""', "'", "[[", "]", "=", "\\", "\r"])
            + text[at:]
        )
    if way == 2:
        return text[:at] + text[at + draw.randrange(1, 20) :]
    if way == 3:
        return text + "\nx = " + "[" * 5000 + "]" * 5000 + "\n"
    if way == 4:
        return "seed = " + "9" * 6000 + "\n" + text
    if way == 5:
        return "seed = 0x" + "f" * 6000 + "\n" + text
    return text + text
