"""The same definitions in other people's libraries give the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.matching import key_of
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import Evidence, EvidenceTriple, PredictedAnswer, Prediction
from clwqa_bench.records import Answer, TripleRef
from tests.core.test_metrics import REF, made, value

NAMES = "甲乙丙丁戊己庚辛壬癸子丑"
rng = np.random.default_rng(20240229)


def drawn(most: int) -> list[str]:
    return rng.permutation(list(NAMES))[: rng.integers(1, most + 1)].tolist()


GOLDS = [drawn(4) for _ in range(60)]
GIVEN = [drawn(9) if i % 7 else [] for i in range(60)]


# --- rankings -----------------------------------------------------------------------------------------------


def ranking(measure: object, golds: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> list[float]:
    """What ir_measures makes of every question."""
    import ir_measures

    qrels = [ir_measures.Qrel(f"{i:02}", name, 1) for i, of_one in enumerate(golds) for name in of_one]
    run = [
        ir_measures.ScoredDoc(f"{i:02}", name, -rank)
        for i, of_one in enumerate(given)
        for rank, name in enumerate(of_one)
    ]
    return [
        found.value
        for found in sorted(ir_measures.iter_calc([measure], qrels, run), key=lambda m: m.query_id)
    ]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Hits@1", "Success@1"),
        ("Hits@3", "Success@3"),
        ("MRR@10", "RR@10"),
        ("MRR@2", "RR@2"),
        ("Recall@3", "R@3"),
        ("MAP@10", "AP@10"),  # the same while no question has more golds than the cutoff
        ("P", "SetP"),
        ("R", "SetR"),
        ("F1", "SetF"),
    ],
)
def test_rankings_as_ir_measures_sees_them(ours: str, theirs: str) -> None:
    import ir_measures

    per_question = Metric.parse(ours).per_question(made(GOLDS, GIVEN)).tolist()
    assert per_question == pytest.approx(ranking(ir_measures.parse_measure(theirs), GOLDS, GIVEN))


def test_average_precision_is_divided_by_what_can_be_reached() -> None:
    assert value("MAP@2", made(["甲乙丙丁"], ["甲乙"])) == 1  # trec_eval divides by all four golds: 0.5


def evidence_grid(golds: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> Grid:
    """The same lists as triples."""

    def triple(name: str) -> TripleRef:
        return TripleRef(head="词", relation="hasSource", tail=name)

    answer = (Answer(entity_id="甲", label="甲"),)
    questions = [
        GoldQuestion(f"{i:02}", "", answer, "g", evidence=tuple(map(triple, names)))
        for i, names in enumerate(golds)
    ]
    predictions = [
        Prediction(
            id=f"{i:02}",
            status="empty",
            evidence=Evidence(triples=tuple(EvidenceTriple(id=name, triple=triple(name)) for name in names)),
        )
        for i, names in enumerate(given)
    ]
    return align(Gold(REF, tuple(questions)), predictions)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("EvidencenDCG@10", "nDCG@10"),
        ("EvidencenDCG@3", "nDCG@3"),
        ("EvidenceP", "SetP"),
        ("EvidenceR", "SetR"),
        ("EvidenceF1", "SetF"),
    ],
)
def test_evidence_as_ir_measures_sees_it(ours: str, theirs: str) -> None:
    import ir_measures

    per_question = Metric.parse(ours).per_question(evidence_grid(GOLDS, GIVEN)).tolist()
    assert per_question == pytest.approx(ranking(ir_measures.parse_measure(theirs), GOLDS, GIVEN))


# --- sets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "average"), [("macro", "samples"), ("micro", "micro")])
def test_sets_as_scikit_learn_sees_them(ours: str, average: str) -> None:
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    labels = MultiLabelBinarizer(classes=list(NAMES))
    theirs = precision_recall_fscore_support(
        labels.fit_transform(GOLDS), labels.fit_transform(GIVEN), average=average, zero_division=0
    )
    grid = made(GOLDS, GIVEN)
    assert [value(f"{name}(agg={ours})", grid) for name in ("P", "R", "F1")] == pytest.approx(theirs[:3])


def test_exact_match_as_scikit_learn_sees_it() -> None:
    from sklearn.metrics import accuracy_score
    from sklearn.preprocessing import MultiLabelBinarizer

    given = [golds if i % 3 else names for i, (golds, names) in enumerate(zip(GOLDS, GIVEN, strict=True))]
    labels = MultiLabelBinarizer(classes=list(NAMES))
    theirs = accuracy_score(labels.fit_transform(GOLDS), labels.fit_transform(given))
    assert value("EM", made(GOLDS, given)) == pytest.approx(theirs)


def test_f1_of_means_is_not_the_mean_of_f1() -> None:
    grid = made(["甲", "乙"], ["甲丙丁", "己"])  # P 1/3 and 0, R 1 and 0
    assert value("F1", grid) == pytest.approx((1 / 2 + 0) / 2)
    assert value("F1(agg=of-means)", grid) == pytest.approx(2 * (1 / 6) * (1 / 2) / (1 / 6 + 1 / 2))


# --- texts --------------------------------------------------------------------------------------------------

TEXTS = [
    ("比喻取舍不当，舍本逐末。", ["比喻舍本逐末，取舍不当。"]),
    ("形容四面受敌，处境孤立危急", ["形容陷入四面受敌、孤立无援的境地", "比喻处境孤危"]),
    ("比喻不知变通，妄想不劳而获", ["比喻死守经验，不知变通"]),
    ("形容人多而声势大", ["形容人很多，声势浩大"]),
    ("比喻做了好事却不图回报", ["完全不同的一句话"]),
    ("他说了一件毫不相干的事情", ["比喻死守经验，不知变通", "形容做事拘泥"]),
    ("美好", ["美好的样子"]),
]


def passages(texts: Sequence[tuple[str, Sequence[str]]]) -> Grid:
    """One passage question per text; an empty text is an unanswered question."""
    questions = [
        GoldQuestion(
            f"{i:02}",
            "",
            (Answer(entity_id="expl", label=golds[0], aliases=tuple(golds[1:]), kind="passage"),),
            "g",
        )
        for i, (_, golds) in enumerate(texts)
    ]
    predictions = [
        Prediction(id=f"{i:02}", status="ok", answers=(PredictedAnswer(text=text),))
        for i, (text, _) in enumerate(texts)
        if text
    ]
    return align(Gold(REF, tuple(questions)), predictions)


def test_rouge_l_as_rouge_score_computes_it_on_characters() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    class Characters:
        def tokenize(self, text: str) -> list[str]:
            return list(key_of(text))

    scorer = RougeScorer(["rougeL"], tokenizer=Characters())
    theirs = [scorer.score_multi(golds, text)["rougeL"].fmeasure for text, golds in TEXTS]
    assert Metric.parse("ROUGE-L").per_question(passages(TEXTS)).tolist() == pytest.approx(theirs)


def test_sentence_bleu_as_sacrebleu_computes_it() -> None:
    from sacrebleu.metrics import BLEU

    for tokenizer in ("char", "zh"):  # the same as long as a text is Chinese throughout
        scorer = BLEU(tokenize=tokenizer, effective_order=True)
        theirs = [
            scorer.sentence_score(key_of(text), list(map(key_of, golds))).score / 100 for text, golds in TEXTS
        ]
        assert Metric.parse("BLEU").per_question(passages(TEXTS)).tolist() == pytest.approx(theirs)


def test_corpus_bleu_as_sacrebleu_computes_it() -> None:
    from sacrebleu.metrics import BLEU

    columns = [[key_of(golds[min(i, len(golds) - 1)]) for _, golds in TEXTS] for i in range(2)]
    theirs = BLEU(tokenize="char").corpus_score([key_of(text) for text, _ in TEXTS], columns).score / 100
    assert theirs > 0
    assert value("BLEU(agg=corpus)", passages(TEXTS)) == pytest.approx(theirs)


chinese = st.text(st.sampled_from("一二三四五，。 a"), min_size=1, max_size=12).filter(
    lambda text: any(map(str.isalnum, text))
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(chinese, st.lists(chinese, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_texts_lie_between_0_and_1_and_the_gold_text_has_1(texts: list[tuple[str, list[str]]]) -> None:
    for name in ("charF1", "ROUGE-L", "BLEU", "BLEU(agg=corpus)"):
        metric = Metric.parse(name)
        assert 0 <= value(metric, passages(texts)) <= 1
        assert value(metric, passages([(golds[0], golds) for _, golds in texts])) == 1
        assert value(metric, passages([("", golds) for _, golds in texts])) == 0


@settings(max_examples=50, deadline=None)
@given(chinese, st.lists(chinese, min_size=1, max_size=3))
def test_any_sentence_has_the_bleu_of_sacrebleu(text: str, golds: list[str]) -> None:
    from sacrebleu.metrics import BLEU

    theirs = BLEU(tokenize="char", effective_order=True).sentence_score(
        key_of(text), list(map(key_of, golds))
    )
    assert value("BLEU", passages([(text, golds)])) == pytest.approx(theirs.score / 100)


def test_text_measures_apply_to_passages_only() -> None:
    assert not Metric.parse("charF1").columns(made(["甲"], ["甲"])).applies.any()


def test_several_passages_in_no_order_are_refused() -> None:
    answers = (PredictedAnswer(text="甲"), PredictedAnswer(text="乙"))
    grid = passages(TEXTS[:1])
    grid = align(grid.gold, [Prediction(id="00", status="ok", answers=answers)])
    with pytest.raises(MetricError, match="several passages in no order"):
        Metric.parse("ROUGE-L").columns(grid)
