"""Files of state between the batches of a stream, one for each batch that changed it.

A repeated batch starts from the file of the previous batch, so it has the same result: a killed run
loses no rows and repeats none.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pyarrow import fs

from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.pipeline.sources import place


class Versions:
    """The versions of one state, for a batch.

    Args:
        folder: a folder for these files only.
        batch: the number of the batch.

    """

    def __init__(self, folder: str, batch: int) -> None:
        self._system, self._folder = place(folder)
        self._batch = batch
        self._before = sorted(version for version in self._files() if version < batch)

    def before(self) -> bytes | None:
        """The state after the previous batch; None at the start."""
        if not self._before:
            return None
        with self._system.open_input_stream(self._file(self._before[-1])) as file:
            found: bytes = file.read()
        return found

    def write(self, data: bytes) -> None:
        """Write the state after this batch, and remove those before the previous one."""
        self._system.create_dir(self._folder, recursive=True)
        temporary = f"{self._folder}/.{self._batch}"
        with self._system.open_output_stream(temporary) as file:
            file.write(data)
        self._system.move(temporary, self._file(self._batch))
        for version in self._before[:-1]:
            self._system.delete_file(self._file(version))

    def _files(self) -> Iterator[int]:
        found = fs.FileSelector(self._folder, allow_not_found=True)
        for each in self._system.get_file_info(found):
            stem = each.base_name.removesuffix(".pickle")
            if stem.isdecimal():
                yield int(stem)

    def _file(self, version: int) -> str:
        return f"{self._folder}/{version:010}.pickle"


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:  # noqa: ANN401 - pickle's signature
        if isinstance(obj, Profile) and EVERY_PROFILE.get(obj.name) is obj:
            return _profile, (obj.name,)
        if isinstance(obj, MappingProxyType):
            return MappingProxyType, (dict(obj),)
        return NotImplemented


def _profile(name: str) -> Profile:
    return EVERY_PROFILE[name]


def checkpoint(state: Any) -> bytes:  # noqa: ANN401 - any state
    """The state as bytes."""
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(state)
    return file.getvalue()


def restore(data: bytes) -> Any:  # noqa: ANN401 - any state
    """The state; the bytes are trusted, as the checkpoint folder is."""
    return pickle.loads(data)  # noqa: S301 - written by groupcheck
