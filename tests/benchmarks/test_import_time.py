"""``import secmix`` stays quick: nothing heavy is loaded before it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time

import pytest

from secmix import estimators

HEAVY = ["dask", "jinja2", "matplotlib", "networkx", "numba", "pydantic", "rich", "scipy", "sklearn", "typer"]


def python(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_secmix_loads_nothing_heavy():
    loaded = python(f"import secmix, sys; print([name for name in {HEAVY!r} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_the_names_of_secmix_load_on_use():
    assert python("import secmix, sys; secmix.Network; print('networkx' in sys.modules)").strip() == "True"
    assert python("import secmix; print('Mixture' in dir(secmix), hasattr(secmix, 'nothing'))").strip() == "True False"


@pytest.mark.build
def test_importing_secmix_takes_no_longer_than_importing_numpy(benchmark):
    def least(module):
        took = []
        for _ in range(5):
            before = time.perf_counter()
            python(f"import {module}")
            took.append(time.perf_counter() - before)
        return min(took)

    numpy, secmix, bare = least("numpy"), least("secmix"), least("sys")
    benchmark.extra_info.update(numpy=numpy, secmix=secmix, bare=bare, ratio=secmix / numpy)
    benchmark.pedantic(python, args=("import secmix",), rounds=1)
    assert secmix < 1.5 * numpy


def test_an_estimator_is_found_by_its_name_whatever_was_imported_before():
    """A module of the same name hid the function ``ksg``."""
    importlib.import_module("secmix.estimators.ksg_estimator.estimator")
    assert dir(estimators) == sorted(estimators.__all__)
    assert [getattr(estimators, name).__name__ for name in estimators.__all__] == estimators.__all__
