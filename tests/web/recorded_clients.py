"""Requests as LanguageTool's clients send them, byte for byte, taken from their public sources.

Where a library writes the headers (libcurl, Qt, java.net.http, url.el, reqwest, a browser), they
are those of that library.
"""

from __future__ import annotations

TEXT = "We go 😀 far.\nI have dog."
"""The text of every request; the second match lies behind a surrogate pair."""

_PERCENT = "We%20go%20%F0%9F%98%80%20far.%0AI%20have%20dog."
_PLUS = _PERCENT.replace("%20", "+")
_JSON = "%7B%22text%22%3A%22We%20go%20%F0%9F%98%80%20far.%5CnI%20have%20dog.%22%7D"
HOST = "127.0.0.1:8081"


def http(first: str, headers: str, body: str | bytes = "") -> bytes:
    """Return a request with its length; ``headers`` are lines, whose indents do not count."""
    data = body.encode() if isinstance(body, str) else body
    lines = [line.strip() for line in headers.strip().splitlines()]
    if data and not any(line.lower().startswith("content-length") for line in lines):
        lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([f"{first} HTTP/1.1", *lines, "", ""]).encode() + data


# ltex-ls and ltex-ls-plus: a form that calls itself JSON; java.net.http asks for HTTP/2.
_JAVA_HTTP = f"""
    Connection: Upgrade, HTTP2-Settings
    Host: {HOST}
    HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA
    Upgrade: h2c
    User-Agent: Java-http-client/21.0.2
    Content-Type: application/json
"""
_LTEX_DATA = (
    "%7B%22annotation%22%3A%5B%7B%22markup%22%3A%22%5C%5Csection%7B%22%7D%2C%7B%22text%22%3A%22We"
    "+go+%F0%9F%98%80+far.%22%7D%2C%7B%22markup%22%3A%22%7D%5Cn%22%2C%22interpretAs%22%3A%22%5Cn%5C"
    "n%22%7D%2C%7B%22text%22%3A%22I+have+dog+%22%7D%2C%7B%22markup%22%3A%22%24x%24%22%2C%22interpre"
    "tAs%22%3A%22Dummy0%22%7D%2C%7B%22text%22%3A%22.%22%7D%5D%7D"
)
LTEX_TEXT = "\\section{We go 😀 far.}\nI have dog $x$."
LTEX = http("POST /v2/check", _JAVA_HTTP, f"data={_LTEX_DATA}&language=en-US")
LTEX_PICKY = http(
    "POST /v2/check",
    _JAVA_HTTP,
    f"level=picky&data={_LTEX_DATA}&motherTongue=de-DE&language=en-US"
    "&enabledRules=OXFORD_SPELLING_Z_NOT_S",
)
# ltex-ls-plus joins the address in its settings with /v2/check; here the address ends in a slash
LTEX_SLASH = http("POST //v2/check", _JAVA_HTTP, f"data={_LTEX_DATA}&language=en-US")

# LibreOffice, its own checker (libcurl); everything but unreserved characters is encoded.
_LIBREOFFICE = f"""
    Host: {HOST}
    User-Agent: LibreOffice 24.8.2.1 denylistedbackend/8.10.1 OpenSSL/3.0.15
    Accept: */*
"""
_FORM = "Content-Type: application/x-www-form-urlencoded"
LIBREOFFICE = http("POST /v2/check", f"{_LIBREOFFICE}{_FORM}", f"text={_PERCENT}&language=en-US")
LIBREOFFICE_GERMAN = http(
    "POST /v2/check", f"{_LIBREOFFICE}{_FORM}", f"text={_PERCENT}&language=de-DE"
)
LIBREOFFICE_SLASH = http(
    "POST /v2//check", f"{_LIBREOFFICE}{_FORM}", f"text={_PERCENT}&language=en-US"
)
LIBREOFFICE_ACCOUNT = http(
    "POST /v2/check",
    f"{_LIBREOFFICE}{_FORM}",
    f"text={_PERCENT}&language=en-US&username=a%40b.example&apiKey=0123456789abcdef",
)
# the first builds with it (7.4) did not encode the text
LIBREOFFICE_RAW = http("POST /v2/check", f"{_LIBREOFFICE}{_FORM}", f"text={TEXT}&language=en-US")
# another protocol in the same settings, for another product
LIBREOFFICE_DUDEN = http(
    "POST /v2/check",
    f"{_LIBREOFFICE}Cache-Control: no-cache\n    Content-Type: application/json",
    '{"text-language":"en-US","text":"We go.","hyphenation":"false","spellchecking-level":"3"}',
)

