"""What is wrong with a file is said where it is, with the key, what is allowed and how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from secmix.errors import ScenarioError
from secmix.scenario import parse
from secmix.scenario.accepted import read_accepted
from secmix.scenario.resolve import read_policy

NETWORK = '[network]\nkind = "cycle"\nnodes = 4\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"runs = 100\nruns = 200\n{NETWORK}", "'k.toml', line 2: 'runs' is given twice; keep one"),
        (f"{NETWORK}{NETWORK}", "'k.toml', line 4 is not valid TOML: cannot declare 'network' twice"),
        ("[network]\nkind = cycle\n", 'line 2 is not valid TOML: invalid value; text stands in quotes: key = "text"'),
        ('[netwrok]\nkind = "cycle"\n', "line 1: unknown key 'netwrok'; did you mean 'network'?"),
        (f'runs = "x"\n{NETWORK}', "line 1: 'runs': expected a whole number; given 'x'"),
        (f"title = 5\n{NETWORK}", "line 1: 'title': expected a text, in quotes: \"...\"; given 5"),
        (f"{NETWORK}[measure]\nevidence = []\n", "line 5: 'measure.evidence': expected a list with at least one entry"),
        (
            f"memory_limit = 0\n{NETWORK}",
            "line 1: 'memory_limit': input should be greater than or equal to 1; given 0",
        ),
    ],
)
def test_a_fault_of_a_scenario_is_said_with_its_line_and_key(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(text, "'k.toml'")
    assert said in str(error.value)


ENTRY = '[[accepted]]\nprotocol = "p"\nadversary = "a"\nstanding = "revealed"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{ENTRY}until = 2099-01-01\nreson = "x"\n', "unknown key 'reson'; did you mean 'reason'?"),
        (f"{ENTRY}until = 2099-01-01\n", "'reason' is missing"),
        (f'{ENTRY}until = 2099-01-01\nreason = ""\n', "'reason': expected a text that is not empty; given ''"),
    ],
)
def test_a_fault_of_an_accepted_finding_is_said_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    place = tmp_path / "accepted.toml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        read_accepted(place)
    assert said in str(error.value)


def test_a_fault_of_a_policy_is_said_with_its_key(tmp_path: Path) -> None:
    place = tmp_path / "policy.toml"
    place.write_text("max_reveald_nodes = 0\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="unknown key 'max_reveald_nodes'; did you mean 'max_revealed_nodes'"):
        read_policy(place)
