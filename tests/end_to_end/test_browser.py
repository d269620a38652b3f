"""report.html in a real browser: it shows what it should, asks nobody for anything, and prints."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from handmade_reports import HELD, audit, hostile_cell, hostile_report, robustness

from secmix.reporting import write

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium on PATH: the report is not opened in a browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = write(hostile_report(), tmp_path_factory.mktemp("page"), ["html"])
    return path


def browse(page: Path, folder: Path, *flags: str, anchor: str = "") -> str:
    run = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, page.as_uri() + anchor],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


def asked_for(page: Path, folder: Path) -> str:
    """Every address the browser meant to fetch while it showed ``page``, by its own log."""
    log = folder / "net.json"
    browse(page, folder, "--dump-dom", f"--log-net-log={log}")
    return "\n".join(re.findall(r"(?:https?|ftp|wss?)://[^\"\\\s]+", log.read_text("utf-8", "replace")))


def test_page_opens(page: Path, tmp_path: Path) -> None:
    dom = browse(page, tmp_path, "--dump-dom")
    assert re.search(r"<title>Audit &lt;script&gt;.*: violated</title>", dom)
    assert 'class="matrix"' in dom
    assert len(re.findall(r'<svg class="figure"', dom)) == 12
    assert "<script" not in dom


@pytest.mark.build
def test_page_on_colluders_opens_and_asks_nobody(tmp_path: Path) -> None:
    (path,) = write(audit(robustness(), robustness(**HELD)), tmp_path, ["html"])
    dom = browse(path, tmp_path, "--dump-dom")
    assert len(re.findall(r'<figure class="push">\s*<svg class="figure"', dom)) == 2
    assert len(re.findall(r'<table class="(?:trades|field|damages)"', dom)) == 4
    assert "<script" not in dom
    assert "evil.example" not in asked_for(path, tmp_path)


def test_page_asks_nobody(page: Path, tmp_path: Path) -> None:
    assert "evil.example" in page.read_text("utf-8")  # the address is there, as words
    assert "evil.example" not in asked_for(page, tmp_path)
    # The log would show it: a page that does load from there is caught.
    control = tmp_path / "control.html"
    control.write_text('<img src="http://evil.example/p">')
    assert "evil.example" in asked_for(control, tmp_path)


@pytest.mark.build
def test_a_link_from_the_matrix_unfolds_its_section(tmp_path: Path) -> None:
    cells = [hostile_cell("p", f"a{k}", "holds") for k in range(6)]
    (path,) = write(hostile_report(cells=cells, findings=[], verdict="holds"), tmp_path, ["html"])
    folded = r'<details open="">\s*<summary>\s*<h3 id="cell-(\d+)-name'
    for anchor, unfolded in (("", []), ("#cell-4", ["4"])):
        dom = browse(path, tmp_path, "--virtual-time-budget=3000", "--dump-dom", anchor=anchor)
        assert 'class="matrix"' in dom
        assert re.findall(folded, dom) == unfolded


def test_page_names_no_other_origin(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"""(?:src|href|action|data)\s*=\s*["'](?!#)""", text)
    assert "default-src 'none'" in text


@pytest.mark.parametrize("width", [1280, 400])
def test_page_is_not_blank(page: Path, tmp_path: Path, width: int) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow comes with matplotlib; without it pixels cannot be read")
    shot = tmp_path / "shot.png"
    browse(page, tmp_path, f"--window-size={width},1400", f"--screenshot={shot}")
    with image.open(shot) as picture:
        grey = picture.convert("L")
        assert picture.size == (width, 1400) or width < 500  # headless browsers have a least width of their own
        ink = sum(grey.histogram()[:128]) / (grey.width * grey.height)
    assert 0.005 < ink < 0.5


