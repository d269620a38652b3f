"""release.html: the release page for a browser and for paper (A4); it loads nothing and runs no code."""

from __future__ import annotations

from secmix.reporting import words
from secmix.reporting.release.page import Output, ReleasePage


def render(page: ReleasePage) -> str:
    """Render the whole page."""
    from importlib.resources import files

    from markupsafe import Markup

    from secmix.reporting.formats.html import environment

    safe = ReleasePage.model_validate(words.walk(page.model_dump(mode="json")))
    css = files("secmix.reporting").joinpath("templates/release.css").read_text("utf-8")
    outputs = [(k, output, _assumptions(output)) for k, output in enumerate(safe.outputs, 1)]
    template = environment().get_template("release.html.j2")
    return template.render(page=safe, css=Markup(css), outputs=outputs)


def _assumptions(output: Output) -> dict[str, int]:
    """Number the assumptions of an output, each once."""
    every = (text for reader in output.readers for text in reader.assumptions)
    return {text: k for k, text in enumerate(dict.fromkeys(every), 1)}
