"""Copying goes on at once behind a correction; the output stays the greedy one."""

from __future__ import annotations

import random

import pytest
from fake_models import EOS, Rule, RuleModel, rewrites, sometimes, tiny_network

from gec.decoding.acceptance import Conservative, Exact
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import MISSES, WINDOW, Place, ReentryDrafter, reentry
from gec.models.engines.verifier import TransformerVerifier

SOURCE = [3, 4, 5, 6, 7, 8]


def on_the_way_to(target: list[int]) -> Rule:
    """Return the rule that writes ``target``; off the way it copies what follows the last token."""

    def rule(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        if list(output) == target[: len(output)]:
            return target[len(output)] if len(output) < len(target) else EOS
        following = source.index(output[-1]) + 1 if output[-1] in source else len(source)
        return source[following] if following < len(source) else EOS

    return rule


def passes(target: list[int], drafter: ReentryDrafter | CopyDrafter) -> int:
    model = RuleModel(on_the_way_to(target))
    [[found]] = Decoder(model, drafter).decode([SOURCE])
    assert list(found.tokens) == target
    return len(found.steps)


@pytest.mark.parametrize(
    ("target", "most"),
    [
        (SOURCE, 1),
        ([3, 4, 9, 6, 7, 8], 2),  # a substitution
        ([3, 4, 6, 7, 8], 2),  # a deletion
        ([3, 4, 8], 2),  # a longer one
        ([9, 4, 5, 6, 7, 8], 2),  # at the beginning
        ([3, 4, 5, 6, 7, 9], 2),  # at the end
        ([3, 4, 5, 6, 7, 8, 9], 2),  # behind it
        ([], 1),
    ],
)
def test_one_more_pass_an_edit(target: list[int], most: int) -> None:
    """Algorithm 1 needs two more where the new word is not in the source."""
    assert passes(target, ReentryDrafter()) == most <= passes(target, CopyDrafter())


def test_an_inserted_marker_is_no_substitution() -> None:
    """She go to -> She go <+s> to."""
    target = [3, 4, 10, 5, 6, 7, 8]
    assert passes(target, ReentryDrafter()) == 3
    assert passes(target, ReentryDrafter({10: 0, 11: 0})) == 2


def test_one_marker_for_another_is_one() -> None:
    assert reentry([10, 5, 6], [11], {10: 0, 11: 0}) == 1
    assert reentry([10, 5, 6], [9], {10: 0, 11: 0}) == 0  # a word where a marker stood


def test_kinds_are_told_apart() -> None:
    """An article (kind 1) is put before a mark (kind 0) or a word, and exchanged for an article."""
    kinds = {10: 0, 11: 1, 12: 1}
    assert reentry([10, 5, 6], [11], kinds) == 0
    assert reentry([5, 6], [11], kinds) == 0
    assert reentry([12, 5, 6], [11], kinds) == 1


def test_tokens_that_fit_by_chance_do_not_lose_the_place() -> None:
    """An insertion is taken for a substitution first; one more try finds it."""
    source, target = [3, 4, 5, 3, 6, 7], [3, 4, 9, 5, 3, 6, 7]
    model = RuleModel(on_the_way_to(target))
    [[found]] = Decoder(model, ReentryDrafter()).decode([source])
    assert list(found.tokens) == target
    assert len(found.steps) == 3


def corrector(edits: dict[int, list[int]]) -> Rule:
    """Return the rule that puts ``edits[token]`` in place of a token, wherever it stands.

    It reads the output from the left as a network does: an error that was copied stays, and later
    ones are corrected all the same.
    """

    def rule(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        rest = list(output)
        for token in source:
            new = edits.get(token, [token])
            if len(rest) < len(new) and new[: len(rest)] == rest:
                return new[len(rest)]
            if new and rest[: len(new)] == new:
                rest = rest[len(new) :]
            elif rest and (rest[0] == token or rest[0] in new):  # copied, or half of the new ones
                rest = rest[1:]
        return EOS

    return rule


LONG = [*range(3, 30)]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({5: [40]}, 2),
        ({5: [40], 12: [41]}, 2),  # the second error is foreseen
        ({5: [40], 12: [41], 20: [42], 26: [43]}, 2),
        ({5: [40], 12: [], 26: [43]}, 2),  # a deletion
        ({5: [40], 20: [42, 20]}, 3),  # an insertion is taken for a substitution first
        ({5: [40], 29: [29, 44]}, 2),  # behind the last token
        ({5: [40], 12: [41, 42]}, 4),  # of two new tokens one is foreseen, and for 13 the other
        ({5: [40], 6: [41]}, 3),  # beside an error nothing is
    ],
)
def test_corrections_are_foreseen(edits: dict[int, list[int]], expected: int) -> None:
    target = [new for token in LONG for new in edits.get(token, [token])]
    model = RuleModel(corrector(edits), vocab_size=50)
    [[found]] = Decoder(model, ReentryDrafter()).decode([LONG])
    assert list(found.tokens) == target
    assert len(found.steps) == expected


