"""Matching of start and end tags in documents with unmatched tags.

Properly nested pairs are always kept. For the other tags, an end tag is added or
dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from urdf_usd.converter.urdf.xml.scanning import EndTag, StartTag, Token


class Matching(Struct, frozen=True):
    """Unmatched tags of a document, by index among the tokens.

    Attributes:
        unended: Start tags without an end.
        strays: End tags without a start.
    """

    unended: frozenset[int]
    strays: frozenset[int]


def match_tags(tokens: Sequence[Token]) -> Matching:
    """Match the tags of a document in linear time.

    Matching neighbours are removed first, which does not change the minimum number of
    edits (Backurs and Onak, "Fast Algorithms for Parsing Sequences of Parentheses with
    Few Errors", 2016). Of the rest, an end tag closes all elements since its start tag,
    unless the following end tag closes the innermost one.
    """
    remaining = _without_pairs(tokens)
    if not remaining:
        return Matching(frozenset(), frozenset())
    open_tags: list[tuple[int, str]] = []
    open_counts: Counter[str] = Counter()
    unended: set[int] = set()
    strays: set[int] = set()
    for index, following in zip(remaining, (*remaining[1:], None), strict=True):
        token = tokens[index]
        if isinstance(token, StartTag):
            open_tags.append((index, token.tag))
            open_counts[token.tag] += 1
        elif isinstance(token, EndTag):
            if not open_counts[token.tag] or _comes_too_early(
                token, None if following is None else tokens[following], open_tags[-1]
            ):
                strays.add(index)
                continue
            while True:
                start, tag = open_tags.pop()
                open_counts[tag] -= 1
                if tag == token.tag:
                    break
                unended.add(start)
    unended.update(start for start, _ in open_tags)
    return Matching(frozenset(unended), frozenset(strays))


def _without_pairs(tokens: Sequence[Token]) -> list[int]:
    """Return the indices of tags that remain when pairs of neighbours are removed."""
    remaining: list[int] = []
    for index, token in enumerate(tokens):
        if isinstance(token, StartTag):
            if not token.empty:
                remaining.append(index)
        elif isinstance(token, EndTag):
            last = tokens[remaining[-1]] if remaining else None
            if isinstance(last, StartTag) and last.tag == token.tag:
                remaining.pop()
            else:
                remaining.append(index)
    return remaining


def _comes_too_early(end: EndTag, following: Token | None, innermost: tuple[int, str]) -> bool:
    """Return whether the following end tag, not this one, closes the innermost tag."""
    _, tag = innermost
    return tag != end.tag and isinstance(following, EndTag) and following.tag == tag
