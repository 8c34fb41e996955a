"""A program with librdkafka's mock cluster of one broker.

It runs as a file. Its arguments are topics. Each line of its input is an initial rebalance delay in
milliseconds: it prints the host and port of a new cluster with it, which replaces the last one, and
librdkafka's version. It ends with its input, so also when its parent is killed.

confluent-kafka can start a mock cluster, but cannot set the delay, so this calls the library.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from confluent_kafka import cimpl, libversion

PRODUCER: Final = 0  # rd_kafka_type_t
PARTITIONS: Final = 4
ERROR_BYTES: Final = 512

P, S, INT, SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
# rdkafka.h and rdkafka_mock.h: the result and the parameters of each function.
FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "conf_new": (P,),
    "conf_set": (INT, P, S, S, S, SIZE),
    "new": (P, INT, P, S, SIZE),
    "mock_cluster_new": (P, P, INT),
    "mock_cluster_destroy": (None, P),
    "mock_cluster_bootstraps": (S, P),
    "mock_group_initial_rebalance_delay_ms": (None, P, ctypes.c_int32),
    "mock_topic_create": (INT, P, S, INT, INT),
}


def main() -> None:
    """Create clusters until the input ends."""
    library = ctypes.CDLL(cimpl.__file__)  # also finds what it was linked with
    call = {name: library[f"rd_kafka_{name}"] for name in FUNCTIONS}
    for name, (result, *parameters) in FUNCTIONS.items():
        call[name].restype, call[name].argtypes = result, parameters
    error = ctypes.create_string_buffer(ERROR_BYTES)
    settings = call["conf_new"]()
    call["conf_set"](settings, b"bootstrap.servers", b"none:0", error, ERROR_BYTES)
    call["conf_set"](settings, b"log_level", b"0", error, ERROR_BYTES)
    client = call["new"](PRODUCER, settings, error, ERROR_BYTES)
    cluster = None
    for delay_ms in sys.stdin:
        if cluster is not None:
            call["mock_cluster_destroy"](cluster)
        cluster = call["mock_cluster_new"](client, 1)
        call["mock_group_initial_rebalance_delay_ms"](cluster, int(delay_ms))
        for topic in sys.argv[1:]:
            call["mock_topic_create"](cluster, topic.encode(), PARTITIONS, 1)
        host, _, port = call["mock_cluster_bootstraps"](cluster).decode().rpartition(":")
        print(host, port, libversion()[0], flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
