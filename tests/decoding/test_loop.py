"""The loop is written once: what takes part in a pass is called by ``step`` and by nothing else."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from fake_models import RuleModel, copies, sometimes

import gec.decoding
from gec.decoding import decoder
from gec.decoding.acceptance import Exact
from gec.decoding.decoder import Decoder, State
from gec.decoding.drafters import small_model
from gec.decoding.drafters.small_model import SmallModelDrafter

FOLDER = Path(gec.decoding.__file__).parent


def calls(path: Path) -> Iterator[str]:
    """Yield what a module calls, as ``owner.method``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func)


def test_one_module_makes_passes() -> None:
    found = defaultdict(set)
    for path in FOLDER.rglob("*.py"):
        for call in calls(path):
            owner, _, method = call.rpartition(".")
            if method in ("verify", "propose", "observe", "advance") and owner != "super()":
                found[path.relative_to(FOLDER).as_posix()].add(call)
    assert found == {
        "loop.py": {"state.drafter.propose", "state.drafter.observe", "state.verify",
                    "state.advance"},
        "state.py": {"self.model.verify"},
        "lengths.py": {"model.verify"},  # which times passes
        "cost.py": {"model.verify"},  # too
        # hands each call of the loop on to the drafter and the model of the way that is chosen
        "drafters/auto.py": {"memory.model.verify", "self.model.verify", "way.drafter.observe",
                             "way.drafter.propose"},
        "drafters/heads.py": {"self.model.propose"},  # the heads' choices
        "drafters/lookup.py": {"self.lookup.propose", "self.other.propose"},  # one asks another
    }  # fmt: skip


def test_every_level_takes_the_same_steps(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    taken: list[object] = []

    def step(state, acceptance):  # type: ignore[no-untyped-def]
        taken.append(state.model)
        original(state, acceptance)

    original = decoder.step
    assert small_model.step is original
    monkeypatch.setattr(decoder, "step", step)
    monkeypatch.setattr(small_model, "step", step)
    models = [RuleModel(sometimes(n, 9), vocab_size=9) for n in range(3)]
    drafter = SmallModelDrafter(models[1], SmallModelDrafter(models[0]))
    sources = [[3, 4, 5], [6, 3], []]
    assert len(Decoder(models[2], drafter).decode(sources)) == 3
    for model in models:
        assert model.calls == sum(one is model for one in taken) > 0
    first = [taken.index(model) for model in models]
    assert first == [2, 1, 0], "each begins within the pass of the one above"


def test_a_row_that_ends_in_a_level_keeps_its_place() -> None:
    """The rows of a drafting model are the verifier's, all of them, in every pass."""
    small = RuleModel(copies)
    state = State(RuleModel(copies), SmallModelDrafter(small), 3)
    rows = [decoder.Row(n, source, 20) for n, source in enumerate([[3] * 4, [4], []])]
    state.admit(rows)
    drafts = state.drafter.propose(state)
    assert drafts == [[3, 3, 3, 3, 2], [4, 2], [2]]
    assert small.row_counts == [3] * 5
    kept = Exact()(state, state.verify(drafts))
    assert [len(choice.tokens) for choice in kept] == [5, 2, 1]
    state.advance(kept)
    assert not state.rows
