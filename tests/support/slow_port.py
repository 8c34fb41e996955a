"""A port that answers every request wrongly, and slowly: something to be interrupted."""

import json
import sys
import time
from pathlib import Path

requests = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "request":
        time.sleep(0.3)
        requests += 1
        if requests == 3:
            Path(sys.argv[1]).touch()  # now it may be interrupted
        answer = {"type": "response", "id": message["id"], "body": {"errorCode": -1}}
        print(json.dumps(answer))  # noqa: T201 - it speaks on standard output
    print(json.dumps({"type": "done", "port": {"name": "slow"}}), flush=True)  # noqa: T201
