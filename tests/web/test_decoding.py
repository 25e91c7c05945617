"""gec.web.decoding: one thread for all, and what goes wrong stays with whom it concerns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from fake_web import FakeModel, hypothesis

from gec.web.decoding import Cache, Closed, DeadlineExceeded, Decoded, DecodingService, QueueFull

Make = Callable[..., DecodingService]


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


@pytest.fixture
def make(model: FakeModel) -> Iterator[Make]:
    with ExitStack() as stack:

        def start(**options: Any) -> DecodingService:
            service = DecodingService(model.decode, **options)
            stack.callback(service.close, 10)
            stack.callback(model.go.set)
            return service

        yield start


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as threads:
        yield threads


def ask(
    service: DecodingService,
    *lines: str,
    tolerance: float = 0.0,
    seconds: float = 20.0,
    client: str | None = None,
) -> list[Decoded]:
    sources = [tuple(map(ord, line)) for line in lines]
    return service.decode(sources, tolerance, time.monotonic() + seconds, client)


def texts(found: list[Decoded]) -> list[str]:
    return ["".join(map(chr, one.hypothesis.tokens)) for one in found]


def hold(service: DecodingService, model: FakeModel, pool: ThreadPoolExecutor) -> Future[Any]:
    """Keep the thread at a batch of its own until ``model.go``."""
    held = pool.submit(ask, service, "WAIT")
    assert model.waiting.wait(10)
    return held


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_answers_are_in_order_and_from_one_thread(make: Make, model: FakeModel) -> None:
    service = make()
    assert texts(ask(service, "I go", "a", "we go", "I go")) == ["I goes", "a", "we goes", "I goes"]
    assert ask(service) == []
    assert model.threads == {"gec-decoding"}
    assert model.batches == [["I go", "a", "we go"]]


def test_what_was_decoded_is_known(make: Make, model: FakeModel) -> None:
    service = make()
    (first,), (again,) = ask(service, "I go"), ask(service, "I go")
    assert (first.cached, again.cached) == (False, True)
    assert again.hypothesis is first.hypothesis
    assert again.seconds == 0
    ask(service, "I go", tolerance=1.0)
    assert model.tolerances == [0.0, 1.0]  # another tolerance, another hypothesis
    assert (service.hits, service.misses) == (1, 2)


def test_without_a_cache_all_is_decoded(make: Make, model: FakeModel) -> None:
    service = make(cache_size=0)
    ask(service, "I go")
    ask(service, "I go")
    assert len(model.batches) == 2


def test_requests_share_batches_and_take_turns(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make(batch_size=4)
    held = hold(service, model, pool)
    long = pool.submit(ask, service, *(f"long {n}" for n in range(6)))
    wait_until(lambda: service.queued == 6)
    short = pool.submit(ask, service, "short 0")
    wait_until(lambda: service.queued == 7)
    model.go.set()
    held.result(10)
    assert texts(long.result(10)) == [f"long {n}" for n in range(6)]
    assert texts(short.result(10)) == ["short 0"]
    assert model.batches[1] == ["long 0", "short 0", "long 1", "long 2"]
    assert service.queued == 0


def test_requests_with_other_tolerances_are_not_mixed_and_not_forgotten(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make(batch_size=2)
    held = hold(service, model, pool)
    first = pool.submit(ask, service, *"abcdef")
    wait_until(lambda: service.queued == 6)
    other = pool.submit(ask, service, "x", tolerance=1.0)
    wait_until(lambda: service.queued == 7)
    model.go.set()
    held.result(10), first.result(10), other.result(10)
    assert model.batches[1:] == [["a", "b"], ["x"], ["c", "d"], ["e", "f"]]
    assert model.tolerances[1:3] == [0.0, 1.0]


def test_clients_take_turns_however_many_requests_they_send(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make(batch_size=4)
    held = hold(service, model, pool)
    waiting = []
    for number in range(6):
        lines = [f"{number}{letter}" for letter in "abc"]
        waiting.append(pool.submit(ask, service, *lines, client="greedy"))
        wait_until(lambda: service.queued == 3 * len(waiting))
    waiting.append(pool.submit(ask, service, "x", "y", client="modest"))
    wait_until(lambda: service.queued == 20)
    waiting.append(pool.submit(ask, service, "z", client="third"))
    wait_until(lambda: service.queued == 21)
    model.go.set()
    held.result(10)
    for one in waiting:
        one.result(10)
    assert model.batches[1:3] == [["0a", "x", "z", "1a"], ["y", "2a", "3a", "4a"]]
    assert sorted(line for batch in model.batches[3:] for line in batch) == sorted(
        {f"{number}{letter}" for number in range(6) for letter in "abc"}
        - {line for batch in model.batches[:3] for line in batch}
    )


def test_a_client_cannot_fill_the_queue(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make(queue_size=6, client_size=4)
    held = hold(service, model, pool)
    waiting = [pool.submit(ask, service, *"abc", client="greedy")]
    wait_until(lambda: service.queued == 3)
    with pytest.raises(QueueFull):
        ask(service, *"de", client="greedy")
    waiting.append(pool.submit(ask, service, *"de", client="modest"))
    wait_until(lambda: service.queued == 5)
    with pytest.raises(QueueFull):
        ask(service, *"fg", client="third")  # that is the queue itself
    waiting.append(pool.submit(ask, service, "d", "f", client="greedy"))
    wait_until(lambda: service.queued == 6)
    model.go.set()
    held.result(10)
    assert [texts(one.result(10)) for one in waiting] == [list("abc"), list("de"), list("df")]
    assert texts(ask(service, *"ghij", client="greedy")) == list("ghij")


def test_the_same_sentence_is_decoded_once_for_two(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    held = hold(service, model, pool)
    both = [pool.submit(ask, service, "I go") for _ in range(2)]
    wait_until(lambda: service.hits == 1)
    model.go.set()
    held.result(10)
    assert sorted(one.cached for found in both for one in found.result(10)) == [False, True]
    assert model.batches == [["WAIT"], ["I go"]]


def test_an_exception_costs_one_request(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    held = hold(service, model, pool)
    good = [pool.submit(ask, service, f"I go {n}") for n in range(3)]
    bad = pool.submit(ask, service, "before", "RAISE", "after")
    wait_until(lambda: service.queued == 6)
    model.go.set()
    held.result(10)
    assert [texts(one.result(10)) for one in good] == [[f"I goes {n}"] for n in range(3)]
    with pytest.raises(RuntimeError, match="cannot decode RAISE"):
        bad.result(10)
    assert service.failures == 1
    assert texts(ask(service, "we go")) == ["we goes"]


def test_the_thread_survives_even_an_exit(make: Make) -> None:
    service = make()
    with pytest.raises(SystemExit):
        ask(service, "EXIT")
    assert texts(ask(service, "we go")) == ["we goes"]
    assert not service.stuck(60)


def test_a_model_that_forgets_a_sentence_is_an_error(model: FakeModel) -> None:
    service = DecodingService(lambda sources, tolerance: [])
    with pytest.raises(RuntimeError, match="0 hypotheses for 1"):
        ask(service, "a")
    service.close(10)


def test_a_full_queue_refuses_and_says_when_to_return(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make(queue_size=3)
    held = hold(service, model, pool)
    waiting = pool.submit(ask, service, "a", "b", "c")
    wait_until(lambda: service.full)
    with pytest.raises(QueueFull) as refused:
        ask(service, "d")
    assert refused.value.retry_after > 0
    assert service.queued == 3
    assert texts(ask(service)) == []  # what needs no place gets its answer
    model.go.set()
    held.result(10), waiting.result(10)
    assert texts(ask(service, "d")) == ["d"]


def test_at_the_deadline_a_request_gives_up_and_leaves_the_queue(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    held = hold(service, model, pool)
    with pytest.raises(DeadlineExceeded):
        ask(service, "a", "b", seconds=0.05)
    assert service.queued == 0
    assert not service._tasks.keys() - {((*map(ord, "WAIT"),), 0.0)}
    model.go.set()
    held.result(10)
    assert model.batches == [["WAIT"]]


def test_what_one_gives_up_another_still_gets(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    held = hold(service, model, pool)
    hasty = pool.submit(ask, service, "I go", "x", seconds=0.3)
    wait_until(lambda: service.queued == 2)
    patient = pool.submit(ask, service, "I go", "y")
    wait_until(lambda: service.queued == 3)
    with pytest.raises(DeadlineExceeded):
        hasty.result(10)
    assert service.queued == 2
    model.go.set()
    held.result(10)
    assert texts(patient.result(10)) == ["I goes", "y"]
    assert sorted(model.batches[1]) == ["I go", "y"]


def test_a_batch_given_up_while_it_is_decoded_is_no_error(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    with pytest.raises(DeadlineExceeded):
        ask(service, "WAIT", seconds=0.05)
    model.go.set()
    assert texts(ask(service, "WAIT")) == ["WAIT"]
    assert len(model.batches) == 1  # what was decoded in vain is known now


def test_closing_finishes_what_waits_and_refuses_the_rest(
    make: Make, model: FakeModel, pool: ThreadPoolExecutor
) -> None:
    service = make()
    held = hold(service, model, pool)
    waiting = pool.submit(ask, service, "I go")
    wait_until(lambda: service.queued == 1)
    closing = pool.submit(service.close, 10)
    wait_until(lambda: service._closing)
    with pytest.raises(Closed):
        ask(service, "late")
    model.go.set()
    held.result(10), closing.result(10)
    assert texts(waiting.result(10)) == ["I goes"]
    assert service.stuck(60)  # the thread is gone


def test_a_batch_without_end_shows(make: Make, model: FakeModel, pool: ThreadPoolExecutor) -> None:
    service = make()
    held = hold(service, model, pool)
    assert service.stuck(0)
    assert not service.stuck(60)
    model.go.set()
    held.result(10)
    wait_until(lambda: not service.stuck(0))


def test_many_at_once_get_their_own(make: Make, pool: ThreadPoolExecutor) -> None:
    service = make(batch_size=8, cache_size=50)
    start = threading.Barrier(16)

    def run(number: int) -> bool:
        start.wait(10)
        own = [f"client {number} have dog {n % 7} {n}" for n in range(40)]
        shared = [f"all go {n}" for n in range(5)]
        for at in range(0, 40, 4):
            lines = own[at : at + 4] + shared
            expected = [line.replace("have dog", "have a dog") for line in lines]
            expected = [line.replace("all go", "all goes") for line in expected]
            if texts(ask(service, *lines)) != expected:
                return False
        return True

    assert all(pool.map(run, range(16)))
    assert service.queued == 0
    assert not service._tasks
    assert service.cache.used <= 50


# ----------------------------------------------------------------------------------------- cache


def test_the_cache_forgets_what_was_not_used_for_longest() -> None:
    cache = Cache(2)
    found = hypothesis("a")
    for name in (1, 2):
        cache.put(((name,), 0.0), found)
    assert cache.get(((1,), 0.0)) is found
    cache.put(((3,), 0.0), found)
    assert cache.get(((2,), 0.0)) is None
    assert cache.get(((1,), 0.0)) is found
    assert len(cache) == cache.used == 2


def test_long_hypotheses_take_more_places() -> None:
    cache = Cache(10)
    cache.put(((1,) * 200, 0.0), hypothesis("x" * 200))
    assert cache.used == 7
    for number in range(20):
        cache.put(((number,), 0.0), hypothesis("a"))
        cache.put(((number,), 0.0), hypothesis("a"))
    assert cache.used == len(cache) == 10
