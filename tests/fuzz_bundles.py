"""Damaged and hostile bundles: each is refused with a ModelError, or works.

    python tests/fuzz_bundles.py --inputs 2000

An input is a number. It seeds what is done to a tiny bundle: bytes are changed, files cut, values
of headers, shapes, types and settings replaced, tables packed into bombs, files made links. What
still loads decodes a sentence. Anything else than a result or a ModelError of one printable line
(another exception, a crash, 20 seconds of the processor, half a gigabyte more memory, a read of
standard input) fails and is printed with its number; ``--seed NUMBER --inputs 1`` repeats it. A
crash ends the program: the last number on standard error is the one.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import traceback
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import sentencepiece
import torch
from fake_models import tiny_network
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as pack_tensors
from tiny_generation import random_bundle
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import gec
from gec.errors import ModelError
from gec.loading import load_generator
from gec.models.load import bundle, generation
from gec.models.load.fairseq_symbols import SPECIALS
from gec.models.load.weights import write_weights
from gec.models.network.llama import Llama, LlamaConfig
from gec.text.byte_pairs import BytePairs
from gec.text.inflection import Inflections, PackedInflections
from gec.text.ngrams import Level, NGrams
from gec.text.spelling import Speller
from gec.text.subwords import BYTE_OF, Subwords

TEXT = "She go home yesterday, teh Dogs are big 12."
SECONDS = 20
MOST_MEMORY = 512  # MiB that one input may add to the peak

Files = dict[str, bytes]


# ------------------------------------------------------------------------------- whole bundles


def _written(write: Callable[[Path], None]) -> Files:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name))
        files = (path for path in sorted(Path(name).rglob("*")) if path.is_file())
        return {str(path.relative_to(name)): path.read_bytes() for path in files}


def _corrector(dtype: torch.dtype, **settings: object) -> Files:
    table = Inflections([("go", "+s", "goes"), ("go", "+ed", "went")])
    subwords = Subwords.train([TEXT.split()] * 3, size=290, inflections=table)
    network = tiny_network(1, vocab_size=len(subwords), **settings).float()
    config = {
        "task": "gec", "network": network.config.to_dict(),
        "settings": {"balanced": {"tolerance": 0.5, "types": {"R:VERB": 0.1}}},
        "confidence": {"bias": 0.5, "weights": {"probability": 0.5}},
    }  # fmt: skip
    words = {"she": 900, "go": 800, "goes": 90, "home": 500, "the": 9000, "dogs": 70, "are": 400}
    speller = Speller(words, {"teh": {"the": 3}, "alot": {"a lot": 2}})
    known = sorted(words)
    ids = range(3 + len(known))
    levels = [
        Level(*(array(kind, ids) for kind in "IBB")),
        Level(array("I", sorted([77, 3456, 99999])), array("B", [3, 4, 5]), array("B", [])),
    ]
    whole = bundle.Bundle("x", config, network, subwords, speller, NGrams(known, levels))
    return _written(lambda folder: bundle.save(whole, folder, dtype=dtype))


def unpack(folder: Path) -> None:
    """Turn a bundle into one of the first format, whose tables are text."""
    speller, ngrams = Speller.load(folder), NGrams.load(folder)
    assert speller is not None
    assert ngrams is not None
    speller.save(folder)
    table = folder / "inflections.bin"
    PackedInflections(table).save(folder / "inflections.tsv")
    table.unlink()
    words = "\n".join(ngrams.words).encode()
    sizes = [len(level.hashes) for level in ngrams.levels]
    head = json.dumps({"format": 1, "words": len(words), "sizes": sizes}).encode()
    arrays = (a for level in ngrams.levels for a in (level.hashes, level.costs, level.backoffs))
    body = b"".join(array("I" if n % 3 == 0 else "B", a).tobytes() for n, a in enumerate(arrays))
    (folder / "ngrams.bin").write_bytes(head + b"\n" + words + body)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"format": 1}))


def _old() -> Files:
    def write(folder: Path) -> None:
        for name, content in _corrector(torch.int8).items():
            (folder / name).write_bytes(content)
        unpack(folder)

    return _written(write)


def _decoder(dtype: torch.dtype) -> Files:
    """A decoder-only network, which reads the source and writes the output."""
    words = BytePairs.of(
        {piece: i for i, piece in enumerate([*"<|>", *sorted(BYTE_OF.keys() - {*"<|>"})])}, []
    )
    config = LlamaConfig(
        vocab_size=len(words), width=32, heads=4, kv_heads=2, ffn_width=48, layers=2,
        max_positions=200, separator=(5, 7),
    )  # fmt: skip
    torch.manual_seed(6)
    settings = {"task": "gec", "language": "en", "network": config.to_dict()}
    whole = bundle.Bundle("x", settings, Llama(config).eval(), words)
    return _written(lambda folder: bundle.save(whole, folder, dtype=dtype))


def _generator() -> Files:
    made = random_bundle()
    made.network = tiny_network(
        3, vocab_size=len(made.vocabulary), max_positions=64, tie_embeddings=False, decoder_layers=2
    ).float()
    made.config |= {"network": made.network.config.to_dict(), "early_exit": 1}
    made.config["limit"] = {"ratio": 1.0, "extra": 5}
    made.smaller = {"small": tiny_network(4, **_sizes(made), width=16, ffn_width=16).float()}
    return _written(lambda folder: generation.save(made, folder))


def _sizes(made: generation.GenerationBundle) -> dict[str, object]:
    return {"vocab_size": len(made.vocabulary), "max_positions": 64, "tie_embeddings": False}


def _foreign(engine: str, parts: Files, entries: int) -> Files:
    network = tiny_network(
        5, vocab_size=entries, positions="learned", norm="post", bos_id=2, source_prefix=(0,),
        output_bias=True, embedding_norm=True,
    ).float()  # fmt: skip
    config = {
        "network": network.config.to_dict(),
        "tokenizer": {"engine": engine, "spacing": "plain"},
    }

    def write(folder: Path) -> None:
        for name, content in parts.items():
            (folder / name).write_bytes(content)
        write_weights(network, folder / "model.safetensors", torch.float32)
        bundle.write_config(config, folder)

    return _written(write)


def _wordpieces() -> Tokenizer:
    marks = list("abcdefghijklmnopqrstuvwxyzSTD,.0123456789")
    names = ["<s>", "<pad>", "</s>", "<unk>", *marks, *("▁" + mark for mark in marks), "▁"]
    tokenizer = Tokenizer(models.Unigram([(name, -float(i)) for i, name in enumerate(names)], 3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def _fairseq(kind: str) -> Files:
    words = sorted(set(TEXT.split()) | set("abcdefghijklmnopqrstuvwxyz"))
    symbols = [*SPECIALS, *words, *(f"{letter}@@" for letter in words)]
    parts = {"fairseq_tokenizer.json": json.dumps({"bpe": kind, "symbols": symbols}).encode()}
    if kind == "subword_nmt":
        parts["bpe_codes.txt"] = b"#version: 0.2\nh e\nhe r</w>\na b\n"
    if kind == "gpt2":
        pieces = ["she", "go", "home", "Ġ", *"abcdefghijklmnopqrstuvwxyz"]
        bpe = models.BPE({piece: i for i, piece in enumerate(pieces)}, [("g", "o")])
        parts["gpt2.json"] = Tokenizer(bpe).to_str().encode()
        symbols = [*SPECIALS, *map(str, range(len(pieces)))]
        parts["fairseq_tokenizer.json"] = json.dumps({"bpe": kind, "symbols": symbols}).encode()
    if kind == "sentencepiece":
        parts["sentencepiece.model"] = _sentencepiece()
    return _foreign("fairseq", parts, len(symbols) + 3)


def _sentencepiece() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT] * 20), model_writer=model, vocab_size=24, minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()


@cache
def bundles() -> dict[str, Files]:
    """Return the bundles that are damaged: their files by name."""
    tokenizer = _wordpieces()
    return {
        "int8": _corrector(torch.int8),
        "old": _old(),
        "float": _corrector(torch.float16, norm="post", activation="gelu", tie_embeddings=False),
        "generator": _generator(),
        "tokenizers": _foreign(
            "tokenizers",
            {"tokenizer.json": tokenizer.to_str().encode()},
            tokenizer.get_vocab_size(),
        ),
        "fairseq": _fairseq("none"),
        "fairseq codes": _fairseq("subword_nmt"),
        "fairseq gpt2": _fairseq("gpt2"),
        "fairseq sentencepiece": _fairseq("sentencepiece"),
        "decoder int8": _decoder(torch.int8),
        "decoder float": _decoder(torch.float16),
    }


# ------------------------------------------------------------------------------------- damages

NUMBERS = (
    0, 1, 2, -1, 3, 7, 31, 33, 64, 255, 256, 1000, 65535, 65536, 2**31 - 1, 2**31, 2**32, 10**9,
    2**63 - 1, 2**63, 2**64, 10**18, 10**30, -(10**18), 0.5, -0.0, 1e-30, 1e38, 1e308, -1e308,
)  # fmt: skip
WORDS = ("", "x", "relu", "relative", "learned", "int8", "\n\x1b[2J", "é" * 50, "/etc/passwd")
RAW = ("1e999", "NaN", "-Infinity", "[" * 100_000, '{"a":' * 5000, "9" * 5000, '"\\ud800"')


def _hostile(rng: random.Random) -> Any:
    deep: Any = []
    for _ in range(rng.choice((20, 100, 400))):
        deep = [deep]
    kind: list[Callable[[], Any]] = [
        lambda: rng.choice(NUMBERS), lambda: rng.choice(NUMBERS), lambda: rng.choice(NUMBERS),
        lambda: rng.choice(WORDS), lambda: rng.choice((None, True, False, [], {}, [[]], [1, 2])),
        lambda: [rng.choice(NUMBERS)] * rng.choice((1, 3, 5000)), lambda: deep,
        lambda: {rng.choice(WORDS): rng.choice(NUMBERS)}, lambda: f"RAW{rng.randrange(len(RAW))}",
    ]  # fmt: skip
    return rng.choice(kind)()


def _change_value(value: Any, rng: random.Random) -> Any:
    """Replace, remove or rename something within a JSON value."""
    if rng.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return _hostile(rng)
    if isinstance(value, list):
        value = list(value)
        place = rng.randrange(len(value))
        if rng.random() < 0.1:
            del value[place]
        elif rng.random() < 0.1:
            value.insert(place, value[rng.randrange(len(value))])
        else:
            value[place] = _change_value(value[place], rng)
        return value
    name = rng.choice(list(value))
    if "network" in value and rng.random() < 0.5:
        name = "network"
    rest = {k: v for k, v in value.items() if k != name}
    way = rng.random()
    if way < 0.05:
        return rest
    if way < 0.1:
        return rest | {rng.choice((name + "x", *WORDS)): value[name]}
    return value | {name: _change_value(value[name], rng)}


def _json(content: bytes, rng: random.Random) -> bytes:
    value = _change_value(json.loads(content), rng)
    text = json.dumps(value)
    for number, raw in enumerate(RAW):
        text = text.replace(f'"RAW{number}"', raw)
    if rng.random() < 0.05 and text.startswith("{"):
        text = '{"format": 1, "network": {},' + text[1:]  # keys that are there twice
    return text.encode("utf-8", "surrogatepass")


def _bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 30))):
        place = rng.randrange(len(data) + 1)
        way = rng.randrange(6)
        if way == 0:
            del data[place:]
        elif way == 1:
            data[place:place] = rng.randbytes(rng.choice((1, 8, 100)))
        elif way == 2:
            del data[place : place + rng.choice((1, 8, 100))]
        elif way == 3:
            data[place : place + 8] = rng.choice((b"\0", b"\xff", b"\x7f")) * 8
        elif way == 4 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        else:
            data[place:place] = data[: rng.randrange(200)]
    return bytes(data)


DTYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U8", "BOOL", "C64", "F8_E4M3", "F4")


def _header(content: bytes, rng: random.Random) -> bytes:
    """Change the header of a safetensors file."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    name = rng.choice([name for name in header if name != "__metadata__"])
    tensor, way = header[name], rng.randrange(7)
    if way == 0:
        tensor["dtype"] = rng.choice(DTYPES)
    elif way == 1:
        tensor["shape"] = [rng.choice(NUMBERS) for _ in range(rng.randrange(4))]
    elif way == 2:
        tensor["data_offsets"][rng.randrange(2)] = rng.choice(NUMBERS)
    elif way == 3:
        header = _change_value(header, rng)
    elif way == 4:
        header[rng.choice(WORDS)] = header.pop(name)
    elif way == 5:
        tensor["shape"] = tensor["shape"][::-1] if rng.random() < 0.5 else [*tensor["shape"], 1]
    text = json.dumps(header).encode()
    length = rng.choice(NUMBERS) if way == 6 else len(text)
    packed = struct.pack("<Q", length % 2**64 if isinstance(length, int) else 0)
    return packed + text + content[8 + len(content[8 : 8 + struct.unpack("<Q", content[:8])[0]]) :]


