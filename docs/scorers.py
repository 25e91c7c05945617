"""Write the table of docs/evaluation.md: every scorer beside its reference, on the same files.

    python docs/scorers.py [DATA]

The cases in tests/eval/data hold what the reference tools printed. sacrebleu, rouge-score and
errant are run here and now. DATA, the folder of the corpora, adds the rows for CoNLL-2013, JFLEG.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from gec.cli import main
from gec.eval.metrics.bertscore import BertScore
from gec.eval.metrics.cleme import cleme
from gec.eval.metrics.errant import parse_blocks
from gec.eval.metrics.gotoscorer import gotoscorer
from gec.eval.metrics.green import green
from gec.eval.metrics.imeasure import imeasure
from gec.eval.metrics.m2 import read_gold
from gec.eval.metrics.pretrained import LEVELS, pt_errant, pt_m2

HERE = Path(__file__).parent
CASES = HERE.parent / "tests" / "eval" / "data"
PAGE = HERE / "evaluation.md"
BEGIN, END = "<!-- made by: python docs/scorers.py DATA -->", "<!-- end -->"

Row = tuple[str, str, str, str, str]

WHY_NOT = {
    "`gec score gleu`": "with `--iter 10` the original ends with a TypeError, here it works",
    "`gec score pt-m2 --level sentence`": "its weights are on no package index",
}
"""What is not equal, and why."""


def gec(*arguments: str) -> tuple[int, str]:
    """Run a command of ours; return its exit status and what it printed."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main(list(arguments))
    return status, out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def expected(tool: str, key: str = "cases") -> Any:
    return json.loads((CASES / tool / "expected.json").read_text(encoding="utf-8"))[key]


def equal(results: Iterator[bool]) -> str:
    found = list(results)
    return f"{sum(found)} of {len(found)} equal"


def m2(version: str, ours: str) -> Iterator[bool]:
    folder = CASES / "m2scorer_expected"
    for case in expected("m2scorer_expected"):
        wanted = case["expected"][version]
        files = [str(folder / case[side]) for side in ("hyp", "gold")]
        given = ["score", "m2", "--version", ours, *case["options"], *files]
        yield gec(*given) == (wanted["exit"], wanted["stdout"])


def errant() -> Iterator[bool]:
    folder = CASES / "errant_expected"
    for case in expected("errant_expected"):
        files = ["-hyp", str(folder / case["hyp"]), "-ref", str(folder / case["ref"])]
        wanted = (case["exit"], case.get("stdout", ""))
        yield gec("errant", "compare", *files, *case["options"]) == wanted


def gleu() -> Iterator[bool]:
    with contextlib.chdir(CASES / "gleu_expected"):  # the script prints the names it is given
        for case in expected("gleu_expected"):
            files = ["-r", *case["refs"], "-s", case["src"], "--hyp", case["hyp"]]
            given = ["score", "gleu", *files, *case["options"], "--sampling", "python3"]
            yield gec(*given) == (case["exit"], case["stdout"])


def sari() -> Iterator[bool]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for case in expected("sari_expected", "synthetic"):
            texts = {"orig": case["orig"], "sys": case["sys"]}
            texts |= {f"ref{n}": lines for n, lines in enumerate(case["refs"])}
            for file, lines in texts.items():
                Path(file).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            references = [file for file in texts if file.startswith("ref")]
            given = ["score", "sari", "sys", "-s", "orig", "-r", *references, "--json"]
            for more, wanted in (([], "sari"), (["--paper-version"], "paper_version")):
                value = json.loads(gec(*given, *more)[1])["value"]
                yield abs(value - case[wanted]) < 1e-10


def live() -> Iterator[Row]:
    """BLEU, chrF and ROUGE of one small file, by the packages' own commands and by ours."""
    folder = CASES / "gleu_expected" / "cases"
    hyp, ref = str(folder / "basic2.hyp"), str(folder / "basic2.ref0")
    for metric in ("bleu", "chrf"):
        command = [sys.executable, "-m", "sacrebleu", ref, "-i", hyp, "-m", metric, "-b", "-w", "4"]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        ours = json.loads(gec("score", metric, hyp, ref, "--json")[1])["value"]
        shown = f"`gec score {metric} HYP REF`"
        yield shown, "sacrebleu, run beside it", "basic2.hyp, basic2.ref0", theirs, f"{ours:.4f}"
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    sides = [Path(name).read_text(encoding="utf-8").splitlines() for name in (ref, hyp)]
    scores = [scorer.score(r, h)["rougeL"].fmeasure for r, h in zip(*sides, strict=True)]
    printed = gec("score", "rouge", hyp, ref)[1]
    ours = next(line for line in printed.splitlines() if line.startswith("rougeL-F,"))
    theirs = f"{sum(scores) / len(scores):f}"
    shown = "`gec score rouge HYP REF`, rougeL F"
    yield shown, "rouge-score, run beside it", "the same", theirs, ours.split(",")[1]


