"""The coverage of many runs in one small file; files merge into their union.

A model instance has a bit for each transition, in the order of its graph, and one for each pair of
adjacent transitions of which the first leads to another state. A digest identifies the graph: bits
of different graphs do not merge.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference

FORMAT: Final = 3
MAX_BYTES: Final = 64 * 1024 * 1024  # device files have no end


class MalformedCoverageError(ValueError):
    """A file is not a coverage file, or has another format."""


class SpaceCovered(msgspec.Struct, frozen=True):
    """The coverage of one model instance: its digest, the number of transitions, and their bits.

    Also the number of pairs of adjacent transitions and their bits; 0 when pairs are not counted.
    The bits are compressed.
    """

    digest: str
    transitions: int
    covered: bytes
    pairs: int
    pairs_covered: bytes

    def __post_init__(self) -> None:
        """Check the bits of a file.

        Raises:
            ValueError: their number is not that of the transitions or pairs.
        """
        sizes = (self.covered, self.transitions), (self.pairs_covered, self.pairs)
        if any(_bits(packed).bit_length() > size for packed, size in sizes):
            raise ValueError

    @property
    def shown(self) -> int:
        """How many transitions are covered."""
        return _bits(self.covered).bit_count()

    @property
    def pairs_shown(self) -> int:
        """How many pairs are covered."""
        return _bits(self.pairs_covered).bit_count()

    def union(self, other: SpaceCovered) -> SpaceCovered:
        """Return the union of two coverages of the same model instance."""
        pairs = max(self.pairs, other.pairs)
        return SpaceCovered(
            self.digest,
            self.transitions,
            _packed(_bits(self.covered) | _bits(other.covered), self.transitions),
            pairs,
            _packed(_bits(self.pairs_covered) | _bits(other.pairs_covered), pairs),
        )


class ProfileCovered(msgspec.Struct, frozen=True):
    """The coverage of a version: model instances by name and members, and the rules applied."""

    instances: dict[str, SpaceCovered]
    applied: frozenset[str]


# By the names of the profiles.
Covered = Mapping[str, ProfileCovered]


class Merged(NamedTuple):
    """The union of several coverages, and the model instances that could not be merged."""

    covered: Covered
    refused: tuple[str, ...]


NO_PAIR: Final = -1  # the transition is first in no pair


def references(space: StateSpace) -> Iterator[TransitionReference]:
    """The transitions in the order of their numbers."""
    for node, edges in enumerate(space.edges):
        yield from map(TransitionReference, repeat(node), range(len(edges)))


def first_edges(space: StateSpace) -> list[int]:
    """Return the number of each node's first transition; the last item is their total."""
    return [0, *accumulate(map(len, space.edges))]


def first_pairs(space: StateSpace) -> list[int]:
    """Return the number of the first pair that each transition is first in.

    The last item is the total of pairs.
    """
    found, number = list[int](), 0
    for node, edges in enumerate(space.edges):
        for edge in edges:
            if edge.target == node:
                found.append(NO_PAIR)
            else:
                found.append(number)
                number += len(space.edges[edge.target])
    return [*found, number]


def covered_space(
    space: StateSpace,
    its_digest: str,
    shown: Iterable[TransitionReference],
    pairs: Iterable[tuple[TransitionReference, TransitionReference]] = (),
    numbered: Iterable[int] = (),
) -> SpaceCovered:
    """Return the coverage of a model instance; pairs are given as transitions or by number."""
    edge, pair = first_edges(space), first_pairs(space)
    first = (
        pair[edge[before.node] + before.edge] + transition.edge for before, transition in pairs
    )
    return SpaceCovered(
        its_digest,
        edge[-1],
        packed(edge[-1], (edge[transition.node] + transition.edge for transition in shown)),
        pair[-1],
        packed(pair[-1], chain(first, numbered)),
    )


def packed(size: int, numbers: Iterable[int]) -> bytes:
    """Return the compressed bits of `numbers`, which are below `size`."""
    bits = bytearray(size // 8 + 1)
    for number in numbers:
        bits[number // 8] |= 1 << number % 8
    return zlib.compress(bits, 9)


def _packed(bits: int, size: int) -> bytes:
    return zlib.compress(bits.to_bytes(size // 8 + 1, "little"), 9)


def _bits(compressed: bytes) -> int:
    try:
        # Limited, since compressed data may have no end.
        data = zlib.decompressobj().decompress(compressed, MAX_BYTES)
    except zlib.error as error:
        raise ValueError from error
    return int.from_bytes(data, "little")


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
            for name, space in each.instances.items():
                before = known.get(name, space)
                if (before.digest, before.transitions) == (space.digest, space.transitions):
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
        found = msgspec.json.decode(text, type=_Format).format
        if found == FORMAT:
            return msgspec.json.decode(text, type=_File).profiles
        msg = f"{path} has format {found!r}; this version reads format {FORMAT}"
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        msg = f"{path} is not a coverage file"
        raise MalformedCoverageError(msg) from error
    raise MalformedCoverageError(msg)


def read_or_empty(path: Path) -> Covered:
    """Read a coverage file; one that does not exist yet is empty.

    Raises:
        MalformedCoverageError: it is not a coverage file.
        OSError: it cannot be read, or its directory does not exist.
    """
    try:
        return read(path)
    except FileNotFoundError:
        if path.parent.is_dir():
            return {}
        raise


class _Format(msgspec.Struct):
    format: Any


class _File(msgspec.Struct):
    format: int
    profiles: dict[str, ProfileCovered]


def write(path: Path, covered: Covered) -> None:
    """Replace a file by a coverage, completely or not at all.

    Raises:
        OSError: it cannot be written.
    """
    data = msgspec.json.encode(_File(FORMAT, dict(covered)), order="deterministic")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
