"""Accounting for differential privacy by Google's dp-accounting, which is optional."""

from __future__ import annotations

import importlib
from typing import Any

from secmix.errors import SecmixError


def accounting() -> Any:
    """Import dp-accounting with its privacy loss distributions, ``dp_accounting`` and ``dp_accounting.pld``.

    Raises SecmixError if it is not installed.
    """
    try:
        importlib.import_module("dp_accounting.pld")
        return importlib.import_module("dp_accounting")
    except ImportError:
        raise SecmixError("accounting for noise needs dp-accounting: pip install 'secmix[privacy]'") from None
