"""The commands `report` and `graph`: saved results in, any face of them out; the model drawn."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError, check_known
from groupcheck.telling import tell

if TYPE_CHECKING:
    from groupcheck.reports.changes import Changes
    from groupcheck.reports.saved import Saved
    from groupcheck.reports.state_graph import GraphArrow

STANDARD_OUTPUT: Final = Path("-")


def report(options: argparse.Namespace) -> int:
    """Put saved results together, and make of them what is asked for.

    Raises:
        ImpossibleError: a file is none, cannot be read or written, or they are not of one model.
    """
    from groupcheck.reports.changes import changes
    from groupcheck.reports.github import as_annotations
    from groupcheck.reports.merging import Named, NotMergedError, merged

    _check(options)
    try:
        saved = merged([Named(str(path), _read(path)) for path in options.files])
        before = _read(options.baseline) if options.baseline else None
        if before is not None and before.command != saved.command:
            msg = f"the baseline is a result of {before.command}, and not of {saved.command}"
            raise ImpossibleError(msg)
        if before is not None and before.profile != saved.profile:
            msg = f"the baseline is of Kafka {before.profile}, and not of {saved.profile}"
            raise ImpossibleError(msg)
    except NotMergedError as error:
        raise ImpossibleError(str(error)) from error
    changed = changes(saved, before, lost_fails=options.fail_on_lost)
    status = _status(saved, changed)
    made = {
        path: face(saved, changed)
        for name, face in _faces().items()
        if (path := getattr(options, name)) is not None
    }
    printed = made.pop(STANDARD_OUTPUT, None)
    written = _write(made, saved, options.out, status)
    if printed is None:
        tell(_summary(saved, changed, written, more=options.verbose))
    else:
        sys.stdout.write(printed)
    if options.github:
        sys.stdout.write(as_annotations(saved, changed))
    return status


def _faces() -> dict[str, Callable[[Saved, Changes], str]]:
    """How each face is made, by the name of its option."""
    from groupcheck.reports.badge import as_badge
    from groupcheck.reports.graphs_again import again
    from groupcheck.reports.html import as_html
    from groupcheck.reports.junit import as_junit
    from groupcheck.reports.markdown import as_markdown
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.saved_file import as_text

    def html(saved: Saved, changed: Changes) -> str:
        gc.set_threshold(50_000)  # as in verify
        with Bars() as bars:
            return as_html(saved, changed, again(saved, bars("exploring the model", None)))

    return {
        "json": lambda saved, _changed: as_text(saved),
        "html": html,
        "junit": as_junit,
        "markdown": as_markdown,
        "badge": lambda saved, _changed: as_badge(saved),
    }


def _check(options: argparse.Namespace) -> None:
    """Raise an ImpossibleError if what is asked for contradicts itself."""
    asked = [getattr(options, name) for name in _faces()]
    if asked.count(STANDARD_OUTPUT) > 1:
        msg = "only one FILE can be -, standard output"
        raise ImpossibleError(msg)
    if options.fail_on_lost and options.baseline is None:
        msg = "--fail-on-lost needs a --baseline"
        raise ImpossibleError(msg)


def _read(path: Path) -> Saved:
    from groupcheck.reports.saved_file import MalformedResultError, read

    try:
        return read(path)
    except MalformedResultError as error:
        raise ImpossibleError(str(error)) from error
    except OSError as error:
        msg = f"cannot read the result in {path}: {error.strerror}"
        raise ImpossibleError(msg) from error


def _status(saved: Saved, changed: Changes) -> int:
    if changed.fails:
        return DIVERGES
    incomplete = saved.ended_early or not saved.decided
    return IMPOSSIBLE if incomplete else CONFORMS


def _write(made: dict[Path, str], saved: Saved, directory: Path | None, status: int) -> list[Path]:
    """Write each face, and what a report in a directory is made of."""
    from groupcheck.reports.files import write

    path = directory
    try:
        written = [] if directory is None else write(saved, directory)
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
            written.append(path)
    except OSError as error:
        msg = f"cannot write the report to {path}: {error.strerror}"
        raise ImpossibleError(msg, status or IMPOSSIBLE) from error
    return written


def _summary(saved: Saved, changed: Changes, written: list[Path], *, more: bool) -> str:
    from groupcheck.reports.changes import lines
    from groupcheck.reports.terminal import summary

    notes = [f"written    {path}" for path in written]
    return summary(saved, [], changed.new, [*notes, *lines(changed)], more=more)


def graph(options: argparse.Namespace) -> int:
    """Draw the state graph of a profile.

    Raises:
        ImpossibleError: there is no such profile, space or format, or it cannot be written.
    """
    from groupcheck.model.exploring.exploration import Settings, UnfitSettingsError, run
    from groupcheck.model.profiles import PROFILES
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.state_graph_text import arrows_of

    draw = _drawing(options.file)
    check_known(options.profile, PROFILES)
    profile = PROFILES[options.profile]
    gc.set_threshold(50_000)  # as in verify
    try:
        with Bars() as bars:
            explored = run(Settings(profile, options.members, tuple(options.space)), bars)
        title = f"The states of a group, {profile.kafka}"
        options.file.write_bytes(draw(arrows_of(explored.projection), title))
    except UnfitSettingsError as error:
        raise ImpossibleError(str(error)) from error
    except OSError as error:
        msg = f"cannot write the graph to {options.file}: {error.strerror}"
        raise ImpossibleError(msg) from error
    sys.stdout.write(f"written    {options.file}\n")
    return CONFORMS


def _drawing(path: Path) -> Callable[[list[GraphArrow], str], bytes]:
    """How the graph is written to a file of that name."""
    from groupcheck.reports.state_graph import as_svg
    from groupcheck.reports.state_graph_text import as_dot, as_mermaid

    texts = {".svg": as_svg, ".dot": as_dot, ".mmd": as_mermaid}
    if path.suffix in texts:
        return lambda arrows, title: texts[path.suffix](arrows, title).encode()
    if path.suffix != ".png":
        msg = f"{path} has to end in {', '.join(texts)} or .png"
        raise ImpossibleError(msg)
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        msg = "PNG needs the package resvg-py: pip install 'groupcheck[png]'"
        raise ImpossibleError(msg) from error
    return lambda arrows, title: bytes(svg_to_bytes(svg_string=as_svg(arrows, title), zoom=2))
