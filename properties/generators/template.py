"""Templates: make requests and allowed answers in a port's member ids and generations, fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.model.engine.edits import Anything
from groupcheck.properties.compare import GENERATION, MEMBER_IDS

# Makes a record, or the value of a field, from the port's ids by their names, and the difference
# between the port's generation and that of the template.
Template = Callable[[Mapping[str, str], int], Any]


def template(record: Any) -> Template:  # noqa: ANN401 - a record of the vocabulary
    """The template of a request or an answer, or of a record in it."""
    fields = [(f, index, record[index]) for index, f in enumerate(record._fields)]
    fields = [field for field in fields if not isinstance(field[2], Anything)]
    ids = [(index, value) for f, index, value in fields if f in MEMBER_IDS and value]
    # The generation in an answer with an error is not that of the group.
    is_error = bool(getattr(record, "error_code", 0))
    generations = [
        index for f, index, value in fields if f == GENERATION and value >= 0 and not is_error
    ]
    lists = [(index, list(map(template, value))) for _, index, value in fields if _is_list(value)]
    if not (ids or generations or lists):
        return lambda _names, _shift: record
    cls, base = type(record), list(record)

    def make(names: Mapping[str, str], shift: int) -> Any:  # noqa: ANN401 - of that class
        values = base.copy()
        for index, name in ids:
            values[index] = names.get(name, name)
        for index in generations:
            values[index] += shift
        for index, entries in lists:
            values[index] = tuple([entry(names, shift) for entry in entries])
        return tuple.__new__(cls, values)

    return make


def _is_list(value: object) -> bool:
    """Whether the value of a field is a list of records, and not empty."""
    return isinstance(value, tuple) and bool(value) and hasattr(value[0], "_fields")
