"""Entity ids as IRIs and back."""

from __future__ import annotations

import re
from urllib.parse import unquote

NAMESPACE = "urn:clwqa:"
ONTOLOGY = NAMESPACE + "ontology#"
ATTRIBUTE = NAMESPACE + "attribute#"

# What RFC 3987 keeps out of a path (controls, delimiters, private use, non-characters), and the percent sign
# itself, so that decoding is exact.  White space beyond ASCII is legal but common parsers refuse it.
# Everything else, Chinese included, stays readable.
_ILLEGAL = re.compile(
    r'[\s\x00-\x20\x7f-\x9f<>"{}|\\^`%#\[\]\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U0010ffff]'
    "|[" + "".join(chr(plane << 16 | low) for plane in range(1, 14) for low in (0xFFFE, 0xFFFF)) + "]"
)


def iri(id: str) -> str:
    """The IRI of an entity: ``urn:clwqa:`` and the id, only illegal characters percent-encoded."""
    return NAMESPACE + escape(id)


def escape(name: str) -> str:
    """Percent-encode the characters that may not stand in an IRI."""
    return _ILLEGAL.sub(_percent, name)


def entity_id(iri: str) -> str:
    """The inverse of :func:`iri`."""
    return unquote(iri.removeprefix(NAMESPACE), errors="surrogatepass")


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