# LanguageTool's own extension of LibreOffice (java.net.HttpURLConnection).
_JAVA_URL = f"""
    {_FORM}
    charset: utf-8
    User-Agent: Java/17.0.9
    Host: {HOST}
    Accept: text/html, image/gif, image/jpeg, */*; q=0.2
    Connection: keep-alive
"""
EXTENSION_CONFIGINFO = http("POST /v2/configinfo", _JAVA_URL, "language=en-US")
EXTENSION_MAXTEXTLENGTH = http("POST /v2/maxtextlength", _JAVA_URL, b"\0")
EXTENSION_CHECK = http(
    "POST /v2/check",
    _JAVA_URL,
    f"text={_PLUS}&motherTongue=de-DE&language=en-US&disabledRules=HASH_SYMBOL%2CWHITESPACE_RULE"
    "&mode=all&level=default&ruleValues=TOO_LONG_SENTENCE%3A40&useragent=java-http-client",
)
EXTENSION_PARAGRAPH = http(
    "POST /v2/check",
    _JAVA_URL,
    f"text={_PLUS}&language=en-US&enabledRules=GEC_R_SPELL_SPELLER_RULE&enabledOnly=yes"
    "&mode=textLevelOnly&level=default&useragent=java-http-client",
)
OMEGAT = http(
    "POST /v2/check",
    f"""
    User-Agent: OmegaT 6.0.0
    Host: {HOST}
    Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2
    Connection: keep-alive
    {_FORM}
    """,
    f"text={_PLUS}&language=EN-US&srctext=Wir+gehen.&motherTongue=DE-DE&disabledCategories=FOO"
    "&disabledRules=&enabledRules=",
)

# The browser add-on: as people have recorded it (its source is not public any more), and the open
# release of 2018. It sends two requests for each text.
CHROME = "chrome-extension://oldceeleldhonbafppcapldpdifcinji"
FIREFOX = "moz-extension://7644b7c6-5fa4-b942-99b5-0f3b0496e8d1"
_BROWSER = f"""
    Host: {HOST}
    Connection: keep-alive
    sec-ch-ua: "Chromium";v="130", "Google Chrome";v="130", "Not?A_Brand";v="99"
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36
    Accept: */*
    Origin: {CHROME}
    Sec-Fetch-Site: none
    Sec-Fetch-Mode: cors
    Sec-Fetch-Dest: empty
    Accept-Encoding: gzip, deflate, br, zstd
"""
_ADD_ON = (
    "&textSessionId=93677%3A1741239590728&enableHiddenRules=true&motherTongue=de&level=picky"
    "&language=auto&noopLanguages=de%2Cen&preferredLanguages=de%2Cen"
    "&preferredVariants=de-DE%2Cen-GB%2Cen-US%2Cpt-PT%2Cca-ES"
    "&disabledRules=WHITESPACE_RULE%2CCONSECUTIVE_SPACES&useragent=webextension-chrome-ng"
)
_ADD_ON_PATH = "POST /v2/check?c=1&instanceId=93677%3A1741239590728&v=8.14.3"
_ADD_ON_FORM = f"{_BROWSER}{_FORM};charset=UTF-8"
ADD_ON = http(
    _ADD_ON_PATH,
    _ADD_ON_FORM,
    f"data={_JSON}{_ADD_ON}&mode=allButTextLevelOnly&allowIncompleteResults=true",
)
ADD_ON_TEXT_LEVEL = http(_ADD_ON_PATH, _ADD_ON_FORM, f"data={_JSON}{_ADD_ON}&mode=textLevelOnly")
_GERMAN = "%7B%22text%22%3A%22Das%20ist%20der%20Hund%20und%20die%20Katze%20ist%20nicht%20da.%22%7D"
ADD_ON_GERMAN = http(
    _ADD_ON_PATH, _ADD_ON_FORM, f"data={_GERMAN}{_ADD_ON}&mode=allButTextLevelOnly"
)
ADD_ON_2018 = http(  # XMLHttpRequest.send with a string
    "POST /v2/check",
    f"{_BROWSER}Content-Type: text/plain;charset=UTF-8".replace(CHROME, FIREFOX),
    f"disabledRules=WHITESPACE_RULE&useragent=webextension-firefox&text={_PERCENT}"
    "&motherTongue=de&language=auto&preferredVariants=en-US,de-DE,pt-PT,ca-ES",
)
PREFLIGHT = http(
    "OPTIONS /v2/check",
    f"""
    Host: {HOST}
    Connection: keep-alive
    Accept: */*
    Access-Control-Request-Method: POST
    Access-Control-Request-Headers: content-type
    Access-Control-Request-Private-Network: true
    Origin: {FIREFOX}
    Sec-Fetch-Mode: cors
    Sec-Fetch-Site: cross-site
    Sec-Fetch-Dest: empty
    """,
)

