"""The benchmark of the generators' shares does what its command says, plot and all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

PROGRAM = Path(__file__).parent / "bench" / "shares.py"


def test_the_table_has_each_generator_and_the_plot_is_readable_on_any_ground(
    tmp_path: Path,
) -> None:
    plot = tmp_path / "shares.svg"
    asked = [
        sys.executable,
        str(PROGRAM),
        *("--members", "1", "--seeds", "2", "--most", "1000", "--plot", str(plot)),
    ]
    table = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    rows = {line.split()[0]: line for line in table.splitlines()}
    assert rows.keys() == {"of", "uniform", "swarm", "guided", "tours"}
    shown = {kind: float(row.split()[1]) for kind, row in rows.items() if kind != "of"}
    assert shown["swarm"] < shown["guided"] < shown["tours"] < 100
    drawn = ET.parse(plot).getroot()  # noqa: S314 - it was written just now
    words = {"".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"uniform", "swarm", "guided", "tours", "steps"} <= words
    first = drawn.find(".//{http://www.w3.org/2000/svg}path")
    assert first is not None
    assert "fill: none" in first.attrib["style"]  # it has no ground of its own