def newer() -> Iterator[Row]:
    """The metrics whose cases hold texts, edits and numbers together."""
    for name, program in {
        "green": "shotakoyama/green",
        "cleme": "THUKElab/CLEME, 2 assumptions, 2 levels, with and without weights",
        "gotoscorer": "gotutiyan/GTS 1.1.0",
        "imeasure": "mfelice/imeasure, Python 2.7.18, mixed or not, 3 criteria",
    }.items():
        found = json.loads((CASES / "metrics_expected" / f"{name}.json").read_text("utf-8"))
        cases = f"{len(found)} cases: all numbers"
        ours = equal(METRIC_CASES[name](case) for case in found)
        yield f"`gec score {name}`", program, cases, str(len(found)), ours


def pretrained() -> Iterator[Row]:
    """BERTScore and the metrics over it, with an encoder of fixed random weights."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    import tiny_encoder

    found = json.loads((CASES / "metrics_expected" / "pretrained.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        similarity = BertScore(tiny_encoder.make(Path(folder)), found["layer"])
        scores = similarity([(candidate, reference) for candidate, reference, _ in found["pairs"]])
        close = (abs(a - b) < 1e-6 for a, (*_, b) in zip(scores, found["pairs"], strict=True))
        count = str(len(found["pairs"]))
        yield (
            "BERTScore F", "bert-score 0.3.13", f"{count} pairs, random encoder: 6 digits",
            count, equal(close),
        )  # fmt: skip
        for name in ("pt-m2", "pt-errant"):
            checks = [pretrained_case(c, name, similarity, folder) for c in found["cases"]]
            yield (
                f"`gec score {name}`, both levels",
                "weights and sums of pygongnlp/PT-M2 over bert-score",
                f"{len(checks)} cases, random encoder: F, 4 digits",
                str(len(checks)),
                equal(iter(checks)),
            )
    yield (
        "`gec score pt-m2 --level sentence`", "pygongnlp/PT-M2, bert-base-uncased",
        "the example of its README", "0.3756", "not run",
    )  # fmt: skip


def pretrained_case(case: Any, name: str, similarity: BertScore, folder: str) -> bool:
    gold = Path(folder, "gold.m2")
    gold.write_text(case["reference"], encoding="utf-8")
    sides = [parse_blocks(case[side], side) for side in ("system", "reference")]
    for level in LEVELS:
        if name == "pt-m2":
            score = pt_m2(case["hypotheses"], read_gold(str(gold)), similarity, level=level)
        else:
            score = pt_errant(*sides, similarity, level=level)
        if abs(score.f - case["expected"][f"{name} {level}"]) >= 5e-5:
            return False
    return True


HUMAN = ".363 .540 .418 .381 .781 .068 .431 .507 .813 .556 .527 .634 .423 .647 .411"
METRIC = "50.3 62.77 61.83 63.53 53.5 0.0 55.5 59.93 47.48 60.12 64.74 65.07 56.29 68.08 64.55"
"""SEEDA's Expected Wins by sentences, and the M2 of its README."""


def correlations() -> Iterator[Row]:
    """What scipy makes of them is written here."""
    theirs = "0.6161364666 0.5174825175 0.3939393939"
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("EW_sent.txt", "M2.txt")]
        for file, numbers in zip(files, (HUMAN, METRIC), strict=True):
            file.write_text(numbers.replace(" ", "\n") + "\n", encoding="utf-8")
        given = ["meta", "system", *map(str, files), "--systems", "base", "--json"]
        (found,) = json.loads(gec(*given)[1])
    values = found["correlations"]
    ours = " ".join(f"{values[name]:.10f}" for name in ("pearson", "spearman", "kendall"))
    yield (
        "`gec meta system --systems base`: Pearson, Spearman, Kendall", "scipy 1.17.1",
        "SEEDA's Expected Wins and M2", theirs, ours,
    )  # fmt: skip


