"""The names of NVFlare that a recording uses, looked up when they are needed: no version is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from secmix.errors import DataError


def used(module: str, name: str) -> Any:
    """Return ``module.name`` of NVFlare; ``name`` may have dots.

    Raises DataError if NVFlare is not installed, or this version has no such name.
    """
    try:
        attribute: Any = import_module(module)
        for part in name.split("."):
            attribute = getattr(attribute, part)
    except ImportError as error:
        raise DataError(f"cannot import {module} ({error}); install NVFlare: pip install 'secmix[nvflare]'") from None
    except AttributeError:
        raise DataError(missing(module, name)) from None
    return attribute


def missing(owner: str, name: str) -> str:
    """Say that the installed NVFlare lacks a name that is used."""
    return (
        f"NVFlare {version()} has no {owner}.{name}, which recording uses; "
        "install a version that has it (2.9 does), or tell the maintainers of secmix"
    )


def version() -> str:
    """Return the version of NVFlare that is installed."""
    try:
        return str(import_module("nvflare").__version__)
    except (ImportError, AttributeError):
        return "(unknown version)"
