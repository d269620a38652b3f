"""Protocols of an eighteenth hand, who had read the documentation only: secure sums as repositories write them.

R are right, W wrong; of each class ``audited`` says before whom, and that is the truth that was written first.
"""

from __future__ import annotations

import importlib
import importlib.util

from ..audited import cases_in
from . import clients, mistakes, shares, streams

_FILES = [streams, clients, shares, mistakes]
if importlib.util.find_spec("cryptography"):
    _FILES.append(importlib.import_module(f"{__name__}.ciphers"))
CASES = cases_in(_FILES)