def _tensors(content: bytes, rng: random.Random) -> bytes:
    """Change one tensor of a safetensors file into another that fits less."""
    state = {name: tensor.clone() for name, tensor in parse_tensors(content).items()}
    name = rng.choice(list(state))
    tensor, way = state[name], rng.randrange(9)
    if way == 0:
        types = (torch.int8, torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16)
        state[name] = tensor.to(rng.choice(types))
    elif way == 1:
        state[name] = tensor.flatten()[: rng.choice((0, 1, 3))].clone()
    elif way == 2:
        state[name] = torch.ones(rng.choice(((1,), (1, 50_000), (50_000, 1), (2, 2, 2), ())))
    elif way == 3 and tensor.numel():
        odd = rng.choice((torch.nan, torch.inf, -torch.inf, 3e38, -3e38, 1e-45))
        tensor = tensor.float()
        tensor.view(-1)[rng.randrange(tensor.numel())] = odd
        state[name] = tensor
    elif way == 4:
        state[name] = torch.full(tensor.shape, rng.choice((3e38, -3e38, 1e30, 0.0)))
    elif way == 5:
        del state[name]
    elif way == 6:
        state[rng.choice((name + ".scale", "x", "output.weight", "encoder_norm.bias"))] = tensor
    elif way == 7:
        state[f"{name}.scale"] = torch.ones(rng.choice((1, 5, 50_000)))
    else:
        for other in state:
            if state[other].is_floating_point():
                state[other] = state[other].float() * rng.choice((1e20, -1e10, 0.0))
    return pack_tensors({name: tensor.clone().contiguous() for name, tensor in state.items()})


