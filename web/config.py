"""The server's settings, from the command line, else the environment, else a TOML file.

The file's table ``[serve]`` and the environment have the names of :class:`Config`'s fields:
``port = 8081``, ``GEC_PORT=8081``.

The help of ``gec serve`` is made of this, so what only reading needs is imported where it is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from gec.errors import ConfigError

SETTINGS = ("precise", "balanced", "thorough")
LOG_FORMATS = ("text", "json")
MIN_TOKEN = 16
"""The least length of a bearer token."""


def _setting(default: Any, help: str, *, least: float = 0, most: float = math.inf) -> Any:
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of the server; the metadata of each field has its help and bounds."""

    host: str = _setting("127.0.0.1", "address to listen on")
    port: int = _setting(8081, "port to listen on; 0 takes a free one", most=65535)
    model: str = _setting("en", "a bundle's name or folder")
    device: str | None = _setting(None, "cpu, cuda, cuda:1, ... (default: CUDA if it is there)")
    precision: str | None = _setting(
        None, "int8, fp32, bf16 or fp16 (default: the bundle's, on CUDA bf16)"
    )
    torch_threads: int | None = _setting(None, "CPU threads of the model", least=1)
    setting: str | None = _setting(None, "precise, balanced or thorough (default: the bundle's)")

    max_text: int = _setting(100_000, "characters of text in a request", least=1)
    max_texts: int = _setting(64, "texts in a request", least=1)
    max_body: int = _setting(2 * 2**20, "bytes in a request's body", least=1024)
    max_sentences: int = _setting(4000, "sentences to decode in a request", least=1)
    timeout: float = _setting(60.0, "seconds a request may take", least=0.001, most=3600)
    rate: float = _setting(600.0, "requests a minute from a client; 0 is no limit")

    batch_size: int = _setting(16, "sentences decoded together", least=1)
    queue: int = _setting(
        8000, "sentences that may wait to be decoded; half of them one client's", least=1
    )
    cache: int = _setting(20_000, "sentences to remember; 0 remembers none")
    workers: int = _setting(
        1, "processes that serve, on CPUs; they share the model's memory", least=1, most=128
    )
    threads: int = _setting(24, "requests served at the same time", least=4, most=1000)
    client_requests: int = _setting(
        8, "texts corrected at the same time for one client; 0 is no limit"
    )
    connections: int = _setting(500, "open connections", least=10)
    drain: float = _setting(30.0, "seconds that requests in progress get after SIGTERM")
    log_format: str = _setting("text", "text or json; json is an object a line")

    token: str | None = _setting(
        None, f"bearer token that the APIs ask for, of {MIN_TOKEN} characters or more"
    )
    cors: tuple[str, ...] = _setting((), "origins whose pages may use the APIs; * is any")
    allowed_host: tuple[str, ...] = _setting(
        (), "names that requests may call the server by, besides its address; * is any"
    )
    trusted_proxy: tuple[str, ...] = _setting(
        (), "addresses or networks of proxies in front, whose X-Forwarded headers count"
    )
    picky: str = _setting("thorough", "the setting of LanguageTool's level=picky")
    feedback: str | None = _setting(None, "SQLite file for what users accept and ignore")
    feedback_days: int = _setting(365, "days that feedback is kept; 0 is for ever")
    feedback_quota: int = _setting(
        2**20, "bytes of feedback a day that one client may have stored", least=1
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, (int, float)):
                least, most = setting.metadata["least"], setting.metadata["most"]
                if not least <= value <= most:
                    bound = f"at least {least:g}" if value < least else f"at most {most:g}"
                    raise ConfigError(f"{setting.name} must be {bound}, not {value}")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise ConfigError("token must be printable ASCII characters")
        if self.token is not None and len(self.token) < MIN_TOKEN:
            raise ConfigError(
                f"token must have at least {MIN_TOKEN} characters, not {len(self.token)}; "
                "make one for example with: openssl rand -hex 32"
            )
        if self.log_format not in LOG_FORMATS:
            known = " or ".join(LOG_FORMATS)
            raise ConfigError(f"log_format must be {known}, not {self.log_format!r}")
        if self.workers > 1 and self.device not in (None, "cpu"):
            raise ConfigError(
                f"workers share a model on CPUs only: take 1 worker with device {self.device!r}"
            )
        if self.picky not in SETTINGS:
            raise ConfigError(f"picky must be one of {', '.join(SETTINGS)}, not {self.picky!r}")
        for origin in self.cors:
            if origin != "*" and ("://" not in origin or origin.endswith("/")):
                raise ConfigError(
                    f"cors: {origin!r} is no origin; write for example https://example.org"
                )
        for name in self.allowed_host:
            if not name or "/" in name or (":" in name and not name.startswith("[")):
                raise ConfigError(
                    f"allowed_host: {name!r} is no host name; write for example gec.example.org"
                )
        for network in self.trusted_proxy:
            _check_network(network)
        if self.max_sentences > self.queue:
            raise ConfigError(f"max_sentences ({self.max_sentences}) exceeds queue ({self.queue})")


