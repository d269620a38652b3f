"""``import secmix`` stays quick: nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

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
