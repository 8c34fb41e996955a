"""`groupcheck graph`: draw the states of a group and the transitions between them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import CONFORMS, CommandError, ending_with_message, profile_of
from groupcheck.cli.options import add_instances, add_members, add_shared
from groupcheck.extras import needing

if TYPE_CHECKING:
    from groupcheck.reports.state_graph import GraphArrow

HELP = "draw the states of a group and the transitions between them"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck graph`."""
    command.description = (
        "Explores the model and draws the states of a group, the transitions between them, and "
        "the rules that cause each transition."
    )
    command.add_argument(
        "file", metavar="FILE", type=Path, help="the output: .svg, .png, .dot or .mmd (Mermaid)"
    )
    add_shared(command, "profile")
    add_members(command, 3)
    add_instances(command, ("membership", "metadata", "storing"))


def run(options: argparse.Namespace) -> int:
    """Draw the group-state graph of a profile.

    Raises:
        CommandError: a profile, instance or format is unknown, or the file cannot be written.
    """
    from groupcheck.model.classic.exploring.exploration import Settings, UnfitSettingsError
    from groupcheck.model.classic.exploring.exploration import run as explore
    from groupcheck.reports.mermaid import arrows_of
    from groupcheck.reports.progress import Bars

    draw = _drawing(options.file)
    profile = profile_of(options.profile)
    with ending_with_message(UnfitSettingsError, action=f"write the graph to {options.file}"):
        with Bars() as bars:
            explored = explore(Settings(profile, options.members, tuple(options.instance)), bars)
        title = f"The states of a group, {profile.kafka}"
        options.file.write_bytes(draw(arrows_of(explored.group_graph), title))
    sys.stdout.write(f"written    {options.file}\n")
    return CONFORMS


def _drawing(path: Path) -> Callable[[list[GraphArrow], str], bytes]:
    """The function that draws the format of a file name."""
    from groupcheck.reports.mermaid import graph_as_dot, graph_as_mermaid
    from groupcheck.reports.state_graph import as_svg

    texts = {".svg": as_svg, ".dot": graph_as_dot, ".mmd": graph_as_mermaid}
    if path.suffix in texts:
        return lambda arrows, title: texts[path.suffix](arrows, title).encode()
    if path.suffix != ".png":
        msg = f"{path} has to end in {', '.join(texts)} or .png"
        raise CommandError(msg)
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise CommandError(needing("resvg-py", "png", "PNG")) from error
    return lambda arrows, title: bytes(svg_to_bytes(svg_string=as_svg(arrows, title), zoom=2))
