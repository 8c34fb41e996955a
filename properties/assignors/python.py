"""Assignors behind a Python object in this process; `port.ProgramPort` runs programs.

`python:package.module:factory` names a callable without parameters that returns an object with two
methods. They get and return what a program reads and writes (docs/assignors.md):

    open() -> {"name": "my-client", "version": "1.2", "assignors": ["range"]}
    assign(message: dict) -> {"assignment": {"m0": {"t0": [0, 1]}}}

An exception is a finding, and so is a call that takes too long; standard output goes to standard
error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.assignors.group import Assignment, Group
from groupcheck.properties.assignors.port import (
    LIMIT_S,
    AssignorFailedError,
    AssignorInfo,
    Json,
    answered,
    assign_message,
    assignment_of,
    info_of,
)
from groupcheck.properties.ports.messages import plain
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.user_code import (
    Factory,
    Methods,
    TooLongError,
    load_factory,
    make_port,
    one_line,
    user_code_guard,
)

METHODS: Final[Methods] = {"open": {}, "assign": {"message": "message"}}


class PythonAssignors:
    """Assignors behind a Python object; implements `AssignorPort`.

    Args:
        factory: makes the object; see this module's contract.
        limit_s: seconds of real time that a call may take.
    """

    def __init__(self, factory: Factory, *, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._factory = factory
        self._object: object = None

    def open(self) -> AssignorInfo:
        """Make the object, and ask for its name and its assignors.

        Raises:
            PortUnavailableError: it cannot be made, or does not name them.
        """
        self._object = make_port(self._factory, limit_s=self._limit_s, methods=METHODS)
        try:
            return info_of(self._call("open"))
        except AssignorFailedError as error:
            msg = f"the object did not open: {error}"
            raise PortUnavailableError(msg) from error

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Call the object.

        Raises:
            AssignorFailedError: it gave no assignment.
        """
        return assignment_of(self._call("assign", assign_message(assignor, group)))

    def shutdown(self) -> None:
        """Drop the object; safe to call twice."""
        self._object = None

    def _call(self, method: str, *arguments: Json) -> Json:
        call: Callable[..., object] = getattr(self._object, method)
        try:
            with user_code_guard(self._limit_s):
                return answered(plain(call(*arguments)))
        except TooLongError:
            msg = f"{method}() did not return within {self._limit_s:g} s"
            raise AssignorFailedError(msg, hung=True) from None
        except (KeyboardInterrupt, AssignorFailedError):
            raise
        except PortFailedError as error:
            raise AssignorFailedError(str(error)) from error
        # SystemExit too: code that calls sys.exit() must not end groupcheck.
        except BaseException as error:
            raise AssignorFailedError(one_line(error)) from error


def python_assignors(name: str) -> PythonAssignors:
    """The assignors that `package.module:factory` names.

    Raises:
        PortUnavailableError: there is no such factory, or its object has not the methods.
    """
    return PythonAssignors(load_factory(name, methods=METHODS))
