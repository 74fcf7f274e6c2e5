"""Canonicalisation: the hand-checked tables first, then votes; works keyed by title and author."""

import pytest

from clwqa_builders.extract.canonical import Canonicaliser, creator_relation
from clwqa_builders.extract.records import Citation
from clwqa_builders.pipeline import hand_checked_tables

TABLES = hand_checked_tables()


def cite(
    title: str,
    author: str | None = None,
    *,
    section: str | None = None,
    locator: str | None = None,
    period: str | None = None,
    genre: str | None = None,
    role: str | None = None,
) -> Citation:
    return Citation(
        title=title,
        section=section,
        locator=locator,
        author=author,
        author_role=role,
        period=period,
        genre=genre,
        quotation=None,
        commentary=None,
        via=None,
        quotes_work=None,
    )


def canon(*citations: Citation) -> Canonicaliser:
    return Canonicaliser(citations, TABLES)


@pytest.mark.parametrize(
    ("citation", "work", "authors"),
    [
        (cite("史记", section="项羽本纪"), "book:史记", ("司马迁",)),  # no author printed: the table fills it
        (cite("诗", section="小雅·大东"), "book:诗经", ()),  # a short alias counts when dotted
        (cite("易"), "book:周易", ()),  # ... or when no author is printed
        (
            cite("诗", "寒山", period="唐"),
            "piece:寒山/诗",
            ("寒山",),
        ),  # Hanshan's poem is not the Book of Songs
        (cite("左氏", section="僖公十五年"), "book:左传", ("左丘明",)),
        (cite("石头记", locator="第一回"), "book:红楼梦", ("曹雪芹",)),
        (
            cite("西厢记", "董解元", period="金"),
            "book:西厢记诸宫调",
            ("董解元",),
        ),  # another work under the title
        (cite("西厢记", locator="第一本第一折"), "book:西厢记", ("王实甫",)),
        (cite("后汉书", "谢承"), "book:后汉书/谢承", ("谢承",)),
        (cite("云笈七签"), "book:云笈七签", ("张君房",)),
    ],
)
def test_the_tables_decide(citation: Citation, work: str, authors: tuple[str, ...]) -> None:
    place = canon().place(citation)
    assert (place.work.id, place.work.authors) == (work, authors)


def test_misprinted_names_are_one_person() -> None:
    assert canon().authors(cite("红楼梦", "曹雪琴")) == ("曹雪芹",)
    assert canon().authors(cite("x", "无名氏")) == ()
    assert canon().authors(cite("x", "程颢、程颐")) == ("程颢", "程颐")
    assert canon().authors(cite("x", "裴松之注引")) == ()


def test_an_author_who_contradicts_a_checked_book_is_kept_as_a_conflict() -> None:
    place = canon().place(cite("官场现形记", "吴敬梓", locator="第一回"))
    assert (place.work.authors, place.conflict) == (("李宝嘉",), "吴敬梓")


def test_a_rival_attribution_is_no_conflict() -> None:
    assert canon().place(cite("朱子语类", "朱熹", locator="卷一")).conflict is None


def test_chapters_belong_to_books_and_pieces_to_collections() -> None:
    chapter = canon().place(cite("史记", section="项羽本纪")).unit
    piece = canon().place(cite("诗经", section="小雅·大东")).unit
    numbered = canon().place(cite("红楼梦", "曹雪芹", locator="第七回")).unit
    units = [(unit.kind, unit.label) for unit in (chapter, piece, numbered) if unit is not None]
    assert units == [("Chapter", "史记·项羽本纪"), ("Piece", "诗经·小雅·大东"), ("Chapter", "红楼梦·第七回")]


def test_a_tune_is_a_piece_of_its_author_never_a_source() -> None:
    place = canon().place(cite("沁园春", "辛弃疾", section="将止酒", period="宋", genre="词"))
    assert (place.work.id, place.work.kind, place.unit) == ("piece:辛弃疾/沁园春·将止酒", "Piece", None)


def test_the_tail_is_filled_by_vote_only_with_support_and_agreement() -> None:
    stated = [cite("无此书传", "甲乙", locator=f"卷{n}") for n in "一二三"]
    assert canon(*stated).place(cite("无此书传", locator="卷四")).work.authors == ("甲乙",)
    assert canon(*stated[:2]).place(cite("无此书传", locator="卷四")).work.authors == ()
    rivals = [*stated, cite("无此书传", "丙丁", locator="卷五")]
    assert canon(*rivals).place(cite("无此书传", locator="卷四")).work.authors == (), "3 of 4 is below 0.8"


def test_different_works_under_one_title_stay_different() -> None:
    one, other = (canon().place(cite("行路难", a)).work.id for a in ("李白", "鲍照"))
    assert one != other


@pytest.mark.parametrize(("locator", "kind"), [("第一折", "Drama"), ("第二回", "Novel"), ("卷三", "Book")])
def test_the_kind_of_an_unlisted_book_shows_in_how_it_is_counted(locator: str, kind: str) -> None:
    citation = cite("无此书记", "甲乙", locator=locator)
    assert canon(citation, citation).place(citation).work.kind == kind


