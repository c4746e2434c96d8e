"""Open every page of the site in a browser, at two widths, and report what is wrong: `python browse.py FOLDER`.

Checked: no request leaves the site and none fails; no script error; every figure has a text alternative; nothing is
wider than the window, so that tables scroll inside their box. Ends with 0 where Chromium is not installed.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (1200, 390)
MINUTES = 5.0
CHECK = """<!doctype html><title>check</title><body style="margin:0"><pre id="found">running</pre><script>
const pages = PAGES, widths = WIDTHS, found = [];
async function look(page, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border:0;height:900px;width:${width}px`;
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; frame.src = "/" + page; });
  const inside = frame.contentWindow, doc = frame.contentDocument;
  const say = text => found.push(`${page} at ${width}: ${text}`);
  await new Promise(done => setTimeout(done, 30));
  const wide = doc.documentElement.scrollWidth;
  if (wide > width + 1) say(`${wide} pixels wide`);
  for (const picture of doc.querySelectorAll("img"))
    if (!picture.alt.trim()) say(`no alternative text: ${picture.src.slice(0, 80)}`);
  for (const svg of doc.querySelectorAll("article svg:not(.sd-octicon)"))
    if (!svg.querySelector("title") && !svg.closest("[aria-hidden],.visually-hidden,a,button,label,.icon,summary"))
      say("an SVG without title");
  for (const table of doc.querySelectorAll("article table")) {
    const box = table.closest(".table-wrapper") || table;
    if (box.getBoundingClientRect().right > width + 1) say("a table leaves its box");
  }
  for (const one of inside.performance.getEntriesByType("resource"))
    if (!one.name.startsWith(location.origin) && !one.name.startsWith("data:")) say(`external request: ${one.name}`);
  frame.remove();
}
(async () => {
  for (const page of pages) for (const width of widths) await look(page, width);
  await fetch("/done", {method: "POST", body: JSON.stringify(found)});
})().catch(error => fetch("/done", {method: "POST", body: JSON.stringify([String(error)])}));
</script>"""


class Site(ThreadingHTTPServer):
    """The site, the page that checks it, and what was requested."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
        self.n_pages = len(pages)
        self.check = CHECK.replace("PAGES", json.dumps(pages), 1).replace("WIDTHS", json.dumps(WIDTHS), 1)
        self.missing: list[str] = []
        self.found: list[str] | None = None
        self.done = threading.Event()


class Handler(SimpleHTTPRequestHandler):
    """Files of the site; /check, which opens all pages; /done, which takes what it found."""

    server: Site

    def do_GET(self) -> None:
        if self.path != "/check":
            super().do_GET()
            return
        body = self.server.check.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if self.path != "/favicon.ico":
            self.server.missing.append(f"{self.path}: {code}")
        super().send_error(code, message, explain)

    def log_message(self, *_: object) -> None:
        pass


def problems(folder: Path, browser: str) -> list[str]:
    """Return what is wrong with the pages of a folder."""
    site = Site(folder)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as room:
        log = Path(room) / "log"
        quiet = ["--no-first-run", "--disable-background-networking", "--enable-logging=stderr"]
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={room}/profile", *quiet]
        address = f"http://127.0.0.1:{site.server_address[1]}/check"
        with log.open("w") as stderr:
            process = subprocess.Popen([browser, *options, address], stderr=stderr, stdout=subprocess.DEVNULL)
            finished = site.done.wait(60 * MINUTES)
            process.terminate()
            process.wait(30)
        console = re.findall(r"CONSOLE.*?\] (.*)", log.read_text(errors="replace"))
    site.shutdown()
    site.server_close()
    found = list(site.found or []) if finished else [f"the browser did not finish in {MINUTES:g} minutes"]
    found += [f"request without an answer: {path}" for path in site.missing]
    found += [f"script: {html.unescape(line)}" for line in console if "rror" in line]
    if not found:
        sys.stdout.write(f"{site.n_pages} pages at {' and '.join(map(str, WIDTHS))} pixels: nothing wrong\n")
    return found


def main() -> int:
    """Return 1 if a page has a problem."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.stdout.write("no Chromium here: the pages are not opened in a browser\n")
        return 0
    found = problems(Path(sys.argv[1]).resolve(), browser)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
