"""Every rule, shown by a dataset in which it alone finds something."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clwqa_bench.dataset import Limits, Targets, read_manifest
from clwqa_bench.errors import DatasetError, ValidationFailed
from clwqa_bench.records import Question, TripleRef
from clwqa_builders.output.manifest import digest_files, write_manifest
from clwqa_builders.output.schema import ENTITIES, QUESTIONS, TRIPLES
from clwqa_builders.output.writers import content_sha256, json_lines, write_parquet
from clwqa_builders.validate.registry import RULES
from clwqa_builders.validate.report import validate_dataset
from tests import tiny_dataset as tiny

Damage = Callable[[Path], Any]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_templates(tmp_path_factory.mktemp("templates"))


def changed(id: str, **fields: Any) -> list[Question]:
    """The questions with some fields of one replaced; nothing is checked on the way."""
    assert id in {q.id for q in tiny.QUESTIONS}
    return [q.model_copy(update=fields) if q.id == id else q for q in tiny.QUESTIONS]


def reworded(id: str, old: str, new: str) -> list[Question]:
    text = get(id).question
    assert old in text
    return changed(id, question=text.replace(old, new))


def get(id: str) -> Question:
    return next(q for q in tiny.QUESTIONS if q.id == id)


def answered(id: str, **fields: Any) -> list[Question]:
    (answer,) = get(id).answers
    return changed(id, answers=(answer.model_copy(update=fields),))


def anchored(id: str, **fields: Any) -> list[Question]:
    (anchor,) = get(id).anchors
    return changed(id, anchors=(anchor.model_copy(update=fields),))


def mentioned(id: str, mention: str) -> Damage:
    """Another mention of the anchor, in the record and in the text."""
    (anchor,), text = get(id).anchors, get(id).question
    new = anchor.model_copy(update={"mention": mention})
    return questions(changed(id, anchors=(new,), question=text.replace(anchor.mention, mention)))


def along(id: str, **fields: Any) -> list[Question]:
    (path,) = get(id).standard_paths
    return changed(id, standard_paths=(path.model_copy(update=fields),))


def added(question: Question, hops: str, count: int) -> Damage:
    """One more question, and the target that expects it."""
    targets = Targets(hops={**tiny.RELEASE.targets.hops, hops: count})
    limits = Limits(template_share=1.0, questions_per_word=9)
    release = replace(tiny.RELEASE, targets=targets, limits=limits)
    return lambda folder: tiny.write(folder, questions=[*tiny.QUESTIONS, question], release=release)


def questions(changed_questions: list[Question]) -> Damage:
    return lambda folder: tiny.write(folder, questions=changed_questions)


def entities(id: str, **fields: Any) -> Damage:
    rows = [{**row, **fields} if row["id"] == id else row for row in tiny.ENTITY_ROWS]
    return lambda folder: tiny.write(folder, entities=rows)


def triples(*more: tuple[str, str, str]) -> Damage:
    return lambda folder: tiny.write(folder, triples=sorted([*tiny.TRIPLE_ROWS, *more]))


def quoted_elsewhere(folder: Path) -> None:
    """What q2 asks the book of is a passage, and stands in a passage of another book, without its comma."""
    rows = [
        {**row, "text": "守株待兔者，宋人也。"} if row["id"] == "quot:3" else row for row in tiny.ENTITY_ROWS
    ]
    (anchor,) = get("q2").anchors
    passage = anchor.model_copy(update={"elements": ("Context",)})
    placed = ("quot:3", "inContentUnit", "chapter:史记/项羽本纪")
    tiny.write(
        folder,
        questions=changed("q2", anchors=(passage,)),
        entities=rows,
        triples=sorted([*tiny.TRIPLE_ROWS, placed]),
    )


def release(**fields: Any) -> Damage:
    return lambda folder: tiny.write(folder, release=replace(tiny.RELEASE, **fields))


def resigned(edit: Callable[[Path], Any]) -> Damage:
    """Edit a file after writing, then put its new digest into the manifest."""

    def damage(folder: Path) -> None:
        tiny.write(folder)
        edit(folder)
        manifest = read_manifest(folder)
        write_manifest(manifest.model_copy(update={"files": digest_files(folder)}), folder)

    return damage


def edited(name: str, old: str, new: str) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return damage


def written_then(edit: Callable[[Path], Any]) -> Damage:
    def damage(folder: Path) -> None:
        tiny.write(folder)
        edit(folder)

    return damage


def truncate(name: str) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return damage


def wide_hops(folder: Path) -> None:
    """Store the hop counts of one split as 64-bit numbers."""
    path = folder / "qa" / "test.parquet"
    table = pq.read_table(path)
    index = table.schema.get_field_index("hops")
    field = table.schema.field("hops").with_type(pa.int64())
    pq.write_table(table.cast(table.schema.set(index, field)), path)


def repeat_an_id(folder: Path) -> None:
    """Give the second training question the id of the first, in both encodings and the digest."""
    path = folder / "qa" / "train.parquet"
    table = pq.read_table(path)
    ids = ["q1" if id == "q2" else id for id in table["id"].to_pylist()]
    write_parquet(table.set_column(0, QUESTIONS.field("id"), pa.array(ids)), QUESTIONS, path)
    edited("qa/train.jsonl", '"id":"q2"', '"id":"q1"')(folder)
    lines = [
        line for path in sorted((folder / "qa").glob("*.jsonl")) for line in path.read_bytes().splitlines()
    ]
    resign_content(folder, qa=content_sha256(sorted(lines)))


def invent_a_type(folder: Path) -> None:
    """Give an entity a type the ontology does not know."""
    rows = [{**row, "type": "Saying"} if row["id"] == "quot:1" else row for row in tiny.ENTITY_ROWS]
    table = tiny.entity_table(rows)
    write_parquet(table, ENTITIES, folder / "kg" / "entities.parquet")
    lines = itertools.chain(json_lines(table, ENTITIES), json_lines(tiny.triple_table(), TRIPLES))
    resign_content(folder, kg=content_sha256(lines))


def resign_content(folder: Path, **digests: str) -> None:
    manifest = read_manifest(folder)
    write_manifest(manifest.model_copy(update={"content": {**manifest.content, **digests}}), folder)


def swap_splits(folder: Path) -> None:
    """Exchange the files of two splits, mirrors and all."""
    for suffix in ("parquet", "jsonl"):
        one, other, aside = (folder / "qa" / f"{name}.{suffix}" for name in ("test", "validation", "aside"))
        one.rename(aside)
        other.rename(one)
        aside.rename(other)


SHORTER = get("q2").standard_paths[0]


def pairs(*changes: tuple[int, dict[str, Any]], targets: dict[str, int] | None = None) -> Damage:
    """The pairs with fields of some replaced, by number; a number one too high adds a pair like the first."""
    made = [tiny.pair(*row) for row in tiny.PAIRED]
    for number, fields in changes:
        made[number : number + 1] = [(made[number : number + 1] or made)[0].model_copy(update=fields)]
    wanted = tiny.RELEASE.targets.model_copy(update={"pairs": targets or tiny.RELEASE.targets.pairs})
    return lambda folder: tiny.write(folder, pairs=made, release=replace(tiny.RELEASE, targets=wanted))


def decided(band: str, **changes: str) -> Damage:
    """The pairs with a decision of people about the first one."""
    first = tiny.pair(*tiny.PAIRED[0])
    told = [
        changes.get("id", first.id),
        band,
        "readers",
        "r1",
        first.question,
        changes.get("text", first.node_text),
    ]
    return lambda folder: tiny.write(folder, adjudicated=[tuple(told)])


ONE_MORE = {"train": 5, "validation": 1, "test": 3}


def other_node(entity: str, rule: str = "answer") -> dict[str, Any]:
    """The fields of a pair that depend on its node."""
    made = tiny.pair("train", "q3", entity, rule)
    return made.model_dump(include={"id", "entity_id", "node_text", "element", "band", "label", "rule"})


def about(question: str, **fields: Any) -> dict[str, Any]:
    return {"question_id": question, "question": get(question).question, **fields}


DAMAGES: list[tuple[str, str, Damage]] = [
    ("files-match-manifest", "an edited card", written_then(edited("README.md", "attested", "invented"))),
    ("files-match-manifest", "a file nobody listed", written_then(lambda f: (f / "notes.txt").write_text("hello"))),
    ("files-match-manifest", "a missing file", written_then(lambda f: (f / "kg.nt.gz").unlink())),
    ("files-match-manifest", "a mirror with other rows", resigned(edited("qa/test.jsonl", "哪部典籍", "哪一本书"))),
    ("files-match-manifest", "a wrong content digest",
     written_then(edited("manifest.json", '"qa": "', '"qa": "0'))),
    ("schema", "a truncated table, signed", resigned(truncate("qa/train.parquet"))),
    ("schema", "a column of another type", resigned(wide_hops)),
    ("schema", "files of the wrong split", resigned(swap_splits)),
    ("schema", "an unknown answer kind", questions(answered("q1", kind="thing"))),
    ("schema", "an empty family", questions(changed("q1", family=" "))),
    ("schema", "no source", questions(changed("q1", sources=()))),
    ("unique-ids", "one id for two questions", resigned(repeat_an_id)),
    ("licence-present", "a source without licence",
     release(sources=(tiny.RELEASE.sources[0].model_copy(update={"licence": ""}),))),
    ("licence-present", "a question's source unknown", questions(changed("q1", sources=("elsewhere@1",)))),
    ("licence-present", "an entity's source unknown", entities("quot:1", provenance="elsewhere@1#7")),
    ("non-empty-gold", "an answer of blanks", questions(answered("q1", label="\u200b "))),
    ("gold-size", "more answers than allowed", release(limits=Limits(template_share=1.0, answers=0))),
    ("gold-equals-path", "a second source in the graph",
     triples(("word:买椟还珠", "hasExplanation", "expl:1"))),
    ("query-text", "another Cypher", questions(changed("q1", cypher="MATCH (n) RETURN n.id AS id"))),
    ("query-text", "another SPARQL with the same result",
     questions(changed("q1", sparql=get("q1").sparql.replace("?u ", "?unit ")))),
    ("gold-equals-sparql", "a free question with another SPARQL",
     questions(changed("q1", template_id=None, sparql=get("q2").sparql.replace("?b", "?u")))),
    ("gold-equals-path", "a free question with another gold",
     lambda folder: tiny.write(folder, questions=changed("q4", template_id=None),
                               triples=sorted([*tiny.TRIPLE_ROWS, ("word:买椟还珠", "hasExplanation", "expl:1")]))),
    ("evidence-in-graph", "an invented triple",
     questions(changed("q4", evidence=(TripleRef(head="word:买椟还珠", relation="hasExplanation", tail="expl:1"),)))),
    ("evidence-in-graph", "a path over an edge that is not there",
     questions(along("q2", entities=("word:守株待兔", "chapter:史记/项羽本纪", "book:韩非子")))),
    ("hops-match-path", "a path that is too short", questions(changed("q3", standard_paths=(SHORTER,)))),
    ("hops-match-path", "a step to another type", questions(along(
        "q4", steps=(get("q4").standard_paths[0].steps[0].model_copy(update={"type": "Quotation"}),)))),
    ("hops-match-path", "more entities than steps", questions(along("q4", entities=("word:买椟还珠",)))),
    ("anchors-unique", "two words of one name", entities("word:破釜沉舟", aliases=["守株待兔"])),
    ("anchor-mentioned", "a mention that is not there", questions(anchored("q1", mention="守株等兔"))),
    ("category-known", "an unknown slug", questions(changed("q1", category="history"))),
    ("category-known", "the wrong upper category", questions(changed("q1", upper_category="social"))),
    ("category-known", "an unknown basis", questions(changed("q1", category_basis="guess"))),
    ("answer-in-question", "the answer given away", questions(reworded("q5", "请问", "请问《史记》中"))),
    ("answer-in-question", "an alias given away",
     questions([q.model_copy(update={"question": "请问太史公书中“四面楚歌”的出处是哪部典籍？",
                                     "answers": (q.answers[0].model_copy(update={"aliases": ("太史公书",)}),)})
                if q.id == "q5" else q for q in tiny.QUESTIONS])),
    ("template-residue", "an open slot", questions(reworded("q1", "何篇", "{出处}"))),
    ("template-residue", "a doubled mark", questions(reworded("q1", "？", "？？"))),
    ("untidy-mention", "a doubled comma in a quotation", mentioned("q1", "守株，，待兔")),
    ("untidy-mention", "an open bracket in a quotation", mentioned("q1", "（守株待兔")),
    ("template-residue", "empty quotes", questions(reworded("q1", "何篇", "“”何篇"))),
    ("script", "a Latin word", questions(reworded("q1", "何篇", "which 篇"))),
    ("script", "a replacement character", questions(reworded("q1", "何篇", "何\ufffd篇"))),
    ("traditional", "a traditional character", questions(reworded("q1", "成语", "成語"))),
    ("length-outlier", "a question of five characters",
     questions([q.model_copy(update={"question": "守株待兔？"}) if q.id == "q1" else q for q in tiny.QUESTIONS])),
    ("passage-elsewhere", "words of one book quoted in another", quoted_elsewhere),
    ("exact-duplicate", "the same question again", added(get("q4").model_copy(update={"id": "q8"}), "1", 3)),
    ("near-duplicate", "the same question, other punctuation",
     added(get("q4").model_copy(update={"id": "q8", "question": "请解释成语“买椟还珠”！"}), "1", 3)),
    ("conflicting-gold", "one text, two gold sets", questions(changed("q2", question=get("q3").question))),
    ("group-leakage", "a group in two splits", questions(changed("q1", group_id=get("q5").group_id))),
    ("fact-leakage", "a derivation told in two splits", questions(changed("q6", split="train", group_id="group:x"))),
    ("marginals", "a hop target that is missed", release(targets=Targets(hops={"1": 2, "2": 2, "3": 3, "4+": 1}))),
    ("split-shares", "splits of other sizes", release(limits=Limits(template_share=1.0, stratum=2))),
    ("template-share", "a template above its share", release(limits=Limits(template_share=0.5, questions_per_word=3))),
    ("word-share", "a word asked too often", release(limits=Limits(template_share=1.0, questions_per_word=2))),
    ("kg-integrity", "a relation that leads nowhere it may", triples(("person:韩非", "livedIn", "book:韩非子"))),
    ("kg-integrity", "a triple twice", triples(tiny.TRIPLE_ROWS[-1])),
    ("kg-integrity", "a dangling triple", triples(("word:破釜沉舟", "hasExplanation", "expl:9"))),
    ("kg-integrity", "an entity without label", entities("period:汉", label="")),
    ("kg-integrity", "an unknown type", resigned(invent_a_type)),
    ("kg-integrity", "an abstract relation", triples(("book:史记", "hasCreator", "person:司马迁"))),
    ("kg-isolated", "an entity without triples",
     lambda folder: tiny.write(folder, entities=[*tiny.ENTITY_ROWS, tiny.entity("word:龙马精神", "Idiom")])),
    ("files-match-manifest", "a mirror of pairs with another label",
     resigned(edited("scoring_pairs/test.jsonl", '"label":0.9', '"label":0.7'))),
    ("pairs-count", "one pair too few", pairs(targets=ONE_MORE)),
    ("pairs-count", "a split nobody wanted", pairs(targets={"train": 4, "test": 3})),
    ("pairs-unique", "one question and node, two labels",
     pairs((8, {"id": "again", "band": "L4", "label": 0.7, "rule": "sibling-word"}), targets=ONE_MORE)),
    ("pairs-question", "a question of the test split",
     pairs((0, about("q5", id="q5/book")), (1, about("q5")), (2, about("q5")), (3, about("q5")))),
    ("pairs-question", "a question nobody asked", pairs((2, {"question_id": "q9"}))),
    ("pairs-question", "a question in other words", pairs((2, {"question": "守株待兔？"}))),
    ("pairs-label", "the label of another band", pairs((3, {"label": 0.7}))),
    ("pairs-label", "a rule of another band", pairs((3, {"rule": "sibling-word"}))),
    ("pairs-label", "a rule nobody wrote", pairs((3, {"rule": "hunch"}))),
    ("pairs-adjudicated", "a decision nobody took", pairs((3, {"rule": "adjudicated"}))),
    ("pairs-adjudicated", "another band than people gave it", decided("L2")),
    ("pairs-adjudicated", "a decision on a pair that is not there", decided("L2", id="q9/quot:1")),
    ("pairs-adjudicated", "a decision on other words", decided(tiny.pair(*tiny.PAIRED[0]).band, text="别的话")),
    ("pairs-node", "a node that is not there", pairs((2, {"entity_id": "person:左丘明"}))),
    ("pairs-node", "a node of another type", pairs((2, {"element": "Book"}))),
    ("pairs-node", "a node that is marked", pairs((2, {"node_text": "人物：司马迁（不是答案）"}))),
    ("pairs-leakage", "a question in two splits of the pairs",
     pairs((2, {"split": "test"}), targets={"train": 3, "validation": 1, "test": 4})),
    ("pairs-leakage", "a word in two splits of the pairs",
     pairs((5, {**other_node("word:守株待兔", "elsewhere"), "id": "q4/word"}))),
    ("pairs-leakage", "an explanation of a test question", pairs((2, other_node("word:四面楚歌", "elsewhere")))),
    ("pairs-balance", "a band left out",
     pairs((8, other_node("book:史记", "same-type")), targets=ONE_MORE)),
]  # fmt: skip


def test_the_tiny_dataset_is_valid(tmp_path: Path, templates: Path) -> None:
    tiny.write(tmp_path / "data")
    report = validate_dataset(tmp_path / "data", templates_dir=templates)
    assert report.as_dict()["rules"] == [
        {"rule": r.id, "severity": r.severity, "count": 0, "findings": (), "skipped": ""} for r in RULES
    ]
    assert report.ok


@pytest.mark.parametrize(
    ("rule", "damage"), [pytest.param(r, d, id=f"{r}: {what}") for r, what, d in DAMAGES]
)
def test_a_damage_is_found_by_its_rule_alone(
    rule: str, damage: Damage, tmp_path: Path, templates: Path
) -> None:
    damage(tmp_path / "data")
    report = validate_dataset(tmp_path / "data", templates_dir=templates)
    assert report.fired() == {rule}, [o.findings for o in report.outcomes if o.count]
    severity = next(r.severity for r in RULES if r.id == rule)
    assert report.ok == (severity != "error")


def test_every_rule_has_a_damage() -> None:
    assert {rule for rule, _, _ in DAMAGES} == {rule.id for rule in RULES}


def test_only_the_named_rules_run(tmp_path: Path, templates: Path) -> None:
    questions(changed("q1", question="{u}", cypher=""))(tmp_path)
    report = validate_dataset(tmp_path, ["template-residue"], templates_dir=templates)
    assert [(o.rule, o.count) for o in report.outcomes] == [("template-residue", 1)]
    (finding,) = report.outcomes[0].findings
    assert (finding.question, finding.field, finding.message) == (
        "q1",
        "question",
        "left over from a template: '{'",
    )


def test_a_rule_name_is_corrected(tmp_path: Path) -> None:
    tiny.write(tmp_path)
    with pytest.raises(ValidationFailed, match="did you mean 'unique-ids'"):
        validate_dataset(tmp_path, ["unique-id"])


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"manifest\.json is missing"):
        validate_dataset(tmp_path)


def test_an_unreadable_table_skips_rules_and_is_not_ok(tmp_path: Path, templates: Path) -> None:
    resigned(truncate("qa/train.parquet"))(tmp_path)
    report = validate_dataset(tmp_path, ["unique-ids"], templates_dir=templates)
    assert not report.ok
    assert "not a complete Parquet file" in report.outcomes[0].skipped


def test_a_capital_in_a_name_is_no_foreign_script(tmp_path: Path, templates: Path) -> None:
    questions(reworded("q1", "成语", "《阿Q正传》里的成语"))(tmp_path)
    assert validate_dataset(tmp_path, ["script"], templates_dir=templates).ok
