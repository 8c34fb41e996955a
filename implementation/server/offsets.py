"""The broker's part of the offset APIs: unknown partitions, and requests for several groups.

Kafka's coordinator does not know topics: KafkaApis.scala answers for unknown partitions, and passes
the others to the coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.groups import Answered, Groups
from groupcheck.implementation.server.topics import Topics
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, RequestBody, ResponseBody

SEVERAL_GROUPS: Final = 8  # the first version of OffsetFetch for several groups
ONE_GROUP: Final = 7  # the version of the request to the coordinator for each of them

WithTopics = Any  # OffsetCommit, TxnOffsetCommit or OffsetDelete: records of one shape


class Offsets:
    """The offset APIs."""

    def __init__(self, topics: Topics, groups: Groups) -> None:
        self._topics = topics
        self._groups = groups

    def commit(self, call: Call) -> None:
        """Answer OffsetCommit or TxnOffsetCommit; only known partitions go to the coordinator."""
        body: kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest = call.body
        known, unknown = self._split(body)
        refused = _refused(
            unknown, kafka.OffsetCommitResponseTopic, kafka.OffsetCommitResponsePartition
        )
        if not known.topics:
            call.reply(kafka.OffsetCommitResponse(refused))
            return

        def answered(response: Any) -> None:  # noqa: ANN401 - the response of either API
            call.reply(response._replace(topics=_merged(response.topics, refused)))

        self.ask(call, known, answered if refused else call.reply)

    def delete(self, call: Call) -> None:
        """Answer OffsetDelete; the group's error replaces those of partitions."""
        body: kafka.OffsetDeleteRequest = call.body
        known, unknown = self._split(body)
        refused = _refused(
            unknown, kafka.OffsetDeleteResponseTopic, kafka.OffsetDeleteResponsePartition
        )

        def answered(response: ResponseBody) -> None:
            if isinstance(response, kafka.OffsetDeleteResponse) and not response.error_code:
                response = response._replace(topics=_merged(response.topics, refused))
            call.reply(response)

        self.ask(call, known, answered)

    def fetch(self, call: Call) -> None:
        """Answer OffsetFetch, for one group or several."""
        if call.api_version < SEVERAL_GROUPS:
            self.ask(call, call.body, call.reply)
            return
        body: messages.OffsetFetchGroupsRequest = call.body
        if not body.groups:
            call.reply(messages.OffsetFetchGroupsResponse(()))
            return
        answers: dict[int, messages.OffsetFetchResponseGroup] = {}

        def ask(number: int, group: messages.OffsetFetchRequestGroup) -> None:
            def answered(response: ResponseBody) -> None:
                assert isinstance(response, kafka.OffsetFetchResponse)  # noqa: S101 - the API's response
                answers[number] = messages.OffsetFetchResponseGroup(
                    group.group_id, response.error_code, response.topics
                )
                if len(answers) == len(body.groups):
                    groups = tuple(answers[i] for i in range(len(answers)))
                    call.reply(messages.OffsetFetchGroupsResponse(groups))

            one = kafka.OffsetFetchRequest(group.group_id, group.topics, body.require_stable)
            self.ask(call._replace(api_version=ONE_GROUP), one, answered)

        for number, group in enumerate(body.groups):
            ask(number, group)

    def ask(self, call: Call, body: RequestBody, answered: Answered) -> None:
        """Send a request to the coordinator on behalf of a client."""
        self._groups.ask(body, call.api_version, answered, call.client_id, call.client)

    def _split(self, body: WithTopics) -> tuple[Any, dict[str, list[int]]]:
        """The request with the known partitions, and the unknown partitions by topic."""
        known: list[Any] = []
        unknown: dict[str, list[int]] = {}
        for topic in body.topics:
            there = len(self._topics.partitions(topic.name))
            kept = tuple(p for p in topic.partitions if 0 <= p.partition_index < there)
            if kept:
                known.append(topic._replace(partitions=kept))
            if len(kept) < len(topic.partitions):
                indexes = [p.partition_index for p in topic.partitions]
                gone = [index for index in indexes if not 0 <= index < there]
                unknown.setdefault(topic.name, []).extend(gone)
        return body._replace(topics=tuple(known)), unknown


def _refused(unknown: dict[str, list[int]], topic: Any, partition: Any) -> tuple[Any, ...]:  # noqa: ANN401 - record classes of the same shape
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return tuple(
        topic(name, tuple(partition(index, error) for index in indexes))
        for name, indexes in unknown.items()
    )


def _merged(answered: Iterable[Any], refused: Iterable[Any]) -> tuple[Any, ...]:
    """The topics of both, each once."""
    merged = {topic.name: topic for topic in answered}
    for topic in refused:
        if topic.name in merged:
            both = (*merged[topic.name].partitions, *topic.partitions)
            merged[topic.name] = topic._replace(partitions=both)
        else:
            merged[topic.name] = topic
    return tuple(merged.values())
