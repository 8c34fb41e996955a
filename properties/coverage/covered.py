"""The coverage of many runs, on many machines, in one small file; files merge into their union.

A model instance has a bit for each transition, in the order of its graph, and one for each pair of
adjacent transitions. A digest identifies the graph: bits of different graphs do not merge.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.numbering import first_edges, first_pairs

FORMAT: Final = 3
MAX_BYTES: Final = 64 * 1024 * 1024  # some files have no end


class MalformedCoverageError(ValueError):
    """A file is not a coverage file, or has another format."""


class SpaceCovered(NamedTuple):
    """The coverage of one model instance: its digest, the number of transitions, and their bits.

    Also the number of pairs of adjacent transitions and their bits; 0 when pairs are not counted.
    """

    digest: str
    edges: int
    bits: int
    pairs: int = 0
    pair_bits: int = 0

    @property
    def shown(self) -> int:
        """How many transitions are covered."""
        return self.bits.bit_count()

    @property
    def pairs_shown(self) -> int:
        """How many pairs are covered."""
        return self.pair_bits.bit_count()

    def union(self, other: SpaceCovered) -> SpaceCovered:
        """Return what either covers of the same model instance."""
        return SpaceCovered(
            self.digest,
            self.edges,
            self.bits | other.bits,
            max(self.pairs, other.pairs),
            self.pair_bits | other.pair_bits,
        )


class ProfileCovered(NamedTuple):
    """The coverage of a version: model instances by name and members, and the rules applied."""

    spaces: Mapping[str, SpaceCovered]
    applied: frozenset[str]


# By the names of the profiles.
Covered = Mapping[str, ProfileCovered]


class Merged(NamedTuple):
    """The union of several coverages, and which model instances of which could not be merged."""

    covered: Covered
    refused: tuple[str, ...]


def covered_space(
    space: StateSpace,
    its_digest: str,
    shown: Iterable[TransitionReference],
    pairs: Iterable[tuple[TransitionReference, TransitionReference]] = (),
    numbered: Iterable[int] = (),
) -> SpaceCovered:
    """Return the coverage of a model instance; pairs are given as transitions or by number."""
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


def digest(space: StateSpace) -> str:
    """Return a digest of a model instance's transitions, which changes with the model."""
    found = hashlib.sha256()
    for edges in space.edges:
        found.update(repr(edges).encode())
    return found.hexdigest()[:16]


def merged(several: Iterable[tuple[str, Covered]]) -> Merged:
    """Merge named coverages; instances whose digest differs from an earlier one are refused."""
    spaces: dict[str, dict[str, SpaceCovered]] = {}
    applied: dict[str, set[str]] = {}
    refused: list[str] = []
    for source, covered in several:
        for profile, each in covered.items():
            known = spaces.setdefault(profile, {})
            applied.setdefault(profile, set()).update(each.applied)
            for name, space in each.spaces.items():
                before = known.get(name, space)
                if before[:2] == space[:2]:
                    known[name] = before.union(space)
                else:
                    refused.append(f"{source}: {profile} {name} is of another model")
    found = {p: ProfileCovered(spaces[p], frozenset(applied[p])) for p in spaces}
    return Merged(found, tuple(refused))


def read(path: Path) -> Covered:
    """Read a coverage file.

    Raises:
        MalformedCoverageError: it is not a coverage file.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    try:
        found: Any = json.loads(text)
        if found["format"] == FORMAT:
            return covered_of(found["profiles"])
        msg = f"{path} has format {found['format']!r}; this version reads format {FORMAT}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        msg = f"{path} is not a coverage file"
        raise MalformedCoverageError(msg) from error
    raise MalformedCoverageError(msg)


def covered_of(values: Any) -> Covered:  # noqa: ANN401 - JSON is any value
    """Return the coverage that `as_values` has converted to these values.

    Raises:
        ValueError: they are no coverage; so are `KeyError`, `TypeError` and `AttributeError`.
    """
    return {str(name): _profile(each) for name, each in values.items()}


def _profile(found: Any) -> ProfileCovered:  # noqa: ANN401 - JSON is any value
    spaces = {str(name): _space(each) for name, each in found["instances"].items()}
    if not all(isinstance(rule, str) for rule in found["applied"]):
        raise TypeError
    return ProfileCovered(spaces, frozenset(found["applied"]))


def _space(found: Any) -> SpaceCovered:  # noqa: ANN401 - JSON is any value
    edges, pairs, text = found["transitions"], found["pairs"], found["digest"]
    if type(edges) is not int or type(pairs) is not int or not isinstance(text, str):
        raise TypeError
    bits = _unpacked(found["covered"], edges)
    return SpaceCovered(text, edges, bits, pairs, _unpacked(found["pairs_covered"], pairs))


def _unpacked(text: str, size: int) -> int:
    try:
        packed = base64.b64decode(text, validate=True)
        # Limited, since compressed data may have no end.
        data = zlib.decompressobj().decompress(packed, MAX_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError from error
    bits = int.from_bytes(data, "little")
    if bits.bit_length() > size:
        raise ValueError
    return bits


def as_values(covered: Covered) -> dict[str, Any]:
    """Convert a coverage to JSON values."""
    return {
        profile: {
            "instances": {name: _values(space) for name, space in sorted(each.spaces.items())},
            "applied": sorted(each.applied),
        }
        for profile, each in sorted(covered.items())
    }


def _values(space: SpaceCovered) -> dict[str, Any]:
    return {
        "digest": space.digest,
        "transitions": space.edges,
        "covered": _packed(space.bits, space.edges),
        "pairs": space.pairs,
        "pairs_covered": _packed(space.pair_bits, space.pairs),
    }


def _packed(bits: int, size: int) -> str:
    data = zlib.compress(bits.to_bytes(size // 8 + 1, "little"), 9)
    return base64.b64encode(data).decode()


def write(path: Path, covered: Covered) -> None:
    """Replace a file by a coverage, completely or not at all.

    Raises:
        OSError: it cannot be written.
    """
    values = {"format": FORMAT, "profiles": as_values(covered)}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
