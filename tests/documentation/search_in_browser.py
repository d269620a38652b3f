"""Search the built documentation in a real browser, as a reader does: ``python search_in_browser.py SITE``.

A page around the site's own asks it for words, and is loaded only when an image comes that waits for the search. What
the browser then shows must name the page that the words stand on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WAIT = 12.0  # seconds that the search has
ASKED = {
    "memory_limit": "Every key of a scenario",
    "exposure": "Who would have to collude",
    "missing_marks": "Your own data",
}
AROUND = """<!DOCTYPE html><iframe id="site" src="/?q={words}" width="1200" height="800"></iframe><img src="/slow.png">
<pre id="found"></pre><script>onload = () => {{
  const page = document.getElementById("site").contentDocument;
  const found = [...page.querySelectorAll(".md-search-result__item h1, .md-search-result__item h2")];
  document.getElementById("found").textContent = found.map(each => each.textContent).join("; ");
}}</script>"""


class _Site(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/around/"):
            page = AROUND.format(words=self.path.removeprefix("/around/")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)
        elif self.path == "/slow.png":
            time.sleep(WAIT)
            self.send_error(404)
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def found(browser: str, address: str, words: str) -> str:
    """The headings that the search shows for ``words``."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--dump-dom", f"{address}/around/{words}"]
    page = subprocess.run(command, capture_output=True, text=True, timeout=6 * WAIT, check=True).stdout
    return page.partition('<pre id="found">')[2].partition("</pre>")[0]


def main(site: str) -> int:
    """Ask for all words; 1 where a page is not found."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no chromium on PATH")
        return 1
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, directory=str(Path(site))))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = 0
    for words, page in ASKED.items():
        headings = found(browser, f"http://127.0.0.1:{server.server_port}", words)
        failed |= page not in headings
        print(f"{words}: {headings or 'nothing found'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