def _check_network(name: str) -> None:
    import ipaddress

    try:
        ipaddress.ip_network(name)
    except ValueError:
        raise ConfigError(
            f"trusted_proxy: {name!r} is no address or network; write for example "
            "10.0.0.1 or 10.0.0.0/8"
        ) from None


KINDS: dict[str, Any] = get_type_hints(Config)


def configure(
    options: Mapping[str, Any], environment: Mapping[str, str], file: str | None = None
) -> Config:
    """Return the settings of a command line, an environment and a TOML file.

    An option that is None was not given. ``file`` defaults to the environment's GEC_CONFIG.

    Raises:
        InputError: the file cannot be read.
        ConfigError: a name is unknown, or a value is of another kind or out of bounds.
    """
    values: dict[str, Any] = {}
    path = file or environment.get("GEC_CONFIG")
    if path:
        values |= _from_file(path)
    for name in KINDS:
        text = environment.get(f"GEC_{name.upper()}")
        if text:
            values[name] = _parse(text, name, f"GEC_{name.upper()}")
    values |= {name: value for name, value in options.items() if value is not None}
    return Config(**values)


def _from_file(path: str) -> dict[str, Any]:
    import tomllib

    from gec.files import read_document

    try:
        document = tomllib.loads(read_document(path).text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    table = document.get("serve", {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: serve must be a table")
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in KINDS:
            known = ", ".join(KINDS)
            raise ConfigError(f"{path}: [serve] has no setting {name!r}; it has {known}")
        values[name] = _check(value, name, f"{path}: [serve] {name}")
    return values


def _check(value: Any, name: str, where: str) -> Any:
    kind = KINDS[name]
    if kind == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigError(f"{where}: a list of strings is needed, not {value!r}")
    wanted = (int, float) if kind is float else kind
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise ConfigError(f"{where}: {value!r} is of the wrong kind, {_kind(name)} is needed")
    return float(value) if kind is float else value


def _parse(text: str, name: str, where: str) -> Any:
    kind = KINDS[name]
    if kind == tuple[str, ...]:
        return tuple(text.replace(",", " ").split())
    try:
        if _kind(name) == "a whole number":
            return int(text)
        return float(text) if kind is float else text
    except ValueError:
        raise ConfigError(f"{where}: {text!r} is not {_kind(name)}") from None


def _kind(name: str) -> str:
    kinds = {int: "a whole number", int | None: "a whole number", float: "a number"}
    return kinds.get(KINDS[name], "a string")


def read_token(path: str) -> str:
    """Return the token in a file's first line."""
    from gec.files import read_document

    lines = read_document(path).text.splitlines()
    if not lines or not lines[0].strip():
        raise ConfigError(f"{path}: has no token in its first line")
    return lines[0].strip()
