"""What readers see in place of identifiers that only boards have, in Chinese and in English."""

from __future__ import annotations

from collections.abc import Mapping

from clwqa_bench.report.names import Name

INDICATORS: Mapping[str, Name] = {
    "anchor-f1": Name("(i) 锚点实体 F1", "(i) Anchor entities, F1"),
    "element-match": Name("(ii) 文化要素同参照", "(ii) Elements as the reference"),
    "element-fit": Name("文化要素相容", "Elements that fit"),
    "coverage": Name("(iii) 检索到支持路径", "(iii) Supporting path retrieved"),
    "coverage-loose": Name("检索到标准答案", "Gold answer retrieved"),
    "retention": Name("(iv) 排序后保留", "(iv) Kept by the ranking"),
    "complete": Name("(v) 答案全部检索到", "(v) All answers retrieved"),
    "hits-if-covered": Name("检索到时 Hits@1", "Hits@1, if retrieved"),
    "f1-if-covered": Name("检索到时 F1", "F1, if retrieved"),
}
"""Stage indicators in the order of the page; one that is not here is called as its system's entry calls it."""

DISCLOSED: Mapping[str, Name] = {
    "authors": Name("作者", "Authors"),
    "date": Name("运行日期", "Date of the run"),
    "description": Name("如何作答", "How it answers"),
    "training": Name("训练或调试", "Trained or tuned"),
    "test_seen": Name("是否可能见过测试题", "Test questions seen"),
    "knowledge": Name("图谱以外的知识", "Knowledge besides the graph"),
    "hardware": Name("运行环境", "Hardware"),
    "contact": Name("联系", "Contact"),
}
"""Answers of the disclosure form that stand on an entry's page as text."""


def indicator_name(name: str, label: str) -> Name:
    """What a stage indicator is called."""
    return INDICATORS.get(name, Name(label, label))
