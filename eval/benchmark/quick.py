"""``gec bench --quick``: what must be equal is equal, and no pass more than recorded. No times.

Aggressive decoding must give greedy decoding's tokens in float32 and int8, one sentence and eight
at a time, and take as many passes as were recorded for the bundle's weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.eval.benchmark.contenders import model_of
from gec.eval.benchmark.lossless import LosslessReport, check_lossless
from gec.models.load.bundle import Bundle, find

RECORD = Path(__file__).with_name("quick.json")
PRECISIONS = ("fp32", "int8")
BATCHES = (1, 8)

SENTENCES = """
Yes .
Thank you very much .
The train was late again this morning .
She go to school every day and have two book .
He go , he go , and then he go again .
I am looking forward to see you in the summer .
There is many reasons why people moves to big cities .
My brother , who live in Norway , are coming home for a week .
Last year we visit my grandparents and they was very happy to seeing us .
If I would have known about the problem , I would told you earlier .
The informations that you gave me was very useful for my research .
Although it was raining , we decided to walk to the station .
In the other hand , this solution cost more and take longer to build .
Everyone have their own opinion about what make a good teacher .
I have been living here since five years , but I still does not speak the language good .
The results shows that the new method is more faster than the old one .
It depends of the weather if we will go at the beach or stay in home .
She asked me what was I doing there , and I did not knew what to answer .
The book which I bought it yesterday is more interesting that I thought .
Many of the students who took the exam in June has not received their results yet .
We discussed about the plan for hours , without to find a solution which everyone could agree .
the company have announced that it will closes its office in the city , because of it is too expensive .
A long sentence that contains no mistake at all , although it goes on and on , is copied to its very end in a single pass .
I like my town because it is quiet , and I like my town because it is small , and I likes my town because it is old .
""".strip().splitlines()  # noqa: E501 - a sentence a line


@dataclass(frozen=True, slots=True)
class Quick:
    """What was found in each precision.

    Attributes:
        passes: per sentence the decoder passes of aggressive decoding, one at a time.
        recorded: what was recorded for these weights, or None.
    """

    weights: str
    reports: dict[str, LosslessReport]
    passes: dict[str, list[int]]
    recorded: dict[str, list[int]] | None

    @property
    def as_recorded(self) -> bool:
        return self.recorded is None or self.passes == self.recorded

    @property
    def holds(self) -> bool:
        return self.as_recorded and all(report.lossless for report in self.reports.values())

    def lines(self) -> list[str]:
        found = []
        for precision, counts in self.passes.items():
            note = "not recorded for these weights"
            if self.recorded is not None:
                expected = self.recorded.get(precision, [])
                note = "as recorded" if counts == expected else _changes(counts, expected)
            found.append(f"{precision}: {sum(counts)} passes, {note}")
        return found


def run(
    bundle: Bundle,
    folder: Path,
    *,
    precisions: Sequence[str] = PRECISIONS,
    sentences: Sequence[str] = SENTENCES,
    record: Path = RECORD,
) -> Quick:
    """Decode the fixed sentences in every way and compare.

    Args:
        folder: the bundle's, whose weights decide which record counts.
    """
    sources = [bundle.subwords.encode(sentence.split()) for sentence in sentences]
    reports, passes = {}, {}
    for precision in precisions:
        model = model_of(bundle.network, precision, torch.device("cpu"))
        reports[precision] = check_lossless(
            model, sources, batch_sizes=BATCHES, precision=precision, words=bundle.subwords
        )
        found = Decoder(model, ReentryDrafter.of(bundle.subwords)).decode(sources, batch_size=1)
        passes[precision] = [len(hypotheses[0].steps) for hypotheses in found]
    weights = fingerprint(folder)
    return Quick(weights, reports, passes, _recorded(weights, record))


def fingerprint(folder: Path) -> str:
    """Return what tells a bundle's weights from others."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:16]


def write_record(quick: Quick, path: Path = RECORD) -> None:
    """Make what was found the record: after the bundle's weights have changed."""
    content = {"weights": quick.weights, "passes": quick.passes}
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")


def bundle_folder(name: str) -> Path:
    return find(name)


def _recorded(weights: str, path: Path) -> dict[str, list[int]] | None:
    if not path.exists():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    passes: dict[str, list[int]] = content["passes"]
    return passes if content["weights"] == weights else None


def _changes(counts: Sequence[int], expected: Sequence[int]) -> str:
    pairs = enumerate(zip(counts, expected, strict=False), 1)
    changed = [f"sentence {n}: {new} instead of {old}" for n, (new, old) in pairs if new != old]
    return f"recorded {sum(expected)}; {'; '.join(changed)}"