def test_a_title_cited_without_parts_is_a_piece_and_a_serial_number_belongs_to_its_title() -> None:
    piece = canon().place(cite("秋兴八首", "杜甫", locator="之一", period="唐")).work
    assert (piece.id, piece.kind) == ("piece:杜甫/秋兴八首之一", "Piece")


def test_periods_of_persons_come_from_the_table_then_from_agreeing_kin_periods() -> None:
    votes = [cite("x", "某甲人", period=p) for p in ("汉", "西汉", "汉", "汉")]
    assert canon().person_period("司马迁") == "西汉"
    assert canon(*votes).person_period("某甲人") == "汉"
    assert canon(*votes, cite("x", "某甲人", period="唐")).person_period("某甲人") == "汉"
    assert (
        canon(cite("x", "某甲人", period="明"), cite("x", "某甲人", period="清")).person_period("某甲人")
        is None
    )


def test_who_compiled_is_not_called_author() -> None:
    place = canon().place(cite("礼记", section="儒行"))
    assert creator_relation(place.work, cite("礼记")) == "compiledBy"
    listed = canon().place(cite("无此书选", "甲乙", role="主编"))
    assert creator_relation(listed.work, cite("无此书选", "甲乙", role="主编")) == "compiledBy"


@pytest.mark.parametrize("period", ["近现代", "清"])
def test_only_classical_or_marked_pieces_are_literature_by_construction(period: str) -> None:
    work = canon(cite("某题", "某乙人", period=period)).place(cite("某题", "某乙人", period=period)).work
    assert work.domain == (None if period == "近现代" else "arts_literature")


@pytest.mark.parametrize(
    ("citation", "work", "kind"),
    [
        (
            cite("九歌", "屈原", section="河伯"),
            "piece:屈原/九歌·河伯",
            "Piece",
        ),  # a cycle of songs is no book
        (
            cite("边城", "沈从文", locator="十四"),
            "book:边城/沈从文",
            "Novel",
        ),  # a novel cited like a treatise
        (cite("空谷香", "蒋士铨", section="哄笺"), "book:空谷香/蒋士铨", "Drama"),
        (cite("谈龙录", "赵执信"), "book:谈龙录/赵执信", "Book"),  # a book cited without parts
    ],
)
def test_the_table_of_kinds_decides_where_the_manner_of_citing_misleads(
    citation: Citation, work: str, kind: str
) -> None:
    found = canon(citation).place(citation).work
    assert (found.id, found.kind) == (work, kind)


@pytest.mark.parametrize(("title", "locator"), [("无此书", "第三幕"), ("无此书传奇", None)])
def test_acts_scenes_and_the_name_of_the_genre_tell_a_play(title: str, locator: str | None) -> None:
    citation = cite(title, "甲乙", section="某出", locator=locator)
    assert canon(citation).place(citation).work.kind == "Drama"


def test_a_chapter_cited_by_its_own_name_is_a_chapter() -> None:
    dotted = [cite("庄子", section="山木")] * 3
    assert canon(*dotted).place(cite("山木")).id == "chapter:庄子#山木"
    assert canon(*dotted[:2]).place(cite("山木")).id == "piece:?/山木", "two citations are no proof"
    signed = [cite("荀子", section="劝学")] * 3
    assert canon(*signed).place(cite("劝学", "荀子")).id == "chapter:荀子#劝学"
    assert canon(*signed).place(cite("劝学", "孟郊")).id == "piece:孟郊/劝学", (
        "another author's is another text"
    )


def test_unsigned_prefaces_are_not_one_work() -> None:
    first, second = (Citation(**{**_fields(cite("序")), "quotation": q}) for q in ("天下之文章", "余读其书"))
    assert canon().place(first).id != canon().place(second).id


def test_marks_inside_a_title_make_no_other_work() -> None:
    one, other = (canon().place(cite(t, "袁宗道")) for t in ("读〈孟子〉", "读孟子"))
    assert one.id == other.id
    assert one.work.title == "读〈孟子〉"


@pytest.mark.parametrize(
    ("author", "period", "person"),
    [("武帝", "南朝·梁", "萧衍"), ("元帝", "南朝·梁", "萧绎"), ("汤显祖", "明", "汤显祖")],
)
def test_an_emperor_is_named_by_his_dynasty(author: str, period: str, person: str) -> None:
    assert canon().authors(cite("x", author, period=period)) == (person,)


@pytest.mark.parametrize("printed", ["按今本", "柳琴戏", "初三教案", "另见"])
def test_what_is_printed_in_the_place_of_an_author_may_be_none(printed: str) -> None:
    assert canon().authors(cite("x", printed)) == ()


def _fields(citation: Citation) -> dict[str, object]:
    return {name: getattr(citation, name) for name in Citation.__slots__}