def test_what_is_foreseen_is_forgotten_where_it_does_not_stand() -> None:
    """The network wants 41 for 12 only as long as the error before it stands: once is enough."""

    def rule(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        token = (*source, EOS)[len(output)]
        return {5: 40, 12: 41 if 5 in output else 12}.get(token, token)

    model = RuleModel(rule, vocab_size=50)
    [[found]] = Decoder(model, ReentryDrafter()).decode([LONG])
    assert list(found.tokens) == [40 if token == 5 else token for token in LONG]
    assert [step.accepted for step in found.steps] == [2, 6, 18]


def test_a_network_that_is_foreseen_wrongly_is_soon_not_foreseen() -> None:
    """Choices by place alone: a token is put in, and every choice behind it seems another one."""
    target = [3, 40, *range(4, 30)]
    model = RuleModel(rewrites(lambda _source: target), vocab_size=50)
    [[found]] = Decoder(model, ReentryDrafter()).decode([LONG])
    assert list(found.tokens) == target
    assert len(found.steps) == 3 + MISSES  # one more, as an insertion is taken for a substitution


def test_a_row_that_another_drafter_began_is_followed_from_where_it_is() -> None:
    source = [*range(3, 103)]
    place = Place()
    place.follow(source[:60], source)
    assert (place.copied, place.new) == (60, ())
    place = Place()
    place.follow([*source[:50], 200, 201], source)
    assert (place.copied, place.new) == (50, (200, 201))


def test_output_far_from_the_source_is_not_compared_for_ever() -> None:
    source, place = [*range(3, 303)], Place()
    for count in range(200):
        place.follow([400] * count, source)
        place.draft, place.starts, place.copies = [7], [0], [True]
        assert len(place.new) <= 2 * WINDOW
    assert place.copied == 199 - 2 * WINDOW
    place.follow([400] * 400, source)
    assert place.copied == len(source)


def test_a_confirmed_insertion_stays_foreseen_at_the_edge() -> None:
    """It stands before 18 in the draft, one place too near to the error to be looked at."""
    source = [*range(10, 30)]
    place = Place(foreseen={8: 99})
    ReentryDrafter({99: 1})._draft(source, 4, place, EOS)
    assert place.draft[:6] == [14, 15, 16, 17, 99, 18]
    choices = [50, 15, 16, 17, 99, *place.draft[5:]]
    for accepted in range(4):
        place.foreseen = {8: 99}
        place.learn([*place.draft[:accepted], 50, *choices[accepted + 1 :]], accepted, source, EOS)
        assert place.foreseen.get(8) == 99


def test_nothing_is_foreseen_where_the_source_may_stand_by_tolerance() -> None:
    """A foreseen token would stand, too, where it is near the best: another output."""
    edits = {5: [40], 12: [41]}
    model = RuleModel(
        corrector(edits), second=lambda s, o: (*s, EOS)[len(o)], gap=0.5, vocab_size=50
    )
    strict, tolerant = (
        Decoder(model, ReentryDrafter(), acceptance).decode([LONG])[0][0]
        for acceptance in (Exact(), Conservative(0.6))
    )
    assert list(strict.tokens) == [{5: 40, 12: 41}.get(token, token) for token in LONG]
    assert list(tolerant.tokens) == LONG
    assert len(tolerant.steps) == 1
    near = RuleModel(corrector(edits), vocab_size=50)
    [[found]] = Decoder(near, ReentryDrafter(), Conservative(0.6)).decode([LONG])
    assert (found.tokens, len(found.steps)) == (strict.tokens, 3)


def test_a_new_piece_stands_for_the_whole_word() -> None:
    """The word 5 6 7, whose 6 and 7 only go on, becomes 40."""
    begins = [token not in (6, 7) for token in range(50)]
    target = [3, 4, 40, *range(8, 30)]
    model = RuleModel(on_the_way_to(target), vocab_size=50)
    found = [Decoder(model, ReentryDrafter({}, b)).decode([LONG])[0][0] for b in ((), begins)]
    assert [list(f.tokens) for f in found] == [target] * 2
    assert [len(f.steps) for f in found] == [4, 2]


def test_the_copy_goes_on_behind_two_tokens_that_stand_further_on() -> None:
    """Five tokens out: their edit distance is met only after as many new ones."""
    target = [*range(3, 8), *range(14, 30)]
    assert reentry(LONG[5:15], [14, 15]) == 2
    model = RuleModel(on_the_way_to(target), vocab_size=50)
    [[found]] = Decoder(model, ReentryDrafter()).decode([LONG])
    assert list(found.tokens) == target
    assert len(found.steps) == 3


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_the_output_is_greedy_whatever_is_drafted(batch_size: int) -> None:
    rng = random.Random(4)
    sources = [[rng.randrange(3, 12) for _ in range(rng.randrange(14))] for _ in range(60)]
    for model in (
        RuleModel(sometimes(1, 12)),
        RuleModel(sometimes(2, 12, agreement=0.5)),
        TransformerVerifier(tiny_network(7, vocab_size=12)),
    ):
        limit = LengthLimit(1.5, 6)
        greedy = Decoder(model, limit=limit).decode(sources, batch_size=1)
        drafter = ReentryDrafter({3: 0, 4: 1}, [token % 3 > 0 for token in range(12)])
        found = Decoder(model, drafter, limit=limit).decode(sources, batch_size=batch_size)
        assert [(f[0].tokens, f[0].truncated) for f in found] == [
            (f[0].tokens, f[0].truncated) for f in greedy
        ]
