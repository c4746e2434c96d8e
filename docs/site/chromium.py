"""Chromium, driven over its debugging pipe: pages at a width and in a theme, what they request and report, pictures.

with Chromium() as browser:
    page = browser.open("file:///tmp/report.html")
    page.look(width=390, dark=True)
    page.run("document.title")
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 120.0
"""How long an answer may take, on a busy machine."""
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
FRAME = "new Promise(done => requestAnimationFrame(done))"
SETTLED = f"document.fonts.ready.then(() => {FRAME}).then(() => {FRAME})"


def installed() -> str | None:
    """Return the path of Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Chromium:
    """A browser without a window, which ends with the block."""

    def __init__(self) -> None:
        path = installed()
        if path is None:
            raise FileNotFoundError(f"none of {', '.join(BROWSERS)} is installed")
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (reads, self._to), (self._from, writes) = os.pipe(), os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (reads, writes)]

        def as_three_and_four() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [path, *OPTIONS, f"--user-data-dir={self._home.name}"],
            preexec_fn=as_three_and_four,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (reads, writes, *high):
            os.close(end)
        self._number, self._left = 0, b""
        self.events: list[dict[str, Any]] = []
        self._page: Page | None = None

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait(30)
        self._home.cleanup()

    def open(self, address: str) -> Page:
        """Open a page in the tab of this browser, and wait until it has been loaded."""
        page = self._page = self._page or self._new_page()
        self.events.clear()
        page.call("Page.navigate", url=address)
        self._until(lambda: any(event["method"] == "Page.loadEventFired" for event in page.events()), address)
        return page

    def _new_page(self) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._write(message | ({"sessionId": session} if session else {}))
        answers: list[dict[str, Any]] = []
        number = self._number

        def answered() -> bool:
            answers.extend(event for event in self.events if event.get("id") == number)
            return bool(answers)

        self._until(answered, method)
        self.events = [event for event in self.events if "id" not in event]
        if "error" in answers[0]:
            raise RuntimeError(f"{method}: {answers[0]['error']['message']}")
        return dict(answers[0]["result"])

    def _write(self, message: dict[str, Any]) -> None:
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._to, rest) :]

    def _until(self, ready: Callable[[], bool], what: str) -> None:
        """Read messages until a condition holds."""
        ends = time.monotonic() + SECONDS
        while not ready():
            if not select.select([self._from], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer in {SECONDS:g} s: {what}")
            read = os.read(self._from, 1 << 20)
            if not read:
                raise RuntimeError(f"the browser has ended: {what}")
            *messages, self._left = (self._left + read).split(b"\0")
            self.events += map(json.loads, messages)


class Page:
    """The page that is open in a tab."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol for this page."""
        return self._browser.call(method, self._session, **parameters)

    def events(self) -> list[dict[str, Any]]:
        """Return what the page has reported since it was opened."""
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def look(self, width: int, *, dark: bool, height: int = 900) -> None:
        """Show the page at a width in pixels, in a theme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[theme])
        self.run(SETTLED)

    def run(self, script: str) -> Any:
        """Return the value of an expression, also of one that promises it."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", script[:80]))
        return done["result"].get("value")

    def requests(self) -> list[str]:
        """Return the addresses that the page has requested, itself first."""
        sent = [event for event in self.events() if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def errors(self) -> list[str]:
        """Return errors of scripts, of the policy for content and of requests, and calls of console.error."""
        found = []
        for event in self.events():
            said = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = said["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Log.entryAdded" and said["entry"]["level"] == "error":
                found.append(f"{said['entry']['text']} {said['entry'].get('url', '')}".strip())
            elif event["method"] == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert"):
                found.append(" ".join(str(one.get("value", one.get("description"))) for one in said["args"]))
        return found

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen as PNG; the whole page on request, up to 6,000 pixels."""
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            area = {"x": 0, "y": 0, "width": size["width"], "height": min(6000, size["height"]), "scale": 1}
            clip = {"clip": area, "captureBeyondViewport": True}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))
