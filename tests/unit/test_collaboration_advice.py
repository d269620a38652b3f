"""Advice about a collaboration comes from the protocol; that lines be encrypted is for outsiders on plain lines."""

from __future__ import annotations

import numpy as np
import pytest

import secmix
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER


class Telling:
    """Every node tells a server its first row."""

    unit = "of a number"

    def __init__(self, encrypted):
        self.encrypted = encrypted

    def collaborate(self, parts, network, rng, *, channel):
        for i, part in enumerate(parts):
            channel.hold(-1, i, "input", part.reshape(len(part), -1))
            channel.send(0, i, SERVER, "row", part[:, 0], encrypted=self.encrypted)
        return np.zeros((len(parts[0]), network.n, 1))

    def error(self, results, reference):
        return np.zeros(len(results))

    def premises(self, heard):
        return [f"{len(heard)} rows are read"]

    def advise(self, revealed):
        return [f"Tell {revealed.readable[0].kind} of nodes {revealed.nodes} to nobody."]


@pytest.mark.parametrize(
    ("adversary", "encrypted", "told"),
    [
        (Eavesdropper(), False, True),
        (CuriousServer(), False, False),
        (CuriousServer(), True, False),
        (HonestButCurious([1]), False, False),
    ],
)
def test_only_an_outsider_who_hears_plain_lines_is_kept_out_by_encryption(adversary, encrypted, told):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "wine", "features": 2},
            "runs": 100,
            "measure": {"nodes": [0], "evidence": ["decoders"]},
            "policy": {"max_normalised_leakage": 0.1},
        },
        protocols={"telling": Telling(encrypted)},
        adversaries={"adversary": adversary},
    )
    [cell] = report.cells
    assert cell.verdict == "violated"
    assert any(each.startswith("Tell row of nodes (0,)") for each in cell.advice)
    assert any(each.startswith("Encrypt the lines") for each in cell.advice) == told
    assert any("rows are read" in each for each in cell.notes)
