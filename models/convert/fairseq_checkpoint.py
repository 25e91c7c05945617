"""fairseq's checkpoint and dictionary files, read without fairseq and without running anything.

A checkpoint is a pickle. ``torch.load`` reads it with ``weights_only``; of the classes it names
only those of :data:`HARMLESS` and of fairseq's and omegaconf's configuration are let in, and all of
them as stand-ins of our own that do nothing but keep what they are given.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.fairseq_settings import Settings
from gec.models.load.fairseq_symbols import SPECIALS, UNK

HARMLESS = frozenset(
    "argparse.Namespace collections.defaultdict enum.Enum pathlib.Path pathlib.PosixPath "
    "typing.Any builtins.bool builtins.bytearray builtins.dict builtins.float builtins.int "
    "builtins.list builtins.object builtins.set builtins.frozenset builtins.str builtins.tuple "
    "numpy.dtype numpy.ndarray numpy.core.multiarray.scalar numpy._core.multiarray.scalar "
    "numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct".split()
)
"""Names besides fairseq's and omegaconf's own that training state and settings are made of."""
_CONFIGURATION = re.compile(r"(fairseq|omegaconf)(\.\w+)+")
_REFUSED_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")
_OVERWRITE = "#fairseq:overwrite"


class StandIn:
    """What a pickle makes in the place of any class: it keeps its arguments and attributes."""

    def __new__(cls, *args: Any, **options: Any) -> StandIn:
        made = super().__new__(cls)
        made.__dict__["_args"] = args
        return made

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, Mapping):
                self.__dict__.update(part)

    def __hash__(self) -> int:  # as the key of a dict
        return hash(repr(self.__dict__.get("_args")))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint says of its network.

    Attributes:
        path: the file.
        settings: the model's options, as plain values.
        task: the task's options; ``_name`` is the task.
        weights: the state dict as it is stored.
    """

    path: Path
    settings: Settings
    task: Settings
    weights: dict[str, Tensor]


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint of any fairseq version.

    Raises:
        ModelError: it cannot be read, names a class or function that is not allowed, or holds no
            settings or weights.
    """
    state = _load(path)
    if not isinstance(state, Mapping) or not isinstance(state.get("model"), Mapping):
        raise ModelError(f"{path} is no fairseq checkpoint: it holds no weights under 'model'")
    weights = dict(state["model"])
    if others := [name for name, value in weights.items() if not isinstance(value, Tensor)]:
        raise ModelError(f"{path} holds something else than a tensor under {others[0]!r}")
    if state.get("args") is not None:
        settings = task = _plain(state["args"])
        name = task.get("task", "translation") if isinstance(task, dict) else None
    else:
        sections = _plain(state.get("cfg"))
        sections = sections if isinstance(sections, dict) else {}
        settings, task = sections.get("model"), sections.get("task")
        name = task.get("_name", "translation") if isinstance(task, dict) else None
    if not isinstance(settings, dict) or not isinstance(task, dict):
        raise ModelError(f"{path} has neither 'args' nor 'cfg' with the settings of a model")
    return Checkpoint(path, _flat(settings), task | {"_name": name}, weights)


def _load(path: Path) -> Any:
    allowed: dict[str, type] = {}
    while True:
        try:
            # a memory map, so that going through the pickle again costs nothing
            with torch.serialization.safe_globals([(kind, n) for n, kind in allowed.items()]):
                return torch.load(
                    path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
                )
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
        except Exception as error:  # pickles break in many ways
            name = _refused(error)
            if name is None:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise ModelError(f"{path} cannot be read as a checkpoint: {reason[:200]}") from None
            if name in allowed or not (name in HARMLESS or _CONFIGURATION.fullmatch(name)):
                raise ModelError(
                    f"{path} was not loaded: its pickle asks for {name}, which is no part of a "
                    "model or its settings and may run code"
                ) from None
            allowed[name] = type(name.rpartition(".")[2], (StandIn,), {})


def _refused(error: Exception) -> str | None:
    """Return the global that ``weights_only`` stumbled on."""
    found = _REFUSED_GLOBAL.search(str(error))
    if found is None:
        return None
    name = found[1].rstrip(".")
    return name if "." in name else f"builtins.{name}"  # torch leaves this module out


def _plain(value: Any) -> Any:
    """Return settings as dicts, lists and scalars, out of Namespaces and omegaconf's containers."""
    if isinstance(value, argparse.Namespace):
        return _plain(vars(value))
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, StandIn):
        return _plain(_inside(value))
    return value


