"""Greedy search for a smaller document that fails in the same way.

Each pass tries to apply all of its edits, then halves of them, and so on to single edits, as
delta debugging does (Zeller and Hildebrandt, 2002, *Simplifying and isolating
failure-inducing input*), without its tests of complements. Passes are repeated until none of
their edits can be applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.conformance.reduction.edits import PASSES, Pass, edit, list_edits

# Returns for each document whether it fails in the same way.
Test: TypeAlias = Callable[[Sequence[bytes]], Sequence[bool]]


class Step(Struct, frozen=True):
    """A smaller document that fails in the same way, and the tests so far."""

    text: bytes
    tests: int


class _Search(Struct):
    text: bytes
    test: Test
    parallel: int
    known: dict[bytes, bool]

    def apply_pass(self, edits_of: Pass) -> Iterator[Step]:
        """Apply as many edits of a pass as possible."""
        size = len(list_edits(self.text, edits_of))
        while size:
            # Edits before `begin` were tried; the document has changed since.
            begin = self._apply_chunk(edits_of, 0, size)
            while begin is not None:
                yield Step(self.text, len(self.known))
                begin = self._apply_chunk(edits_of, begin, size)
            size //= 2

    def _apply_chunk(self, edits_of: Pass, begin: int, size: int) -> int | None:
        """Apply the first chunk of edits that keeps the failure, and return where it begins."""
        edits = list_edits(self.text, edits_of)
        begins = range(begin, len(edits), size)
        for first in range(0, len(begins), self.parallel):
            tried = begins[first : first + self.parallel]
            texts = [edit(self.text, edits[at : at + size]) for at in tried]
            unknown = [
                text
                for text in dict.fromkeys(texts)
                if text not in self.known and len(text) <= len(self.text)
            ]
            if unknown:
                self.known.update(zip(unknown, self.test(unknown), strict=True))
            for at, text in zip(tried, texts, strict=True):
                if text != self.text and self.known.get(text, False):
                    self.text = text
                    return at
        return None


def reduce_document(text: bytes, test: Test, parallel: int = 1) -> Iterator[Step]:
    """Yield ever smaller documents.

    The result does not depend on ``parallel`` if the test depends on nothing else than the
    document: of documents that are tested together, the first that fails counts.

    Args:
        text: A document that fails, as :func:`edits.document_text` writes it.
        test: Tests documents.
        parallel: Number of documents that are tested together.
    """
    search = _Search(text, test, parallel, {text: True})
    while True:
        before = search.text
        for edits_of in PASSES:
            yield from search.apply_pass(edits_of)
        if search.text == before:
            return
