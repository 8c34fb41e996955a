"""CreateTopics, and DeleteTopics of a broker in a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.known import Known
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import BadTopicError, Topics, already_there
from groupcheck.model.vocabulary import ErrorCode

BY_DEFAULT: Final = -1  # as many partitions as the broker's settings say


class TopicRequests:
    """Handles requests for topics, which only the controller takes.

    A response comes when the cluster has done what it can: all brokers that run know a created
    topic then. Replicas that a request asks for are not regarded.
    """

    def __init__(self, topics: Topics, limits: Limits, known: Known) -> None:
        self._topics = topics
        self._limits = limits
        self._known = known

    def create(self, call: Call) -> None:
        """Answer CreateTopics."""
        body: messages.CreateTopicsRequest = call.body
        results = tuple(
            self._try(topic.name, partial(self._create, topic, body)) for topic in body.topics
        )
        answer = messages.CreateTopicsResponse(results)
        self._topics.when_settled(lambda: call.reply(answer))

    def delete(self, call: Call) -> None:
        """Answer DeleteTopics."""
        body: messages.DeleteTopicsRequest = call.body
        results = tuple(
            self._try(name, partial(self._topics.delete, name))
            for name in dict.fromkeys(body.topic_names)
        )
        answer = messages.DeleteTopicsResponse(results)
        self._topics.when_settled(lambda: call.reply(answer))

    def _try(self, name: str, change: Callable[[], None]) -> messages.TopicResult:
        if self._known.controller_id != self._known.node_id:
            return messages.TopicResult(name, messages.NOT_CONTROLLER, "not the controller")
        try:
            change()
        except BadTopicError as error:
            return messages.TopicResult(name, error.error_code, str(error))
        return messages.TopicResult(name, ErrorCode.NONE)

    def _create(self, topic: messages.CreatableTopic, body: messages.CreateTopicsRequest) -> None:
        partitions = len(topic.assignments) or topic.num_partitions
        if partitions == BY_DEFAULT:
            partitions = self._limits.num_partitions
        if self._topics.exists(topic.name):
            raise already_there(topic.name)
        if body.validate_only:
            self._topics.check(topic.name, partitions)
        else:
            self._topics.create(topic.name, partitions)
