"""gec.web.config: options over environment over file, and what none of them may say."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gec.cli import build_parser
from gec.errors import ConfigError, GecError, InputError
from gec.web.config import Config, configure
from gec.web.server import configuration

File = Callable[..., str]


def test_options_come_before_environment_before_file(file: File) -> None:
    path = file('[serve]\nport = 1\nhost = "a"\nrate = 5\ncors = ["https://a.b"]\n', "gec.toml")
    environment = {"GEC_PORT": "2", "GEC_HOST": "b", "GEC_TIMEOUT": "1.5", "GEC_OTHER": "x"}
    config = configure({"port": 3, "host": None}, environment, path)
    assert (config.port, config.host, config.rate) == (3, "b", 5.0)
    assert config.timeout == 1.5
    assert config.cors == ("https://a.b",)
    assert configure({}, {"GEC_CONFIG": path}).host == "a"
    assert configure({}, {}) == Config()


def test_lists_in_the_environment() -> None:
    config = configure({}, {"GEC_CORS": "https://a.b, https://c.d"})
    assert config.cors == ("https://a.b", "https://c.d")
    config = configure({}, {"GEC_TRUSTED_PROXY": "10.0.0.0/8 ::1"})
    assert config.trusted_proxy == ("10.0.0.0/8", "::1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[serve]\nprot = 1", "no setting 'prot'"),
        ('[serve]\nport = "1"', "port: '1' is of the wrong kind, a whole number is needed"),
        ("[serve]\nport = true", "a whole number"),
        ("[serve]\nport = 1.5", "a whole number"),
        ("[serve]\nhost = 1", "a string"),
        ('[serve]\ncors = "*"', "list of strings"),
        ('serve = "x"', "must be a table"),
        ("[serve", "gec.toml: "),
        ("[serve]\nport = 70000", "port must be at most 65535"),
    ],
)
def test_files_that_say_something_else(file: File, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
        configure({}, {}, file(text, "gec.toml"))


def test_a_file_must_be_there() -> None:
    with pytest.raises(InputError, match="no such file"):
        configure({}, {"GEC_CONFIG": "/nowhere/gec.toml"})


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"GEC_PORT": "http"}, "GEC_PORT: 'http' is not a whole number"),
        ({"GEC_TIMEOUT": "soon"}, "GEC_TIMEOUT: 'soon' is not a number"),
        ({"GEC_TIMEOUT": "nan"}, "timeout must be"),
        ({"GEC_TIMEOUT": "0"}, "timeout must be at least"),
        ({"GEC_MAX_TEXT": "0"}, "max_text must be at least 1"),
        ({"GEC_TOKEN": "fifteen letters"}, "token must have at least 16 characters, not 15; make"),
        ({"GEC_TOKEN": "a tab\tis not allowed"}, "printable"),
        ({"GEC_TOKEN": "ééééééééé"}, "ASCII"),
        ({"GEC_CORS": "example.org"}, "'example.org' is no origin"),
        ({"GEC_CORS": "https://example.org/"}, "is no origin"),
        ({"GEC_QUEUE": "10"}, "exceeds queue"),
        ({"GEC_TRUSTED_PROXY": "proxy.example"}, "'proxy.example' is no address or network"),
        ({"GEC_TRUSTED_PROXY": "10.0.0.1/8"}, "'10.0.0.1/8' is no address or network"),
        ({"GEC_ALLOWED_HOST": "https://a.b"}, "'https://a.b' is no host name"),
        ({"GEC_ALLOWED_HOST": "a.b:80"}, "'a.b:80' is no host name"),
        ({"GEC_PICKY": "fast"}, "picky must be one of precise, balanced, thorough, not 'fast'"),
        ({"GEC_CLIENT_REQUESTS": "-1"}, "client_requests must be at least 0"),
        ({"GEC_FEEDBACK_QUOTA": "0"}, "feedback_quota must be at least 1"),
    ],
)
def test_values_that_cannot_be(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configure({}, environment)


def arguments(*given: str) -> Any:
    return build_parser().parse_args(["serve", *given])


def test_every_setting_is_an_option_but_the_token() -> None:
    names = vars(arguments())
    assert {setting.name for setting in fields(Config)} - names.keys() == {"token"}


def test_the_documentation_has_every_setting_and_its_default() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "server.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", page, re.MULTILINE))
    assert rows.keys() == {setting.name for setting in fields(Config)}
    for setting in fields(Config):
        default = setting.default
        shown = "" if default is None or default == () else f"`{default}`"
        shown = shown.replace(".0`", "`")
        assert rows[setting.name].strip() == shown, setting.name


def test_the_command_line(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEC_PORT", "GEC_HOST", "GEC_CONFIG", "GEC_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert configuration(arguments()) == Config()
    secret = file("correct horse battery\n", "token")
    config = configuration(
        arguments(
            "--host", "::1", "--port", "0", "--rate", "0", "--cors", "https://a.b", "--cors", "*",
            "--token-file", secret, "--feedback", "f.sqlite", "--max-text", "5",
            "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1", "--allowed-host", "a.b",
        )
    )  # fmt: skip
    assert config == Config(
        host="::1", port=0, rate=0.0, cors=("https://a.b", "*"), max_text=5,
        token="correct horse battery", feedback="f.sqlite",
        trusted_proxy=("10.0.0.0/8", "::1"), allowed_host=("a.b",),
    )  # fmt: skip
    monkeypatch.setenv("GEC_PORT", "99")
    assert configuration(arguments()).port == 99
    assert configuration(arguments("--port", "98")).port == 98


@pytest.mark.parametrize("content", ["", "\n", "fifteen letters"])
def test_a_token_file_needs_a_token(file: File, content: str) -> None:
    with pytest.raises(GecError, match="token"):
        configuration(arguments("--token-file", file(content, "token")))
