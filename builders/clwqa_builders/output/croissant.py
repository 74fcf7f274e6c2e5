"""Croissant 1.1 description of the dataset (with the responsible-AI fields), computed from the written files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clwqa_bench.digests import file_sha256
from clwqa_bench.records import SPLITS
from clwqa_builders.output.statistics import Statistics

if TYPE_CHECKING:
    from clwqa_builders.output.manifest import Release

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

SCALARS = {
    "id": "Stable question id.",
    "question": "The question, simplified Chinese.",
    "hops": "Steps from an anchor to the answer.",
    "category": "Cultural category (eight sub-categories).",
    "upper_category": "Upper category; the five names are this project's.",
    "category_basis": "Why the question has its category.",
    "group_id": "Fact group; never divided between splits.",
    "template_id": "Template the wording came from.",
    "family": "Template family.",
    "target_element": "Cultural element (ontology type) of the answer.",
    "cypher": "The question's pattern in Cypher.",
    "sparql": "The question's pattern in SPARQL.",
    "split": "train, validation or test.",
}
PAIR_COLUMNS = {
    "id": "Stable pair id.",
    "question_id": "The question, one of the train or validation split.",
    "question": "Its text.",
    "entity_id": "The node.",
    "node_text": "The node in words.",
    "element": "Cultural element (ontology type) of the node.",
    "band": "Evidential strength, L5 (bears the answer) to L1 (irrelevant).",
    "label": "The band as a number.",
    "rule": "Rule of the rubric that decides.",
    "split": "train, validation or test of the pairs.",
}
NESTED = {
    "answers": ("entity_id", "label", "kind"),
    "anchors": ("entity_id", "mention"),
    "evidence": ("head", "relation", "tail"),
}


def describe(folder: Path, release: Release, stats: Statistics) -> dict[str, Any]:
    """The JSON-LD object for `croissant.json`; reads the already written Parquet files for size and sha256."""
    rows = [f"{folder}/{split}.parquet" for folder in ("qa", "scoring_pairs") for split in SPLITS]
    files = [*rows, "kg/entities.parquet", "kg/triples.parquet"]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": release.name,
        "version": release.version,
        "description": f"{stats.questions} questions {_about(release)} "
        f"with {stats.entities} entities and {stats.triples} triples.",
        "citeAs": f"clwqa-bench developers: {release.name}, version {release.version}.",
        "inLanguage": release.language,
        "license": sorted({source.licence for source in release.sources if source.licence}),
        "creator": {"@type": "sc:Organization", "name": "The clwqa-bench developers"},
        "isLiveDataset": False,
        **({} if release.is_brought else _responsible_ai(release, stats)),
        "distribution": [_file_object(folder, name) for name in files],
        "recordSet": [
            *(_questions(split) for split in SPLITS),
            *(_pairs(split) for split in SPLITS),
            _entities(),
            _triples(),
        ],
    }


def _about(release: Release) -> str:
    if release.is_brought:
        return f"over the knowledge graph {release.name}"
    return "in Chinese over a knowledge graph of culture-loaded words"


def _responsible_ai(release: Release, stats: Statistics) -> dict[str, Any]:
    sources = ", ".join(f"{source.id} {source.version}" for source in release.sources)
    by_method = ", ".join(f"{method}: {count}" for method, count in stats.methods.items())
    return {
        "rai:dataCollection": f"Extracted by program from published packages and hand-checked tables: {sources}.",
        "rai:dataPreprocessingProtocol": "Repair of damaged characters, parsing of derivations, canonical names, "
        "linking, category assignment; then questions drawn from the graph and their answers computed on it.",
        "rai:dataAnnotationProtocol": f"Questions by way of generation: {by_method}.",
        "rai:dataLimitations": "Answers are complete with respect to this graph only; an attestation is the earliest "
        "passage a dictionary names, not proof of origin; categories are partly lexicon-based.",
        "rai:dataBiases": "The words are those of modern dictionaries of Chinese; "
        "written, classical and Han sources prevail.",
        "rai:dataUseCases": "Evaluation of question answering over knowledge graphs and of retrieval for it.",
        "rai:personalSensitiveInformation": "Names of authors and historical persons "
        "as printed in the sources; nothing else.",
    }


def _file_object(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_sha256(path),
    }


def _questions(split: str) -> dict[str, Any]:
    file, name = f"qa/{split}.parquet", f"qa_{split}"
    scalars = [
        _field(name, file, column, text, "sc:Integer" if column == "hops" else "sc:Text")
        for column, text in SCALARS.items()
    ]
    sources = {**_field(name, file, "sources", "Ids in the source catalogue."), "repeated": True}
    nested = [_nested(name, file, column, members) for column, members in NESTED.items()]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": [*scalars, sources, *nested]}


def _pairs(split: str) -> dict[str, Any]:
    file, name = f"scoring_pairs/{split}.parquet", f"scoring_pairs_{split}"
    fields = [
        _field(name, file, column, text, "sc:Float" if column == "label" else "sc:Text")
        for column, text in PAIR_COLUMNS.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _entities() -> dict[str, Any]:
    columns = {"id": "Entity id.", "label": "Name.", "type": "Ontology type.", "text": "Full text of a passage.",
               "provenance": "Source and row."}  # fmt: skip
    return _record_set("kg_entities", "kg/entities.parquet", columns)


def _triples() -> dict[str, Any]:
    columns = {
        "head": "Entity id.",
        "relation": "Ontology relation.",
        "tail": "Entity id.",
        "provenance": "Source and row.",
    }
    return _record_set("kg_triples", "kg/triples.parquet", columns)


def _record_set(name: str, file: str, columns: dict[str, str]) -> dict[str, Any]:
    fields = [_field(name, file, column, text) for column, text in columns.items()]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _field(record_set: str, file: str, column: str, text: str, kind: str = "sc:Text") -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column}",
        "name": column,
        "description": text,
        "dataType": kind,
        "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
    }


def _nested(record_set: str, file: str, column: str, members: tuple[str, ...]) -> dict[str, Any]:
    """A list of records: one sub-field per member, each a JSON path into the elements of the column."""
    name = f"{record_set}/{column}"
    source = {"fileObject": {"@id": file}, "extract": {"column": column}}
    sub_fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{member}",
            "name": member,
            "dataType": "sc:Text",
            "source": {**source, "transform": {"jsonPath": member}},
        }
        for member in members
    ]
    return {"@type": "cr:Field", "@id": name, "name": column, "repeated": True, "subField": sub_fields}
