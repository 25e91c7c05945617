"""A bundle is untrusted: each of its files may be hostile, and loading it is safe all the same."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzz_bundles
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_generation import deep_bundle

import gec
from gec import untrusted
from gec.cli import main
from gec.errors import ModelError
from gec.loading import load_generation_parts
from gec.models.load import bundle, generation, places
from gec.models.load.foreign import ENGINES, ForeignSubwords
from gec.models.native.library import library
from gec.text.ngrams import NGrams
from gec.text.spelling import Speller
from gec.text.subwords import Subwords

Damage = Callable[[Path], object]


def written(kind: str, folder: Path) -> Path:
    for name, content in fuzz_bundles.bundles()[kind].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written("int8", tmp_path / "bundle")


@pytest.fixture
def generator(tmp_path: Path) -> Path:
    return written("generator", tmp_path / "generator")


def test_fuzzed_bundles() -> None:
    """``make sanitize`` tries thousands."""
    said: list[str] = []
    counts = fuzz_bundles.fuzz(300, say=said.append)
    assert not said
    assert counts["works"] > 10
    assert counts["refused"] > 50


@pytest.mark.parametrize("kind", ["int8", "old", "float", "generator", "tokenizers", "fairseq"])
def test_what_is_damaged_was_whole(kind: str, tmp_path: Path) -> None:
    whole = written(kind, tmp_path / "whole")
    for luck in range(3):
        fuzz_bundles.use(kind, whole, fuzz_bundles.random.Random(luck))


def test_a_bundle_of_the_first_format_is_the_same(folder: Path, tmp_path: Path) -> None:
    old = written("old", tmp_path / "old")
    assert (old / "words.tsv.gz").is_file()
    assert [path.name for path in old.glob("*.bin")] == ["ngrams.bin"]
    texts = ["She go home yesterday, teh Dogs are big 12.", "alot she goes"]
    before, now = (
        [c.edits for c in gec.load(str(p), device="cpu").correct_many(texts)] for p in (old, folder)
    )
    assert before == now
    bundle.save(bundle.load(str(old)), tmp_path / "again", dtype=torch.int8)
    for name in ("speller.bin", "inflections.bin", "ngrams.bin"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def replaced(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def with_config(where: str = "config.json", **values: Any) -> Damage:
    def change(folder: Path) -> None:
        path = folder / where
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def with_network(where: str = "config.json", **values: Any) -> Damage:
    def change(folder: Path) -> None:
        network = json.loads((folder / where).read_text())["network"]
        with_config(where, network=network | values)(folder)

    return change


def linked(name: str, target: str) -> Damage:
    def link(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return link


def piped(folder: Path) -> None:
    (folder / "speller.bin").unlink()
    os.mkfifo(folder / "speller.bin")


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Damage:
    def damage(folder: Path) -> None:
        state = load_file(folder / "model.safetensors")
        state[name] = change(state[name]).contiguous()
        save_file(state, folder / "model.safetensors")

    return damage


def header(text: bytes) -> Damage:
    return replaced("model.safetensors", len(text).to_bytes(8, "little") + text)


def tokenizer(**values: Any) -> Damage:
    return with_config("tokenizer.json", **values)


def vocabulary(change: Callable[[dict[str, int]], object]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text())
        change(content["model"]["vocab"])
        path.write_text(json.dumps(content))

    return damage


def table(name: str, text: str) -> Damage:
    return old(name, gzip.compress(text.encode()))


def old(name: str, content: bytes) -> Damage:
    def damage(folder: Path) -> None:
        fuzz_bundles.unpack(folder)
        (folder / name).write_bytes(content)

    return damage


def part(name: str, place: int, **values: Any) -> Damage:
    """Change what the head of a file of tables says of one part."""

    def damage(folder: Path) -> None:
        first, _, body = (folder / name).read_bytes().partition(b"\n")
        head = json.loads(first)
        head["parts"][place] |= values
        (folder / name).write_bytes(json.dumps(head).encode() + b"\n" + body)

    return damage


def parts(name: str, change: Callable[[list[Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        first, _, body = (folder / name).read_bytes().partition(b"\n")
        head = json.loads(first) | {"parts": change(json.loads(first)["parts"])}
        (folder / name).write_bytes(json.dumps(head).encode() + b"\n" + body)

    return damage


def ngrams(**values: Any) -> Damage:
    def damage(folder: Path) -> None:
        fuzz_bundles.unpack(folder)
        head, _, body = (folder / "ngrams.bin").read_bytes().partition(b"\n")
        new = json.dumps(json.loads(head) | values).encode()
        (folder / "ngrams.bin").write_bytes(new + b"\n" + body)

    return damage


def bomb() -> bytes:
    return gzip.compress(b"word\t1\n" * (untrusted.MOST_UNPACKED // 7 + 1), 1)


DIGITS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
HOSTILE: dict[str, tuple[Damage, str]] = {
    "a width without end": (with_network(width=4 * 10**9), "width 4000000000 are too many"),
    "a layer without end": (with_network(ffn_width=10**12), "size mismatch: .* bytes for at least"),
    "layers without end": (with_network(encoder_layers=10**6), "1000000 layers"),
    "positions without end": (with_network(max_positions=10**15), "positions of width 32"),
    "an offset without end": (with_network(position_offset=10**15), "positions of width 32"),
    "learned positions": (with_network(positions="learned", max_positions=10**6), "size mismatch"),
    "a prefix longer than the rest": (with_network(source_prefix=[5] * 80), "positions leave none"),
    "a number of 400 digits": (
        replaced("config.json", b'{"format": 1, "network": {"width": %s}}' % (b"9" * 400)),
        "the number 99999999999999999999 is too large",
    ),
    "infinity in digits": (
        replaced("config.json", b'{"format": 1, "confidence": {"bias": 1e999}}'), "too large",
    ),
    "NaN": (replaced("config.json", b'{"format": NaN}'), "NaN is no number"),
    "deep brackets": (replaced("config.json", b"[" * 100_000), "brackets within brackets"),
    "brackets within limits of others": (
        with_config(x=json.loads("[" * 40 + "]" * 40)), "more than 32 brackets",
    ),
    "a key twice": (replaced("config.json", b'{"format": 1, "format": 1}'), "'format' is there tw"),
    "a forged line": (
        replaced("config.json", b'{"format": "1\\ngec: all is well \\u001b[2J\\u202e"}'),
        r"'1\\ngec: all is well \\x1b\[2J\\u202e'",
    ),
    "an unknown precision": (with_config(precision="fp8"), "unknown precision 'fp8'"),
    "a precision that is a list": (with_config(precision=[]), "unknown precision"),
    "a tokenizer that is a word": (with_config(tokenizer="x"), "settings must be an object"),
    "an engine that is a list": (with_config(tokenizer={"engine": []}), "unknown tokenizer engine"),
    "a config that is too large": (
        replaced("config.json", b" " * (untrusted.MOST_TEXT + 1)), "at most 16,777,216 are read",
    ),
    "a link out": (linked("inflections.bin", "/etc/passwd"), "a link out of the bundle"),
    "a link to a device": (linked("model.safetensors", "/dev/zero"), "a link out of the bundle"),
    "a link to itself": (linked("ngrams.bin", "ngrams.bin"), "ngrams.bin is"),
    "a pipe": (piped, "neither a file nor a folder"),
    "a header without end": (
        replaced("model.safetensors", (2**63).to_bytes(8, "little") + b"{}" * 20_000), "cannot load"
    ),
    "shapes that overflow": (
        header(b'{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}'
               + b" " * 30_000), "cannot load",
    ),
    "an infinite bias": (
        tensor("encoder.0.ffn.up.bias", lambda x: x.float() / 0), "up.bias holds NaN or infinity",
    ),
    "one bias": (tensor("encoder.0.ffn.up.bias", lambda x: x[:1]), r"up\.bias: (float32|\[1\])"),
    "an int8 bias": (tensor("encoder.0.ffn.up.bias", torch.Tensor.char), "up.bias"),
    "an int8 scale": (tensor("embedding.weight.scale", torch.Tensor.char), "embedding.weight"),
    "a scale less": (tensor("embedding.weight.scale", lambda x: x[1:]), "embedding.weight.scale"),
    "ids with gaps": (vocabulary(lambda v: v.update(Ga=10**9)), "missing or there twice"),
    "an id twice": (vocabulary(lambda v: v.update(Ga=20)), "missing or there twice"),
    "pieces that are no bytes": (
        vocabulary(lambda v: v.update({"\U0001f600": v.pop("z")})), "no bytes",
    ),
    "a pattern that takes hours": (tokenizer(pre_tokenizer=DIGITS), "no byte-level BPE"),
    "a tokenizer of another kind": (
        tokenizer(model={"type": "WordLevel", "vocab": {}, "unk_token": "x"}), "no byte-level BPE",
    ),
    "deep brackets in a tokenizer": (replaced("tokenizer.json", b"[" * 100_000), "tokenizer.json"),
    "a bomb": (lambda folder: old("words.tsv.gz", bomb())(folder), "more than 67,108,864"),
    "a number that is none": (table("words.tsv.gz", "a\t" + "9" * 5000 + "\n"), "a number in the"),
    "a count of zero": (table("misspellings.tsv.gz", "teh\tthe\t0\n"), "a number in the last"),
    "a correction of blanks": (table("misspellings.tsv.gz", "teh\t \t1\n"), "expected 3 columns"),
    "text that is none": (old("words.tsv.gz", gzip.compress(b"\xff")), "cannot read"),
    "no orders": (ngrams(sizes=[]), "sizes must be 1 to 8"),
    "orders without end": (ngrams(sizes=[0] * 10_000), "sizes must be 1 to 8"),
    "a negative size": (ngrams(words=-5), "at least 0"),
    "a size without end": (ngrams(sizes=[10**17, 3]), "cut short"),
    "fewer costs than words": (ngrams(sizes=[3, 0]), "fewer costs than words"),
    "a head that is a list": (replaced("ngrams.bin", b"[]\n"), "cannot read"),
    "a head without end": (replaced("ngrams.bin", b"[" * 100_000), "cannot read"),
    "a table of one order": (parts("ngrams.bin", lambda p: p[:2]), "cannot read"),
    "a table of nothing": (parts("ngrams.bin", lambda _: []), "cannot read .*ngrams"),
    "parts that are none": (parts("speller.bin", lambda _: 3), "its head lists no parts"),
    "numbers without end": (part("speller.bin", 2, count=10**17), "speller.bin: it is cut short"),
    "fewer numbers": (part("speller.bin", 4, count=1), "cannot read .*speller.bin"),
    "less than no numbers": (part("speller.bin", 2, count=-1), "at least 0"),
    "half a number": (part("speller.bin", 2, count=1.5), "at least 0"),
    "numbers of a kind": (part("speller.bin", 2, code="d"), "unknown kind of numbers 'd'"),
    "words of a width": (part("speller.bin", 1, width=3), "unknown width of characters 3"),
    "words of no length": (part("inflections.bin", 0, lengths=[[0, 5]]), "lengths of strings"),
    "words without end": (part("inflections.bin", 0, lengths=[[10**9, 10**9]]), "cut short"),
    "lengths that shrink": (
        part("inflections.bin", 0, lengths=[[4, 1], [4, 0]]), "lengths of strings must grow",
    ),
    "lengths that are none": (part("inflections.bin", 0, lengths=[7]), "cannot read"),
    "a byte more": (
        lambda f: replaced("inflections.bin", (f / "inflections.bin").read_bytes() + b"x")(f),
        "more bytes than its head says",
    ),
    "another base": (
        lambda f: replaced(
            "inflections.bin",
            (f / "inflections.bin").read_bytes().replace(b"\0\0\0\1go", b"\7\7\0\1go"),
        )(f),
        "names words that it does not have",
    ),
}  # fmt: skip


def refused(load: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        load()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_bundle(name: str, folder: Path) -> None:
    damage, message = HOSTILE[name]
    damage(folder)
    before = fuzz_bundles._peak()
    refused(lambda: gec.load(str(folder), device="cpu"), message)
    assert fuzz_bundles._peak() - before < fuzz_bundles.MOST_MEMORY


def test_a_link_within_the_bundle(folder: Path) -> None:
    (folder / "weights").mkdir()
    (folder / "model.safetensors").rename(folder / "weights" / "model.safetensors")
    (folder / "model.safetensors").symlink_to("weights/model.safetensors")
    (folder.parent / "link").symlink_to(folder)
    assert gec.load(str(folder.parent / "link"), device="cpu").correct("She go.")


def test_shipped_bundles_may_be_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers link every file of a package to their cache."""
    shipped = folder.parent / "shipped" / "xx"
    shipped.mkdir(parents=True)
    for path in folder.iterdir():
        (shipped / path.name).symlink_to(path)
    monkeypatch.setattr(places, "BUNDLES", shipped.parent)
    assert places.find("xx") == shipped
    refused(lambda: places.find(str(shipped / ".." / "xx")), "a link out of the bundle")


