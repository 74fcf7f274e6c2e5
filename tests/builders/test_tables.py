"""The hand-checked tables: they hold together, they say what a reader knows, and a bad line is pointed at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.errors import SourceError
from clwqa_builders.tables import (
    Period,
    load_author_aliases,
    load_books,
    load_dynasty_pairs,
    load_periods,
    load_person_periods,
    load_same_title_works,
    load_title_typos,
    load_tunes,
    load_work_kinds,
)

BOOKS = {book.title: book for book in load_books()}
SAME_TITLE = load_same_title_works()
WORKS = [*BOOKS.values(), *SAME_TITLE]
PERIODS = {period.id: period for period in load_periods()}
PERSONS = load_person_periods()
ALIASES = load_author_aliases()
TYPOS = load_title_typos()
TUNES = load_tunes()
TITLES = {name for book in BOOKS.values() for name in (book.title, *book.aliases)}


def lineage(period_id: str) -> list[str]:
    """The period and all that contain it."""
    found = [period_id]
    while parent := PERIODS[found[-1]].parent:
        found.append(parent)
    return found


# --- the tables hold together -------------------------------------------------------------------------------


def test_the_tables_are_large_enough() -> None:
    assert len(BOOKS) >= 260
    assert len(PERSONS) >= 350
    assert len(TUNES) >= 150


def test_no_title_or_alias_means_two_works() -> None:
    names = [n for b in BOOKS.values() for n in (b.title, *b.aliases, *b.dotted_aliases)]
    assert len(names) == len(set(names))


def test_works_use_known_periods_and_canonical_names() -> None:
    assert {work.period for work in WORKS} <= {*PERIODS, ""}
    assert not {author for work in WORKS for author in work.authors} & set(ALIASES)
    assert not [work.title for work in WORKS if set(work.authors) & set(work.other_authors)]


def test_a_work_whose_kind_is_listed_stands_in_no_other_table() -> None:
    listed = [work.partition("/") for work in load_work_kinds()]
    assert {title for title, _, _ in listed} & set(TYPOS) == set()
    assert {author for _, _, author in listed} & set(ALIASES) == set()
    known = {(work.title, author) for work in WORKS for author in work.authors}
    assert [work for work in listed if (work[0], work[2]) in known] == []


def test_plays_and_novels_are_literature_unless_tales_of_marvels() -> None:
    domains = {(work.kind, work.domain) for work in WORKS if work.kind in ("Drama", "Novel")}
    assert domains == {
        ("Drama", "arts_literature"),
        ("Novel", "arts_literature"),
        ("Novel", "religion_beliefs"),
    }


def test_another_work_of_the_same_title_has_another_author() -> None:
    for work in SAME_TITLE:
        assert not set(work.authors) & {*BOOKS[work.title].authors, *BOOKS[work.title].other_authors}, (
            work.title
        )


def test_no_author_of_a_dynasty_wrote_after_it() -> None:
    """A work does not come from an age that ended before its (undisputed) author's began."""
    late = []
    for work in WORKS:
        for author in work.authors if work.author_status == "known" else ():
            if work.period and author in PERSONS:
                life, made = PERIODS[PERSONS[author]], PERIODS[work.period]
                if life.begin is not None and made.end is not None and made.end < life.begin:
                    late.append((work.title, author))
    assert late == []


def test_no_period_is_called_by_the_name_of_another() -> None:
    names = [name for p in PERIODS.values() for name in {p.id, p.label, *p.aliases}]
    assert len(names) == len(set(names))


def test_a_period_lies_inside_its_parent() -> None:
    def outside(inner: Period, outer: Period) -> bool:
        early = inner.begin is not None and outer.begin is not None and inner.begin < outer.begin
        late = inner.end is not None and outer.end is not None and inner.end > outer.end
        return early or late

    assert [p.id for p in PERIODS.values() if p.parent and outside(p, PERIODS[p.parent])] == []


def test_periods_are_in_order() -> None:
    assert [p.order for p in PERIODS.values()] == list(range(1, len(PERIODS) + 1))


def test_every_person_and_dynasty_has_a_known_period() -> None:
    assert set(PERSONS.values()) <= set(PERIODS)
    assert {pair.period for pair in load_dynasty_pairs()} <= set(PERIODS)


def test_names_are_resolved_in_one_step() -> None:
    assert not set(ALIASES) & set(ALIASES.values())
    assert not set(TYPOS) & set(TYPOS.values())
    assert not set(PERSONS) & set(ALIASES), "persons are written in their canonical form"


def test_misprints_lead_to_known_titles() -> None:
    listed = {work.partition("/")[0] for work in load_work_kinds()}
    assert set(TYPOS.values()) <= TITLES | TUNES | listed
    assert not set(TYPOS) & (TITLES | TUNES)