# Emacs: langtool (a bare socket, closed for writing), languagetool (no type), flymake, flycheck.
LANGTOOL = http(
    "POST /v2/check",
    f"""
    Host: {HOST}
    Content-length: {len(f"language=en-US&text={_PERCENT}&motherTongue=de&disabledRules=")}
    {_FORM}
    """,
    f"language=en-US&text={_PERCENT}&motherTongue=de&disabledRules=",
)
_EMACS = f"""
    MIME-Version: 1.0
    Connection: keep-alive
    Extension: Security/Digest Security/SSL
    Host: {HOST}
    Accept-encoding: gzip
    Accept: */*
    User-Agent: URL/Emacs Emacs/29.4 (X11; x86_64-pc-linux-gnu)
"""
EMACS_LANGUAGES = http("GET /v2/languages", _EMACS)
LANGUAGETOOL_EL = http(
    "POST /v2/check", _EMACS, f"text={_PERCENT}&disabledRules=&motherTongue=de&language=auto"
)
FLYMAKE_RULES = (
    "HUNSPELL_RULE%2CMORFOLOGIK_RULE_EN%2CMORFOLOGIK_RULE_EN_AU%2CMORFOLOGIK_RULE_EN_CA"
    "%2CMORFOLOGIK_RULE_EN_GB%2CMORFOLOGIK_RULE_EN_NZ%2CMORFOLOGIK_RULE_EN_US"
    "%2CMORFOLOGIK_RULE_EN_ZA%2CSYMSPELL_RULE"
)
FLYMAKE = http(
    "POST /v2/check",
    f"{_EMACS}{_FORM}",
    f"text={_PERCENT}&language=en-US&disabledRules={FLYMAKE_RULES}",
)
FLYCHECK = http("POST /v2/check", f"{_EMACS}{_FORM}", f"language=en-US&text={_PERCENT}")

# Vim (curl), Sublime Text (urllib), TeXstudio (Qt).
VIM = http(
    "POST /v2/check",
    f"""
    Host: {HOST}
    User-Agent: curl/8.5.0
    {_FORM}
    Accept: application/json
    """,
    f"disabledRules=WHITESPACE_RULE%2CEN_QUOTES&language=en-US&text={_PERCENT.replace('.', '%2E')}",
)
SUBLIME = http(
    "POST /v2/check",
    f"""
    Accept-Encoding: identity
    {_FORM}
    Host: {HOST}
    User-Agent: Python-urllib/3.8
    Connection: close
    """,
    f"language=auto&text={_PLUS}&User-Agent=sublime&disabledRules=",
)
TEXSTUDIO = http(
    "POST /v2/check",
    f"""
    Host: {HOST}
    Content-Type: text/json
    Connection: Keep-Alive
    Accept-Encoding: gzip, deflate
    Accept-Language: en-US,*
    User-Agent: Mozilla/5.0
    """,
    f"language=en-GB&text={_PERCENT.replace('%20', ' ')}\n",
)