HOSTILE_PARTS: dict[str, tuple[Damage, str]] = {
    "heads without end": (with_config(heads={"count": 10**9, "hidden": 16}), "1000000000 heads"),
    "heads of another size": (with_config(heads={"count": 3, "hidden": 10**9}), "size mismatch"),
    "heads that are a list": (with_config(heads=[1]), "cannot load .*heads"),
    "heads of NaN": (
        lambda folder: save_file(
            {k: v * torch.nan for k, v in load_file(folder / "heads.safetensors").items()},
            folder / "heads.safetensors",
        ), "NaN or infinity",
    ),
    "a drafter without end": (
        with_network("drafter/config.json", ffn_width=10**9), "size mismatch",
    ),
    "a smaller one without end": (
        with_network("smaller/small/config.json", ffn_width=10**9), "size mismatch",
    ),
    "a longest that is a word": (with_config(longest="x"), "longest must be a positive integer"),
    "an exit that is a word": (with_config(early_exit="x"), "early_exit must be a positive"),
    "a split that is a word": (with_config(split="x"), "split must be true or false"),
    "a limit that is a list": (with_config(limit=[1]), "limit"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_PARTS)
def test_hostile_parts_of_a_bundle_that_generates(name: str, generator: Path) -> None:
    damage, message = HOSTILE_PARTS[name]
    damage(generator)
    refused(lambda: generation.load(str(generator)), message)


@pytest.mark.skipif(library() is None, reason="there is no C library here")
@pytest.mark.parametrize("name", [name for name in HOSTILE_PARTS if name.startswith("heads")])
def test_hostile_heads_without_torch(name: str, tmp_path: Path) -> None:
    generation.save(deep_bundle(), tmp_path / "deep")
    damage, message = HOSTILE_PARTS[name]
    damage(tmp_path / "deep")
    refused(lambda: load_generation_parts(str(tmp_path / "deep"), device="cpu"), message)


def test_a_tokenizer_that_pads(folder: Path) -> None:
    """Without care one word would become a million ids."""
    pads = {
        "strategy": {"Fixed": 10**6}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>",
    }  # fmt: skip
    cuts = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    want = Subwords.load(folder).encode(["banana"])
    tokenizer(padding=pads, truncation=cuts)(folder)
    assert Subwords.load(folder).encode(["banana"]) == want


def test_weights_too_large_to_compute_with(folder: Path) -> None:
    for name in ("encoder_norm.weight", "decoder.0.cross_residual.norm.weight"):
        tensor(name, lambda x: torch.full_like(x.float(), 3e38))(folder)
    corrector = gec.load(str(folder), device="cpu")
    refused(lambda: corrector.correct("She go home."), "computes NaN")


def test_the_command_line_ends_in_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("She go home.")
    old("inflections.tsv", b"\x1b[2J\tx\n")(folder)
    status = main(["correct", "--model", str(folder), str(tmp_path / "text.txt")])
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.startswith("gec: error: cannot read ")
    assert said.err.count("\n") == 1
    assert said.err[:-1].isprintable()


CODE = "from pathlib import Path\nPath({!r}).touch()\n"


@pytest.mark.parametrize("where", ["bundle", "folder"])
def test_transformers_runs_no_code_and_asks_nothing(where: str, tmp_path: Path) -> None:
    """A tokenizer or a model that names Python beside it; an answer waits on standard input."""
    pytest.importorskip("transformers")
    folder, proof = written("tokenizers", tmp_path / "evil"), tmp_path / "executed"
    code = CODE.format(str(proof))
    (folder / "evil.py").write_text(f"{code}class Evil: pass\n")
    (folder / "tokenizer.json").unlink()
    auto = {"AutoConfig": "evil.Evil", "AutoModelForSeq2SeqLM": "evil.Evil"}
    names = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None], **auto}}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    with_config(tokenizer={"engine": "transformers"}, model_type="evil", **names)(folder)
    load = {
        "bundle": "import gec; gec.load(sys.argv[1], device='cpu')",
        "folder": (
            "from gec.models.convert.transformers_model import _load; _load(Path(sys.argv[1]))"
        ),
    }[where]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from pathlib import Path; {load}", str(folder)],
        input="y\ny\n", capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert not proof.exists()
    assert "Do you wish to run" not in done.stdout + done.stderr
    assert "gec.errors.ModelError" in done.stderr


