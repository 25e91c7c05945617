"""The parameters of a request under /v2/: its query and its form, whatever the form is called.

LanguageTool takes every body for a form, and its clients rely on that: ltex-ls calls the form
``application/json``, TeXstudio ``text/json``, browsers ``text/plain``, and Emacs gives no type.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from flask import g, request

from gec.web.problems import Problem

MOST = 1000
"""Parameters in a form; no client has a use for more."""


def parameters() -> dict[str, str]:
    """Return the parameters of the present request.

    Of several values the last counts, and those of the query override those of the body, as in
    LanguageTool.

    Raises:
        Problem: 400, the body is not a form.
    """
    if "parameters" not in g:
        query = {name: values[-1] for name, values in request.args.to_dict(flat=False).items()}
        g.parameters = {**_body(), **query}
    found: dict[str, str] = g.parameters
    return found


def _body() -> dict[str, str]:
    if request.method != "POST":
        return {}
    if request.mimetype == "multipart/form-data" and "boundary" in request.mimetype_params:
        return request.form.to_dict()
    text = request.get_data(cache=False).decode("utf-8", "replace").rstrip("\r\n")
    if text.lstrip().startswith("{"):
        raise _bad("the body must be a form (text=...&language=en-US), not JSON")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST))
    except ValueError:
        raise _bad(f"the body has more than {MOST} parameters") from None


def _bad(message: str) -> Problem:
    return Problem(400, "invalid_request", message)