def _inside(made: StandIn) -> Any:
    attributes = {k: v for k, v in vars(made).items() if k != "_args"}
    for name in ("_content", "_val"):  # omegaconf's containers and values
        if name in attributes:
            return attributes[name]
    if attributes:
        return attributes
    args = made.__dict__["_args"]
    return args[0] if args else None


def _flat(settings: Settings) -> Settings:
    """Return the nested settings of newer versions under their command line names."""
    found = {k: v for k, v in settings.items() if not isinstance(v, dict)}
    for section in ("encoder", "decoder", "quant_noise"):
        inner = settings.get(section)
        if isinstance(inner, dict):
            found |= {f"{section}_{name}": value for name, value in inner.items()}
    # references to another setting, which stand for its value
    return {k: v for k, v in found.items() if not (isinstance(v, str) and v.startswith("${"))}


# ------------------------------------------------------------------------------------ dictionaries


def read_dictionary(path: Path) -> list[str]:
    """Return the symbols of a ``dict.txt`` by id, the four that fairseq puts first included.

    Raises:
        ModelError: the file cannot be read, or a line is not ``symbol count``, or is there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read the dictionary {path}: {error}") from error
    symbols, known = list(SPECIALS), set(SPECIALS)
    for number, line in enumerate(lines, 1):
        if not line and number == len(lines):
            break
        symbol, _, count = line.rstrip().rpartition(" ")
        overwrite = count == _OVERWRITE
        if overwrite:
            symbol, _, count = symbol.rpartition(" ")
        if not symbol or not count.isdecimal():
            raise ModelError(f"{path}, line {number}: expected 'symbol count', found {line!r}")
        if symbol in known and not overwrite:
            raise ModelError(f"{path}, line {number}: {symbol!r} is there twice")
        known.add(symbol)
        symbols.append(symbol)
    return symbols


def find_dictionaries(folder: Path, task: Settings) -> tuple[list[str], list[str]]:
    """Return the source's and the target's symbols from ``dict.LANG.txt`` or ``dict.txt``."""
    if not folder.is_dir():
        raise ModelError(f"no folder of dictionaries at {folder}")
    single = folder / "dict.txt"
    languages = [task.get(f"{side}_lang") for side in ("source", "target")]
    if None in languages and not single.is_file():  # the trainer guessed them from the data's names
        return _joined_dictionary(folder)
    paths = [folder / f"dict.{language}.txt" for language in languages]
    if not all(path.is_file() for path in paths):
        if not single.is_file():
            raise ModelError(
                f"{folder} has neither {paths[0].name} and {paths[1].name} nor dict.txt: give the "
                "folder the model was trained with (--data)"
            )
        paths = [single, single]
    source = read_dictionary(paths[0])
    return source, source if paths[1] == paths[0] else read_dictionary(paths[1])


def _joined_dictionary(folder: Path) -> tuple[list[str], list[str]]:
    """Return the one dictionary that all files of the folder hold, for both sides."""
    found = [read_dictionary(path) for path in sorted(folder.glob("dict.*.txt"))]
    if not found or any(symbols != found[0] for symbols in found):
        raise ModelError(
            f"the checkpoint does not name its languages, and {folder} has not one dictionary for "
            "both: leave there only dict.txt, or the same as dict.SOURCE.txt and dict.TARGET.txt"
        )
    return found[0], found[0]


def joint_rows(source: Sequence[str], target: Sequence[str]) -> tuple[list[str], list[int]]:
    """Make one vocabulary of two dictionaries, so that the source can be copied to the output.

    It begins with the target's symbols, so that their ids stay; symbols that only the source has
    follow.

    Returns:
        The symbols, and for each its row in the source embedding: that of ``<unk>`` if the
        source dictionary lacks it.
    """
    known = set(target)
    symbols = [*target, *(symbol for symbol in dict.fromkeys(source) if symbol not in known)]
    rows = {symbol: row for row, symbol in enumerate(source)}  # the last of a repeated one
    return symbols, [rows.get(symbol, UNK) for symbol in symbols]
