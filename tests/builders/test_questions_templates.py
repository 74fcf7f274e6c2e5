"""Templates: the files in the package hold together, and a bad entry is refused at the right place."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.errors import TemplateError
from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.templates import load_templates, parse_template, question_text

ONTO = Ontology.load()
TEMPLATES = load_templates(ONTO)

GOOD: dict[str, Any] = {
    "id": "source.word-piece",
    "family": "source",
    "hops": 1,
    "pattern": ["w:Idiom -hasSource-> u:Piece"],
    "anchors": ["w"],
    "answer": "u",
    "target_element": "Piece",
    "category": ["source:u", "content:w"],
    "phrasings": ["“{w}”出自哪篇？", "“{w}”见于哪篇？", "请问“{w}”语出哪篇？", "哪一篇里有“{w}”？"],
}


def test_the_package_has_the_promised_spread_of_hops() -> None:
    bands = Counter(min(t.hops, 4) for t in TEMPLATES)
    assert bands[1] >= 10
    assert bands[2] >= 14
    assert bands[3] >= 12
    assert bands[4] >= 8


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.id)
def test_every_phrasing_is_one_chinese_sentence_without_residue(template) -> None:
    for phrasing in range(len(template.phrasings)):
        text = question_text(template, dict.fromkeys(template.anchors, "甲乙丙丁"), phrasing)
        assert not re.search(r"[{}A-Za-z]|\s|[,?!;:]", text), text
        assert text[-1] in "？。"
        assert text.count("甲乙丙丁") == len(template.anchors)
        assert "创造" not in text
        assert "created" not in text


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.id)
def test_lists_never_claim_to_be_complete_beyond_the_graph(template) -> None:
    """Whoever asks for all words of a unit or all works of a person must say "as far as the graph records"."""
    if template.family in {"reverse", "chapter", "shared", "bridge"} and template.id not in ONE_WORD:
        for text in template.phrasings:
            assert "知识图谱" in text or "词典" in text, text


ONE_WORD = {"meaning.gloss-word"}


@pytest.mark.parametrize(
    "template", [t for t in TEMPLATES if t.id.startswith("usage.word")], ids=lambda t: t.id
)
def test_an_example_is_the_dictionarys_not_any_use_of_the_word(template) -> None:
    assert template.filters.only["w"] == "hasExample"
    for text in template.phrasings:
        assert "词典" in text, text


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.id)
def test_no_question_rests_on_a_content_category(template) -> None:
    """Contents are categorised by a lexicon that errs: good for balance, no ground for a gold set."""
    assert not any("category" in text.lower() for text in template.spec.anchors)
    types = {t for v in (*template.anchors, template.answer) for t in template.pattern.variables[v]}
    assert "SubCategory" not in types


@pytest.mark.parametrize(
    ("change", "field", "complaint"),
    [
        ({"hops": 2}, "hops", "the pattern has 1"),
        ({"pattern": ["u:Piece -hasSource-> w:Idiom"]}, "pattern", "can never match"),
        ({"answer": "x"}, "answer", "no variable x"),
        ({"answer": "w"}, "answer", "both anchor and answer"),
        ({"target_element": "Chapter"}, "target_element", "answers are Piece"),
        ({"phrasings": GOOD["phrasings"][:3]}, "phrasings", "at least 4"),
        ({"phrasings": [*GOOD["phrasings"][:3], "出自哪篇？"]}, "phrasings", "name each anchor once"),
        ({"phrasings": [*GOOD["phrasings"][:3], "“{w}”出自哪篇？"]}, "phrasings", "written twice"),
        ({"phrasings": [*GOOD["phrasings"][:3], "“{w}”和{x}？"]}, "phrasings", "name each anchor once"),
        ({"category": ["source:w"]}, "category", "w is no"),
        ({"category": ["fixed:poetry"]}, "category", "no sub-category"),
        ({"category": ["guess"]}, "category", "cannot read"),
        ({"filters": {"mask": {"u": "w"}}}, "filters", "u is filtered by its mention"),
        ({"colour": "red"}, "colour", "Extra inputs"),
    ],
)
def test_a_bad_entry_is_refused_at_its_field(change: dict[str, Any], field: str, complaint: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(complaint)) as refusal:
        parse_template({**GOOD, **change}, ONTO)
    assert refusal.value.field == field


def test_the_file_and_the_template_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('[[template]]\nid = "a.b"\nfamily = "source"\n', encoding="utf-8")
    with pytest.raises(TemplateError, match=r"bad\.toml.*template a\.b"):
        load_templates(ONTO, tmp_path)


def test_broken_toml_is_reported_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[[template]\n", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"broken\.toml"):
        load_templates(ONTO, tmp_path)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    entry = "\n".join(f"{key} = {value!r}" for key, value in GOOD.items())
    (tmp_path / "twice.toml").write_text(f"[[template]]\n{entry}\n[[template]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(TemplateError, match="defined twice"):
        load_templates(ONTO, tmp_path)
