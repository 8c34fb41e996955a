"""The jars of Spark's source for Kafka, which are fetched with Maven once and kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyspark

from groupcheck.properties.brokers.cache import cached
from groupcheck.properties.brokers.java import copy_jars

POM = Path(__file__).parent / "kafka_source" / "pom.xml"


def jars() -> str:
    """The jars, in the form of `spark.jars`."""
    version = "4.1.0" if pyspark.__version__.startswith("4.1.") else "4.2.0"
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]

    def download(folder: Path) -> None:
        copy_jars(POM, folder, "Spark's Kafka source", f"-Dsource.version={version}")

    folder = cached(f"spark-kafka-{version}-{digest}", download)
    return ",".join(str(each) for each in sorted(folder.glob("*.jar")))