def green_case(case: Any) -> bool:
    texts = (case["sources"], case["hypotheses"], case["references"])
    score = green(*texts, beta=case["beta"])
    numbers = zip((score.f, *score.sentences), (case["f"], *case["sentences"]), strict=True)
    return all(abs(ours - theirs) < 1e-12 for ours, theirs in numbers)


def cleme_case(case: Any) -> bool:
    sides = [parse_blocks(case[side], side) for side in ("hypothesis", "reference")]
    names = {"F": "f", "Acc": "accuracy", "P": "precision", "R": "recall"}
    for how, wanted in case["expected"].items():
        level, assumption, weighted = how.split()
        score = cleme(*sides, assumption=assumption, level=level, weighted=weighted == "weighted")  # type: ignore[arg-type]
        digits = {name: 4 if name in names else 2 for name in wanted}
        ours = {name: round(getattr(score, names.get(name, name)), digits[name]) for name in wanted}
        if ours != wanted:
            return False
    return True


def gotoscorer_case(case: Any) -> bool:
    systems = [parse_blocks(text, "system") for text in case["systems"]]
    score = gotoscorer(systems, parse_blocks(case["reference"], "reference"))
    ours = [dataclasses.astuple(system)[1:] for system in score.systems]
    return all(
        abs(a - b) < 1e-9
        for row, wanted in zip(ours, case["scores"], strict=True)
        for a, b in zip(row, wanted, strict=True)
    )


def imeasure_case(case: Any) -> bool:
    reference = parse_blocks(case["reference"], "reference")
    for how, wanted in case["expected"].items():
        mix, level, optimise = how.split()
        score = imeasure(
            case["hypotheses"], reference, mix=mix == "mix", level=level, optimise=optimise
        )
        if [list(row) for row in score.sentences] != wanted["sentences"]:
            return False
        if (
            abs(score.i - wanted["c"]["i"]) > 1e-12
            or abs(score.detection.i - wanted["d"]["i"]) > 1e-12
        ):
            return False
    return True


METRIC_CASES = {
    "green": green_case,
    "cleme": cleme_case,
    "gotoscorer": gotoscorer_case,
    "imeasure": imeasure_case,
}


def corpora(data: Path) -> Iterator[Row]:
    gold = data / "english/dev/conll13/original.official-preprocessed.m2"
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        lines = gold.read_text(encoding="utf-8").splitlines(keepends=True)
        source.write_text("".join(line[2:] for line in lines if line.startswith("S ")), "utf-8")
        score = json.loads(gec("score", "m2", "--json", str(source), str(gold))[1])
    ours = ", ".join(f"{name} {score[name]:g}" for name in ("precision", "recall"))
    yield (
        "`gec score m2 HYP GOLD.m2`", "m2scorer", "CoNLL-2013, the source unchanged",
        "precision 1, recall 0, F 0, gold 3462", f"{ours}, F {score['f']:g}, gold {score['gold']}",
    )  # fmt: skip
    jfleg = data / "english/dev/jfleg"
    references = [str(jfleg / f"dev.ref{n}") for n in range(4)]
    given = ["-s", str(jfleg / "dev.src"), "-r", *references, "--hyp", str(jfleg / "dev.src")]
    for sampling, wanted in (("python2", "0.382146"), ("python3", "0.381965")):
        printed = gec("score", "gleu", *given, "--sampling", sampling)[1]
        yield (
            f"`gec score gleu --sampling {sampling}`", f"gleu.py, {sampling}",
            "JFLEG dev, the source unchanged", wanted, printed.split("'")[1],
        )  # fmt: skip


# What the reference scorers give on JFLEG's sentences after a spelling corrector (hundreds of
# corrections) and by their first annotator (thousands). m2scorer: its functions carried over to
# Python 3.11, which give 212 of the 226 counts of the cases in tests/eval/data without options (the
# rest: reading unusual files, annotators numbered 8 and more). gleu.py: under Python 2.7 and 3.11.
M2_OF_JFLEG = (
    ("dev.spellchecked.src", "3.2", "337 of 546, gold 2200, F 0.3844"),
    ("dev.spellchecked.src", "2016", "337 of 546, gold 2200, F 0.3844"),
    ("dev.ref0", "3.2", "3033 of 3252, gold 3217, F 0.9347"),
    ("dev.ref0", "2016", "3045 of 3258, gold 3219, F 0.9369"),
)
GLEU_OF_JFLEG = (
    ("dev.spellchecked.src", range(4), "python2", "0.434434 0.009350"),
    ("dev.spellchecked.src", range(4), "python3", "0.434253 0.009212"),
    ("dev.ref0", range(1, 4), "python2", "0.557264 0.006433"),
    ("dev.ref0", range(1, 4), "python3", "0.557593 0.006890"),
)


