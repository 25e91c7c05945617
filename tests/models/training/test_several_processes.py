"""Training in several processes: one clock, one decision to end, the same weights."""

from __future__ import annotations

import multiprocessing
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import training_process

PATIENCE = 600  # seconds until a run counts as hanging
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["gec.models.training.train"])


def ranks(run: Path, *given: dict[str, Any]) -> list[dict[str, Any]]:
    """Train with a process for each of the given arguments, as torchrun starts them."""
    run.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    count = str(len(given))
    shared = {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": count,
        "LOCAL_WORLD_SIZE": count, "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "test",
        "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    processes = []
    for number, arguments in enumerate(given):
        own = shared | {"RANK": str(number), "LOCAL_RANK": str(number)}
        processes.append(
            PROCESSES.Process(target=training_process.main, args=(run, own), kwargs=arguments)
        )
        processes[-1].start()
    for process in processes:
        process.join(PATIENCE)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
        process.join()
    assert codes == [0] * len(codes), "None hung"
    return [torch.load(run / f"rank{number}.pt") for number in range(len(given))]


def assert_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in ("step", "seconds", "tokens", "shares"):
        assert one[name] == other[name]
    for name, weights in one["weights"].items():
        assert torch.equal(weights, other["weights"][name])


def saved(run: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(run / "last.ckpt", weights_only=True)
    return state


@pytest.mark.parametrize("paces", [(1.0, 4.0), (4.0, 1.0)])
def test_the_clock_is_that_of_the_first(tmp_path: Path, paces: tuple[float, float]) -> None:
    one, other = ranks(tmp_path / "run", *({"seconds": pace} for pace in paces))
    assert_equal(one, other)
    assert one["step"] == training_process.BUDGET / paces[0]
    assert one["tokens"] == 2 * 4 * one["step"]
    assert torch.equal(saved(tmp_path / "run")["model"]["weight"], one["weights"]["weight"])


@pytest.mark.parametrize("asked", [0, 1])
def test_all_end_where_one_is_asked_to(tmp_path: Path, asked: int) -> None:
    given: list[dict[str, Any]] = [{"seconds": 1.0}, {"seconds": 1.0}]
    given[asked]["asked"] = 7
    one, other = ranks(tmp_path / "run", *given)
    assert_equal(one, other)
    assert one["step"] == 8
    assert saved(tmp_path / "run")["progress"]["step"] == 8


def test_a_signal_to_the_group_saves(tmp_path: Path) -> None:
    """The workers that read ahead outlive it."""
    [one] = ranks(tmp_path / "run", {"seconds": 1.0, "asked": 7, "workers": 1})
    assert one["step"] >= 8
    assert saved(tmp_path / "run")["progress"]["step"] == one["step"]
