"""An application of Celery whose broker is Service Bus: a worker in a thread, and what it is asked for."""

import time

import mayfly
import pytest
from celery import Celery, chain, group
from celery.contrib.testing.worker import start_worker

app = Celery("shop", broker=mayfly.BROKER, backend="cache+memory://")
app.conf.update(
    broker_transport_options={"wait_time_seconds": 1},
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,  # it needs a fanout, which the transport does not have
    worker_send_task_events=False,
)

attempts = []


@app.task
def add(x, y):
    return x + y


@app.task(bind=True, max_retries=3)
def flaky(self):
    attempts.append(self.request.retries)
    if len(attempts) < 3:
        raise self.retry(countdown=0)
    return "done"


@app.task
def fails():
    raise ValueError("no")


@pytest.fixture(scope="module")
def worker():
    with start_worker(app, pool="solo", perform_ping_check=False, loglevel="ERROR", shutdown_timeout=30):
        yield


def test_result(worker):
    assert add.delay(2, 3).get(timeout=30) == 5


def test_many(worker):
    results = [add.delay(i, 1) for i in range(20)]
    assert [r.get(timeout=60) for r in results] == list(range(1, 21))


def test_retry(worker):
    assert flaky.delay().get(timeout=30) == "done"
    assert attempts == [0, 1, 2]


def test_failure(worker):
    with pytest.raises(ValueError):
        fails.delay().get(timeout=30)


def test_countdown(worker):
    began = time.monotonic()
    assert add.apply_async((1, 1), countdown=2).get(timeout=30) == 2
    assert time.monotonic() - began >= 2


def test_chain_and_group(worker):
    assert chain(add.s(1, 2), add.s(3))().get(timeout=30) == 6
    assert sorted(group(add.s(i, i) for i in range(5))().get(timeout=60)) == [0, 2, 4, 6, 8]
