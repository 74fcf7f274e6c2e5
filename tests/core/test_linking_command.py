"""`clwqa-bench train linker` on the dataset that can be read."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from clwqa_bench.commands.train import app
from clwqa_bench.linking.linker import NAMES, WEIGHTS
from tests import tiny_dataset


def test_it_fits_measures_and_writes(tmp_path: Path) -> None:
    tiny_dataset.write(tmp_path / "tiny")
    arguments = ["linker", "-d", str(tmp_path / "tiny"), "-o", str(tmp_path / "linker"), "--held-out"]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0
    figures = json.loads(result.stdout)["figures"]
    assert {name: value["questions"] for name, value in figures.items()} == {
        "validation": 1,
        "held-out templates": 4,
    }
    assert figures["validation"]["anchor_f1"] == figures["held-out templates"]["anchor_f1"] == 1
    assert {path.name for path in (tmp_path / "linker").iterdir()} == {NAMES, WEIGHTS}


def test_the_table_has_a_column_for_each_set_of_questions(tmp_path: Path) -> None:
    tiny_dataset.write(tmp_path / "tiny")
    result = CliRunner().invoke(app, ["linker", "-d", str(tmp_path / "tiny"), "--split", "test"])
    assert result.exit_code == 0
    assert "target element" in result.stdout
    assert "CPU time" in result.stdout
