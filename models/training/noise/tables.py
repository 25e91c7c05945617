"""Closed classes of English words shared by the error functions."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


PREPOSITIONS = word_set(
    """in on at to for of with by from about since during into onto over under between among
    against through without within after before until till around behind near towards as"""
)
THIRD_PERSON = word_set(
    """he she it everyone everybody someone somebody nobody anyone anybody everything something
    nothing"""
)
OTHER_PERSONS = word_set("i you we they")
SUBJECTS = THIRD_PERSON | OTHER_PERSONS
OBJECTS = word_set("me him her us them it you")
POSSESSIVES = word_set("my your his her its our their")
ARTICLES = word_set("a an the")
SINGULAR_DETERMINERS = word_set("a an one this that every each another either neither")
PLURAL_DETERMINERS = word_set(
    """these those many several few some all both two three four five six seven eight nine ten
    eleven twelve twenty thirty forty fifty hundred thousand various numerous different most"""
)
DETERMINERS = (
    ARTICLES | POSSESSIVES | SINGULAR_DETERMINERS | PLURAL_DETERMINERS
    | word_set("much no any little enough whose which what")
)  # fmt: skip
BE = word_set("is are am was were be been being 's 're 'm")
HAVE = word_set("have has had having 've 's 'd")
DO = word_set("do does did")
MODALS = word_set("can could will would shall should may might must ca wo 'll 'd")
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATIONS = word_set("not n't never")
QUESTION_WORDS = word_set("what where when why how who whom whose which")
MID_ADVERBS = word_set(
    """always never often usually sometimes already also just still really ever even only
    rarely seldom hardly generally actually probably finally recently soon almost simply not"""
)
CONJUNCTIONS = word_set(
    "and or but so because although though if when while unless until that than as since"
)
PUNCTUATION = word_set(". , ? ! : ; - -- ( ) [ ] \" ' `` '' “ ” ‘ ’ …")
UNCOUNTABLE = word_set(
    """information advice equipment furniture homework knowledge news traffic luggage baggage
    research evidence software hardware music work money help progress weather bread rice
    water travel feedback pollution transportation electricity vocabulary clothing jewelry
    housework staff training behavior behaviour education experience entertainment garbage
    mail scenery slang stuff machinery violence access health happiness fun luck nature art
    literature technology"""
)
IRREGULAR_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth",
    "mouse": "mice", "goose": "geese", "person": "people", "knife": "knives", "wife": "wives",
    "life": "lives", "wolf": "wolves", "shelf": "shelves", "half": "halves", "thief": "thieves",
    "leaf": "leaves", "policeman": "policemen", "businessman": "businessmen", "fisherman":
    "fishermen", "potato": "potatoes", "tomato": "tomatoes", "hero": "heroes", "ox": "oxen",
    "grandchild": "grandchildren", "gentleman": "gentlemen", "crisis": "crises",
    "analysis": "analyses", "phenomenon": "phenomena", "criterion": "criteria",
}  # fmt: skip
UNCHANGED_PLURALS = word_set("sheep fish deer aircraft series species")
PROPER_NAMES = word_set(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February April June
    July September October November December English French German Spanish Italian Chinese
    Japanese Korean Russian Portuguese Arabic Dutch Swedish Greek Turkish Polish Latin
    American British European Asian African Canadian Australian Indian Mexican Christmas
    Easter America England Britain France Germany Spain Italy China Japan Korea Russia
    Canada Australia India Mexico Europe Asia Africa London Paris Tokyo Boston Internet God
    Christian Muslim Tom Mary John Jack Bob Mike Jim Ken Alice Kate Emily Sam Dan Nick Paul
    Peter George Mr Mrs Ms Dr Brazil Egypt Greece Turkey"""
)
SUPERFLUOUS = word_set("that have will do it")
PERSONS = word_set(
    """friend brother sister father mother teacher boy girl man woman student doctor uncle aunt
    wife husband son daughter boss neighbor neighbour child dad mom"""
)
FUNCTION_WORDS = (
    PREPOSITIONS | SUBJECTS | OBJECTS | DETERMINERS | AUXILIARIES | NEGATIONS | QUESTION_WORDS
    | MID_ADVERBS | CONJUNCTIONS
    | word_set(
        """there here other others mine yours hers ours theirs himself herself itself themselves
        myself yourself ourselves very too then now again such own same yes up down out off away
        back more less well however therefore moreover furthermore besides else whether yet quite
        let us another nor i im anyway hello thus none indeed plus"""
    )
)  # fmt: skip
NOT_VERBS = word_set(
    """be a an the in on at to of for it he she they we you i one two four this that bill tom
    man woman people child book girl boy good bad big other evening morning something may
    will can must might would should could shall with and or but so if as up down out off
    over under no yes yet then than ing mary house car city school home day night water time
    year week month summer winter spring paper picture key party problem friend thing world
    life family movie game money way word number store tree cat bird fish dog king news
    english japanese old new long own very well even back still short dry warm cool wrong
    slow better best poor great nice hot cold hard real young happy sad right free full
    early late bus plane boat mother father parent baby doctor second minute hour moment"""
)
NOT_NOUNS = word_set(
    """other good bad big new old long own very well even still short clean clear dry warm cool
    wrong slow better best poor great nice hot cold hard real young happy sad right left
    free full early late blue red green black white yellow brown low high fast deep wide
    dark light see say get make go come take give want know think tell ask become keep bring
    begin eat sell buy hear meet lead understand learn grow lose happen seem include
    continue allow follow stop create speak read spend appear wait serve die send expect
    build remain provide sit stand decide arrive believe write need let put set run walk
    open close tie follow agree live enjoy explain choose depend suggest finish require
    contain involve exist down up out off over under in then than again here there now today
    tomorrow tonight yesterday english japanese monday sunday tom mary john math this his as
    is was has does us yes gas bus plus thus always maybe perhaps please thank hello off
    during inner outer single double dear enough most least much many few lot likely able
    glad important special general final common major minor local national international
    past present future else anything everything something nothing someone mine yours eleven
    twelve two three four five six seven eight nine ten hundred thousand million"""
)
NOT_ADJECTIVES = word_set(
    """dai week month year day hour love friend cost order man world time hard late near high
    deep short fair bare body home heaven coward live most main part name last first second
    third hourly only early reply apply supply july bully rally ally fly daily weekly
    friendly hardly lately nearly highly shortly fairly barely mostly mainly partly namely
    lastly firstly secondly thirdly rely elder scholar mother father brother neighbor
    neighbour king leisure ghost state earth life lone like tall jelly belly sole even
    present per use event mass good fast still right under homely"""
)
"""Words whose form in -ly is not an adverb, or has another meaning; and such forms."""
