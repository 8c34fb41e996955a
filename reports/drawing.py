"""Shared code of pictures: SVG elements, and an estimate of the width of text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement

# Pixels at a font size of 13, in the wider of the usual sans-serif fonts.
NARROW: Final = frozenset("ijlftrI.,:;'!|()[]{}` /\\\"-")
WIDE: Final = frozenset("mwMWOQGCD@%<>#&+=~_—")


def shape(parent: Element, tag: str, kind: str = "", text: str = "", **fields: object) -> Element:
    """Add an element of a class; floats are rounded, and `_` in a name becomes `-`."""
    written = {"class": kind} if kind else {}
    for name, field in fields.items():
        value = f"{round(field, 1):g}" if isinstance(field, float) else str(field)
        written[name.replace("_", "-")] = value
    made = SubElement(parent, tag, written)
    made.text = text or None
    return made


def picture(kind: str, wide: int, high: int, title: str) -> Element:
    """An SVG element of a page, whose style sheet has the class."""
    size = {"viewBox": f"0 0 {wide} {high}", "width": f"{wide}", "height": f"{high}"}
    root = Element("svg", {"class": kind, **size, "role": "img"})
    shape(root, "title", text=title)
    return root


def width(text: str) -> float:
    """The estimated width of text in pixels."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if character in NARROW:
        return 4.9
    if character in WIDE or unicodedata.east_asian_width(character) in "WFA":
        return 13.0
    return 9.0 if character.isupper() else 8.0


def wrapped(text: str, most: float) -> list[str]:
    """A text in lines of at most that width, wrapped between words, or within a wider word."""
    lines = [""]
    for word in (part for each in text.split(" ") for part in _parts(each, most)):
        longer = f"{lines[-1]} {word}".lstrip(" ")
        if not lines[-1] or width(longer) <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _parts(word: str, most: float) -> Iterator[str]:
    """The parts of a word that fit into a line."""
    part = ""
    for character in word:
        if part and width(part + character) > most:
            yield part
            part = ""
        part += character
    yield part