@pytest.mark.build
def test_a_narrow_page_loses_no_column_of_the_matrix(tmp_path: Path) -> None:
    names = ["Eavesdropper on every line", "Curious nodes 1 and 3"]
    cells = [hostile_cell(f"Protocol {k}", name, "violated") for k in range(2) for name in names]
    (path,) = write(hostile_report(title="A", cells=cells, findings=[]), tmp_path, ["html"])
    # In a frame of that width, since headless browsers have a least width of their own.
    inside = html.escape(path.read_text("utf-8"), quote=True)
    measure = (
        "const d = frames[0].document, tiles = [...d.querySelectorAll('.matrix td .tile')].map(t => {"
        "const r = t.getBoundingClientRect(); return [r.left, r.right, r.width]});"
        "document.title = JSON.stringify([d.documentElement.scrollWidth, tiles])"
    )
    outer = tmp_path / "outer.html"
    outer.write_text(
        f'<iframe width="390" height="900" srcdoc="{inside}"></iframe><script>onload = () => {{{measure}}}</script>'
    )
    dom = browse(outer, tmp_path, "--virtual-time-budget=3000", "--dump-dom")
    found = re.search(r"<title>(.*?)</title>", dom)
    assert found
    wide, tiles = json.loads(found[1])
    assert wide <= 390
    assert len(tiles) == 4
    assert all(left >= 0 and right <= 390 and width > 200 for left, right, width in tiles)


@pytest.mark.build
def test_page_prints_with_everything_unfolded(page: Path, tmp_path: Path) -> None:
    pdf = tmp_path / "report.pdf"
    browse(page, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 4


@pytest.mark.build
def test_the_release_page_cuts_nothing_at_the_width_of_a4_and_asks_nobody(tmp_path: Path) -> None:
    long = "Secure_summation_" * 12
    cells = [hostile_cell(long, f"{long}{k}", "violated", n_nodes=5) for k in range(2)]
    path, _ = write(hostile_report(title=long, cells=cells, findings=[]), tmp_path, ["release"])
    inside = html.escape(path.read_text("utf-8"), quote=True)
    measure = (
        "const d = frames[0].document, all = [...d.body.querySelectorAll('*')].filter(e => !e.closest('svg'));"
        "document.title = JSON.stringify([d.querySelectorAll('table').length, d.documentElement.clientWidth, "
        "Math.max(...all.map(e => e.getBoundingClientRect().right)), "
        "Math.max(...all.map(e => e.scrollWidth - e.clientWidth).filter((_, k) => all[k].clientWidth))])"
    )
    frame = tmp_path / "frame.html"
    # 178 mm between the margins of A4 are 673 pixels.
    frame.write_text(f'<iframe width="673" height="1200" srcdoc="{inside}" onload="{html.escape(measure)}"></iframe>')
    dom = browse(frame, tmp_path, "--window-size=1280,1400", "--dump-dom")
    tables, width, right, overflow = json.loads(html.unescape(re.findall(r"<title>(.*?)</title>", dom)[0]))
    assert tables >= 2
    assert right <= width
    assert overflow <= 0
    assert "evil.example" not in asked_for(path, tmp_path)


@pytest.mark.build
def test_the_page_of_a_recorded_run_opens_asks_nobody_and_prints(tmp_path: Path) -> None:
    from secmix.reporting.formats.recorded_report import RecordedReport, html, statements

    long = "weights_of_a_layer_" * 12
    parts = tuple((f"{long}{k}", statements(long, f"{long} <img src=//evil.example/x>")) for k in range(3))
    page = tmp_path / "recorded.html"
    page.write_text(
        html(RecordedReport(long, "violated", (f"**{long}**",), parts, "secmix audit --recorded it")), "utf-8"
    )
    assert "recorded.json" in browse(page, tmp_path, "--dump-dom")
    assert "evil.example" not in asked_for(page, tmp_path)
    pdf = tmp_path / "recorded.pdf"
    browse(page, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")


@pytest.mark.build
def test_the_release_page_becomes_a_pdf(tmp_path: Path) -> None:
    path, _ = write(hostile_report(), tmp_path, ["release"])
    pdf = tmp_path / "release.pdf"
    browse(path, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) >= 2
