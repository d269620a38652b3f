"""Run a command and print what it cost: ``python child.py SECONDS STDOUT STDERR COMMAND...``.

It imports nothing but the standard library: Linux counts the memory of the process that starts a command as the
command's own peak, so what starts an audit must be small.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_KIB = 1 if sys.platform != "darwin" else 1024  # units of ru_maxrss: KiB on Linux, bytes on macOS


def costs(command: Sequence[str], seconds: float, stdout: Path, stderr: Path) -> dict[str, float]:
    """Run ``command`` to its end, or to ``seconds`` of processor time, and return what the kernel counted.

    Returns
    -------
    dict
        ``status`` (below 0 the signal that ended it), ``seconds`` (processor time, user and system) and ``mebibytes``
        (peak resident memory), of the command and of the processes that it waited for.
    """

    def limit() -> None:
        most = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))

    with stdout.open("wb") as out, stderr.open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=limit)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "status": process.returncode,
        "seconds": used.ru_utime + used.ru_stime,
        "mebibytes": used.ru_maxrss / _KIB / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(costs(sys.argv[4:], float(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))))
