"""The command ``gec``: every option, every way to be wrong, every exit status."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from fake_corrector import FakeCorrector

from gec import __version__
from gec.cli import build_parser, commands, main, parse
from gec.cli.commands import COMMANDS, Group
from gec.correct.needless import Budget
from gec.errors import ModelError

File = Callable[..., str]
Loads = list[FakeCorrector]
Capture = pytest.CaptureFixture[str]

WRONG = "I go there.\r\nFine.\n"
RIGHT = "I goes there.\r\nFine.\n"


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


# -------------------------------------------------------------------------------- text in and out


def test_standard_input(
    loads: Loads, stdin: Callable[[bytes], None], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin("\ufeffI go, naïve😀.\r\n".encode())
    assert main(["correct"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == "\ufeffI goes, naïve😀.\r\n".encode()
    assert err == b""


def test_several_files_come_out_like_cat(loads: Loads, file: File, capsys: Capture) -> None:
    assert main(["correct", file("I go"), file(""), file("You go\n")]) == 0
    assert capsys.readouterr().out == "I goesYou goes\n"
    assert len(loads) == 1  # one model for all


def test_tokenized(loads: Loads, file: File, capsys: Capture) -> None:
    name = file("I go .\n\n  \nYou go .\r\nno end go")
    assert main(["correct", "--tokenized", name]) == 0
    assert capsys.readouterr().out == "I goes .\n\n  \nYou goes .\r\nno end goes"


def test_in_place(loads: Loads, file: File, capsys: Capture) -> None:
    wrong, right = file("\ufeff" + WRONG), file(RIGHT)
    before = Path(right).stat().st_mtime_ns
    assert main(["correct", "--in-place", wrong, right]) == 0
    assert Path(wrong).read_bytes().decode() == "\ufeff" + RIGHT
    assert Path(right).stat().st_mtime_ns == before
    assert capsys.readouterr() == ("", "")


def test_diff(loads: Loads, file: File, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    name = file(WRONG)
    assert main(["correct", "--diff", name]) == 0
    assert capsys.readouterr().out == (
        f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n-I go there.\r\n+I goes there.\r\n Fine.\n"
    )
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["correct", "--diff", name]) == 0
    assert "\x1b[32;1mgoes\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["correct", "--diff", name]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_diff_counts_the_byte_order_mark_as_patch_does(
    loads: Loads, file: File, capsys: Capture
) -> None:
    assert main(["correct", "--diff", file("\ufeffI go\n")]) == 0
    assert "-\ufeffI go\n+\ufeffI goes\n" in capsys.readouterr().out


def test_check(loads: Loads, file: File, capsys: Capture) -> None:
    wrong, right = file(WRONG), file(RIGHT)
    assert main(["correct", "--check", right]) == 0
    assert capsys.readouterr().out == ""
    assert main(["correct", "--check", wrong, right]) == 1
    assert capsys.readouterr().out == f'{wrong}:1:3: "go" → "goes" [R:VERB:SVA]\n'
    assert main(["correct", "--check", "--diff", wrong]) == 1
    assert capsys.readouterr().out.startswith("--- a/")
    assert main(["correct", "--check", "--format", "text", wrong]) == 1
    assert capsys.readouterr().out == RIGHT


def test_formats(loads: Loads, file: File, capsys: Capture) -> None:
    names = [file(WRONG), file(RIGHT)]

    def run(form: str, *more: str) -> str:
        assert main(["correct", "--format", form, *more, *names]) == 0
        return capsys.readouterr().out

    assert run("text") == RIGHT + RIGHT
    assert [d["file"] for d in json.loads(run("json"))] == names
    assert [json.loads(line)["file"] for line in run("jsonl").splitlines()] == names
    assert run("m2").count("\nA -1 -1|||noop|||") == 3
    assert len(json.loads(run("sarif"))["runs"][0]["results"]) == 1
    assert run("github").startswith(f"::warning file={names[0]},line=1,col=3,")
    sentences = [json.loads(line) for line in run("jsonl", "--tokenized").splitlines()]
    assert [s["corrected"] for s in sentences] == ["I goes there.", "Fine."] * 2


def test_jsonl_numbers_the_lines_of_tokenized_text(
    loads: Loads, file: File, capsys: Capture
) -> None:
    assert main(["correct", "--tokenized", "--format", "jsonl", file("a\n\nI go\n")]) == 0
    edits = [json.loads(line)["edits"] for line in capsys.readouterr().out.splitlines()]
    assert [[e["line"] for e in sentence] for sentence in edits] == [[], [3]]


@pytest.mark.parametrize("form", ["json", "jsonl", "m2", "sarif", "github", "text"])
@pytest.mark.parametrize("tokenized", [[], ["--tokenized"]])
def test_an_empty_file(
    form: str, tokenized: list[str], loads: Loads, file: File, capsys: Capture
) -> None:
    assert main(["correct", "--check", "--format", form, *tokenized, file("")]) == 0
    out = capsys.readouterr().out
    if form in ("json", "sarif"):
        json.loads(out)


# ------------------------------------------------------------------------------------- reports


def test_reports_go_to_standard_error(
    loads: Loads, file: File, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = file("I go WARN\n")
    assert main(["correct", "--summary", "--trace", "--time", name]) == 0
    out, err = capsys.readouterr()
    assert out == "I goes WARN\n"
    assert err.split("\n") == [
        f"gec: warning: {name}: characters 5-9: no end within the length limit, left as it was",
        f"{name}: 1 edit",
        "  line:col  type        confidence  change",
        '  1:3       R:VERB:SVA  0.75        "go" → "goes"',
        "[a] +b  (1 passes, 1 of 2 accepted)",
        "     12.5 ms  I go WARN",
        f"{name}: 1 sentence, 12.5 ms, 12.5 ms each",
        "",
    ]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["correct", "--trace", name]) == 0
    assert "\x1b[" in capsys.readouterr().err


# --------------------------------------------------------------------------------- model options


def test_defaults_reach_the_model(loads: Loads, file: File) -> None:
    assert main(["correct", file("x")]) == 0
    assert loads[0].options == {
        "name_or_path": "en",
        "device": None,
        "precision": None,
        "strategy": "iad",
        "setting": None,
        "tolerance": None,
        "beam_size": 5,
        "min_confidence": None,
        "max_needless": None,
        "rounds": None,
        "dictionary": (),
        "spelling": True,
    }
    assert loads[0].batch_sizes == [32]


def test_options_reach_the_model(loads: Loads, file: File) -> None:
    words = file("# names\nZork\r\n\n  Frobozz \n")
    options = "--model m --device cuda:1 --precision bf16 --tolerance 0.5 --min-confidence 0.9"
    more = f"--rounds 2 --setting precise --batch-size 7 --no-spelling --dictionary {words}"
    assert main(["correct", *options.split(), *more.split(), file("x")]) == 0
    assert loads[0].options == {
        "name_or_path": "m",
        "device": "cuda:1",
        "precision": "bf16",
        "strategy": "iad",
        "setting": "precise",
        "tolerance": 0.5,
        "beam_size": 5,
        "min_confidence": 0.9,
        "max_needless": None,
        "rounds": 2,
        "dictionary": ["Zork", "Frobozz"],
        "spelling": False,
    }
    assert loads[0].batch_sizes == [7]
    assert main(["correct", "--max-needless", "1/500:fiction", file("x")]) == 0
    assert loads.pop().options["max_needless"] == Budget(0.002, "fiction")
    assert main(["correct", "--strategy", "beam", "--beam-size", "3", file("x")]) == 0
    assert loads[1].options["strategy"] == "beam"
    assert loads[1].options["beam_size"] == 3


def test_threads(loads: Loads, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", asked.append)
    assert main(["correct", "--threads", "3", file("x")]) == 0
    assert asked == [3]


def test_info(loads: Loads, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEC_NATIVE", "off")
    assert main(["info"]) == 0
    assert capsys.readouterr().out == (
        f"version     {__version__}\nbundle      fake\nparameters  3\n"
        "engine      torch\nkernels     none: GEC_NATIVE=off\n"
    )
    assert main(["info", "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {
        "version": __version__,
        "bundle": "fake",
        "parameters": 3,
        "engine": "torch",
        "kernels": "none: GEC_NATIVE=off",
    }


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gec {__version__}\n"


# --------------------------------------------------------------------------------- other commands


@pytest.mark.parametrize(
    ("arguments", "module", "function", "expected"),
    [
        (
            "bench f.txt --check-lossless --batch-size 1 --batch-size 8 --strategies iad,beam"
            " --limit 5 --json out.json",
            "gec.eval.benchmark",
            "main",
            {
                "file": "f.txt",
                "check_lossless": True,
                "batch_size": [1, 8],
                "strategies": ["iad", "beam"],
                "limit": 5,
                "json": "out.json",
            },
        ),
        (
            "bench f.txt",
            "gec.eval.benchmark",
            "main",
            {
                "check_lossless": False,
                "batch_size": [1],
                "strategies": ["greedy", "iad"],
                "limit": None,
                "json": None,
            },
        ),
        (
            "score cleme h.txt gold.m2 --unweighted --beta 1",
            "gec.eval.metrics.cleme",
            "main",
            {"hypothesis": "h.txt", "gold": "gold.m2", "unweighted": True, "beta": 1.0},
        ),
        (
            "train en.toml --data d --out o --budget 2h --resume --seed 5 --threads 1",
            "gec.models.training.train",
            "main",
            {
                "recipe": "en.toml",
                "data": "d",
                "out": "o",
                "budget": "2h",
                "resume": True,
                "seed": 5,
                "threads": 1,
            },
        ),
        (
            "data prepare en.toml --data-dir d --out o --exclude a --exclude b",
            "gec.models.training.data",
            "prepare_main",
            {"recipe": "en.toml", "data_dir": "d", "out": "o", "exclude": ["a", "b"]},
        ),
        (
            "bundle last.ckpt out --data d --name en --tolerance 0.5",
            "gec.models.training.export",
            "export_main",
            {
                "checkpoints": ["last.ckpt"],
                "out": "out",
                "data": "d",
                "name": "en",
                "tolerance": 0.5,
            },
        ),
    ],
)
def test_a_command_calls_its_module(
    arguments: str,
    module: str,
    function: str,
    expected: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[argparse.Namespace] = []
    fake = ModuleType(module)
    setattr(fake, function, lambda args: calls.append(args) or 7)
    monkeypatch.setitem(sys.modules, module, fake)
    assert main(arguments.split()) == 7
    assert {key: getattr(calls[0], key) for key in expected} == expected


# ------------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "arguments are required: COMMAND"),
        ("fix", "invalid choice: 'fix'"),
        ("correct --nonsense", "unrecognized arguments: --nonsense"),
        ("correct --in", "unrecognized arguments: --in"),  # no abbreviations
        ("correct --in-place", "--in-place needs files"),
        ("correct --in-place -", "--in-place needs files"),
        ("correct --in-place x -", "--in-place needs files"),
        ("correct --in-place --diff x", "--in-place and --diff"),
        ("correct --in-place --check x", "--in-place and --check"),
        ("correct --in-place --format json x", "--in-place and --format"),
        ("correct --diff --format json x", "--diff and --format json"),
        ("correct --diff --format m2 x", "--diff and --format m2"),
        ("correct - -", "only once"),
        ("correct --format yaml", "invalid choice: 'yaml'"),
        ("correct --strategy fast", "invalid choice: 'fast'"),
        ("correct --strategy nat", "invalid choice: 'nat' (choose from iad, greedy, beam, iad"),
        ("correct --strategy beam:k=2", "strategy beam has no option 'k'"),
        ("correct --strategy beam:beam-size=2 --beam-size 3", "--beam-size is given twice"),
        ("correct --strategy speculative-beam --tolerance 1", "--tolerance belongs to"),
        ("correct --strategy speculative-beam:gamma=2 --trace", "--trace shows greedy and iad"),
        ("correct --strategy greedy --tolerance 1", "--tolerance belongs to --strategy iad"),
        ("correct --beam-size 3", "--beam-size belongs to --strategy beam"),
        ("correct --strategy beam --trace", "--trace shows greedy and iad"),
        ("correct --tolerance -1", "must be 0 or more, not -1"),
        ("correct --tolerance nan", "not a finite number"),
        ("correct --tolerance much", "not a number: 'much'"),
        ("correct --min-confidence 1.5", "must be from 0 to 1, not 1.5"),
        ("correct --min-confidence -0.1", "must be from 0 to 1, not -0.1"),
        ("correct --max-needless 3/2", "expected a share such as 1/1000 or 1/1000:KIND, not '3/2'"),
        ("correct --batch-size 0", "must be 1 or more"),
        ("correct --batch-size many", "not a whole number: 'many'"),
        ("correct --threads -2", "must be 0 or more"),
        ("correct --dictionary missing.txt x", "missing.txt: no such file"),
        ("bench", "arguments are required: FILE"),
        ("bench f --strategies iad,,beam", "names separated by commas"),
        ("train r", "arguments are required: --out"),
        ("data", "arguments are required: COMMAND"),
        ("score", "arguments are required: METRIC"),
        ("score exact", "arguments are required: FILE"),
        ("score exact f --strategy beam --tolerance 1", "--tolerance belongs to"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: str, message: str, loads: Loads, file: File, capsys: Capture
) -> None:
    file("I go", "x")
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"gec: error: .+\n", err)
    assert message in err
    assert Path("x").read_text() == "I go"


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"ok\n\xff", "not UTF-8 at byte 3, line 2"), (b"\0", "looks binary"), (None, "no such file")],
)
@pytest.mark.parametrize("option", ["--in-place", "--check", "--diff"])
def test_bad_file(
    data: bytes | None, message: str, option: str, loads: Loads, file: File, capsys: Capture
) -> None:
    good = file(WRONG)
    bad = "missing" if data is None else file(data)
    assert main(["correct", option, bad, good]) == 2
    out, err = capsys.readouterr()
    assert re.fullmatch(rf"gec: error: {bad}: .*{message}.*\n", err)
    assert data is None or Path(bad).read_bytes() == data
    if option == "--in-place":  # the good one was done all the same
        assert Path(good).read_bytes().decode() == RIGHT
    else:
        assert good in out


def test_bad_standard_input(
    loads: Loads,
    stdin: Callable[[bytes], None],
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stdin(b"\xff")
    assert main(["correct"]) == 2
    assert "standard input: not UTF-8 at byte 0, line 1" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["correct"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_directory(loads: Loads, tmp_path: Path, capsys: Capture) -> None:
    assert main(["correct", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_json_of_nothing_is_json(loads: Loads, file: File, capsys: Capture) -> None:
    file("")
    assert main(["correct", "--format", "json", "missing"]) == 2
    assert json.loads(capsys.readouterr().out) == []


def test_an_unexpected_failure_is_one_line_and_the_rest_is_done(
    loads: Loads, file: File, capsys: Capture
) -> None:
    bad, good = file("FAIL"), file(WRONG)
    assert main(["correct", "--in-place", bad, good]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(r"gec: error: .*RuntimeError: the fake model failed .*--debug.*\n", err)
    assert Path(bad).read_text() == "FAIL"
    assert Path(good).read_bytes().decode() == RIGHT
    assert main(["correct", "--debug", bad]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_model_is_said_once(
    file: File, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str, **_: object) -> None:
        raise ModelError(f"no bundle {name!r}")

    monkeypatch.setattr("gec.loading.load", load)
    arguments = ["correct", "--model", "xx", file("a"), file("b")]
    assert main(arguments) == 2
    assert capsys.readouterr().err == "gec: error: no bundle 'xx'\n"
    assert main([*arguments, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_package_names_the_extra(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def main_(_: object) -> None:
        raise ModuleNotFoundError("No module named 'lightning'", name="lightning.fabric")

    fake = ModuleType("gec.eval.benchmark")
    fake.main = main_  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gec.eval.benchmark", fake)
    assert main(["bench", "f"]) == 2
    assert "pip install '.[train]'" in capsys.readouterr().err


def test_ctrl_c(loads: Loads, file: File, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    name = file(WRONG)
    monkeypatch.setattr(FakeCorrector, "correct_many", interrupt)
    monkeypatch.setattr("gec.cli.discard_output", lambda: None)
    assert main(["correct", "--in-place", name]) == 130
    assert capsys.readouterr().err == ""
    assert Path(name).read_bytes().decode() == WRONG


# ------------------------------------------------------------------ what only a process can show

# A stand-in for the model, so that these start in a fraction of a second.
SCRIPT = """
import sys, types
from dataclasses import make_dataclass
Correction = make_dataclass("C", ["original", "text", "edits", "sentences", "warnings", "trace"])
class Corrector:
    def correct_many(self, texts, batch_size):
        for text in texts:
            if "WAIT" in text:
                import time
                print("waiting", file=sys.stderr, flush=True)
                time.sleep(60)
            yield Correction(text, text, (), (), (), ())
