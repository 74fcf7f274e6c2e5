"""BYOKG-RAG: links a question to any graph in one call, and retrieves by entities, paths, answers and queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from clwqa_baselines.byokg_rag.agentic import Agentic
from clwqa_baselines.byokg_rag.config import ByokgConfig
from clwqa_baselines.byokg_rag.context import Lines, Overlong, as_evidence
from clwqa_baselines.byokg_rag.graph import Relations, Tools
from clwqa_baselines.byokg_rag.query import Runner, runs_cypher, schema_lines
from clwqa_baselines.byokg_rag.scoring import Ranker
from clwqa_baselines.byokg_rag.tasks import (
    Artifacts,
    ChooseNext,
    Generate,
    LinkToGraph,
    SelectRelations,
    WriteQueries,
)
from clwqa_baselines.byokg_rag.work import Work
from clwqa_baselines.rules.ways import Offer
from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.evidence import refs
from clwqa_baselines.shared.mentions import open_mentions
from clwqa_baselines.shared.names import namer
from clwqa_baselines.shared.replies import Ended, failed
from clwqa_baselines.shared.topics import ORACLES
from clwqa_bench.predictions import Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Card, Context, OutOfBounds, Resources, SettingError, System


class ByokgRag(System):
    """Rounds of linking and retrieval, then an answer: at most 15 calls a question, 17 with the Cypher linker.

    If a call fails: a reply that was refused or cannot be read holds no tags, so the tool that asked for it is
    skipped and the next goes on, as in the code; an error or a timeout is the status of the question, wherever it
    occurs, as an exception is there.  Where the answer is asked for, every failure is the status of the question.
    """

    name = "byokg-rag"
    uses_llm = True
    tasks = (LinkToGraph, SelectRelations, ChooseNext, WriteQueries, Generate)
    oracles = ORACLES
    Config = ByokgConfig
    config: ByokgConfig
    card = Card(
        citation="Mavromatis et al.: BYOKG-RAG: Multi-Strategy Graph Retrieval for Knowledge Graph Question "
        "Answering. EMNLP 2025",
        calls="iterations * (1 + 2 * max_num_iterations) + 1, so 15; + cypher_iterations with `cypher_linker`, so 17; "
        "iterations + 1 with `retriever=scoring`",
        index="none with `index=names`; else an index of all entity names. `cypher_linker` needs a graph on a Bolt "
        "server (`--kg bolt://...`)",
        weaknesses=(
            "Relations are followed forwards alone: what points to an entity of the question is not found.",
            "Paths are found only along exactly the relations the model named.",
            "Entities to go on with are taken by name, without linking.",
            "Nothing is pruned by default: the context grows with the degree of the entities.",
            "Many calls, most of which depend on the one before.",
            "A query that names an entity by its label searches all of them on a server without an index of labels.",
        ),
        deviations=(
            "Names are compared by edit distance (`index=names`), not by thefuzz's WRatio; passages by their text.",
            "All entities can be linked, also those no triple begins at: the code lists heads alone.",
            "A shortest path has at most `max_distance` steps: without a bound it may search the whole graph.",
            "At most `tails` entities over one relation and `max_paths` paths of one sequence are read.",
            "Rerankers are an index of characters or a small encoder, not bge-reranker-base.",
            "Artifacts come as JSON, not between tags, so names may hold separators.",
            "A query is given up after `query_seconds` and shows at most `rows` rows and 20,000 characters.",
            "A query is also refused for INSERT, FOREACH and LOAD, and if it begins with no reading clause.",
            "A query that found nothing or was not run is shown to the model and counts as no evidence.",
        ),
    )

    def check_oracle(self, oracle: Sequence[str]) -> None:
        if oracle and not self.config.kg_linker:
            raise SettingError(
                "kg_linker=false links no entities that gold could replace",
                fix="use kg_linker, or leave --oracle out",
                field="oracle",
            )

    def prepare(self, resources: Resources) -> None:
        config, graph = self.config, resources.kg
        store = runs_cypher(graph)
        if config.cypher_linker and store is None:
            raise SettingError(
                "this graph store runs no Cypher",
                fix="use a graph on a Bolt server, or leave cypher_linker out",
                field="cypher_linker",
            )
        if not (config.kg_linker or config.cypher_linker):
            raise SettingError(
                "nothing would be retrieved", fix="use kg_linker, cypher_linker or both", field="kg_linker"
            )
        self._search = open_mentions(config.index, resources)
        self._graph = graph
        self._adapter = Adapter.open(resources)
        self._name = namer(graph)
        relations = Relations(graph, resources.ontology, config.inverse_edges)
        both_ways = Relations(graph, resources.ontology, inverse=True)
        self._offered, self._walkable = _offers(relations), _offers(both_ways)
        self._tools = Tools(graph, relations, self._name, config.tails, config.max_paths, config.max_distance)
        self._ranker = Ranker.open(config)
        tell = replace(self._tools, relations=both_ways).tell
        self._queries = store and Runner(store, config.rows, config.query_seconds, tell)
        self._patterns = schema_lines(graph) if store else ()

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        work = Work(question, ctx, self._no_lines(), self._no_lines())
        try:
            await self._gather(work)
            return await self._generate(work)
        except Ended as stop:
            return failed(question.id, stop.reply, **work.fields())
        except Overlong as stop:
            work.flags.append("context_overflow")
            return Prediction(id=question.id, status="error", error=str(stop), **work.fields())

    # ------------------------------------------------------------------ rounds

    async def _gather(self, work: Work) -> None:
        """All rounds; fewer if the question may take no more, and then the answer is made from what there is."""
        with suppress(OutOfBounds):
            if self.config.cypher_linker:
                await self._query(work)
            if self.config.kg_linker:
                for round_ in range(self.config.iterations):
                    if await self._round(round_, work):
                        break

    async def _round(self, round_: int, work: Work) -> bool:
        """Artifacts of one call, and what they retrieve; whether the model is content."""
        question, lines = work.question.text, work.lines
        artifacts = await work.ask(
            LinkToGraph(
                question=question,
                relations=self._offered,
                context=lines.shown(),
                first=round_ == 0,
                queryable=self._queries is not None and self.config.opencypher,
                patterns=self._patterns,
                user_text=self.config.user_text,
            )
        ) or Artifacts(entities=(), paths=(), answers=())
        finished = artifacts.finished and round_ > 0
        sources = self._link(round_, artifacts, finished, work)
        if sources:
            await self._expand(sources, work)
        if artifacts.paths and work.explored:
            self._follow(artifacts.paths, work)
        if self.config.opencypher:
            await self._run("opencypher", round_, [artifacts.opencypher], lines, work)
        return finished

    def _link(self, round_: int, artifacts: Artifacts, finished: bool, work: Work) -> tuple[str, ...]:
        """Entities of mentions and drafted answers; what the triple retriever begins at."""
        given = work.ctx.gold if "anchors" in work.ctx.oracle else None
        direct = self.config.direct_query_linking and given is None
        whole = self._entities([work.question.text]) if direct else {}
        found = {} if finished else self._entities(artifacts.entities)
        if given is not None and round_ == 0:
            found = {anchor.entity_id: 1.0 for anchor in given.anchors}
        work.drafts = tuple(self._entities(artifacts.answers))
        work.explored |= dict.fromkeys(found)
        detail = {
            "mentions": list(artifacts.entities),
            "scores": {node: round(score, 4) for node, score in found.items()},
            "drafts": list(work.drafts),
            "whole": list(whole),
        }
        work.ctx.trace.add(
            TraceEvent(
                stage="link" if round_ == 0 else "plan",  # later rounds name what to go on with
                op="artifacts" if given is None or round_ else "gold",
                depth=round_ + 1,
                entities=tuple(found),
                detail=detail,
            )
        )
        return tuple(dict.fromkeys((*whole, *found, *work.drafts)))

    def _entities(self, mentions: Iterable[str]) -> dict[str, float]:
        """The best entities of each mention, pooled, by similarity; a name much shorter than the mention is none."""
        pooled: dict[str, float] = {}
        for mention in mentions:
            for node, score in self._search(mention, self.config.topk):
                if self.config.index == "names" and score < 1 and self._is_short(node, mention):
                    continue
                pooled[node] = max(score, pooled.get(node, score))
        return dict(sorted(pooled.items(), key=lambda one: -one[1]))

    def _is_short(self, node: str, mention: str) -> bool:
        return len(self._name(node)) < len(mention) - self.config.shorter_by

    async def _expand(self, sources: Sequence[str], work: Work) -> None:
        """Triples from the sources on."""
        if self.config.retriever == "scoring":
            fresh = work.lines.add(self._ranker.score(work.question.text, sources, self._tools))
        else:
            agentic = Agentic(self.config, self._tools, self._ranker, self._offered)
            fresh = await agentic.retrieve(sources, work)
        triples = dict.fromkeys(walk.triples[-1] for fact in fresh for walk in fact.walks)
        work.ctx.trace.add(TraceEvent(stage="retrieve", op=self.config.retriever, triples=refs(triples)))

    def _follow(self, paths: Iterable[Sequence[str]], work: Work) -> None:
        """Paths along the relations named, and shortest ones to the drafted answers."""
        facts = [fact for labels in paths for fact in self._tools.follow(work.explored, labels)]
        facts += self._tools.shortest(work.explored, work.drafts)
        fresh = work.lines.add(facts)
        walks = [walk for fact in fresh for walk in fact.walks]
        detail = {"paths": [list(labels) for labels in paths]}
        work.ctx.trace.add(TraceEvent(stage="retrieve", op="paths", paths=as_evidence(walks), detail=detail))

    # ------------------------------------------------------------------ queries

    async def _query(self, work: Work) -> None:
        """The Cypher linker: rounds of queries, whose results are the first lines of the context."""
        for round_ in range(self.config.cypher_iterations):
            given = work.feedback.shown()
            task = WriteQueries(
                question=work.question.text,
                patterns=self._patterns,
                feedback=tuple(line.text for line in given),
                found=tuple(one for line in given for one in line.reached),
                known=self._walkable,
            )
            written = await work.ask(task)
            queries = [written.linking, written.main] if written else []
            await self._run("cypher", round_, queries, work.feedback, work)
            if written is not None and written.finished:
                break

    async def _run(self, op: str, round_: int, queries: Iterable[str], into: Lines, work: Work) -> None:
        """Run those of the queries that are any, where the store takes them."""
        asked = [query for query in queries if query.strip()]
        if not (self._queries and asked):
            return
        results = [await self._queries.run(query) for query in asked]
        fresh = into.add(result.fact for result in results)
        walks = [walk for fact in fresh for walk in fact.walks]
        detail = {"queries": [result.detail for result in results]}
        work.ctx.trace.add(
            TraceEvent(stage="retrieve", op=op, depth=round_ + 1, paths=as_evidence(walks), detail=detail)
        )

    # ------------------------------------------------------------------ answer

    async def _generate(self, work: Work) -> Prediction:
        context = self._lines_with_feedback(work)
        if all(fact.kind == "note" for fact in context.facts.values()):
            work.flags.append("no_evidence")
        task = Generate(question=work.question.text, context=context.shown(), user_text=self.config.user_text)
        reply = await work.ctx.ask(task, last=True)
        work.ctx.trace.add(TraceEvent(stage="answer", op=reply.status))
        work.lines = context
        if reply.value is None:
            return failed(work.question.id, reply, **work.fields())
        fields = work.fields()
        adapted = await self._adapter.adapt(
            work.question.text, "", work.ctx, listed=reply.value.answers, evidence=fields["evidence"]
        )
        fields["flags"] = (*fields["flags"], *adapted.flags)
        return Prediction(
            id=work.question.id, raw_answer=reply.raw, native_format="json", **adapted.fields, **fields
        )

    def _lines_with_feedback(self, work: Work) -> Lines:
        """All that the answer is made from: what queries gave, then what was retrieved."""
        if not work.feedback.facts:
            return work.lines
        whole = self._no_lines()
        whole.add([*work.feedback.facts.values(), *work.lines.facts.values()])
        return whole

    def _no_lines(self) -> Lines:
        most = self.config.max_input_tokens * 4
        return Lines(self._graph, self._name, most, self.config.overlong == "cut")


def _offers(relations: Relations) -> tuple[Offer, ...]:
    """The moves as tasks have them."""
    return tuple(
        Offer(label=label, relation=move.relation, sense=move.sense)
        for label, move in relations.moves.items()
    )
