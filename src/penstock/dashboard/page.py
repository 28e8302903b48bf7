"""The page: one answer that needs no other file, and a policy that lets it load none."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

_SCRIPTS: Final = (
    "words",
    "store",
    "scales",
    "plot",
    "plots",
    "flow",
    "decisions",
    "tiles",
    "main",
)


@cache
def page() -> tuple[bytes, str]:
    """The page, and its Content-Security-Policy."""
    style = f"\n{_resource('report', 'page.css')}{_resource('dashboard', 'web/page.css')}"
    scripts = "".join(_resource("dashboard", f"web/{name}.js") for name in _SCRIPTS)
    script = f'\n"use strict";\n(() => {{\n{scripts}}})();\n'
    template = Template(_resource("dashboard", "web/page.html"))
    text = template.substitute(style=style, script=script)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return text.encode(), policy


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _resource(package: str, name: str) -> str:
    return files(f"penstock.{package}").joinpath(name).read_text(encoding="utf-8")
