"""Flower's names: the one place that imports them, where each is looked for, and what it is used for.

Some are private, so no version promises them. What counts is whether they are there: a Flower that lacks one that is
used is refused, with its name. Versions are named only as those that were seen to work.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from secmix.errors import SecmixError

TESTED = ("1.38", "1.42")
"""The oldest and the newest minor version with which the tests of this package passed."""


@dataclass(frozen=True)
class FlowerName:
    """A name of Flower's."""

    places: tuple[str, ...]  # modules in which it is looked for, in this order
    use: str
    attributes: tuple[str, ...] = ()  # what it must have


NAMES = {
    "ServerApp": FlowerName(("flwr.serverapp",), "the server's part of an app"),
    "ClientApp": FlowerName(("flwr.clientapp",), "the clients' part of an app"),
    "Grid": FlowerName(("flwr.serverapp",), "what a strategy sends messages with", ("register",)),
    "Message": FlowerName(("flwr.app",), "messages"),
    "Error": FlowerName(("flwr.app",), "the answer of a client that fails"),
    "Context": FlowerName(("flwr.app",), "what an app knows of where it runs"),
    "RecordDict": FlowerName(("flwr.app",), "what a message holds"),
    "ArrayRecord": FlowerName(("flwr.app",), "the arrays of a message"),
    "MetricRecord": FlowerName(("flwr.app",), "the metrics of a message"),
    "Array": FlowerName(("flwr.app",), "one array", ("numpy",)),
    "ErrorCode": FlowerName(("flwr.common.constant",), "why a client failed", ("CLIENT_APP_RAISED_EXCEPTION",)),
    "Run": FlowerName(("flwr.supercore.run",), "what a Grid says of its run", ("create_empty",)),
    "NodeInfo": FlowerName(("flwr.proto.node_pb2",), "what a Grid says of a node"),
    "TaskIdentity": FlowerName(("flwr.supercore.task_identity",), "in whose name a message is made", ("_node_id",)),
    "SimpleClientManager": FlowerName(
        ("flwr.server.client_manager",), "that older strategies wait for nobody who never comes", ("wait_for",)
    ),
}
"""Names without which no app runs."""

OF_SECAGG = {
    "pseudo_rand_gen": FlowerName(
        ("flwr.common.secure_aggregation.secaggplus_utils",), "how many bits the seed of a mask has"
    ),
    "ThreadPoolExecutor": FlowerName(
        ("flwr.common.secure_aggregation.crypto.shamir",), "that shares are split in one order"
    ),
}
"""Names of SecAgg+: looked for in an app that has loaded it, and done without elsewhere."""


@functools.cache
def flower(name: str) -> Any:
    """Return what Flower calls ``name``, one of :data:`NAMES`.

    Raises SecmixError if this Flower has no such name, or it lacks an attribute that is used; it says which.
    """
    wanted = NAMES[name]
    for place in wanted.places:
        try:
            part = getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
        for attribute in wanted.attributes:
            if not hasattr(part, attribute):
                raise _missing(f"{place}.{name} has no attribute {attribute!r}", wanted)
        return part
    raise _missing(f"{' and '.join(wanted.places)} {'have' if wanted.places[1:] else 'has'} no {name!r}", wanted)


def check_installed() -> None:
    """Check that there is a Flower, without loading it.

    Raises SecmixError if there is none.
    """
    if importlib.util.find_spec("flwr") is None:
        raise SecmixError("a Flower app needs flwr: pip install 'secmix[flower]'")


def check() -> None:
    """Check that this Flower has all that is needed to run an app.

    Raises SecmixError if it lacks a name.
    """
    for name in NAMES:
        flower(name)


def modules_of_secagg(name: str) -> Iterator[Any]:
    """Yield the modules that are loaded and have ``name``, one of :data:`OF_SECAGG`."""
    for place in OF_SECAGG[name].places:
        module = sys.modules.get(place)
        if module is not None and hasattr(module, name):
            yield module


def _missing(what: str, wanted: FlowerName) -> SecmixError:
    return SecmixError(
        f"flwr {version('flwr')}: {what}, which is used for this: {wanted.use}; seen to work were {TESTED[0]} to "
        f"{TESTED[1]}: pip install 'flwr=={TESTED[1]}.*'"
    )
