"""Attacks: one type and one registry for every protocol, and one adversary who picks those that fit."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import secmix
from secmix.adversaries import FIXED, Attack, Colluders, HonestButCurious, RoundMessages, TamperingChannel
from secmix.adversaries import attacks as families
from secmix.adversaries.attacks.attack import CONTRIBUTION, installed, named
from secmix.errors import ScenarioError, SecmixError
from secmix.network import Network
from secmix.transcript import Transcript, View

MODULES: list[ModuleType] = [
    importlib.import_module(f"{families.__name__}.{each.name}") for each in pkgutil.iter_modules(families.__path__)
]
HALF = Attack([CONTRIBUTION], lambda messages: 0.5 * messages.own, does="Every colluder sends half of its own.")


def test_every_attack_of_the_house_is_found_by_one_name_and_says_what_it_does() -> None:
    ours = {id(each) for module in MODULES for each in vars(module).values() if isinstance(each, Attack)}
    found = {name: named(name) for name in installed()}
    assert {id(getattr(importlib.import_module(entry.module), entry.attr)) for entry in installed().values()} == ours
    assert len(found) == len(ours)
    for name, attack in found.items():
        assert attack.name == name
        assert attack.does.endswith(".")
        assert attack.kinds


def test_a_fixed_attack_can_be_called_and_is_what_colluders_contribute() -> None:
    honest, rng = np.random.default_rng(0).normal(size=(5, 3)), np.random.default_rng
    for name, attack in FIXED.items():
        assert attack is named(name)
        near = attack(honest, 2, rng(1))
        assert np.array_equal(Colluders([0], name).contribute(honest, 2, rng(1)), near)
        middle = honest.mean(axis=0)
        far = Colluders([0], name, scale=7.0).contribute(honest, 2, rng(1))
        np.testing.assert_allclose(far - middle, 7.0 * (near - middle))


def test_colluders_pick_attacks_by_the_messages_of_the_protocol() -> None:
    everything = Colluders([0])
    assert [*everything.against([CONTRIBUTION])] == [*FIXED, "worst_case"]
    assert {"mean_failure", "foreign_data"} <= set(everything.against(["mixture"]))
    assert not set(everything.against(["mixture"])) & set(FIXED)
    with pytest.raises(SecmixError, match=r"messages are \['mixture'\]"):
        Colluders([0], "alie").against(["mixture"])
    with pytest.raises(SecmixError, match="did you mean 'sign_flip'"):
        Colluders([0], "sign_flp")


def test_an_attack_of_ones_own_by_its_place_or_as_it_is() -> None:
    by_place = Colluders([0], f"{FIXED['zero'].forge.__module__}:zero")
    assert [*by_place.against([CONTRIBUTION])] == ["zero"]
    assert [*Colluders([0], HALF).against([CONTRIBUTION])] == ["attack"]
    with pytest.raises(SecmixError, match="is a int; an attack is a"):
        Colluders([0], "secmix.adversaries.against_rules.worst_of_a_rule:LEAST_BUDGET")


def test_an_attack_forges_or_poisons() -> None:
    with pytest.raises(SecmixError, match="needs forge"):
        Attack(["mean"])
    with pytest.raises(SecmixError, match="needs forge"):
        Attack([CONTRIBUTION], poison=lambda rows, scale, rng: rows)
    narrow = Attack(["mean"], lambda messages: messages.own[:, :1], name="narrow")
    with pytest.raises(ScenarioError, match=r"'narrow' made messages of shape \(1, 1\); expected \(1, 2\)"):
        narrow.send(RoundMessages("mean", np.ones((1, 2)), np.ones((1, 2)), 1.0, None, np.random.default_rng(0)))


def test_a_channel_tampers_only_with_what_its_attack_speaks() -> None:
    channel = TamperingChannel(Attack(["mean"], lambda m: -m.own), [1], np.random.default_rng(0))
    sent = np.ones((2, 1, 1))
    assert channel.send(0, [0, 1], -1, "basis", sent).ravel().tolist() == [1.0, 1.0]
    assert not channel.tampered
    assert channel.send(0, [0, 1], -1, "mean", sent).ravel().tolist() == [1.0, -1.0]
    assert channel.tampered


class Theirs:
    """Somebody's own Byzantine adversary: no part of ours, with one attack."""

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        return frozenset({1})

    def observe(self, transcript: Transcript, network: Network) -> View:
        return HonestButCurious([1]).observe(transcript, network)

    def against(self, kinds: object) -> dict[str, Attack]:
        return {"half": HALF}


@pytest.mark.parametrize("adversary", [Theirs(), Colluders([1], HALF)], ids=["theirs", "colluders"])
def test_an_attack_from_elsewhere_is_measured_like_ours(adversary: object) -> None:
    scenario = {
        "runs": 100,
        "network": {"kind": "complete", "nodes": 5},
        "data": {"name": "gaussian", "rows_per_node": 8, "features": 2},
        "model": {"iterations": 2},
        "measure": {"evidence": ["structure"]},
        "protocol": {"name": "plain"},
        "adversary": {"name": "mine"},
    }
    found = secmix.audit(scenario, adversaries={"mine": adversary}).cells[0].robustness
    assert found is not None
    [damage] = found.damages
    assert damage.aggregate is not None
    assert 0 < damage.aggregate < 10
    assert found.breakdown == 0.0
