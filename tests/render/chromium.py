"""A real browser for the tests: Chromium without a window, spoken to in its DevTools protocol through a pipe."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio")


class Page:
    """One page of a browser of its own. `problems` are what scripts and the page's own rules complained about."""

    def __init__(self, folder: Path, size: tuple[int, int] = (1000, 800)):
        ours, theirs = os.pipe(), os.pipe()  # the browser reads descriptor 3 and writes descriptor 4

        def arranged() -> None:
            one, other = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(one, 3), os.dup2(other, 4)

        command = [str(PROGRAM), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=arranged
        )
        os.close(ours[0]), os.close(theirs[1])
        self.reader, self.writer = theirs[0], ours[1]
        self.numbers, self.kept, self.problems = itertools.count(1), b"", []
        self.session: str | None = None
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.reader), os.close(self.writer)

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """The answer to one command of the protocol; RuntimeError where the browser refuses it."""
        number = next(self.numbers)
        said = {
            "id": number,
            "method": method,
            "params": given,
            **({"sessionId": self.session} if self.session else {}),
        }
        os.write(self.writer, json.dumps(said).encode() + b"\0")
        while True:
            message = self._next(60)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]

    def open(self, address: str, until: str = "document.readyState == 'complete'", **media: str) -> None:
        """Open an address and wait; `media` are preferences, e.g. `prefers_color_scheme="dark"`."""
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask("Page.navigate", url=address)
        self.wait(until)

    def js(self, expression: str) -> Any:
        """The value of an expression in the page, a promise awaited."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 120, every: float = 0.05) -> None:
        """Wait until an expression is true; pages that are on their way elsewhere are asked again."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.js(f"Boolean({expression})"):
                    return
            except RuntimeError:
                pass
            if time.monotonic() > end:
                raise AssertionError(f"not seen within {seconds} s: {expression}")
            time.sleep(every)

    def type(self, text: str) -> None:
        """Type text where the focus is, as a paste does."""
        self.ask("Input.insertText", text=text)

    def press(self, key: str, code: int, control: bool = False) -> None:
        """Press and let go of one key, with Ctrl or without; `code` is its key code."""
        given = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 2 * control}
        text = {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **text, **given)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **given)

    def click(self, selector: str) -> None:
        """Click the first element of a selector as with a mouse: what a script's `click()` leaves out comes too."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.js(f"{found}.scrollIntoView({{block: 'center'}})")
        box = self.js(
            f"(() => {{ const b = {found}.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] }})()"
        )
        at = {"x": box[0] + box[2] / 2, "y": box[1] + box[3] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def drop(self, file: Path) -> None:
        """Drop a file of this machine on the middle of the page, as from a folder's window."""
        data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.ask("Input.dispatchDragEvent", type=kind, x=400, y=300, data=data)

    def picture(self, file: Path) -> None:
        """The page as a PNG, for a person to read."""
        # without it a window that is never shown has no size
        self.ask("Emulation.setDeviceMetricsOverride", width=1200, height=2000, deviceScaleFactor=1, mobile=False)
        shot = self.ask("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(shot["data"]))

    def _next(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self.kept:
            ready, _, _ = select.select([self.reader], [], [], seconds)
            more = os.read(self.reader, 1 << 16) if ready else b""
            if not more:
                raise AssertionError(f"the browser ended, or said nothing for {seconds} s")
            self.kept += more
        one, _, self.kept = self.kept.partition(b"\0")
        message = json.loads(one)
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(message["params"]["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.problems.append(message["params"]["entry"]["text"])
        return message
