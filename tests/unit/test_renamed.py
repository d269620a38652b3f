"""Old paths and names: still importable for one version, the same objects, with a warning that names the new ones."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

import secmix.adversaries
from secmix._base.renamed import MOVED


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_path_imports_the_very_module_of_the_new_one(old: str) -> None:
    sys.modules.pop(f"secmix.{old}", None)
    with warnings.catch_warnings():  # the package of an old path may be an old path itself
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module(f"secmix.{old}".rpartition(".")[0])
    with pytest.warns(DeprecationWarning, match=f"secmix.{MOVED[old]};"):
        module = importlib.import_module(f"secmix.{old}")
    new = importlib.import_module(f"secmix.{MOVED[old]}")
    assert module is new
    assert new.__name__ == new.__spec__.name == f"secmix.{MOVED[old]}"  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # an old package on the way to an old module
def test_no_old_path_hides_a_member_of_its_package() -> None:
    # Importing a.b sets the attribute b of a: a module would take the place of a function called so.
    for old in MOVED:
        package, _, name = f"secmix.{old}".rpartition(".")
        assert name not in getattr(importlib.import_module(package), "__all__", ()), old


def test_the_warning_points_at_the_line_that_imports() -> None:
    script = "import secmix\nfrom secmix.protocols.pdmm import PDMM\nprint(PDMM.__module__)"
    done = subprocess.run([sys.executable, "-W", "always", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "secmix.protocols.sums.pdmm"
    assert "<string>:2: DeprecationWarning: secmix.protocols.pdmm is now secmix.protocols.sums.pdmm" in done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Said", "RoundMessages"),
        ("Held", "HeldMessages"),
        ("Forgers", "Colluders"),
        ("Forgery", "Attack"),
        ("ForgingChannel", "TamperingChannel"),
    ],
)
def test_an_old_name_is_the_new_class(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(secmix.adversaries, old) is getattr(secmix.adversaries, new)


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nobody"):
        secmix.adversaries.Nobody  # noqa: B018