def test_a_foreign_vocabulary_is_no_subwords_of_ours(tmp_path: Path) -> None:
    loaded = bundle.load(str(written("tokenizers", tmp_path / "x")))
    same = bundle.load(str(written("tokenizers", tmp_path / "y")))
    other = bundle.load(str(written("fairseq", tmp_path / "z")))
    assert not isinstance(loaded.subwords, Subwords)
    assert isinstance(loaded.subwords, ForeignSubwords)
    assert loaded.subwords.fingerprint == same.subwords.fingerprint
    assert loaded.subwords.fingerprint != other.subwords.fingerprint


def test_ids_beyond_a_foreign_vocabulary_have_no_text(tmp_path: Path) -> None:
    """A network may have more ids than its tokenizer has tokens."""
    codec = bundle.load(str(written("fairseq", tmp_path / "x"))).subwords
    assert codec.decode([5, len(codec) + 2]) == codec.decode([5])


def test_a_source_beyond_the_encoders_own_table(tmp_path: Path) -> None:
    folder = written("tokenizers", tmp_path / "x")
    state = load_file(folder / "model.safetensors")
    state["source_embedding.weight"] = state["embedding.weight"][:20].clone()
    save_file(state, folder / "model.safetensors")
    with_network(source_vocab_size=20)(folder)
    corrector = gec.load(str(folder), device="cpu")
    refused(lambda: corrector.correct("She goes."), "ids that the encoder, of 20, does not have")


