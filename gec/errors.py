"""The one exception tree.

GecError
├── ModelError    a bundle or network cannot be found, read or run
├── InputError    the user's text or file cannot be read or written
├── ConfigError   an option, argument or recipe is wrong
└── DataError     a training or evaluation corpus is malformed

A message says what was wrong, where (file, line) and what to do, in one line.
"""


class GecError(Exception):
    """Base of everything this package raises on purpose.

    ``status`` is the exit status of a command that ends with it.
    """

    status = 2


class ModelError(GecError):
    """A bundle or network cannot be found, read or run."""


class InputError(GecError):
    """The user's text or file cannot be read or written."""


class ConfigError(GecError):
    """An option, argument or recipe is wrong."""


class DataError(GecError):
    """A training or evaluation corpus is malformed."""
