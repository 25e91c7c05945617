"""Real fairseq as a peer: decode token ids with ``fairseq.sequence_generator``, and time it.

A program for fairseq's own environment; it speaks JSON, a line a message, so that a benchmark in
another environment can run it as a subprocess and take turns with it::

    .venv-fairseq/bin/python -m gec.models.convert.fairseq_peer FOLDER --threads 1

FOLDER is what ``gec convert --to fairseq`` wrote. The first line out says that the model is loaded:
``{"ready": true, "fairseq": "0.12.2", "torch": ..., "threads": 1}``. Then each line in is one job::

    {"sources": [[ids], ...], "beam": 5, "batch_size": 1, "max_length": 200}

and answered by one line: ``outputs`` (ids as ours, without EOS), ``scores`` (log-probability in
nats a token, EOS counted), both in the order of the sources, and ``seconds``, wall time of each
batch: collating, encoding and decoding. ``beam`` 1 is greedy decoding; ``max_length`` counts the
EOS. Batches are taken in the order given: who wants sentences of like length together sorts them.
A job that fails answers ``{"error": ...}``. The end of standard input ends the program.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from gec.errors import GecError, InputError
from gec.models.convert.fairseq_compat import load_fairseq


class Peer:
    """A checkpoint in fairseq, fed with our ids."""

    def __init__(self, folder: Path) -> None:
        load_fairseq()
        from fairseq import checkpoint_utils

        orders = json.loads((folder / "gec.json").read_text(encoding="utf-8"))
        self._source_ids = {ours: theirs for theirs, ours in enumerate(orders["source"])}
        self._our_ids: list[int] = orders["target"]
        models, _, self._task = checkpoint_utils.load_model_ensemble_and_task(
            [str(folder / "model.pt")], arg_overrides={"data": str(folder)}
        )
        for model in models:  # what fairseq-generate does; attention weights are not asked for
            model.eval()
            model.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
        self._models = models

    def decode(
        self, sources: Sequence[Sequence[int]], beam: int, batch_size: int, max_length: int
    ) -> dict[str, Any]:
        """Decode ids without EOS; see the module's text for what comes back."""
        if not (beam >= 1 and batch_size >= 1 and max_length >= 1):
            raise InputError("beam, batch_size and max_length must be at least 1")
        rows = [[self._source_ids[i] for i in source] for source in sources]
        generator = self._generator(beam, max_length)
        found = decode(self._models, self._task, generator, rows, batch_size)
        outputs = [[self._our_ids[i] for i in row] for row in found["outputs"]]
        return found | {"outputs": outputs}

    def _generator(self, beam: int, max_length: int) -> Any:
        return make_generator(self._models, self._task, beam, max_length)


def make_generator(models: Sequence[Any], task: Any, beam: int, max_length: int) -> Any:
    """Return fairseq's own search over an ensemble, as ``fairseq-generate`` makes it.

    Args:
        max_length: of an output, the EOS counted, which fairseq forces at the limit.
    """
    from fairseq.sequence_generator import SequenceGenerator

    return SequenceGenerator(
        models,
        task.target_dictionary,
        beam_size=beam,
        max_len_b=max_length - 1,
        min_len=0,  # its default of 1 forbids empty outputs, greedy decoding does not
    )


def decode(
    models: Sequence[Any],
    task: Any,
    generator: Any,
    sources: Sequence[Sequence[int]],
    batch_size: int,
) -> dict[str, Any]:
    """Decode fairseq's ids, without EOS, with its models and its task ``translation``.

    Returns:
        ``outputs``, ``scores`` and ``seconds`` as in the module's text, ids fairseq's.
    """
    # attention over the source remembers the last beam, and making a generator of beam 1 does not
    # reset it: greedy decoding after a beam fails or is wrong
    for module in (module for model in models for module in model.modules()):
        if hasattr(module, "beam_size"):
            module.beam_size = generator.beam_size
    outputs: list[list[int]] = []
    scores: list[float] = []
    seconds: list[float] = []
    for first in range(0, len(sources), batch_size):
        begin = time.perf_counter()
        sample = _collate(task.source_dictionary, sources[first : first + batch_size])
        best = [found[0] for found in task.inference_step(generator, models, sample)]
        tokens = [hypothesis["tokens"].tolist() for hypothesis in best]
        seconds.append(time.perf_counter() - begin)
        outputs += [row[:-1] for row in tokens]  # EOS off
        scores += [float(hypothesis["score"]) for hypothesis in best]
    return {"outputs": outputs, "scores": scores, "seconds": seconds}


def _collate(dictionary: Any, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Pad on the left, as task ``translation`` does."""
    import torch
    from fairseq.data.data_utils import collate_tokens

    tensors = [torch.tensor([*row, dictionary.eos()]) for row in rows]
    tokens = collate_tokens(tensors, dictionary.pad(), left_pad=True)
    lengths = torch.tensor([len(row) + 1 for row in rows])
    return {
        "id": torch.arange(len(rows)),
        "net_input": {"src_tokens": tokens, "src_lengths": lengths},
    }


def serve(peer: Peer, lines: TextIO, out: TextIO) -> None:
    """Answer jobs until the lines end."""
    for line in lines:
        try:
            job = json.loads(line)
            answer = peer.decode(
                job["sources"],
                job.get("beam", 1),
                job.get("batch_size", 1),
                job.get("max_length", 200),
            )
        except (GecError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fairseq_peer", description="fairseq, line by line")
    parser.add_argument("folder", type=Path, help="what gec convert --to fairseq wrote")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    args = parser.parse_args()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # fairseq prints and logs, jobs are ours
    import torch

    torch.set_num_threads(args.threads)
    try:
        peer = Peer(args.folder)
        ready = {"ready": True, "fairseq": load_fairseq().__version__}
        ready |= {"torch": torch.__version__, "threads": args.threads}
        print(json.dumps(ready), file=out, flush=True)
        serve(peer, sys.stdin, out)
    except GecError as error:
        print(json.dumps({"error": str(error)}), file=out, flush=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