class PanicException(BaseException):
    """As a panic of a library in Rust reaches Python: no Exception."""


def test_a_panic_becomes_a_refusal() -> None:
    def panic() -> None:
        with untrusted.guarded("cannot read x"):
            raise PanicException("index out of bounds")

    refused(panic, "cannot read x: index out of bounds")
    with pytest.raises(KeyboardInterrupt), untrusted.guarded("cannot read x"):
        raise KeyboardInterrupt


def test_what_is_read_of_a_bundle_knows_its_limits(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"12345")
    assert untrusted.read_bytes(text, 5) == b"12345"
    refused(lambda: untrusted.read_bytes(text, 4), "5 bytes, at most 4 are read")
    refused(lambda: untrusted.read_bytes(tmp_path, 4), "no regular file")
    text.write_bytes(gzip.compress(b"x" * 100))
    assert untrusted.unzip_text(text, 100) == "x" * 100
    refused(lambda: untrusted.unzip_text(text, 99), "unpacks to more than 99")
    assert Speller.load(folder) is not None
    assert NGrams.load(folder) is not None


def test_every_engine_is_fuzzed() -> None:
    """The one of transformers has a test of its own: to import it takes seconds."""
    configs = [json.loads(files["config.json"]) for files in fuzz_bundles.bundles().values()]
    fuzzed = {config["tokenizer"]["engine"] for config in configs if "tokenizer" in config}
    assert {*fuzzed, "transformers"} == set(ENGINES)
