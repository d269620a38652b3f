"""Protocols of a seventeenth hand, who had read the documentation only: secure sums as repositories have them.

R are right, W wrong; of each class ``audited`` says before whom. ``agreement`` needs the package ``cryptography``, and
is left out where that is missing.
"""

from __future__ import annotations

import importlib
import importlib.util

from ..audited import cases_in
from . import clients, mistakes, pads, pairs, shares, streams, vectors

_FILES = [pairs, streams, vectors, shares, pads, clients, mistakes]
if importlib.util.find_spec("cryptography"):
    _FILES.append(importlib.import_module(f"{__name__}.agreement"))
CASES = cases_in(_FILES)
