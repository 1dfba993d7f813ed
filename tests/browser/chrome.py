"""A headless Chromium with one page, driven over its DevTools pipe. Needs nothing but Python and
the browser."""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The browser's path; None where none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chrome:
    def __init__(self, program, timeout=60):
        self.timeout = timeout
        # Exceptions, errors and warnings of the page; what it loads beside itself.
        self.complaints = []
        # The browser's own processes may still write there for a moment when it is told to end.
        self.folder = tempfile.TemporaryDirectory(prefix="lathe-chrome-",
                                                  ignore_cleanup_errors=True)
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4. It draws by software and
        # cannot be asked for a sandbox everywhere tests run; it shows only what the test wrote.
        words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars",
                 "--no-first-run", f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh",
                                         *words],
                                        pass_fds=(to_read, to_write), start_new_session=True,
                                        stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.received = b""
        self.number = 0
        self.session = None
        self.loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A group of its own: the browser and its helpers.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_read)
        os.close(self.to_write)
        self.folder.cleanup()

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") != self.number:
                self._hear(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, path):
        self.loaded = False
        self.page = "file://" + os.path.abspath(path)
        self.send("Page.navigate", url=self.page)
        deadline = time.monotonic() + self.timeout
        while not self.loaded:
            self._hear(self._receive(deadline))

    def evaluate(self, expression):
        """The value of a JavaScript expression; of a promise, what it is kept with."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description",
                                                                                   expression))
        return answer["result"].get("value")

    def window(self, width, height, dark=False, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def _receive(self, deadline):
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.to_read], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.to_read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser does not answer" if not ready
                                   else "the browser ended")
            self.received += data
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def _hear(self, event):
        method, parameters = event.get("method", ""), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning",
                                                                             "assert"):
            self.complaints.append(f"console: {parameters['args']}")
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"log: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if url.split("#")[0] != self.page and not url.startswith("data:"):
                self.complaints.append(f"loads {url}")
