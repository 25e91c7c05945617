"""Universal Dependencies trees, and their conversion to what English spaCy pipelines predict.

ERRANT's rules were written for spaCy's English models: Penn Treebank tags and dependency labels in
the style of ClearNLP (Choi and Palmer 2012). Universal Dependencies (de Marneffe et al. 2021)
differ in more than names: a copula and a preposition are leaves there, and heads here.

    UD        He is happy in London        is <-cop- happy      in <-case- London <-obl- happy
    here      He is happy in London        is -acomp-> happy    happy -prep-> in -pobj-> London
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

from gec.errors import DataError
from gec.models.training.sources import open_text


@dataclass(slots=True)
class Tree:
    """One sentence, a list entry a token. ``heads`` are indices, the root's head is itself.

    ``tags`` are Penn Treebank tags, ``pos`` universal ones; a lemma that the treebank does not give
    is ``""``; ``spaces`` says whether a blank follows in the text.
    """

    words: list[str]
    lemmas: list[str]
    pos: list[str]
    tags: list[str]
    heads: list[int]
    deps: list[str]
    spaces: list[bool]

    def children(self, head: int) -> list[int]:
        return [i for i, h in enumerate(self.heads) if h == head != i]

    def copy(self) -> Tree:
        return Tree(*(list(getattr(self, name)) for name in self.__slots__))


# ------------------------------------------------------------------------------------- reading


def read_conllu(path: Path) -> Iterator[Tree]:
    """Yield the trees of a CoNLL-U file, ``.xz`` or plain, with UD's heads and labels.

    Raises:
        DataError: unreadable, or a line that is not CoNLL-U (says which).
    """
    rows: list[list[str]] = []
    for number, line in enumerate(chain(open_text(path), [""]), 1):
        if line.strip() and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif rows and not line.strip():
            try:
                yield _tree(rows)
            except ValueError as error:
                raise DataError(f"{path}, sentence that ends at line {number}: {error}") from error
            rows = []


def _tree(rows: Sequence[Sequence[str]]) -> Tree:
    tree = Tree([], [], [], [], [], [], [])
    inside: tuple[int, bool] = (0, True)  # of a multiword token: its last word, a blank follows
    for row in rows:
        if len(row) != 10:
            raise ValueError(f"{len(row)} columns instead of 10: {' '.join(row)[:60]!r}")
        spaced = "SpaceAfter=No" not in row[9]
        if "-" in row[0]:
            inside = (int(row[0].split("-")[1]), spaced)
            continue
        if "." in row[0]:  # an empty node of the enhanced graph
            continue
        index = int(row[0])
        tree.words.append(row[1])
        tree.lemmas.append("" if row[2] == "_" != row[1] else row[2])
        tree.pos.append(row[3])
        tree.tags.append(_tag(row[1], row[3], row[4]))
        tree.heads.append(int(row[6]) - 1 if row[6] != "0" else index - 1)
        tree.deps.append(row[7])
        tree.spaces.append(inside[1] if index == inside[0] else spaced and index > inside[0])
    if any(not 0 <= head < len(tree.words) for head in tree.heads):
        raise ValueError("a head outside the sentence")
    return tree


def _tag(word: str, pos: str, tag: str) -> str:
    """The treebanks' few tags that OntoNotes, and so ERRANT, does not have."""
    if tag == "TO" and pos == "ADP":
        return "IN"
    if tag == "," and word == "/":
        return "SYM"
    return {'"': "''", "X": "XX"}.get(tag, tag)


# ---------------------------------------------------------------------------------- conversion

_NOMINAL = {"NOUN", "PROPN", "PRON", "NUM", "DET", "SYM", "X", "INTJ"}
_OF_THE_CLAUSE = set(
    """nsubj csubj aux mark expl cc parataxis advcl discourse vocative dislocated orphan
    reparandum""".split()
)
_BEFORE_GERUND = set(
    """about after against at before besides between beyond by despite during for from in instead
    into like of off on over since through to toward towards upon with without""".split()
)
_LINKING = set("be become remain stay seem appear look feel sound taste smell get grow".split())

# UD label -> ClearNLP label, the full label before its first part. What is not here keeps its name.
_LABELS = {
    "root": "ROOT",
    "obj": "dobj",
    "iobj": "dative",
    "nsubj:pass": "nsubjpass",
    "csubj:pass": "csubjpass",
    "aux:pass": "auxpass",
    "nmod:poss": "poss",
    "nmod:desc": "compound",
    "nmod:unmarked": "npadvmod",
    "nmod:tmod": "npadvmod",
    "nmod:npmod": "npadvmod",
    "obl": "npadvmod",
    "acl:relcl": "relcl",
    "compound:prt": "prt",
    "cc:preconj": "preconj",
    "det:predet": "predet",
    "discourse": "intj",
    "vocative": "npadvmod",
    "list": "dep",
    "goeswith": "dep",
    "orphan": "dep",
    "dislocated": "dep",
    "reparandum": "dep",
}


