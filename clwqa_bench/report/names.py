"""What readers see in place of identifiers, in Chinese and in English, and how numbers are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from clwqa_bench.errors import OntologyError
from clwqa_bench.metrics import Metric
from clwqa_bench.ontology import Ontology


class Name(NamedTuple):
    """One thing in the two languages of the report."""

    zh: str
    en: str


DIMENSIONS = {
    "operation": Name("推理操作", "Operation"),
    "hops": Name("跳数", "Hops"),
    "category": Name("类别", "Category"),
    "upper": Name("大类", "Upper category"),
    "answers": Name("答案数", "Number of answers"),
    "kind": Name("答案种类", "Kind of answer"),
    "method": Name("出题方式", "Written by"),
    "view": Name("测试视图", "Test view"),
}
"""Families of strata, in the order of the report; others follow by name."""

_STRATA = {
    "all": Name("全部", "All"),
    "operation=basic": Name("直接查询", "basic"),
    "operation=relationship": Name("关系", "relationship"),
    "operation=negation": Name("否定", "negation"),
    "operation=aggregation": Name("汇总", "aggregation"),
    "operation=counting": Name("计数", "counting"),
    "operation=superlative": Name("最值", "superlative"),
    "operation=ranking": Name("排序", "ranking"),
    "operation=comparison": Name("比较", "comparison"),
    "answers=one": Name("一个", "one"),
    "answers=many": Name("多个", "several"),
    "kind=entity": Name("实体", "entity"),
    "kind=passage": Name("文段", "passage"),
    "kind=literal": Name("数值或是非", "number or yes/no"),
    "method=template": Name("模板", "template"),
    "method=llm": Name("语言模型", "language model"),
    "view=unseen-source": Name("未见出处", "unseen source"),
    "view=unseen-template": Name("未见模板", "unseen template"),
}

OUTCOMES = {
    "ok": Name("有答案", "answered"),
    "empty": Name("空答案", "empty"),
    "refused": Name("拒答", "refused"),
    "unparsed": Name("无法解析", "unparsed"),
    "error": Name("出错", "error"),
    "timeout": Name("超时", "timeout"),
    "skipped": Name("跳过", "skipped"),
    "missing": Name("缺失", "missing"),
}

VERDICTS = {
    "right": Name("全对", "right"),
    "partly": Name("部分对", "partly right"),
    "wrong": Name("答错", "wrong"),
    "failed": Name("未作答", "no answer"),
}
"""What became of a question: exactly the gold set, a part of it or more than it, none of it, no answer at all."""

GROUPS = {
    "headline": Name("主要指标", "Headline"),
    "answers": Name("其他答案指标", "More on answers"),
    "text": Name("文本相似度", "Text of answers"),
    "evidence": Name("证据", "Evidence"),
    "legacy": Name(
        "其他项目脚本的算法：虚高，不可比", "As other projects’ scripts count: inflated, not comparable"
    ),
}
"""Groups of metrics in the order of the report."""

MAIN = ("Hits@1", "F1", "EM")

_METRICS = {
    "P": "精确率 P",
    "R": "召回率 R",
    "EM": "完全匹配",
    "F1 of means": "均值之 F1",
    "char-F1": "字符 F1",
    "E[Hits@1] under random order": "随机次序下 Hits@1 期望",
    "Evidence P": "证据精确率",
    "Evidence R": "证据召回率",
    "Evidence F1": "证据 F1",
    "Hallucinated edges": "虚构的边",
    "Answers without support": "答案无证据支持",
    "Right without support": "答对而无证据支持",
    "Citation consistency": "引用一致",
}

AGREE_MARK = "§"
AGREE = Name("所有重抽样结果相同", "all resamples agree")
"""What stands in place of an interval without width, and what it says: the value, not that it is certain."""

NOTES = {
    "asked_again": Name(
        "{n:,} 题失败后重问过（run --retry）",
        "{n:,} question{s} asked again after a failure (run --retry)",
    ),
    "torn_line": Name(
        "预测文件第 {n} 行不完整，该题按缺失计",
        "line {n} of the predictions is cut off; its question counts as missing",
    ),
    "unjudged": Name(
        "{n:,} 个答案未经裁判裁定，不计分", "{n:,} answer{s} not credited: no verdict of the judge"
    ),
    "short_golds": Name(
        "{n:,} 个标准答案过短，不在答案文字中查找，须整体相同",
        "{n:,} gold answer{s} too short to be looked for inside an answer",
    ),
    "ambiguous_surface": Name(
        "{n:,} 个答案不计分：多个实体同名，且答案未带标准答案的编号",
        "{n:,} answer{s} not credited: several entities bear the name and the answer has no id of a gold",
    ),
    "unranked_predictions": Name(
        "{n:,} 题有多个答案但未声明次序", "{n:,} prediction{s} with several answers in no declared order"
    ),
    "more_than_50_answers": Name("{n:,} 题的答案多于 50 个", "{n:,} prediction{s} with more than 50 answers"),
    "parametric_answers": Name(
        "{n:,} 个答案据系统自述不来自图谱", "{n:,} answer{s} not from the graph, as the system says"
    ),
    "predictions_without_evidence": Name(
        "{n:,} 题有答案而无证据", "{n:,} answered question{s} without evidence"
    ),
}
"""What the notes of a ScoreTable mean: `n` is the number, `s` makes the English plural."""

STAGES = {
    "right": Name("答对", "right"),
    "right, unsupported": Name("答对但无证据支持", "right, unsupported"),
    "not recorded": Name("未记录", "not recorded"),
    "linking": Name("实体链接", "linking"),
    "elements": Name("文化要素", "elements"),
    "retrieval": Name("检索", "retrieval"),
    "ranking": Name("排序", "ranking"),
    "answering": Name("作答", "answering"),
    "matching": Name("匹配", "matching"),
}
"""Stages of the waterfall; several that cannot be told apart are written "a, b or c"."""


def stratum_parts(name: str) -> tuple[str, str]:
    """("hops", "2") for "hops=2"; ("", "all") for a name without a dimension."""
    dimension, equals, value = name.partition("=")
    return (dimension, value) if equals else ("", name)


def dimension_name(dimension: str) -> Name:
    """What a family of strata is called."""
    return DIMENSIONS.get(dimension, Name(dimension, _spaced(dimension)))


def dimensions(strata: Iterable[str]) -> dict[str, list[str]]:
    """Strata by dimension, in the order of the report; those without a dimension are left out."""
    found: dict[str, list[str]] = {}
    for name in strata:
        if dimension := stratum_parts(name)[0]:
            found.setdefault(dimension, []).append(name)
    known = [d for d in DIMENSIONS if d in found]
    return {d: found[d] for d in (*known, *sorted(found.keys() - set(known)))}


def stratum_name(name: str, ontology: Ontology | None = None) -> Name:
    """What a stratum is called; categories have the ontology's names if there is one."""
    if name in _STRATA:
        return _STRATA[name]
    dimension, value = stratum_parts(name)
    if dimension in ("category", "upper") and ontology is not None:
        for category in ontology.categories:
            if category.slug == value:
                return Name(category.zh, category.en)
    return Name(value, _spaced(value))


