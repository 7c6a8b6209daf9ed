"""Greedy search for a smaller document that fails in the same way.

Each pass tries to apply all of its edits, then halves of them, and so on to single
edits, as delta debugging does (Zeller and Hildebrandt, 2002, *Simplifying and isolating
failure-inducing input*), without its tests of complements. Passes are repeated until
none of their edits can be applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.conformance.reduction.edits import PASSES, Edit, Pass, edit, list_edits

# Returns for each document whether it fails in the same way.
Test: TypeAlias = Callable[[Sequence[bytes]], Sequence[bool]]


class Step(Struct, frozen=True):
    """A smaller document that fails in the same way, and the tests so far."""

    text: bytes
    tests: int


def reduce_document(text: bytes, test: Test, parallel: int = 1) -> Iterator[Step]:
    """Yield ever smaller documents.

    The result does not depend on ``parallel`` if the test depends on nothing else than
    the document: of documents that are tested together, the first that fails counts.

    Args:
        text: A document that fails, as :func:`edits.document_text` writes it.
        test: Tests documents.
        parallel: Number of documents that are tested together.
    """
    search = _Search(text, test, parallel)
    while True:
        before = search.text
        for one in PASSES:
            yield from search.apply_pass(one)
        if search.text == before:
            return


class _Search:
    """The document so far, and what was tested.

    Args:
        text: The document.
        test: Tests documents.
        parallel: Number of documents that are tested together.
    """

    def __init__(self, text: bytes, test: Test, parallel: int) -> None:
        self.text = text
        self._test = test
        self._parallel = parallel
        self._known: dict[bytes, bool] = {text: True}

    def apply_pass(self, one: Pass) -> Iterator[Step]:
        """Apply as many edits of a pass as possible."""
        size = len(list_edits(self.text, one))
        while size:
            begin = 0
            while True:
                # Edits before `begin` were tried; the document has changed since.
                edits = list_edits(self.text, one)
                found = self._first_failing(edits, range(begin, len(edits), size), size)
                if found is None:
                    break
                begin, self.text = found
                yield Step(self.text, len(self._known))
            size //= 2

    def _first_failing(
        self, edits: Sequence[Edit], begins: Sequence[int], size: int
    ) -> tuple[int, bytes] | None:
        """Return where the first chunk begins whose edits can be applied, and the text.

        Args:
            edits: Of the document.
            begins: Index of the first edit of each chunk.
            size: Number of edits of a chunk.
        """
        for first in range(0, len(begins), self._parallel):
            tried = begins[first : first + self._parallel]
            texts = [edit(self.text, edits[at : at + size]) for at in tried]
            unknown = [
                text
                for text in dict.fromkeys(texts)
                if text not in self._known and len(text) <= len(self.text)
            ]
            if unknown:
                results = self._test(unknown)
                self._known.update(zip(unknown, results, strict=True))
            for at, text in zip(tried, texts, strict=True):
                if text != self.text and self._known.get(text, False):
                    return at, text
        return None