def many_corrections(data: Path) -> Iterator[Row]:
    folder = data / "english/dev/jfleg"
    for output, version, theirs in M2_OF_JFLEG:
        given = [str(folder / output), str(folder / "dev.ref.m2"), "--version", version, "--json"]
        score = json.loads(gec("score", "m2", *given)[1])
        ours = (
            f"{score['correct']} of {score['proposed']}, gold {score['gold']}, F {score['f']:.4f}"
        )
        yield f"`gec score m2 --version {version}`", "m2scorer", f"JFLEG {output}", theirs, ours
    for output, references, sampling, theirs in GLEU_OF_JFLEG:
        given = [
            "-s",
            str(folder / "dev.src"),
            "-r",
            *(str(folder / f"dev.ref{n}") for n in references),
        ]
        printed = gec("score", "gleu", str(folder / output), *given, "--sampling", sampling)[1]
        ours = " ".join(printed.split("'")[1:4:2])
        shown = f"`gec score gleu --sampling {sampling}`, mean and deviation"
        yield (
            shown,
            f"gleu.py, {sampling}",
            f"JFLEG {output}, {len(references)} references",
            theirs,
            ours,
        )
    yield from errant_of_jfleg(folder)


def errant_of_jfleg(folder: Path) -> Iterator[Row]:
    """The package's own commands and ours, over the pipeline in this package."""
    import errant
    from errant.commands import compare_m2, parallel_to_m2

    from gec.eval.metrics.pipeline import SHIPPED, load_pipeline

    annotator = errant.load("en", load_pipeline(SHIPPED))

    def run(command: Any, *arguments: str) -> str:
        out = io.StringIO()
        with (
            mock.patch("errant.load", return_value=annotator),
            mock.patch.object(sys, "argv", ["errant", *arguments]),
            contextlib.redirect_stdout(out),
        ):
            command.main()
        return out.getvalue()

    source, *references = (str(folder / f"dev.{name}") for name in ("src", "ref1", "ref2"))
    with tempfile.TemporaryDirectory() as name:
        gold, system = f"{name}/gold.m2", f"{name}/system.m2"
        run(parallel_to_m2, "-orig", source, "-cor", *references, "-out", gold)
        for output in ("dev.spellchecked.src", "dev.ref0"):
            run(parallel_to_m2, "-orig", source, "-cor", str(folder / output), "-out", system)
            theirs = run(compare_m2, "-hyp", system, "-ref", gold).splitlines()[3]
            given = [str(folder / output), gold, "--spacy-model", SHIPPED]
            ours = gec("score", "errant", *given)[1].splitlines()[3]
            yield (
                "`gec score errant`: TP, FP, FN, P, R, F", "errant_parallel, errant_compare 3.0.2",
                f"JFLEG {output}, 2 references", " ".join(theirs.split()), " ".join(ours.split()),
            )  # fmt: skip


def rows(data: Path | None) -> Iterator[Row]:
    for name, ours in (("v3.2", "3.2"), ("master", "2016")):
        command = f"`gec score m2 --version {ours}`"
        cases = "268 cases: output and exit status"
        yield command, f"m2scorer {name}, Python 2.7.18", cases, "268", equal(m2(name, ours))
    cases = "55 cases: output and exit status"
    yield "`gec errant compare`", "errant_compare 3.0.2", cases, "55", equal(errant())
    cases = "20 cases: output and exit status"
    yield "`gec score gleu`", "gleu.py of JFLEG, Python 3.11", cases, "20", equal(gleu())
    yield "`gec score sari`", "EASSE", "5 cases in 2 modes, 10 digits", "10", equal(sari())
    yield from newer()
    yield from pretrained()
    yield from correlations()
    yield from live()
    if data:
        yield from corpora(data)
        yield from many_corrections(data)


def table(data: Path | None) -> str:
    head = ("ours", "reference", "files", "it gives", "ours gives", "equal")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join((*row, verdict(row)))} |" for row in rows(data)]
    return "\n".join(lines)


def verdict(row: Row) -> str:
    """Return whether both numbers are equal, or why not; fails where nobody has said why."""
    command, _, _, theirs, ours = row
    if ours in (theirs, f"{theirs} of {theirs} equal"):
        return "yes"
    return f"no: {WHY_NOT[command]}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    made = table(Path(sys.argv[1]) if sys.argv[1:] else None)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    print(made)
