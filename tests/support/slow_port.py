"""A port that gives a few wrong responses and then blocks, for tests of interruption."""

import json
import os
import sys
import time
from pathlib import Path

busy, answered = Path(sys.argv[1]), int(sys.argv[2])
requests = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "request":
        requests += 1
        if requests > answered:
            busy.with_suffix(".new").write_text(str(os.getpid()))
            busy.with_suffix(".new").rename(busy)  # signals that the test may interrupt it
            time.sleep(600)
        answer = {"type": "response", "id": message["id"], "body": {"errorCode": -1}}
        print(json.dumps(answer))  # noqa: T201 - the protocol uses standard output
    print(json.dumps({"type": "done", "port": {"name": "slow"}}), flush=True)  # noqa: T201