def to_clearnlp(tree: Tree) -> Tree:
    """Return the tree with the heads and labels that English spaCy pipelines give.

    >>> def show(tree):
    ...     return " ".join(f"{w}/{d}/{tree.words[h]}"
    ...                     for w, d, h in zip(tree.words, tree.deps, tree.heads))
    >>> words = "He is happy in London".split()
    >>> tree = Tree(words, words, "PRON AUX ADJ ADP PROPN".split(), "PRP VBZ JJ IN NNP".split(),
    ...             [2, 2, 2, 4, 2], "nsubj cop root case obl".split(), [True] * 5)
    >>> show(to_clearnlp(tree))
    'He/nsubj/is is/ROOT/is happy/acomp/is in/prep/happy London/pobj/in'
    """
    tree = tree.copy()
    for i, dep in enumerate(tree.deps):
        if dep == "cop":
            _raise_copula(tree, i)
    for i in range(len(tree.words)):
        _raise_prepositions(tree, i)
    for i, dep in enumerate(tree.deps):
        head = tree.heads[i]
        if dep in ("cc", "punct") and tree.deps[head] == "conj" and i < head:
            tree.heads[i] = tree.heads[head]
    tree.deps = [_label(tree, i) for i in range(len(tree.words))]
    return tree


def _attach(tree: Tree, child: int, head: int, dep: str) -> None:
    tree.heads[child], tree.deps[child] = head, dep


def _take_place(tree: Tree, new: int, old: int, dep: str) -> None:
    """Attach ``new`` to the head of ``old``; if ``old`` is the root, ``new`` becomes it."""
    head = tree.heads[old]
    _attach(tree, new, new if head == old else head, "root" if head == old else dep)


def _raise_copula(tree: Tree, copula: int) -> None:
    """Make a copula the head of its predicate, with the clause's other parts below it."""
    predicate = tree.heads[copula]
    children = [i for i in tree.children(predicate) if i != copula]
    _take_place(tree, copula, predicate, tree.deps[predicate])
    _attach(tree, predicate, copula, _predicate_label(tree, predicate, children))
    clausal = tree.pos[predicate] in ("VERB", "AUX")
    stay = predicate
    for i in reversed(children):
        base = tree.deps[i].split(":")[0]
        moves = (
            i < min(copula, predicate)
            or (base in _OF_THE_CLAUSE and not clausal)
            or (base == "conj" and not clausal and _is_clause(tree, i))
            or (base == "punct" and i > stay)
            or tree.deps[i].endswith(":outer")
        )
        if moves:
            tree.heads[i] = copula
        else:
            stay = max(stay, i)


def _predicate_label(tree: Tree, predicate: int, children: Sequence[int]) -> str:
    if any(tree.deps[i] == "case" and tree.tags[i] != "POS" for i in children):
        return "obl"
    pos = tree.pos[predicate]
    if pos in ("VERB", "AUX"):
        return "xcomp" if any(tree.tags[i] == "TO" for i in children) else "ccomp"
    return {"ADJ": "acomp", "ADV": "advmod"}.get(pos, "attr")


def _is_clause(tree: Tree, i: int) -> bool:
    parts = {tree.deps[child].split(":")[0] for child in tree.children(i)}
    return tree.pos[i] in ("VERB", "AUX") or bool(parts & {"nsubj", "csubj", "aux", "cop"})


def _raise_prepositions(tree: Tree, noun: int) -> None:
    """Make the prepositions of a noun or gerund its heads, the first one the outermost."""
    children = tree.children(noun)
    prepositions = [i for i in children if i < noun and _is_preposition(tree, i, noun)]
    if not prepositions:
        return
    first, last = prepositions[0], prepositions[-1]
    base, _, subtype = tree.deps[noun].partition(":")
    kept = base in ("conj", "root", "parataxis", "ccomp", "list")
    label = base if kept else "agent" if subtype == "agent" else "prep"
    object_label = "pobj" if tree.deps[last] == "case" else "pcomp"
    _take_place(tree, first, noun, label)
    for outer, inner in pairwise(prepositions):
        _attach(tree, inner, outer, "prep")
    _attach(tree, noun, last, object_label)
    for i in children:  # or the arcs would cross
        if i < first:
            tree.heads[i] = first


def _is_preposition(tree: Tree, i: int, head: int) -> bool:
    if tree.deps[i] == "case":
        return tree.tags[i] != "POS"
    return (
        tree.deps[i] == "mark"
        and tree.tags[i] == "IN"
        and tree.tags[head] == "VBG"
        and tree.words[i].lower() in _BEFORE_GERUND
        and not any(tree.deps[c].startswith("nsubj") for c in tree.children(head))
    )


def _label(tree: Tree, i: int) -> str:
    dep, tag, word, head = tree.deps[i], tree.tags[i], tree.words[i].lower(), tree.heads[i]
    base = dep.split(":")[0]
    if base == "advmod" and word in ("not", "n't", "n’t", "nt", "never"):
        return "neg"
    if base == "mark":
        return {"TO": "aux", "WRB": "advmod"}.get(tag, "mark")
    if base == "case":
        return "case" if tag == "POS" else "prep"
    if base == "fixed":
        return {"IN": "prep", "TO": "aux", "RB": "advmod"}.get(tag, "dep")
    if base == "expl":
        return "expl" if tag == "EX" else "nsubj"
    if base == "xcomp" and tree.pos[i] in (*_NOMINAL, "ADJ"):
        return _complement(tree, i, head)
    if base == "cop":  # a second copula of one predicate
        return "aux"
    return _LABELS.get(dep) or _LABELS.get(base, base)