# Programs in Rust (languagetool-rust, typst-languagetool): a query, and no body.
RUST = http(
    f"POST /v2/check?text={_PLUS}&language=auto&preferredVariants=en-GB",
    f"accept: */*\n    host: {HOST}\n    content-length: 0",
)
RUST_PING = http("GET /v2", f"accept: */*\n    host: {HOST}")
RUST_LANGUAGES = http("GET /v2/languages", f"accept: */*\n    host: {HOST}")
RUST_WORDS = http(
    "GET /v2/words?offset=0&limit=10&username=a%40b.example&apiKey=0123456789abcdef",
    f"accept: */*\n    host: {HOST}",
)

# Obsidian (two plugins), VS Code, Quill; the markup is that of annotatedtext-remark.
_OBSIDIAN = f"""
    Host: {HOST}
    Content-Type: application/x-www-form-urlencoded
    Accept: application/json
    Origin: app://obsidian.md
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) obsidian/1.7.4 Chrome/130.0.6723.59 Electron/33.0.2
    Sec-Fetch-Site: cross-site
    Sec-Fetch-Mode: cors
"""
_REMARK = (
    "%7B%22annotation%22%3A%5B%7B%22interpretAs%22%3A%22%22%2C%22markup%22%3A%22%23%20%22%2C%22offs"
    "et%22%3A%7B%22end%22%3A2%2C%22start%22%3A0%7D%7D%2C%7B%22offset%22%3A%7B%22end%22%3A14%2C%22st"
    "art%22%3A2%7D%2C%22text%22%3A%22We%20go%20%F0%9F%98%80%20far.%22%7D%2C%7B%22interpretAs%22%3A%"
    "22%5Cn%5Cn%22%2C%22markup%22%3A%22%5Cn%5Cn%22%2C%22offset%22%3A%7B%22end%22%3A16%2C%22start%22"
    "%3A14%7D%7D%2C%7B%22offset%22%3A%7B%22end%22%3A27%2C%22start%22%3A16%7D%2C%22text%22%3A%22I%20"
    "have%20dog.%22%7D%5D%7D"
)
REMARK_TEXT = "# We go 😀 far.\n\nI have dog."
OBSIDIAN = http(
    "POST /v2/check",
    _OBSIDIAN,
    f"data={_REMARK}&language=auto&enabledOnly=false&level=default"
    "&enabledCategories=CREATIVE_WRITING%2CWIKIPEDIA&disabledCategories=TYPOGRAPHY%2CCASING"
    "&preferredVariants=en-GB%2Cde-DE",
)
OBSIDIAN_WRENGER = http(
    "POST /v2/check",
    _OBSIDIAN,
    f"data={_REMARK}&language=auto&enabledOnly=false&level=picky"
    "&disabledRules=EN_QUOTES&preferredVariants=en-AU%2Cde-DE",
)
OBSIDIAN_WORDS = http(
    "POST /v2/words/add?username=a%40b.example&apiKey=0123456789abcdef&word=gec", _OBSIDIAN
)
VSCODE = http(
    "POST /v2/check",
    f"""
    Accepts: application/json
    {_FORM};charset=UTF-8
    Accept: */*
    User-Agent: node-fetch/1.0 (+https://github.com/bitinn/node-fetch)
    Accept-Encoding: gzip,deflate
    Connection: close
    Host: {HOST}
    """,
    f"language=auto&preferredVariants=en-US%2Cde-DE&data={_REMARK}",
)
VSCODE_PING = http("HEAD /v2/check", f"Host: {HOST}\n    Connection: close")
QUILL = http(
    "POST /v2/check",
    f"{_BROWSER}{_FORM}".replace(CHROME, "https://editor.example"),
    f"text={_PERCENT}&language=en-US",
)
