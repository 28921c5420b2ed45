"""kombu's own tests for transports, t/integration/common.py of its source, which KOMBU names."""

import os
import sys

import kombu
import pytest

import mayfly

sys.path.insert(0, os.environ["KOMBU"])

from t.integration.common import BaseExchangeTypes, BaseMessage, BasicFunctionality  # noqa: E402


@pytest.fixture()
def connection():
    return kombu.Connection(mayfly.BROKER, transport_options={"wait_time_seconds": 3})


@pytest.fixture()
def invalid_connection(monkeypatch):
    monkeypatch.setenv("AMQP", "localhost:1")
    monkeypatch.setenv("ADMIN", "localhost:1")
    return kombu.Connection(mayfly.BROKER)


class TestBasicFunctionality(BasicFunctionality):
    @pytest.mark.skip(reason="the transport connects when it is first used, wherever that goes")
    def test_failed_connect(self, invalid_connection):
        pass

    test_failed_connection = test_failed_channel = test_failed_default_channel = test_failed_connect


class TestExchangeTypes(BaseExchangeTypes):
    @pytest.mark.skip(reason="the transport has no fanout")
    def test_fanout(self, connection):
        pass


class TestMessage(BaseMessage):
    @pytest.fixture()
    def connection(self, request):
        # The transport leaves a message that is given back to its lock: the next receive has to outlast that.
        again = request.node.name.endswith("_requeue") and "no" not in request.node.name
        return kombu.Connection(
            mayfly.BROKER,
            transport_options={"wait_time_seconds": 7 if again else 3, "peek_lock_seconds": 5},
        )


def test_size_purge_delete(connection):
    with connection as conn:
        queue = conn.SimpleQueue("sized")
        for i in range(12):
            queue.put({"i": i})
        assert queue.qsize() == 12
        assert queue.clear() == 12
        assert queue.qsize() == 0
        queue.queue(conn.default_channel).delete()
        queue.close()
