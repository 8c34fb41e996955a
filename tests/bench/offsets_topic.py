"""How fast one core takes the offsets topic in and holds it to the model, without Spark.

Segments are made from walks of the model; all that they hold has to be accepted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from groupcheck.pipeline.offsets_topic.appends import subsets
from support.made_segments import judged, partition, write


def main() -> None:
    """Print records a second, by processor time."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--profile", default="2.7")
    asked = options.parse_args()
    batches = partition(asked.profile, 30, 100)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        begun = time.process_time()
        subsets(asked.profile)
        first_s = time.process_time() - begun
        offsets = write(where / f"{0:020}.log", asked.profile, batches)
        while offsets[-1] < asked.records:
            # The same groups under the same names go on from a gap, as after a compaction.
            base = offsets[-1] + 1
            offsets = write(where / f"{base:020}.log", asked.profile, batches, base)
        size = sum(each.stat().st_size for each in where.iterdir())
        begun = time.process_time()
        said, _ = judged(where)
        taken_s = time.process_time() - begun
    found = sum("finding" in rows for rows in said.values())
    sys.stdout.write(
        f"what may follow what: {first_s:.1f} s of processor, once a process\n"
        f"{offsets[-1]:,} records, {size / 1e6:.1f} MB, {found} rejected: {taken_s:.1f} s, "
        f"{offsets[-1] / taken_s:,.0f} records a second of one core\n"
    )
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