def test_a_tune_is_never_a_work() -> None:
    assert not TUNES & TITLES


# --- they say what a reader knows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "authors", "role", "period", "kind", "domain"),
    [
        ("史记", ["司马迁"], "authored", "西汉", "Book", "history_geography"),
        ("后汉书", ["范晔"], "authored", "南朝·宋", "Book", "history_geography"),
        ("新唐书", ["欧阳修", "宋祁"], "compiled", "北宋", "Book", "history_geography"),
        ("旧唐书", ["刘昫"], "compiled", "五代·后晋", "Book", "history_geography"),
        ("左传", ["左丘明"], "attributed", "先秦", "Book", "history_geography"),
        ("诗经", [], "", "先秦", "Collection", "arts_literature"),
        ("周易", [], "", "先秦", "Book", "religion_beliefs"),
        ("论语", [], "", "战国", "Book", "emotions_values"),
        ("庄子", ["庄周"], "authored", "战国", "Book", "religion_beliefs"),
        ("韩非子", ["韩非"], "authored", "战国", "Book", "social_institutions"),
        ("礼记", ["戴圣"], "compiled", "西汉", "Book", "customs_practices"),
        ("说文解字", ["许慎"], "authored", "东汉", "Book", "language_dialects"),
        ("齐民要术", ["贾思勰"], "authored", "北朝·北魏", "Book", "technical_specialized"),
        ("文选", ["萧统"], "compiled", "南朝·梁", "Collection", "arts_literature"),
        ("喻世明言", ["冯梦龙"], "compiled", "明", "Novel", "arts_literature"),
        ("长生殿", ["洪昇"], "authored", "清", "Drama", "arts_literature"),
        ("陈州粜米", [], "", "元", "Drama", "arts_literature"),
        ("子夜", ["茅盾"], "authored", "近现代", "Novel", "arts_literature"),
        ("人民日报", [], "", "近现代", "Periodical", ""),
    ],
)
def test_well_known_works(
    title: str, authors: list[str], role: str, period: str, kind: str, domain: str
) -> None:
    book = BOOKS[title]
    assert (list(book.authors), book.role, book.period, book.kind, book.domain) == (
        authors, role, period, kind, domain)  # fmt: skip


@pytest.mark.parametrize(
    ("alias", "title"),
    [("古今小说", "喻世明言"), ("水浒全传", "水浒传"), ("前汉书", "汉书"), ("道德经", "老子"), ("还魂记", "牡丹亭"),
     ("文中子", "中说"), ("石头记", "红楼梦"), ("风俗通义", "风俗通"), ("拍案惊奇", "初刻拍案惊奇")],
)  # fmt: skip
def test_other_titles(alias: str, title: str) -> None:
    assert alias in BOOKS[title].aliases


@pytest.mark.parametrize(
    ("short", "title"), [("诗", "诗经"), ("书", "尚书"), ("易", "周易"), ("左氏", "左传")]
)
def test_short_titles_need_a_dot(short: str, title: str) -> None:
    assert short in BOOKS[title].dotted_aliases
    assert short not in TITLES


def test_works_that_share_a_title_are_told_apart_by_author() -> None:
    found = {(work.title, work.authors[0]): (work.kind, work.period) for work in SAME_TITLE}
    assert found["西游记", "杨景贤"] == ("Drama", "元")
    assert found["后汉书", "谢承"] == ("Book", "三国·吴")


@pytest.mark.parametrize(
    ("printed", "name"),
    [("洪昻", "洪昇"), ("王士秅", "王士禛"), ("禇人获", "褚人获"), ("吴研人", "吴趼人"), ("曹雪琴", "曹雪芹"),
     ("薄松龄", "蒲松龄"), ("荀子", "荀况"), ("孟子", "孟轲"), ("李太白", "李白"), ("苏东坡", "苏轼"),
     ("罗本", "罗贯中"), ("乔孟符", "乔吉"), ("郑德辉", "郑光祖")],
)  # fmt: skip
def test_names_of_one_person(printed: str, name: str) -> None:
    assert ALIASES[printed] == name


@pytest.mark.parametrize(
    "name", ["王安石", "王安中", "苏洵", "苏辙", "曹丕", "曹植", "郑启", "刘元卿", "崔灏"]
)
def test_near_names_of_different_people_are_not_merged(name: str) -> None:
    assert name not in ALIASES


@pytest.mark.parametrize(
    "title", ["列仙传", "列女传", "青楼梦", "续汉书", "后汉纪", "玄怪录", "中山狼", "曲江池"]
)
def test_near_titles_of_different_works_are_not_merged(title: str) -> None:
    assert title not in TYPOS