loading = types.ModuleType("gec.loading")
loading.load = lambda *_, **__: Corrector()
sys.modules["gec.loading"] = loading
from gec.cli import main
sys.exit(main())
"""


def start(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.Popen(command, **{**pipes, **options})  # type: ignore[call-overload, no-any-return]


def test_closed_pipe(file: File) -> None:
    with start("correct", file("word " * 100_000)) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk(file: File) -> None:
    with Path("/dev/full").open("wb") as full:
        _, err = start("correct", file("x"), stdout=full).communicate()
    assert re.fullmatch(rb"gec: error: .*No space left on device\n", err)


def test_interrupt_signal(file: File) -> None:
    name = file("WAIT")
    with start("correct", "--in-place", name) as process:
        assert process.stderr
        assert process.stderr.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130
    assert [p.name for p in Path().iterdir()] == [name]


def test_utf8_in_an_ascii_locale(file: File) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment.pop("PYTHONIOENCODING", None)
    out, err = start("correct", env=environment).communicate("naïve → 😀\r\n".encode())
    assert (out, err) == ("naïve → 😀\r\n".encode(), b"")
    _, err = start("correct", "☃", env=environment).communicate()
    assert err.startswith(b"gec: error: ")
    assert b"no such file" in err


def test_help_and_version_do_not_import_torch() -> None:
    """No help of any command waits for it, nor for what else takes long to import."""
    code = (
        "import sys, gec, gec.cli\n"
        "from gec.cli.commands import COMMANDS, Group\n"
        "lines = [[]]\n"
        "for name, command in COMMANDS.items():\n"
        "    group = command.commands if isinstance(command, Group) else {}\n"
        "    lines += [[name], *([name, part] for part in group)]\n"
        "assert len(lines) > 40\n"
        "assert not any(gec.cli.main([*line, '--help']) for line in lines)\n"
        "assert gec.cli.main(['--version']) == 0\n"
        "slow = {'torch', 'spacy', 'numpy', 'tokenizers', 'tempfile', 'tomllib'} & {*sys.modules}\n"
        "assert not slow, slow\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_command_is_the_file_of_its_name() -> None:
    found = {}
    for name, command in COMMANDS.items():
        if isinstance(command, Group):
            parts = command.commands.items()
            found |= {f"{name}_{part}".replace("-", "_"): each for part, each in parts}
        else:
            found[name] = command
    for name, command in found.items():
        assert command is sys.modules[f"gec.cli.{name}"]
    files = {path.stem for path in Path(commands.__file__).parent.glob("*.py")}
    others = {"__init__", "arguments", "commands", "console", "failures", "status"}
    assert {name for name in files - others if not name.endswith("_options")} == {*found}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["bench"], ["bench", "correct"]),
        (["bench", "f.txt"], ["bench", "correct", "f.txt"]),
        (["bench", "--quick"], ["bench", "correct", "--quick"]),
        (["bench", "generate"], ["bench", "generate"]),
        (["bench", "correct", "generate"], ["bench", "correct", "generate"]),
        (["bench", "--help"], ["bench", "--help"]),
        (["score"], ["score"]),
        (["correct", "bench"], ["correct", "bench"]),
        ([], []),
    ],
)
def test_the_usual_command_of_a_group(given: list[str], meant: list[str]) -> None:
    assert commands.named(given) == meant


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("score m2 h.txt", 255, "two files are needed, HYP and GOLD"),
        ("score m2 h.txt g.m2 more.txt", 255, "two files are needed, HYP and GOLD"),
        ("score m2 h.txt g.m2 --nothing", 1, "unrecognized arguments: --nothing"),
        ("score m2 --nothing", 1, "unrecognized arguments: --nothing"),
        ("score m2 h.txt g.m2 --beta x", 1, "argument --beta: not a number: 'x'"),
        ("score gleu h.txt -s s -r r --nothing", 2, "unrecognized arguments: --nothing"),
        ("correct --beam-size 0", 2, "argument --beam-size: must be 1 or more, not 0"),
        ("convert --to onnx en --nothing out", 2, "unrecognized arguments: --nothing out"),
    ],
)
def test_usage_errors(arguments: str, status: int, said: str, capsys: Capture) -> None:
    assert main(arguments.split()) == status
    err = capsys.readouterr().err
    assert err.startswith(f"gec: error: {said}")
    assert err.count("\n") == 1


def test_paths_of_convert_may_come_after_options() -> None:
    args = parse(["convert", "fairseq", "--data", "d", "a.pt", "b.pt", "out"])
    assert args.paths == ["fairseq", "a.pt", "b.pt", "out"]


def test_score_exact_corrects_as_told(loads: Loads, file: File, capsys: Capture) -> None:
    name = file("She go home .\tShe goes home .\nIt is fine .\n")
    assert main(["score", "exact", name, "--misses", "--strategy", "greedy", "--model", "m"]) == 0
    (corrector,) = loads
    assert corrector.options["name_or_path"] == "m"
    assert corrector.options["strategy"] == "greedy"
    out, _ = capsys.readouterr()
    assert out == "1 of 1 sentences with errors come out right; 0 of 1 correct sentences changed\n"


def test_every_option_explains_itself() -> None:
    def walk(parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    walk(command)
            else:
                assert action.help, (parser.prog, action.dest)

    walk(build_parser())
