"""The one exception tree.

GecError
├── ModelError    a bundle or network cannot be found, read or run
├── InputError    the user's text or file cannot be read or written
├── ConfigError   an option, argument or recipe is wrong
└── DataError     a training or evaluation corpus is malformed

A message says what was wrong, where (file, line) and what to do, in one line.
"""

_LONGEST = 2000  # characters of a message that quotes a file


class GecError(Exception):
    """Base of everything this package raises on purpose.

    ``status`` is the exit status of a command that ends with it.
    """

    status = 2


class ModelError(GecError):
    """A bundle or network cannot be found, read or run.

    Its message is one printable line even if it quotes what a broken or hostile bundle holds.
    """

    def __init__(self, message: str) -> None:
        line = " ".join(message[:_LONGEST].split())
        super().__init__("".join(map(_printable, line)))


class InputError(GecError):
    """The user's text or file cannot be read or written."""


class ConfigError(GecError):
    """An option, argument or recipe is wrong."""


class DataError(GecError):
    """A training or evaluation corpus is malformed."""


def _printable(character: str) -> str:
    """Return a character, or its escape: it could clear a terminal or forge a line of a log."""
    return character if character.isprintable() else ascii(character)[1:-1]