@pytest.mark.parametrize(
    ("person", "period"),
    [("司马迁", "西汉"), ("班固", "东汉"), ("诸葛亮", "三国·蜀"), ("陶潜", "东晋"), ("刘勰", "南朝·梁"),
     ("颜之推", "北朝·北齐"), ("杜甫", "唐"), ("李煜", "南唐"), ("苏轼", "北宋"), ("陆游", "南宋"), ("元好问", "金"),
     ("关汉卿", "元"), ("冯梦龙", "明"), ("曹雪芹", "清"), ("鲁迅", "近现代"), ("屈原", "战国·楚")],
)  # fmt: skip
def test_when_people_lived(person: str, period: str) -> None:
    assert PERSONS[person] == period


def test_the_tree_of_periods() -> None:
    assert lineage("战国·楚") == ["战国·楚", "战国", "先秦"]
    assert lineage("南朝·宋") == ["南朝·宋", "南朝", "南北朝"]
    assert lineage("五代·后晋") == ["五代·后晋", "五代"]
    assert (PERIODS["唐"].begin, PERIODS["唐"].end) == (618, 907)
    assert (PERIODS["东汉"].begin, PERIODS["东汉"].end) == (25, 220)


@pytest.mark.parametrize("tune", ["沁园春", "水调歌头", "满江红", "减字木兰花", "端正好", "一枝花", "新水令"])
def test_tunes(tune: str) -> None:
    assert tune in TUNES


# --- a bad line is pointed at -------------------------------------------------------------------------------

BOOK_HEADER = (
    "title\taliases\tdotted_aliases\tauthor\tauthor_status\trole\tperiod\tkind\tdomain\tother_authors\tnote"
)
PERIOD_HEADER = "id\tlabel\taliases\tparent\tkind\tbegin\tend\torder"


@pytest.mark.parametrize(
    ("load", "header", "line", "field"),
    [
        (load_books, BOOK_HEADER, "\t\t\t\tnone\t\t\tBook\t\t\t", "title"),
        (load_books, BOOK_HEADER, "甲\t\t\t\tnone\t\t\tPoem\t\t\t", "kind"),
        (load_books, BOOK_HEADER, "甲\t\t\t\tnone\t\t\tBook\tpoetry\t\t", "domain"),
        (load_books, BOOK_HEADER, "甲\t\t\t乙\tknown\twrote\t\tBook\t\t\t", "role"),
        (load_books, BOOK_HEADER, "甲\t\t\t乙\tknown\t\t\tBook\t\t\t", "role"),
        (load_books, BOOK_HEADER, "甲\t\t\t乙\tnone\tauthored\t\tBook\t\t\t", "author_status"),
        (load_books, BOOK_HEADER, "甲\t\t\t\tknown\t\t\tBook\t\t\t", "author_status"),
        (load_books, BOOK_HEADER, "甲\t乙;;丙\t\t\tnone\t\t\tBook\t\t\t", "aliases"),
        (load_books, BOOK_HEADER, "甲\t甲\t\t\tnone\t\t\tBook\t\t\t", "title"),
        (load_books, BOOK_HEADER, "甲\tBook", None),
        (load_same_title_works, BOOK_HEADER, "甲\t\t\t\tnone\t\t\tBook\t\t\t", "author"),
        (load_periods, PERIOD_HEADER, "唐\t唐\t\t\tDynasty\t六一八\t907\t1", "begin"),
        (load_periods, PERIOD_HEADER, "唐\t唐\t\t\tDynasty\t907\t618\t1", "begin"),
        (load_periods, PERIOD_HEADER, "唐\t唐\t\t隋唐\tDynasty\t618\t907\t1", "parent"),
        (load_periods, PERIOD_HEADER, "唐\t唐\t\t\tReign\t618\t907\t1", "kind"),
        (load_author_aliases, "variant\tcanonical", "洪昻\t", "canonical"),
        (load_title_typos, "wrong\tright", "\t荀子", "wrong"),
        (load_tunes, "tune", "沁园春\t水调歌头", None),
    ],
)
def test_a_bad_line(
    load: Callable[[Path], object], header: str, line: str, field: str | None, tmp_path: Path
) -> None:
    table = tmp_path / "table.tsv"
    table.write_text(f"# a remark\n{header}\n{line}\n", encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        load(table)
    error = caught.value
    assert (error.file, error.line, error.field) == (str(table), 3, field)
    assert error.fix


def test_a_wrong_header(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("bad\tright\n苟子\t荀子\n", encoding="utf-8")
    with pytest.raises(SourceError, match="header"):
        load_title_typos(table)


def test_a_name_may_stand_only_once(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("wrong\tright\n苟子\t荀子\n苟子\t荀子\n", encoding="utf-8")
    with pytest.raises(SourceError, match="stands twice"):
        load_title_typos(table)


def test_values_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        ALIASES["甲"] = "乙"  # type: ignore[index]
