"""CTranslate2: a C++ engine, here with the same weights in float32 and int8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gec.errors import ModelError
from gec.eval.benchmark.contenders import Answer, Contender, Ids, batches
from gec.eval.benchmark.harness import now
from gec.eval.benchmark.peers import Setup

TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}


class Translator:
    """One precision's weights, and the vocabulary that turns our ids into its strings."""

    def __init__(self, setup: Setup, precision: str, folder: str, tokens: Sequence[str]) -> None:
        import ctranslate2

        self.setup, self.precision = setup, precision
        self.tokens = tokens
        self.ids = {token: number for number, token in enumerate(tokens)}
        self.engine = ctranslate2.Translator(
            folder,
            device=setup.device.type,
            compute_type=TYPES[precision],
            inter_threads=1,
            intra_threads=setup.threads,
        )

    def strings(self, rows: Sequence[Ids]) -> list[list[str]]:
        return [[self.tokens[i] for i in row] for row in rows]


class CTranslate2:
    """Greedy decoding or beam search."""

    engine = "ctranslate2"

    def __init__(self, translator: Translator, strategy: str, size: int) -> None:
        self.translator, self.strategy, self.size = translator, strategy, size
        self.precision = translator.precision

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        outputs: list[Ids] = []
        seconds = 0.0
        for batch in batches(sources, batch_size):
            strings = self.translator.strings(batch)
            least, most = self.translator.setup.length(batch)
            began = now()
            found: list[Any] = self.translator.engine.translate_batch(
                strings,
                beam_size=self.size,
                max_batch_size=batch_size,
                min_decoding_length=least,
                max_decoding_length=most,
                max_input_length=0,
            )
            seconds += now() - began
            ids = self.translator.ids
            outputs += [tuple(ids[t] for t in result.hypotheses[0]) for result in found]
        return Answer(outputs, seconds)


class CTranslate2Floor:
    """Its scoring of known outputs: encoder once, decoder once."""

    engine, strategy = "ctranslate2", "floor"

    def __init__(self, translator: Translator) -> None:
        self.translator, self.precision = translator, translator.precision

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        known = [self.translator.setup.outputs[source] for source in sources]
        seconds = 0.0
        for batch in batches(range(len(sources)), batch_size):
            source = self.translator.strings([sources[i] for i in batch])
            target = self.translator.strings([known[i] for i in batch])
            began = now()
            self.translator.engine.score_batch(
                source, target, max_batch_size=batch_size, max_input_length=0
            )
            seconds += now() - began
        return Answer(known, seconds, len(sources))


def contenders(setup: Setup) -> list[Contender]:
    """Export once in float32; CTranslate2 converts when it loads.

    Raises:
        ModelError: the package is missing, or cannot express or compute what is asked for.
    """
    from gec.models.convert.ctranslate2 import to_ctranslate2
    from gec.models.convert.output import save_tokenizer

    folder = setup.folder / "ctranslate2"
    to_ctranslate2(setup.bundle, folder)
    tokens = save_tokenizer(setup.bundle, folder)
    found: list[Contender] = []
    for precision in setup.precisions:
        try:
            translator = Translator(setup, precision, str(folder), tokens)
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"CTranslate2 cannot load the model in {precision}: {error}") from None
        found += [CTranslate2(translator, *search) for search in setup.searches().items()]
        if "floor" in setup.strategies:
            found.append(CTranslate2Floor(translator))
    return found
