"""What to tell a writer about an error: one table, a row for each of ERRANT's error types.

A type is an operation (M: missing, U: unnecessary, R: to be replaced) and a category, for example
R:VERB:SVA (Bryant, Felice and Briscoe 2017, section 3.2). UNK is an error without a correction.
The categories' names follow ERRANT, not school grammar: "my" and "which" are determiners (DET),
"not" is an adverb (ADV), the "up" of "give up" is a particle (PART), a copula is a verb (VERB)
and any other auxiliary belongs to the tense (VERB:TENSE).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Message:
    """How to speak of one error type.

    Attributes:
        type: in ERRANT's notation.
        category_title: a heading, shared by all operations of the category.
        short: one sentence.
        explanation: some sentences for a learner.
        wrong, right: an example, the same sentence before and after one edit of this type; both
            empty for UNK, which has no correction.
    """

    type: str
    category_title: str
    short: str
    explanation: str
    wrong: str
    right: str


def message(type: str) -> Message:
    """Return the message of an error type; for one that ERRANT does not have, the nearest.

    >>> message("R:VERB:SVA").short
    'The verb does not agree with its subject.'
    >>> message("M:NOUN:PROPER").short == message("M:NOUN").short
    True
    """
    name = type
    while name:
        if name in MESSAGES:
            return MESSAGES[name] if name == type else replace(MESSAGES[name], type=type)
        name = name.rpartition(":")[0]
    other = {"M": "M:OTHER", "U": "U:OTHER", "R": "R:OTHER"}.get(type.partition(":")[0], "UNK")
    return replace(MESSAGES[other], type=type)


def category(type: str) -> str:
    """Return the kind of an error type: spelling, grammar, punctuation or style.

    Whether another plain word would be better (a noun, a verb, ...) is style; which form of it,
    or which determiner, preposition or pronoun, is grammar.

    >>> category("R:SPELL"), category("M:PUNCT"), category("R:VERB"), category("R:VERB:SVA")
    ('spelling', 'punctuation', 'style', 'grammar')
    """
    name = type[2:] if type[1:2] == ":" else type
    return _CATEGORIES.get(name, "grammar")


_CATEGORIES = {
    "SPELL": "spelling",
    **dict.fromkeys(("PUNCT", "ORTH"), "punctuation"),
    **dict.fromkeys(("WO", "OTHER", "NOUN", "VERB", "ADJ", "ADV", "CONJ", "PART"), "style"),
}


def describe(original: str, replacement: str, type: str) -> str:
    """Return one line that names the words of an edit, what to do with them, and why.

    What to do follows from the words: ERRANT calls "Cat" -> "The cat" a missing determiner.

    >>> describe("go", "goes", "R:VERB:SVA")
    'Use “goes” instead of “go”: the verb does not agree with its subject.'
    >>> describe("", "the", "M:DET")
    'Add “the”: an article or determiner is missing.'
    """
    old, new = (" ".join(text.split()) for text in (original, replacement))
    short = message(type).short
    if {old.lower(), new.lower()} == {"a", "an"}:
        short = "The sound that follows decides between “a” and “an”."
    if old == new:
        return f"Look at “{old}” again: {_inside(short)}" if old else short
    if not old:
        return f"Add “{new}”: {_inside(short)}"
    if not new:
        return f"Remove “{old}”: {_inside(short)}"
    return f"Use “{new}” instead of “{old}”: {_inside(short)}"


def _inside(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


TITLES = {
    "ADJ": "Adjective",
    "ADJ:FORM": "Comparison of adjectives",
    "ADV": "Adverb",
    "CONJ": "Conjunction",
    "CONTR": "Short form",
    "DET": "Article or determiner",
    "MORPH": "Word form",
    "NOUN": "Noun",
    "NOUN:INFL": "Plural form",
    "NOUN:NUM": "Singular or plural",
    "NOUN:POSS": "Possessive",
    "ORTH": "Capitals, spaces and hyphens",
    "OTHER": "Wording",
    "PART": "Particle",
    "PREP": "Preposition",
    "PRON": "Pronoun",
    "PUNCT": "Punctuation",
    "SPELL": "Spelling",
    "UNK": "Something to look at",
    "VERB": "Verb",
    "VERB:FORM": "Verb form",
    "VERB:INFL": "Irregular verb",
    "VERB:SVA": "Subject and verb",
    "VERB:TENSE": "Tense and helping verbs",
    "WO": "Word order",
}

# type: short, explanation, wrong, right
_TABLE = {
    # -------------------------------------------------------------------------------- missing
    "M:ADJ": (
        "An adjective is missing.",
        "An adjective says what somebody or something is like. Without one, this part of the "
        "sentence does not say enough.",
        "Clean water should be to everyone.",
        "Clean water should be available to everyone.",
    ),
    "M:ADV": (
        "An adverb is missing.",
        "An adverb says how, when, where or how much, and “not” is one as well. Without it the "
        "sentence says something else than it seems to mean.",
        "We took a taxi because it was far to walk.",
        "We took a taxi because it was too far to walk.",
    ),
    "M:CONJ": (
        "A conjunction is missing.",
        "Words such as “and”, “but” or “because” join words and sentences and show how they "
        "belong together. Here nothing joins them.",
        "I like tea coffee.",
        "I like tea and coffee.",
    ),
    "M:CONTR": (
        "A short form is missing.",
        "In a short form such as “they're” or “she's” the part after the apostrophe is a verb of "
        "its own. The sentence needs it.",
        "I think they very kind.",
        "I think they're very kind.",
    ),
    "M:DET": (
        "An article or determiner is missing.",
        "A singular noun for something that can be counted usually has a word in front of it. "
        "That is “a” or “an” for something new, “the” for something known, or a word such as "
        "“my” or “this”.",
        "I bought new phone.",
        "I bought a new phone.",
    ),
    "M:NOUN": (
        "A noun is missing.",
        "A noun names a person, a thing or an idea. The words around this place belong to a noun "
        "that is not there.",
        "It takes me one to get there.",
        "It takes me one hour to get there.",
    ),
    "M:NOUN:POSS": (
        "The possessive ending is missing.",
        "When something belongs to somebody, the owner's name takes an apostrophe and an s: “the "
        "teacher's desk”. A plural that ends in s takes the apostrophe only: “the teachers' "
        "room”.",
        "This is my brother car.",
        "This is my brother's car.",
    ),
    "M:OTHER": (
        "Something is missing.",
        "The sentence needs one or more words here. Read it aloud with the words added, and see "
        "if it says what you mean.",
        "My sister is years old.",
        "My sister is ten years old.",
    ),
    "M:PART": (
        "A small word that belongs to the verb is missing.",
        "Many verbs have a second part, such as “up”, “off” or “out”, and mean something else "
        "without it. It is best to learn the two parts together.",
        "He gave smoking last year.",
        "He gave up smoking last year.",
    ),
    "M:PREP": (
        "A preposition is missing.",
        "Words such as “in”, “at”, “for” or “to” connect a noun with the rest of the sentence. "
        "Many verbs and adjectives ask for a certain one: we wait for somebody and listen to "
        "somebody.",
        "I am waiting the bus.",
        "I am waiting for the bus.",
    ),
    "M:PRON": (
        "A pronoun is missing.",
        "An English sentence names its subject, even if that is only “it” or “there”. In the "
        "same way most verbs need their object, if only as “it” or “them”.",
        "I think is a good idea.",
        "I think it is a good idea.",
    ),
    "M:PUNCT": (
        "A punctuation mark is missing.",
        "Punctuation shows the reader where a sentence ends and which words belong together. A "
        "comma often follows what stands before the main part of a sentence.",
        "However we stayed at home.",
        "However, we stayed at home.",
    ),
    "M:VERB": (
        "A verb is missing.",
        "Every sentence needs a verb that says what happens or what is the case. After “want to” "
        "or “can” a second verb says what it is about.",
        "I want to home.",
        "I want to go home.",
    ),
    "M:VERB:FORM": (
        "The word “to” is missing before the verb.",
        "After verbs such as “want”, “decide” or “hope” the next verb takes “to”: “I hope to "
        "see you”. After “can”, “must” or “should” it does not.",
        "I want learn English.",
        "I want to learn English.",
    ),
    "M:VERB:TENSE": (
        "A verb such as “is”, “have” or “will” is missing.",
        "Some tenses are made of two parts: a helping verb such as “have”, “be” or “will”, and "
        "the main verb. Questions and sentences with “not” often need “do”.",
        "I been here for two years.",
        "I have been here for two years.",
    ),
    # ---------------------------------------------------------------------------- unnecessary
    "U:ADJ": (
        "This adjective is not needed.",
        "Another word says the same already, or the adjective does not fit in with the others. "
        "The sentence is clearer without it.",
        "I got a free gift.",
        "I got a gift.",
    ),
    "U:ADV": (
        "This adverb is not needed.",
        "Another word says the same already: to return is to go back. The sentence is clearer "
        "without the adverb.",
        "Please return back to your seats.",
        "Please return to your seats.",
    ),
    "U:CONJ": (
        "This conjunction is not needed.",
        "One conjunction is enough to join two parts of a sentence. With “although” or “because” "
        "in one part, the other does without “but” or “so”.",
        "Although it was late, but we stayed.",
        "Although it was late, we stayed.",
    ),
    "U:CONTR": (
        "This short form is not needed.",
        "The part after the apostrophe is a short form of a verb such as “is”, “has” or “will”. "
        "Here the sentence has its verb already.",
        "It's depends on the weather.",
        "It depends on the weather.",
    ),
    "U:DET": (
        "This article or determiner is not needed.",
        "We use no article when we speak of things in general, in the plural or where they "
        "cannot be counted: “Dogs are friendly”, “Life is short”. Most names have none either.",
        "I love the nature.",
        "I love nature.",
    ),
    "U:NOUN": (
        "This noun is not needed.",
        "Another word says the same already, or the noun does not belong in this place. The "
        "sentence is clearer without it.",
        "I have a headache pain.",
        "I have a headache.",
    ),
    "U:NOUN:POSS": (
        "The possessive ending is not needed.",
        "An apostrophe and an s show that something belongs to somebody. Here nothing does.",
        "We visited London's last year.",
        "We visited London last year.",
    ),
    "U:OTHER": (
        "This is not needed.",
        "The sentence says the same, or says it better, without these words. Read it aloud "
        "without them, and see if it says what you mean.",
        "Each and every student passed the test.",
        "Each student passed the test.",
    ),
    "U:PART": (
        "This small word after the verb is not needed.",
        "Some verbs have a second part, such as “up”, “off” or “out”. This verb stands alone in "
        "this meaning.",
        "We discussed out the problem.",
        "We discussed the problem.",
    ),
    "U:PREP": (
        "This preposition is not needed.",
        "Some verbs take their object directly, without a word such as “about”, “to” or “with”. "
        "We discuss a plan, enter a room and marry somebody.",
        "We discussed about the problem.",
        "We discussed the problem.",
    ),
    "U:PRON": (
        "This pronoun is not needed.",
        "A pronoun stands in the place of a noun. Where the noun itself is there, the pronoun "
        "only says it again.",
        "My brother he lives in Spain.",
        "My brother lives in Spain.",
    ),
    "U:PUNCT": (
        "This punctuation mark is not needed.",
        "Punctuation separates what does not belong together. There is no comma, for example, "
        "before “that” in “I know that”, or between a verb and its object.",
        "I know, that you are busy.",
        "I know that you are busy.",
    ),
    "U:VERB": (
        "This verb is not needed.",
        "The sentence has another verb that says what happens. With both, one of them has no "
        "subject or object of its own.",
        "They went go home.",
        "They went home.",
    ),
    "U:VERB:FORM": (
        "The word “to” is not needed before the verb.",
        "After “can”, “must”, “should” and the like the verb stands alone. It does so, too, after "
        "“make somebody” and “let somebody”.",
        "You should to rest.",
        "You should rest.",
    ),
    "U:VERB:TENSE": (
        "This helping verb is not needed.",
        "Words such as “have”, “be” and “will” make a tense together with the main verb. Here "
        "the main verb alone has the right tense, as in what happened at a time that is over.",
        "She has arrived yesterday.",
        "She arrived yesterday.",
    ),
    # ------------------------------------------------------------------------------- replaced
    "R:ADJ": (
        "Another adjective fits better here.",
        "Adjectives with nearly the same meaning go with different nouns: the wind is strong, but "
        "rain is heavy. It helps to learn some together with their noun.",
        "There was strong rain all day.",
        "There was heavy rain all day.",
    ),
    "R:ADJ:FORM": (
        "The adjective needs another form for a comparison.",
        "To compare, short adjectives take the endings -er and -est, longer ones “more” and "
        "“most”, and never both. A few have forms of their own: good, better, best.",
        "Today is more hot than yesterday.",
        "Today is hotter than yesterday.",
    ),
    "R:ADV": (
        "Another adverb fits better here.",
        "Adverbs that look or mean nearly the same are used in different places. With “ago”, for "
        "example, we count back from now, with “before” from another time.",
        "I met him two years before.",
        "I met him two years ago.",
    ),
    "R:CONJ": (
        "Another conjunction fits better here.",
        "Each conjunction joins in its own way. “And” adds, “or” lets you choose, “but” shows a "
        "contrast and “because” gives a reason.",
        "You can have tea and coffee, but not both.",
        "You can have tea or coffee, but not both.",
    ),
    "R:CONTR": (
        "The short form is written in another way.",
        "In a short form an apostrophe stands where letters are left out: “do not” becomes "
        "“don't”, “it is” becomes “it's”. The full form is possible as well.",
        "I dont know.",
        "I don't know.",
    ),
    "R:DET": (
        "Another article or determiner fits better here.",
        "We say “a” or “an” for something new and “the” for something known. “This” goes with one "
        "thing and “these” with several, “much” with what cannot be counted and “many” with what "
        "can.",
        "I like this shoes.",
        "I like these shoes.",
    ),
    "R:MORPH": (
        "Another form of this word fits better here.",
        "Words of one family have different endings for different work. “Success” is a noun, "
        "“successful” an adjective, “successfully” an adverb and “succeed” a verb.",
        "She sings beautiful.",
        "She sings beautifully.",
    ),
    "R:NOUN": (
        "Another noun fits better here.",
        "Nouns with nearly the same meaning are used in different places. A dictionary with "
        "examples shows which one goes with the words around it.",
        "I wish you a nice travel.",
        "I wish you a nice trip.",
    ),
    "R:NOUN:INFL": (
        "This noun has another plural form.",
        "Most nouns take -s or -es in the plural, but some have a form of their own: one child, "
        "two children. Others, such as “information”, have no plural at all.",
        "They have two childs.",
        "They have two children.",
    ),
    "R:NOUN:NUM": (
        "Singular and plural do not match here.",
        "One thing is singular, several are plural, most often with an s: “one cat”, “two cats”. "
        "After “many”, “these” or a number above one the noun is plural; what cannot be counted "
        "is singular.",
        "I have two cat.",
        "I have two cats.",
    ),
    "R:NOUN:POSS": (
        "The possessive is written in another way.",
        "One owner takes an apostrophe and an s: “my friend's house”. Several owners whose name "
        "ends in s take the apostrophe only: “my friends' house”.",
        "This is my friends house.",
        "This is my friend's house.",
    ),
    "R:ORTH": (
        "The letters stay the same, but not the capitals, spaces or hyphens.",
        "Names, languages, days and months begin with a capital letter, and so does every "
        "sentence. Some words are written together, some apart: “a lot”, “cannot”.",
        "She lives in london.",
        "She lives in London.",
    ),
    "R:OTHER": (
        "Another wording fits better here.",
        "The words do not go together in this way. Compare the two wordings, and see if the new "
        "one says what you mean.",
        "I have not idea.",
        "I have no idea.",
    ),
    "R:PART": (
        "The verb takes another small word here.",
        "Many verbs have a second part, and each changes the meaning: you turn a light off, turn "
        "an offer down and turn up at a party. It is best to learn the two parts together.",
        "He gave in smoking last year.",
        "He gave up smoking last year.",
    ),
    "R:PREP": (
        "Another preposition fits better here.",
        "Words such as “in”, “on”, “at”, “for” or “to” often depend on the word before them: "
        "good at, interested in, afraid of. For times we say “at six”, “on Monday” and “in May”.",
        "She is good in tennis.",
        "She is good at tennis.",
    ),
    "R:PRON": (
        "Another pronoun fits better here.",
        "Some pronouns have one form for the subject (I, he, she, we, they) and one for the "
        "object and after a preposition (me, him, her, us, them). And a pronoun matches what it "
        "stands for: “it” for one thing, “they” for several.",
        "He gave the book to I.",
        "He gave the book to me.",
    ),
    "R:PUNCT": (
        "Another punctuation mark fits better here.",
        "A question ends with a question mark, a statement with a full stop (a period). Two whole "
        "sentences are separated by more than a comma.",
        "Where do you live.",
        "Where do you live?",
    ),
    "R:SPELL": (
        "This looks like a spelling mistake.",
        "There is no word with this spelling, or it is another word that only looks or sounds like "
        "the one you need. A dictionary shows both.",
        "I recieved your letter.",
        "I received your letter.",
    ),
    "R:VERB": (
        "Another verb fits better here.",
        "Verbs with nearly the same meaning go with different nouns: we make a mistake, do "
        "homework and take a photo. It helps to learn some together with their noun.",
        "He did a mistake.",
        "He made a mistake.",
    ),
    "R:VERB:FORM": (
        "The verb needs another form here.",
        "What stands before a verb decides its form: “is reading”, “has read”, “can read”, “to "
        "read”. After a preposition, and after verbs such as “enjoy”, it takes -ing.",
        "She is read a book.",
        "She is reading a book.",
    ),
    "R:VERB:INFL": (
        "This verb has a form of its own.",
        "Most verbs take -ed in the past, but many of the most frequent ones change in another "
        "way: go, went, gone. A dictionary lists their forms.",
        "He goed home.",
        "He went home.",
    ),
    "R:VERB:SVA": (
        "The verb does not agree with its subject.",
        "In the present, the verb takes an s after he, she, it or one thing: “she goes”. After "
        "I, you, we, they or several things it takes none: “they go”. “Be” and “have” have forms "
        "of their own.",
        "She go to school.",
        "She goes to school.",
    ),
    "R:VERB:TENSE": (
        "Another tense or helping verb fits better here.",
        "The tense tells when something happens. Words such as “yesterday” or “tomorrow”, and "
        "the other verbs of the text, show which one is needed. Helping verbs such as “can” and "
        "“could” count as well.",
        "Yesterday I go to the park.",
        "Yesterday I went to the park.",
    ),
    "R:WO": (
        "The words go in another order.",
        "In English the subject stands before the verb and the object after it. A direct "
        "question turns subject and verb around, one inside a sentence does not.",
        "I know where is she.",
        "I know where she is.",
    ),
    "UNK": (
        "Something may be wrong here, but there is no suggestion.",
        "This part reads unlike what most writers would write. Read it aloud, and see if there "
        "is a simpler way to say it.",
        "",
        "",
    ),
}

MESSAGES: Mapping[str, Message] = {
    type: Message(type, TITLES[type[2:] if type[1:2] == ":" else type], *row)
    for type, row in _TABLE.items()
}