def relation_name(name: str, ontology: Ontology | None) -> Name:
    """What a relation or type is called; its identifier if the ontology does not know it."""
    if ontology is None:
        return Name(name, name)
    try:
        return Name(ontology.label(name, "zh"), ontology.label(name, "en"))
    except OntologyError:
        return Name(name, name)


def metric_name(metric: str) -> Name:
    """A short name; ↓ says that lower is better."""
    label, arrow = Metric.parse(metric).label, lower_mark(metric)
    return Name(_METRICS.get(label, label) + arrow, label + arrow)


def lower_mark(metric: str) -> str:
    """An arrow after the name of a metric of which less is better."""
    return " ↓" if Metric.parse(metric).direction < 0 else ""


def main_metrics(metrics: Iterable[str]) -> tuple[str, ...]:
    """The few that tables by stratum have room for: Hits@1, F1 and EM, else the first of those there are."""
    ours = [metric for metric in metrics if not is_legacy(metric)]
    main = [metric for metric in ours if Metric.parse(metric).label in MAIN]
    return tuple((main or ours)[: len(MAIN)])


def metric_groups(metrics: Iterable[str]) -> dict[str, list[str]]:
    """Metrics by the keys of GROUPS, groups without any left out."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in metrics:
        metric = Metric.parse(name)
        found["headline" if metric.is_headline else metric.group].append(name)
    return {group: names for group, names in found.items() if names}


def main_metric(metrics: Iterable[str]) -> str:
    """The one for a table by stratum: F1, else the first."""
    listed = list(metrics)
    return next((metric for metric in listed if Metric.parse(metric).label == "F1"), listed[0])


def is_legacy(metric: str) -> bool:
    """True for a number that is worked out as another project's script does, errors included."""
    return Metric.parse(metric).is_legacy


def notes_of(notes: Mapping[str, int]) -> list[Name]:
    """The notes of a ScoreTable in words; what was counted and not found is left out."""
    return [_note(note, number) for note, number in notes.items() if number]


def _note(note: str, number: int) -> Name:
    known = NOTES.get(note, Name(f"{{n:,}} {note}", f"{{n:,}} {_spaced(note)}"))
    plural = "" if number == 1 else "s"
    return Name(known.zh.format(n=number), known.en.format(n=number, s=plural))


def stage_name(stage: str) -> Name:
    """What a stage of the waterfall is called."""
    if stage in STAGES:
        return STAGES[stage]
    if stage.startswith("no answer (") and (status := stage[len("no answer (") : -1]) in OUTCOMES:
        return Name(f"没有答案：{OUTCOMES[status].zh}", stage)
    parts = stage.replace(" or ", ", ").split(", ")
    return Name("或".join(STAGES.get(part, Name(part, part)).zh for part in parts), stage)


def by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    """Metrics that were left out, by the reason they share."""
    found: dict[str, list[str]] = {}
    for metric, reason in left_out.items():
        found.setdefault(reason, []).append(metric)
    return found


def percent(value: float) -> str:
    """A share in per cent with one decimal; 0.0 and 100.0 are written only for exactly these values."""
    if 0 < value < 0.0005:
        return "<0.1"
    if 0.9995 <= value < 1:
        return ">99.9"
    return f"{value * 100:.1f}"


def interval(low: float | None, high: float | None, shown: Callable[[float], str] = percent) -> str:
    """ "[60.2, 62.4]" in per cent; empty when the spread is not known, a mark when it is nothing."""
    if low is None or high is None:
        return ""
    return AGREE_MARK if low == high else f"[{shown(low)}, {shown(high)}]"


def level_name(level: float) -> str:
    """ "97.5%": the level of an interval, not rounded to what another level is called."""
    return f"{100 * level:g}%"


def count(number: int, of: str = "") -> str:
    """A whole number with separators, and what is counted: "1 question", "1,200 questions"."""
    return f"{number:,}" + (f" {of}{'' if number == 1 else 's'}" if of else "")


def _spaced(slug: str) -> str:
    return slug.replace("_", " ").replace("-", " ")
