"""The console output of a check."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from groupcheck.properties.histories.checker import check_groups, load
from groupcheck.reports.command_records import Took, check_record
from groupcheck.reports.pipeline import check_text

RECORDING = (
    '{"type":"open","trace":1,"profile":"2.7","config":{}}\n'
    '{"type":"request","id":1,"api":"Heartbeat","apiVersion":3,"clientId":"a","clientHost":"/1",'
    '"body":{"groupId":"group","generationId":1,"memberId":"nobody"}}\n'
    '{"type":"response","id":1,"body":{"errorCode":0}}\n'
)
DONE = {
    "engine": "python",
    **dict.fromkeys(("groups", "accepted", "undecided", "events", "events_checked"), 0),
    **dict.fromkeys(("transitions_covered", "transitions_explored", "explored_and_covered"), 0),
    "rejected": 2,
    "read": None,
    "reasons": (),
    "rebalancing": (),
    "timeline": (),
}


def test_check_prints_the_first_finding_in_full_and_with_v_every_one(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(RECORDING)
    finding = check_groups(load(path)).finding
    path.write_text(RECORDING.replace('"generationId":1', '"generationId":2'))
    other = check_groups(load(path)).finding
    rows = [
        SimpleNamespace(
            group_id=n, source="s", session=0, line=1, kind="", reason="", omitted=omitted
        )
        for n, omitted in zip("abc", (None, 1_234, 0), strict=True)
    ]
    rejected = [(rows[0], None), (rows[1], finding), (rows[2], other)]
    checked = check_record(DONE, rejected, None, ["s"], Took("", 0))
    brief = check_text(checked, None)
    assert brief.count("Observed:") == 1
    assert ": group b at s:1: differs from " in brief.replace("'", "")
    assert brief.endswith("\nNot shown: 1,234 repeated events.\n")
    whole = check_text(checked, None, every=True)
    assert whole.startswith(brief)
    assert whole.count("Observed:") == 2
    assert whole.count("repeated events") == 1
