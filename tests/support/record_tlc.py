"""Record what TLC finds in each instance: `python tests/support/record_tlc.py [--all] [--jobs N]`.

Writes tests/model/classic/tlc.tsv, which the tests compare the explorer with. TLC runs only for
rows that are out of date (half an hour of one core if all are), or for every row with `--all`. Each
finished row is written at once, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from support import tlc_record
from support.tlc_record import Row, cases, checked, recorded


def run(name: str) -> tuple[str, Row]:
    """Run TLC on one instance."""
    with tempfile.TemporaryDirectory() as folder:
        return name, checked(cases()[name], Path(folder))


def main() -> None:
    """Run TLC on the instances whose rows are out of date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--all", action="store_true", help="every row, up to date or not")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="instances in parallel")
    options = parser.parse_args()
    keys = {name: case.key for name, case in cases().items()}
    rows = {name: row for name, row in recorded().items() if name in keys}
    wanted = [n for n in keys if options.all or n not in rows or rows[n].key != keys[n]]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        done = pool.imap_unordered(run, wanted)
        for name, row in tqdm(done, total=len(wanted), unit="instance"):
            rows[name] = row
            tlc_record.write({name: rows[name] for name in keys if name in rows})
    tlc_record.write({name: rows[name] for name in keys})


if __name__ == "__main__":
    main()
