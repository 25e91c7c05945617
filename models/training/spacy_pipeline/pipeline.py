"""Train the spaCy pipeline that ERRANT's rules run on: the bundle ``en_pipeline``.

    python -m gec.models.training.spacy_pipeline.pipeline --data-dir DATA --out DIR
    python -m gec.models.training.spacy_pipeline.pipeline --data-dir DATA --evaluate DIR

``DATA/english`` holds Universal Dependencies treebanks, ``ud/ud_*/*-ud-{train,dev,test}.conllu``,
and plain text for word vectors, ``clean/*.txt``; all plain or ``.xz``. A tagger and a parser over a
shared convolutional network are trained with spaCy on recipes/en_pipeline.cfg; an attribute ruler
(coarse tags and lemmas of closed classes) and spaCy's rule lemmatizer, whose tables the package
spacy-lookups-data has, are added behind them: the parts of spaCy's own English pipelines.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.errors import ConfigError, DataError, GecError
from gec.models.training.sources import open_text
from gec.models.training.spacy_pipeline.attributes import PATTERNS, TAG_MAP
from gec.models.training.spacy_pipeline.treebank import Augmenter, Tree, read_conllu, to_clearnlp
from gec.models.training.spacy_pipeline.word_vectors import add_vectors, train_vectors
from gec.values import positive

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.vocab import Vocab

TEXTS = {  # plain text for the word vectors, and how many lines of it
    "tatoeba_en": 300_000,
    "openstax": 150_000,
    "us_gov_web": 100_000,
    "common_voice_en": 50_000,
    "us_speeches": 30_000,
    "onestopenglish": 20_000,
}
NAME, VERSION = "pipeline", "1.0.0"
RECIPE = Path(__file__).parents[2] / "recipes" / "en_pipeline.cfg"
MEASURES = {
    "tag_acc": "Penn tags",
    "pos_acc": "universal tags",
    "lemma_acc": "lemmas",
    "dep_uas": "heads (UAS)",
    "dep_las": "heads and labels (LAS)",
}


# ---------------------------------------------------------------------------------------- data


def treebanks(data: Path, part: str) -> dict[str, list[Tree]]:
    """Read every treebank's ``part`` (train, dev or test), converted to ClearNLP's style."""
    paths = sorted(data.glob(f"english/ud/ud_*/*-ud-{part}.conllu*"))
    if not paths:
        raise DataError(f"{data} has no treebank english/ud/ud_*/*-ud-{part}.conllu or .conllu.xz")
    return {path.parent.name: [to_clearnlp(tree) for tree in read_conllu(path)] for path in paths}


def all_trees(data: Path, part: str) -> list[Tree]:
    return [tree for trees in treebanks(data, part).values() for tree in trees]


def training_trees(trees: Sequence[Tree], copies: int, seed: int) -> Iterator[list[Tree]]:
    """Yield documents: the sentences as they are, and ``copies`` times with errors.

    One in ten documents has two sentences, from which the parser learns where sentences end.
    """
    rng = random.Random(seed)
    augmenter = Augmenter(trees)
    for copy in range(copies + 1):
        versions = (augmenter.augment(tree, rng) if copy else tree for tree in trees)
        for tree in versions:
            second = next(versions, None) if rng.random() < 0.1 else None
            yield [tree] if second is None else [tree, second]


def plain_texts(data: Path) -> Iterator[str]:
    """Yield the sentences that the word vectors are made from."""
    for name, lines in TEXTS.items():
        folder = data / "english" / "clean"
        path = next((p for p in sorted(folder.glob(f"{name}.txt*"))), folder / f"{name}.txt")
        yield from islice(open_text(path), lines)


def to_doc(vocab: Vocab, trees: Sequence[Tree]) -> Doc:
    """Return sentences as one annotated document."""
    from spacy.tokens import Doc

    heads: list[int] = []
    for tree in trees:
        heads += [len(heads) + head for head in tree.heads]
    return Doc(
        vocab,
        words=[word for tree in trees for word in tree.words],
        spaces=[space for tree in trees for space in tree.spaces],
        tags=[tag for tree in trees for tag in tree.tags],
        pos=[pos for tree in trees for pos in tree.pos],
        lemmas=[lemma for tree in trees for lemma in tree.lemmas],
        deps=[dep for tree in trees for dep in tree.deps],
        heads=heads,
    )


def _write(path: Path, documents: Iterable[Sequence[Tree]]) -> int:
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    vocab = Vocab()
    store = DocBin(attrs=["TAG", "HEAD", "DEP", "SENT_START"])
    for trees in documents:
        store.add(to_doc(vocab, trees))
    store.to_disk(path)
    return len(store)


def _write_vectors(path: Path, data: Path) -> None:
    import spacy

    words, vectors = train_vectors(spacy.blank("en"), plain_texts(data))
    nlp = spacy.blank("en")  # afresh: the other keeps every word of the text
    add_vectors(nlp, words, vectors)
    nlp.to_disk(path)


# ------------------------------------------------------------------------------------ training


def train(data: Path, out: Path, *, copies: int = 1, steps: int | None = None) -> Language:
    """Train, add the rules, measure on the test sets and save in ``out``.

    Args:
        copies: how often every sentence is seen with errors, for once as it is.
        steps: instead of the recipe's number of updates.
    """
    from spacy import util
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train as train_with_spacy

    if out.exists():
        raise ConfigError(f"{out} is there already; name another folder")
    lookups = _lemma_tables()
    overrides: dict[str, object] = {}
    if steps is not None:
        overrides |= {"training.max_steps": steps, "training.eval_frequency": min(steps, 500)}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        documents = training_trees(all_trees(data, "train"), copies, seed=1)
        count = _write(work / "train.spacy", documents)
        _write(work / "dev.spacy", ([tree] for tree in all_trees(data, "dev")))
        print(f"{count} training documents", file=sys.stderr)
        _write_vectors(work / "vectors", data)
        overrides |= {f"paths.{part}": str(work / f"{part}.spacy") for part in ("train", "dev")}
        overrides["paths.vectors"] = str(work / "vectors")
        blank = init_nlp(util.load_config(RECIPE, overrides=overrides))
        train_with_spacy(blank, work, stdout=sys.stderr)
        nlp = util.load_model(work / "model-best")
    add_rules(nlp, lookups)
    describe(nlp)
    nlp.meta["performance"] = measure(nlp, treebanks(data, "test"))
    nlp.to_disk(out)
    return nlp


def _lemma_tables() -> object:
    from spacy.lookups import load_lookups

    try:
        return load_lookups("en", ["lemma_rules", "lemma_exc", "lemma_index"])
    except ValueError as error:
        raise ConfigError(
            "the lemmatizer's tables are missing; install them with: pip install 'spacy[lookups]'"
        ) from error


def add_rules(nlp: Language, lookups: object) -> None:
    """Append the attribute ruler and the lemmatizer."""
    ruler: Any = nlp.add_pipe("attribute_ruler")
    ruler.load_from_tag_map(TAG_MAP)
    ruler.add_patterns(PATTERNS)
    lemmatizer: Any = nlp.add_pipe("lemmatizer", config={"mode": "rule"})
    lemmatizer.initialize(lookups=lookups)


def describe(nlp: Language) -> None:
    """Say what the pipeline is, and forget where its training data lay."""
    nlp.config["paths"] = dict.fromkeys(nlp.config["paths"])
    nlp.meta |= {
        "name": NAME,
        "version": VERSION,
        "description": "Tags, lemmas and trees for ERRANT, trained on Universal Dependencies",
        "license": "CC BY-SA 4.0",
        "spacy_version": ">=3.7.0,<4.0.0",
        "trained_on": "ud",
    }


# ---------------------------------------------------------------------------------- evaluation


def measure(nlp: Language, tests: dict[str, list[Tree]]) -> dict[str, dict[str, float]]:
    """Return, by treebank, accuracies on gold tokens, and how well raw text is tokenized."""
    scores = {}
    for name, trees in tests.items():
        examples = [_example(nlp, tree) for tree in trees]
        found = nlp.evaluate(examples)
        kept = [key for key in MEASURES if key != "lemma_acc" or any(trees[0].lemmas)]
        scores[name] = {key: round(float(found[key]), 4) for key in kept}
    return scores


def _example(nlp: Language, tree: Tree) -> Example:
    from spacy.tokens import Doc
    from spacy.training import Example

    given = Doc(nlp.vocab, words=tree.words, spaces=tree.spaces)
    return Example(given, to_doc(nlp.vocab, [tree]))


def table(scores: dict[str, dict[str, float]]) -> str:
    """Return the scores as a Markdown table, a treebank a column."""
    rows = ["| accuracy on gold tokens, % | " + " | ".join(scores) + " |"]
    rows.append("|---" * (len(scores) + 1) + "|")
    for key, label in MEASURES.items():
        cells = [f"{100 * s[key]:.1f}" if key in s else "-" for s in scores.values()]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


# ------------------------------------------------------------------------------------- command


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gec.models.training.spacy_pipeline.pipeline",
        description=(__doc__ or "").split("\n")[0],
    )
    add = parser.add_argument
    add(
        "--data-dir",
        type=Path,
        required=True,
        metavar="DATA",
        help="folder with english/ud, english/clean",
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", type=Path, metavar="DIR", help="where the new pipeline goes")
    target.add_argument("--evaluate", metavar="DIR", help="only measure this pipeline")
    add("--steps", type=positive, metavar="N", help="updates (default: the recipe's)")
    add("--copies", type=positive, default=1, metavar="N", help="copies with errors (default: 1)")
    args = parser.parse_args(argv)
    started = time.perf_counter()
    try:
        if args.evaluate:
            from spacy import util

            nlp = util.load_model(args.evaluate)
            scores = measure(nlp, treebanks(args.data_dir, "test"))
        else:
            nlp = train(args.data_dir, args.out, copies=args.copies, steps=args.steps)
            scores = nlp.meta["performance"]
    except GecError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    print(table(scores))
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
