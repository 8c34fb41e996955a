"""What was shown of the model in many runs, on many machines: a small file, the union of many.

For each space there is a bit for each labelled edge, in the order of the explored graph, and one
for each pair of adjacent edges. A digest of the graph says which it is: bits of another model mean
something else, and are not put together.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from groupcheck.model.exploring.explorer import Space
from groupcheck.model.exploring.graph import Hop
from groupcheck.properties.coverage.numbering import first_edges, first_pairs

FORMAT: Final = 2
OLDER: Final = 1  # it had no pairs, and bits as they are, not compressed
MOST_BYTES: Final = 64 * 1024 * 1024  # some files have no end


class MalformedCoverageError(ValueError):
    """A file is not a coverage that groupcheck wrote, or not one this version can read."""


class SpaceCovered(NamedTuple):
    """What was shown of one space: its digest, how many labelled edges it has, and their bits.

    Then how many pairs of adjacent edges, and their bits; none if nobody has counted them.
    """

    digest: str
    edges: int
    bits: int
    pairs: int = 0
    pair_bits: int = 0

    @property
    def shown(self) -> int:
        """How many were shown."""
        return self.bits.bit_count()

    @property
    def pairs_shown(self) -> int:
        """How many of the pairs were shown."""
        return self.pair_bits.bit_count()

    def union(self, other: SpaceCovered) -> SpaceCovered:
        """What was shown here or there, of the same space."""
        return SpaceCovered(
            self.digest,
            self.edges,
            self.bits | other.bits,
            max(self.pairs, other.pairs),
            self.pair_bits | other.pair_bits,
        )


class ProfileCovered(NamedTuple):
    """What was shown of a version: spaces by name and members, and the rules that were applied."""

    spaces: Mapping[str, SpaceCovered]
    applied: frozenset[str]


# By the names of the profiles.
Covered = Mapping[str, ProfileCovered]


class Merged(NamedTuple):
    """Several put together, and what could not be: whose, and of which space."""

    covered: Covered
    refused: tuple[str, ...]


def covered_space(
    space: Space,
    its_digest: str,
    shown: Iterable[Hop],
    pairs: Iterable[tuple[Hop, Hop]] = (),
    numbered: Iterable[int] = (),
) -> SpaceCovered:
    """What was shown of an explored space; of the pairs some by their edges, some by number."""
    edge, pair = first_edges(space), first_pairs(space)
    first = (pair[edge[before.node] + before.edge] + hop.edge for before, hop in pairs)
    return SpaceCovered(
        its_digest,
        edge[-1],
        _bits(edge[-1], (edge[hop.node] + hop.edge for hop in shown)),
        pair[-1],
        _bits(pair[-1], chain(first, numbered)),
    )


def _bits(size: int, numbers: Iterable[int]) -> int:
    bits = bytearray(size // 8 + 1)
    for number in numbers:
        bits[number // 8] |= 1 << number % 8
    return int.from_bytes(bits, "little")


def digest(space: Space) -> str:
    """A digest of the labelled edges of a space, which is another when the model is."""
    found = hashlib.sha256()
    for edges in space.edges:
        found.update(repr(edges).encode())
    return found.hexdigest()[:16]


def merged(several: Iterable[tuple[str, Covered]]) -> Merged:
    """The union of several, each with whose it is; what is of another model than before is not."""
    spaces: dict[str, dict[str, SpaceCovered]] = {}
    applied: dict[str, set[str]] = {}
    refused: list[str] = []
    for whose, covered in several:
        for profile, each in covered.items():
            known = spaces.setdefault(profile, {})
            applied.setdefault(profile, set()).update(each.applied)
            for name, space in each.spaces.items():
                before = known.get(name, space)
                if before[:2] == space[:2]:
                    known[name] = before.union(space)
                else:
                    refused.append(f"{whose}: {profile} {name} is of another model")
    found = {p: ProfileCovered(spaces[p], frozenset(applied[p])) for p in spaces}
    return Merged(found, tuple(refused))


def read(path: Path) -> Covered:
    """The coverage in a file.

    Raises:
        MalformedCoverageError: it is none.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        found: Any = json.loads(text)
        if found["format"] in {OLDER, FORMAT}:
            return covered_of(found["profiles"], older=found["format"] == OLDER)
        msg = f"{path} is of format {found['format']!r}; this version reads {OLDER} and {FORMAT}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        msg = f"{path} is no coverage that groupcheck wrote"
        raise MalformedCoverageError(msg) from error
    raise MalformedCoverageError(msg)


def covered_of(values: Any, *, older: bool = False) -> Covered:  # noqa: ANN401 - JSON is any value
    """The coverage that `as_values` has made these values of.

    Raises:
        ValueError: they are of none; as are `KeyError`, `TypeError` and `AttributeError`.
    """
    return {str(name): _profile(each, older=older) for name, each in values.items()}


def _profile(found: Any, *, older: bool) -> ProfileCovered:  # noqa: ANN401 - JSON is any value
    spaces = {str(name): _space(each, older=older) for name, each in found["spaces"].items()}
    if not all(isinstance(rule, str) for rule in found["applied"]):
        raise TypeError
    return ProfileCovered(spaces, frozenset(found["applied"]))


def _space(found: Any, *, older: bool) -> SpaceCovered:  # noqa: ANN401 - JSON is any value
    edges, text = found["edges"], found["digest"]
    pairs = 0 if older else found["pairs"]
    if type(edges) is not int or type(pairs) is not int or not isinstance(text, str):
        raise TypeError
    if older:
        return SpaceCovered(text, edges, _read_bits(found["shown"], edges, bytes))
    return SpaceCovered(
        text,
        edges,
        _read_bits(found["shown"], edges, _unpacked),
        pairs,
        _read_bits(found["pairs_shown"], pairs, _unpacked),
    )


def _read_bits(text: str, size: int, unpack: Callable[[bytes], bytes]) -> int:
    try:
        bits = int.from_bytes(unpack(base64.b64decode(text, validate=True)), "little")
    except (binascii.Error, zlib.error) as error:
        raise ValueError from error
    if bits.bit_length() > size:
        raise ValueError
    return bits


def _unpacked(data: bytes) -> bytes:
    """What was compressed; of what has no end, more than any space has."""
    return zlib.decompressobj().decompress(data, MOST_BYTES)


def as_values(covered: Covered) -> dict[str, Any]:
    """The same as values that JSON has."""
    return {
        profile: {
            "spaces": {name: _values(space) for name, space in sorted(each.spaces.items())},
            "applied": sorted(each.applied),
        }
        for profile, each in sorted(covered.items())
    }


def _values(space: SpaceCovered) -> dict[str, Any]:
    return {
        "digest": space.digest,
        "edges": space.edges,
        "shown": _written(space.bits, space.edges),
        "pairs": space.pairs,
        "pairs_shown": _written(space.pair_bits, space.pairs),
    }


def _written(bits: int, size: int) -> str:
    data = zlib.compress(bits.to_bytes(size // 8 + 1, "little"), 9)
    return base64.b64encode(data).decode()


def write(path: Path, covered: Covered) -> None:
    """Write a coverage in the place of what is in the file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    told = {"format": FORMAT, "profiles": as_values(covered)}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
