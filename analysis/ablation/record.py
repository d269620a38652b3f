"""Who alone convicts in the golden record: read off the findings that stand there."""

from __future__ import annotations

import json
from collections import defaultdict

from analysis.study import ROOT, Numbers

GOLDEN = ROOT / "tests" / "golden" / "catalogue.json"


def cells() -> list[Numbers]:
    """Return of each cell of the record which evidences were gathered, and which of them convict a node.

    An evidence that may leave out nodes whose data are known already was not gathered of these: there it would not have
    been the only one.
    """
    record = json.loads(GOLDEN.read_text(encoding="utf-8"))
    found = []
    for entry, of_entry in record.items():
        for number, cell in of_entry.items():
            findings = [(name.split(": ")[1].split(", ")[0], said[0]) for name, said in cell["findings"].items()]
            gathered: dict[str, int] = defaultdict(int)
            for evidence, _ in findings:
                gathered[evidence] += 1
            convict = sorted({evidence for evidence, said in findings if said.split(", ")[2] == "violated"})
            about = {"case": f"{entry} {number}", "verdict": cell["verdict"], "gathered": dict(gathered)}
            found.append(about | {"convict": convict})
    return found