def _complement(tree: Tree, i: int, head: int) -> str:
    """An adjective or noun after a verb: *looks good*, *became king*, *elected him king*."""
    with_object = any(tree.deps[child] in ("obj", "dobj") for child in tree.children(head))
    if tree.pos[i] == "ADJ":
        return "ccomp" if with_object else "acomp"
    return "attr" if tree.lemmas[head] in _LINKING else "oprd"


# -------------------------------------------------------------------------------- augmentation


class Augmenter:
    """Sentences as learners type them: lower case, misspelt, wrong endings, words left out.

    Every change keeps the tree a tree and gives each token the tag of the form that is written: a
    noun that loses its plural is tagged NN.

    Args:
        trees: where the inflected forms are taken from.
        rate: probability of a change a token.
    """

    def __init__(self, trees: Sequence[Tree], rate: float = 0.06) -> None:
        self.rate = rate
        self._forms: dict[tuple[str, str], str] = {}
        for tree in trees:
            for word, lemma, tag in zip(tree.words, tree.lemmas, tree.tags, strict=True):
                self._forms.setdefault((lemma, tag), word.lower())

    def augment(self, tree: Tree, rng: random.Random) -> Tree:
        tree = tree.copy()
        if rng.random() < 0.5:
            tree = join_hyphenated(tree)
        tree = self._drop(tree, rng)
        for i in range(len(tree.words)):
            if rng.random() < self.rate:
                self._inflect(tree, i, rng)
            elif rng.random() < self.rate:
                tree.words[i] = _misspell(tree.words[i], rng)
        if rng.random() < 0.1:
            tree.words = [word.lower() for word in tree.words]
        return tree

    def _inflect(self, tree: Tree, i: int, rng: random.Random) -> None:
        """Write another form of a word: of another tag, or of its own (*am*, *are*, *'m*)."""
        others = next((tags for tags in _SAME_WORD if tree.tags[i] in tags), ())
        tag = rng.choice([tag for tag in others if tag != tree.tags[i]] or [tree.tags[i]])
        form = self._forms.get((tree.lemmas[i], tag))
        if form and form != tree.words[i].lower():
            tree.words[i] = form.capitalize() if tree.words[i][0].isupper() else form
            tree.tags[i] = tag
            if tag == "NNS" and "POS" in tree.tags[i + 1 : i + 2]:
                tree.words[i + 1] = "'"  # the students ' books

    def _drop(self, tree: Tree, rng: random.Random) -> Tree:
        inner = {head for i, head in enumerate(tree.heads) if head != i}
        gone = {
            i
            for i, dep in enumerate(tree.deps)
            if dep in ("det", "aux", "auxpass", "punct", "poss")
            and i not in inner
            and rng.random() < 2 * self.rate
        }
        return _without(tree, gone)


_SAME_WORD = (("NN", "NNS"), ("VB", "VBP", "VBZ", "VBD", "VBG", "VBN"), ("JJ", "JJR", "JJS"))


def _misspell(word: str, rng: random.Random) -> str:
    """Swap, double or drop one letter inside a word of five letters or more."""
    if len(word) < 5 or not word.isalpha():
        return word
    i = rng.randrange(1, len(word) - 1)
    middle = rng.choice((word[i + 1] + word[i], word[i] + word[i] + word[i + 1], word[i + 1]))
    return word[:i] + middle + word[i + 2 :]


def join_hyphenated(tree: Tree) -> Tree:
    """Write *well - known* as *well-known*: one token, as in text tokenized by other tools."""
    tree = tree.copy()
    gone: set[int] = set()
    for i in range(1, len(tree.words) - 1):
        left, right = i - 1, i + 1
        spaced = tree.spaces[left] or tree.spaces[i]
        if tree.tags[i] != "HYPH" or spaced or left in gone or tree.heads[i] not in (left, right):
            continue
        if tree.heads[left] == right:
            keep = right
        elif tree.heads[right] == left:
            keep = left
        else:
            continue
        tree.words[keep] = tree.words[left] + tree.words[i] + tree.words[right]
        tree.lemmas[keep] = tree.words[keep].lower()
        tree.spaces[keep] = tree.spaces[right]
        other = left + right - keep
        for child in (*tree.children(i), *tree.children(other)):
            tree.heads[child] = keep
        gone |= {i, other}
    return _without(tree, gone)


def _without(tree: Tree, gone: set[int]) -> Tree:
    """Remove leaves."""
    kept = [i for i in range(len(tree.words)) if i not in gone]
    if not kept or not gone:
        return tree
    new = {old: i for i, old in enumerate(kept)}
    columns = {name: [getattr(tree, name)[i] for i in kept] for name in tree.__slots__}
    columns["heads"] = [new[head] for head in columns["heads"]]
    return replace(tree, **columns)
