"""Write the reference of docs/api.md from the docstrings of the public names (``make docs``)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
BEGIN, END = "<!-- made by: make docs -->", "<!-- end -->"
PACKAGES = ("gec", "gec.decoding", "gec.models", "gec.eval")
_WIDTH = 100
_SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Raises": "Raises",
    "Returns": "Returns",
}


def reference() -> Iterator[str]:
    """Yield Markdown for every name in ``__all__`` of the packages."""
    for package in PACKAGES:
        module = import_module(package)
        yield f"## `{package}`\n\n{prose(inspect.getdoc(module) or '')}\n\n"
        for name in module.__all__:
            value = getattr(module, name)
            if not name.startswith("_"):
                yield from entry(f"{package}.{name}", value)


def entry(name: str, value: Any) -> Iterator[str]:
    """Yield the signature and docstring of a public name, then those of a class's methods."""
    yield f"### `{name}`\n\n{signature(name.rpartition('.')[2], value)}{described(value)}"
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return
    for member, found in vars(value).items():
        if member.startswith("_") or not getattr(found, "__doc__", None):
            continue
        if isinstance(found, property):
            yield f"#### `{value.__name__}.{member}`\n\n{described(found)}"
        elif isinstance(method := getattr(found, "__func__", found), type(entry)):
            yield (
                f"#### `{value.__name__}.{member}`\n\n{signature(member, method)}{described(found)}"
            )


def signature(name: str, value: Any) -> str:
    """Return how a function or class is called, as code; exceptions have nothing to show."""
    if inspect.isclass(value) and (issubclass(value, BaseException) or is_protocol(value)):
        return ""
    called = inspect.signature(value)
    found = [p for p in called.parameters.values() if p.name != "self"]
    keywords = [p for p in found if p.kind is p.KEYWORD_ONLY]
    listed = [parameter(p) for p in found if p not in keywords]
    variable = any(p.kind is p.VAR_POSITIONAL for p in found)
    listed += ["*"] * (bool(keywords) and not variable) + [parameter(p) for p in keywords]
    back = called.return_annotation
    end = ")" if inspect.isclass(value) or back is called.empty else f") -> {annotation(back)}"
    line = f"{name}({', '.join(listed)}{end}"
    if len(line) > _WIDTH:
        line = "\n".join([f"{name}(", *[f"    {each}," for each in listed], end])
    return f"```python\n{line}\n```\n\n"


def parameter(which: inspect.Parameter) -> str:
    """Return a parameter with its type and default."""
    star = {which.VAR_POSITIONAL: "*", which.VAR_KEYWORD: "**"}.get(which.kind, "")
    text = star + which.name
    if which.annotation is not which.empty:
        text += f": {annotation(which.annotation)}"
    if which.default is which.empty:
        return text
    default = re.sub(r"<(?:function|class) '?([\w.]+).*>", r"\1", repr(which.default))
    if isinstance(which.default, str):
        default = f'"{which.default}"'
    return f"{text} = {'...' if default == '<factory>' else default}"


def annotation(value: Any) -> str:
    return value if isinstance(value, str) else inspect.formatannotation(value)


def is_protocol(value: Any) -> bool:
    return bool(getattr(value, "_is_protocol", False))


def described(value: Any) -> str:
    """Return a docstring as Markdown; what dataclasses write themselves says nothing."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    return f"{prose(text)}\n\n" if text else ""


def prose(text: str) -> str:
    """Return a docstring's text as Markdown: names as code, examples and sections set off."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text).replace("``", "`")
    return "\n\n".join(paragraph(each) for each in text.split("\n\n"))


def paragraph(text: str) -> str:
    """Return an example as code, a section as a list, and everything else as it is."""
    head, _, rest = text.partition("\n")
    if text.startswith(">>>"):
        return "```pycon\n" + re.sub(r" +# doctest: \+SKIP", "", text) + "\n\n```"
    if head.removesuffix(":") not in _SECTIONS or not head.endswith(":"):
        return text
    items = re.sub(r"^    (?! )(\*{0,2}\w[^:(\n]*): ", r"- `\1`: ", rest, flags=re.MULTILINE)
    items = re.sub(r"^ {4,}", "  " if items.startswith("-") else "", items, flags=re.MULTILINE)
    return f"{_SECTIONS[head[:-1]]}:\n\n{items}"


def page(text: str) -> str:
    """Return the page with its generated part renewed."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{''.join(reference())}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
