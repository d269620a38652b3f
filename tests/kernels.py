"""The OpenBLAS kernels under which the delicate tests are repeated, and which of them can be tried here.

NumPy's OpenBLAS chooses its code by the processor, or takes what the variable OPENBLAS_CORETYPE names; results then
differ in the last bit. As a script this prints a line for each kernel: its name, a tab, and why it is not tried, which
is nothing where it is to be. The one that NumPy chooses by itself is not: all the tests run under it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

NEEDED = {
    "Haswell": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
    "Zen": {"avx2", "fma"},
}
_ASKED = """
import numpy, threadpoolctl
found = {i.get("architecture") for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"}
print(*(kernel or "unknown" for kernel in found))
"""


def environment(kernel: str) -> dict[str, str]:
    """The variables of a process that is to use ``kernel``, on one thread."""
    return {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}


def obstacle(kernel: str) -> str:
    """Why ``kernel`` cannot be tried on this processor with this NumPy; empty where it can."""
    if missing := NEEDED[kernel] - _instructions():
        return f"the processor lacks {', '.join(sorted(missing))}"
    used = _used(environment(kernel))
    if kernel in used:
        return ""
    return f"NumPy's BLAS does not take it: it uses {', '.join(used) or 'no OpenBLAS'}"


def chosen() -> list[str]:
    """The kernels that NumPy uses where nothing is asked of it."""
    return _used({name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"})


def _used(variables: dict[str, str]) -> list[str]:
    asked = subprocess.run([sys.executable, "-c", _ASKED], env=variables, capture_output=True, text=True, check=False)
    return asked.stdout.split()


def _instructions() -> set[str]:
    try:
        found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return set()
    return set(found[1].split()) if found else set()


if __name__ == "__main__":
    own = chosen()
    for name in NEEDED:
        print(name, "NumPy's own choice: all the tests ran under it" if name in own else obstacle(name), sep="\t")
