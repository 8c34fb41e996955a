"""What a message says if a package of an extra is not installed."""

from __future__ import annotations


def installing(extra: str) -> str:
    """The command that installs an extra of this package."""
    return f"pip install 'groupcheck[{extra}]'"


def needing(package: str, extra: str, what: str = "this") -> str:
    """Says that something needs a package, and the extra that installs it."""
    return f"{what} needs the package {package}: {installing(extra)}"
