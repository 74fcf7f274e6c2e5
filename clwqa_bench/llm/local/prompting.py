"""What a local model reads: the prompt of a task through its chat template, or as plain text with worked examples.

A model without a chat template was only trained to go on with a text.  It is shown the task done for a few made-up
inputs, none of which has to do with idioms or classical texts, and goes on after the last one.
"""

from __future__ import annotations

import json
from typing import Any

from clwqa_bench.llm.tasks import (
    AnchorMention,
    AnswerClosedBook,
    AnswerFromEvidence,
    Answers,
    ClosedBookAnswer,
    Constraints,
    ElementNote,
    EvidenceAnswer,
    ExtractAnswers,
    ExtractConstraints,
    Language,
    Message,
    Output,
    Snippet,
    Task,
    render,
)

VERSION = 1
"""Of the examples and of how plain text is laid out; raised by any change to them."""

Example = tuple[Task[Any], Output]

REPLY = {"zh": "回答：", "en": "Answer: "}
"""What stands before a reply in plain text."""


def messages(task: Task[Any], language: Language, *, chat: bool) -> tuple[Message, ...]:
    """The prompt of a task; without a chat template, with the examples as earlier turns."""
    system, user = render(task, language)
    if chat:
        return system, user
    shown: list[Message] = []
    for example, output in examples(task, language):
        shown.append(render(example, language)[1])
        shown.append(Message(role="assistant", content=written(output)))
    return system, *shown, user


def written(output: Output) -> str:
    """JSON as the prompts show it: a space after comma and colon, Chinese as it is."""
    return json.dumps(output.model_dump(), ensure_ascii=False)


def encode(tokenizer: Any, prompt: tuple[Message, ...], language: Language) -> list[int]:
    """The tokens of a prompt.  Raises ValueError if the chat template cannot take it."""
    if not tokenizer.chat_template:
        return tokenizer(plain(prompt, language))["input_ids"]
    from jinja2 import TemplateError

    settings = {
        "add_generation_prompt": True,
        "tokenize": True,
        "return_dict": False,
        "enable_thinking": False,
    }
    try:
        return tokenizer.apply_chat_template(list(prompt), **settings)
    except TemplateError:  # some templates know no system message
        (system, user) = prompt
        merged = Message(role="user", content=f"{system['content']}\n\n{user['content']}")
    try:
        return tokenizer.apply_chat_template([merged], **settings)
    except TemplateError as error:
        raise ValueError(f"the chat template fails: {error}") from None


def plain(prompt: tuple[Message, ...], language: Language) -> str:
    """A prompt as one text that ends where the reply begins."""
    reply = REPLY[language]
    parts = [
        f"{reply}{message['content']}" if message["role"] == "assistant" else message["content"]
        for message in prompt
    ]
    return "\n\n".join([*parts, reply.rstrip()])


# ---------------------------------------------------------------------- examples


def examples(task: Task[Any], language: Language) -> tuple[Example, ...]:
    """The task done for other inputs; none for a task from elsewhere."""
    chinese = language == "zh"
    match task:
        case AnswerClosedBook():
            return _closed_book(chinese, task.reasoned)
        case ExtractConstraints():
            return _constraints(chinese)
        case AnswerFromEvidence():
            return _evidence(chinese)
        case ExtractAnswers():
            return _extraction(chinese)
        case _:
            return ()


def _closed_book(chinese: bool, reasoned: bool) -> tuple[Example, ...]:
    asked = (
        (
            ("中国最长的河流是哪一条？", "中国最长的河是流经武汉、南京入海的那一条。", "长江"),
            ("光合作用放出的气体是什么？", "植物吸收二氧化碳，放出氧气。", "氧气"),
            ("日本的首都是哪座城市？", "日本的中央政府设在关东地方最大的城市。", "东京"),
            ("《哈姆雷特》是谁写的？", "《哈姆雷特》是英国的戏剧，作者还写了《李尔王》。", "莎士比亚"),
        )
        if chinese
        else (
            ("Which is the longest river of China?", "It flows past Wuhan and Nanjing into the sea.", "长江"),
            ("Which gas does photosynthesis give off?", "Plants take in carbon dioxide.", "氧气"),
            ("Which city is the capital of Japan?", "Its government sits in its largest city.", "东京"),
            ("Who wrote Hamlet?", "Hamlet is an English play, and so is King Lear.", "莎士比亚"),
        )
    )
    return tuple(
        (
            AnswerClosedBook(question=question, reasoned=reasoned),
            ClosedBookAnswer(reasoning=reasoning if reasoned else "", answers=(answer,)),
        )
        for question, reasoning, answer in asked
    )


def _constraints(chinese: bool) -> tuple[Example, ...]:
    city, river, country = ("城市", "河流", "国家") if chinese else ("City", "River", "Country")
    notes = tuple(
        ElementNote(label=label, description=description)
        for label, description in (
            ((city, "人口聚居的地方"), (river, "天然的水道"), (country, "有主权的国"))
            if chinese
            else ((city, "a large settlement"), (river, "a natural stream"), (country, "a sovereign state"))
        )
    )
    mention = "武汉" if chinese else "Wuhan"
    other = "法国" if chinese else "France"
    questions = (
        ("流经武汉的是哪条河？", "法国的首都是哪里？")
        if chinese
        else ("Which river flows through Wuhan?", "What is the capital of France?")
    )
    found = (
        Constraints(anchors=(AnchorMention(mention=mention, elements=(city,)),), target_element=river),
        Constraints(anchors=(AnchorMention(mention=other, elements=(country,)),), target_element=city),
    )
    return tuple(
        (ExtractConstraints(question=question, elements=notes), output)
        for question, output in zip(questions, found, strict=True)
    )


def _evidence(chinese: bool) -> tuple[Example, ...]:
    if chinese:
        question, answer = "流经武汉的是哪条河？", "长江"
        texts = ("武汉 -位于-> 长江", "武汉 -属于-> 湖北")
        explanation = "证据说武汉位于长江 [1]。"
    else:
        question, answer = "Which river flows through Wuhan?", "长江"
        texts = ("武汉 -lies on-> 长江", "武汉 -belongs to-> 湖北")
        explanation = "The evidence says that 武汉 lies on 长江 [1]."
    snippets = tuple(
        Snippet(number=number, text=text, answer=text.rpartition(" ")[2])
        for number, text in enumerate(texts, start=1)
    )
    output = EvidenceAnswer(answers=(answer,), explanation=explanation, citations=(1,))
    return ((AnswerFromEvidence(question=question, snippets=snippets), output),)


def _extraction(chinese: bool) -> tuple[Example, ...]:
    question = "中国最长的河流是哪一条？" if chinese else "Which is the longest river of China?"
    text = "一般认为是长江，黄河排在第二。" if chinese else "It is 长江; 黄河 comes second."
    return ((ExtractAnswers(question=question, text=text), Answers(answers=("长江",))),)
