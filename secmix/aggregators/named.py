"""Rules by name: one of ours, an entry point of the group ``secmix.aggregators``, ``package.module:function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from secmix._base import plugins
from secmix.aggregators.traits import traits_of
from secmix.errors import SecmixError

Rule = Callable[..., Any]
"""``rule(messages (n, p), f=...) -> (p,)``."""


def rule_named(rule: str | Rule) -> Rule:
    """Load the rule itself, from whatever names it.

    Parameters
    ----------
    rule : str or callable
        The name of an entry point of the group ``secmix.aggregators`` (ours are among them),
        ``package.module:function``, or the rule, which is returned as it is.

    Raises
    ------
    SecmixError
        Nothing is called so, or what is there is no rule.

    Examples
    --------
    >>> rule_named("trimmed_mean")([[1.0], [2.0], [9.0]], f=1)
    array([2.])
    >>> rule_named("secmix.aggregators:krum").__name__
    'krum'
    """
    loaded = plugins.load("aggregators", rule) if isinstance(rule, str) else rule
    if not callable(loaded) or isinstance(loaded, type):
        raise SecmixError(
            f"a rule is a function of messages (n, p) and f, or its name; given {str(rule)[:80]!r}, "
            f"which is {'a class: give an object of it' if isinstance(loaded, type) else type(loaded).__name__}"
        )
    traits_of(loaded)  # what it declares must be Traits
    return loaded


def rule_label(rule: str | Rule) -> str:
    """Name a rule in a sentence."""
    if isinstance(rule, str):
        return rule
    return str(getattr(rule, "__name__", type(rule).__name__))
