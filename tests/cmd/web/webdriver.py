# SPDX-License-Identifier: MIT
"""A browser: Chromium, driven by chromedriver over HTTP (W3C WebDriver)."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from support import *

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "ArrowDown": "\ue015"}


class Browser:
    """Chromium with an empty profile in a new folder."""

    def __init__(self, chromium, driver, width, height):
        self.folder = tempfile.mkdtemp(prefix="weir-browser-")
        # Both write to the home directory of the user.
        env = {**ENV, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder,
               "XDG_CACHE_HOME": self.folder, "TMPDIR": self.folder}
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen([driver, "--port=0"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, env=env, text=True)
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        else:
            self.log.seek(0)
            raise Failed("chromedriver: " + self.log.read())
        self.base = f"http://127.0.0.1:{found[1]}/session"
        # The page is trusted; as root, and in containers, Chromium's own sandbox does not work.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--no-proxy-server",
                     f"--window-size={width},{height}", f"--user-data-dir={self.folder}/profile"]
        self.base += "/" + self.ask("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": chromium, "args": arguments}}}})["sessionId"]

    def ask(self, method, what, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + what, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise Failed(f"{what}: {error.read().decode()}") from None

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *args):
        """The value of a JavaScript expression."""
        return self.ask("POST", "/execute/sync", {"script": "return " + script, "args": list(args)})

    def texts(self, selector):
        return self.run("[...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
                        selector)

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def element(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.element(selector)}/click", {})

    def press(self, selector, key):
        self.ask("POST", f"/element/{self.element(selector)}/value", {"text": KEYS.get(key, key)})

    def screenshot(self):
        return base64.b64decode(self.ask("GET", "/screenshot"))

    def messages(self):
        """The messages of the console that are errors or warnings."""
        return [one["message"] for one in self.ask("POST", "/se/log", {"type": "browser"})
                if one["level"] in ("SEVERE", "WARNING")]

    def end(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.communicate(timeout=LIMIT)
            self.log.close()
            shutil.rmtree(self.folder, ignore_errors=True)