@cache
def _bomb(line: bytes) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(200 << 4):
            file.write(line * ((1 << 16) // len(line)))
    return packed.getvalue()


def _packed(content: bytes, rng: random.Random) -> bytes:
    """Change a table within its gzip file, or the file."""
    if len(content) > 10_000:
        return content  # a bomb already
    way, text = rng.random(), gzip.decompress(content)
    if way < 0.02:
        return _bomb(rng.choice((b"\0" * 1000, b"a\t1\n" * 250)))
    if way < 0.2:
        return _bytes(content, rng)
    if way < 0.3:
        return content + gzip.compress(text) * rng.choice((1, 3))
    if way < 0.6:
        fields = text.replace(b"\n", b"\n\t").split(b"\t")
        odd = (b"0", b"-1", b"9" * 30, b"", b" ", b"\xff", b"\x00", b"a\nb", "ſß".encode(), b"1e9")
        fields[rng.randrange(len(fields))] = rng.choice(odd)
        return gzip.compress(b"\t".join(fields).replace(b"\n\t", b"\n"))
    return gzip.compress(_bytes(text, rng))


def _tables(content: bytes, rng: random.Random) -> bytes:
    head, _, body = content.partition(b"\n")
    return _json(head, rng) + b"\n" + body


def _damage(name: str, content: bytes, rng: random.Random) -> bytes:
    way = rng.random()
    if not content or way < 0.1:
        return _bytes(content, rng)
    if name.endswith(".json"):
        return _json(content, rng)
    if name.endswith(".safetensors"):
        return (_header if way < 0.5 else _tensors)(content, rng)
    if name.endswith(".gz"):
        return _packed(content, rng)
    if name.endswith(".bin") and way < 0.6:
        return _tables(content, rng)
    return _bytes(content, rng)


def _misplace(path: Path, rng: random.Random) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    way = rng.randrange(6)
    if way == 0:
        path.mkdir()
    elif way == 1:
        os.mkfifo(path)
    elif way < 4:
        path.symlink_to(rng.choice(("/dev/zero", "/etc/passwd", "/proc/self/environ", path, "/")))
    elif way == 4:
        path.write_bytes(b"")


def make(number: int, folder: Path) -> tuple[str, random.Random]:
    """Write the damaged bundle of a number; return which one it was, and the rest of the luck."""
    rng = random.Random(number)
    kind = rng.choice(list(bundles()))
    files = dict(bundles()[kind])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        name = rng.choice(list(files))
        with suppress(Exception):  # what is too damaged to be changed in its own terms stays so
            files[name] = _damage(name, files[name], rng)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    if rng.random() < 0.04:
        _misplace(folder / rng.choice(list(files)), rng)
    return kind, rng


# ------------------------------------------------------------------------------------ outcomes

STRATEGIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("greedy", {}), ("iad", {}), ("gad", {}), ("blockwise", {}), ("speculative", {}),
    ("early-exit", {}), ("beam", {}),
)  # fmt: skip


def use(kind: str, folder: Path, rng: random.Random) -> None:
    """Load a bundle and decode a sentence."""
    precision = rng.choice((None, "int8", "fp32"))
    if kind == "generator":
        strategy, options = rng.choice(STRATEGIES)
        load_generator(
            str(folder), device="cpu", precision=precision, strategy=strategy, options=options
        ).generate(TEXT)
    else:
        strategy = rng.choice(("iad", "iad", "greedy", "beam"))
        corrector = gec.load(str(folder), device="cpu", precision=precision, strategy=strategy)
        corrector.correct(TEXT)


def outcome(number: int) -> tuple[str, str]:
    """Return what became of an input, and the traceback of what must not be."""
    with tempfile.TemporaryDirectory() as name, _bounded():
        folder = Path(name) / "bundle"
        folder.mkdir()
        kind, rng = make(number, folder)
        before = _peak()
        try:
            use(kind, folder, rng)
            found = "works"
        except ModelError as error:
            if not str(error).isprintable() or not str(error):
                return "failed", f"a message that is no printable line: {str(error)!r}"
            found = "refused"
        except KeyboardInterrupt:
            raise
        except BaseException:
            return "failed", f"{kind}: {traceback.format_exc()}"
        finally:
            for path in folder.rglob("*"):
                if path.is_fifo():
                    path.unlink()
    if (grown := _peak() - before) > MOST_MEMORY:
        return "failed", f"{kind}: {grown} MiB of memory more"
    return found, ""


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


class Late(BaseException):
    """No Exception, which what is tested could catch."""


class _Typed(io.StringIO):
    def _asked(self, *_args: Any) -> Any:
        raise AssertionError("standard input was read")

    read = readline = readlines = _asked


@contextmanager
def _bounded() -> Iterator[None]:
    """Let nothing take long or ask on the terminal."""

    def late(number: int, *_args: object) -> None:
        raise Late(f"takes too long ({signal.Signals(number).name})")

    before = [signal.signal(kind, late) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: it may be busy elsewhere
    signal.setitimer(signal.ITIMER_REAL, 30 * SECONDS)  # what waits for a pipe takes none of it
    try:
        with mock.patch.object(sys, "stdin", _Typed()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(kind, handler)


def fuzz(inputs: int, first: int = 0, *, say: Callable[[str], object] = print) -> Counter[str]:
    """Try inputs from ``first`` on; return how many worked, were refused, failed."""
    counts: Counter[str] = Counter()
    for number in range(first, first + inputs):
        found, why = outcome(number)
        counts[found] += 1
        if why:
            say(f"input {number}: {why}")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first input's number")
    args = parser.parse_args()
    faulthandler.enable()
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    for number in range(args.seed, args.seed + args.inputs):
        print(number, end="\r", file=sys.stderr, flush=True)
        counts += fuzz(1, number)
    print(
        f"{args.inputs} inputs from {args.seed} on: {counts['works']} worked, "
        f"{counts['refused']} were refused, {counts['failed']} failed; "
        f"peak memory {_peak()} MiB"
    )
    return min(counts["failed"], 1)


if __name__ == "__main__":
    sys.exit(main())
