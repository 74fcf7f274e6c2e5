"""What somebody accepts who publishes a dataset: the licences of its sources, and where their texts come from."""

from __future__ import annotations

from clwqa_bench.dataset import Manifest, SourceNote
from clwqa_builders.sources.catalogue import load_catalogue

NOT_STATED = "no licence stated"
PROVIDERS = "what the model's licence or provider says of its output"
NO_MODEL = "none"


def terms(manifest: Manifest) -> tuple[SourceNote, ...]:
    """The sources with what is known of their terms: what the manifest says, else what the catalogue says."""
    known = {source.id: source for source in load_catalogue().source}
    found = []
    for note in manifest.sources:
        entry = known.get(note.id)
        found.append(
            note.model_copy(
                update={
                    "title": note.title or (entry.title if entry else note.id),
                    "licence": note.licence or (entry.licence if entry else NOT_STATED),
                    "provenance": note.provenance or (entry.provenance if entry else ""),
                }
            )
        )
    model = manifest.config.get("llm", NO_MODEL)
    if model != NO_MODEL:
        written = f"questions that {model} wrote"
        found.append(SourceNote(id="llm", version="", sha256="", title=written, licence=PROVIDERS))
    return tuple(found)


def told(note: SourceNote) -> str:
    """One source in a line."""
    return f"- {note.title} {note.version}".rstrip() + f": {note.licence}. {note.provenance}".rstrip()
