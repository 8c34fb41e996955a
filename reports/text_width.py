"""How wide a text is, about, in a font that nobody has measured, and where to break it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

# In pixels of a text 13 high, for the wider of the usual fonts without serifs.
NARROW: Final = frozenset("ijlftrI.,:;'!|()[]{}` /\\\"-")
WIDE: Final = frozenset("mwMWOQGCD@%<>#&+=~_—")


def width(text: str) -> float:
    """About how wide a text is."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if character in NARROW:
        return 4.9
    if character in WIDE or unicodedata.east_asian_width(character) in "WFA":
        return 13.0
    return 9.0 if character.isupper() else 8.0


def broken(text: str, most: float) -> list[str]:
    """A text in lines that are no wider; between words, or within one that is wider itself."""
    lines = [""]
    for word in (part for each in text.split(" ") for part in _parts(each, most)):
        longer = f"{lines[-1]} {word}".lstrip(" ")
        if not lines[-1] or width(longer) <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _parts(word: str, most: float) -> Iterator[str]:
    """A word in parts that each fit into a line."""
    part = ""
    for character in word:
        if part and width(part + character) > most:
            yield part
            part = ""
        part += character
    yield part
