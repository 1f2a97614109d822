# SPDX-License-Identifier: GPL-3.0-or-later
"""What the browser tests share: an interpreter that has selenium, a headless Chromium, pages made by
the program and read without a browser, and expectations that are collected until the end.

A test begins with `import harness` (which may start it again with another interpreter, or skip it:
exit 77) and ends with `harness.run(main)`.
"""
import base64
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIP)


def need_selenium():
    """The interpreter of ctest need not be the one whose packages are Debian's."""
    try:
        import selenium  # noqa: F401
        return
    except ImportError:
        pass
    for other in ("/usr/bin/python3",):
        if os.environ.get("COLLSIM_BROWSER_PYTHON") is None and os.access(other, os.X_OK) and \
                subprocess.run([other, "-c", "import selenium"], stderr=subprocess.DEVNULL).returncode == 0:
            os.environ["COLLSIM_BROWSER_PYTHON"] = other
            os.execv(other, [other, *sys.argv])
    skip("selenium is not there (Debian: python3-selenium)")


need_selenium()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    skip("no browser, or no driver of it (Debian: chromium chromium-driver)")

from selenium import webdriver                                    # noqa: E402
from selenium.webdriver.chrome.service import Service            # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By                       # noqa: E402,F401
from selenium.webdriver.common.keys import Keys                   # noqa: E402,F401

if len(sys.argv) < 2:
    sys.exit((sys.modules["__main__"].__doc__ or "usage: TEST COLLSIM_BINARY").strip())
COLLSIM = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="collsim-browser-")
problems = []
checked = 0


def expect(condition, what):
    """Collect a problem; True where there is none."""
    global checked
    checked += 1
    if not condition:
        problems.append(what)
        print(f"PROBLEM: {what}", flush=True)
    return bool(condition)


def same(found, wanted, what):
    return expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def run(test):
    """Run a test and end the process: 0 all held, 1 not. Browsers and files are cleared away."""
    try:
        test()
    finally:
        for browser in list(Browser.running):
            browser.close()
        shutil.rmtree(FOLDER, ignore_errors=True)
    print(f"{checked} checks, {len(problems)} problems")
    sys.exit(1 if problems or checked == 0 else 0)


# ---- the program ----

def collsim(*words, returncode=0, **more):
    run = subprocess.run([COLLSIM, *map(str, words)], capture_output=True, text=True, cwd=FOLDER, **more)
    if run.returncode == 3 and "D3" in run.stderr:
        skip("this program was built without D3 (Debian: node-d3)")
    if run.returncode != returncode:
        raise RuntimeError(f"collsim {' '.join(map(str, words))}: exit {run.returncode}\n{run.stderr}")
    return run.stdout


def rows_of(*words):
    """Rows of `run` as the program prints them."""
    return json.loads(collsim("run", *words, "--format", "json"))


TYPES = {"u8": "B", "u16": "H", "u32": "I", "f32": "f", "f64": "d"}


def unpack(column):
    """A packed column of the page's data, read without the page's own code."""
    raw = zlib.decompress(base64.b64decode(column["z"]))
    values = list(struct.unpack(f"<{column['n']}{TYPES[column['type']]}", raw))
    if column.get("delta"):
        mask = 256 ** struct.calcsize(TYPES[column["type"]]) - 1
        for i in range(1, len(values)):
            values[i] = (values[i] + values[i - 1]) & mask
    return values


class TextParser(html.parser.HTMLParser):
    """Texts of the elements that have an id, and of all cells and tiles, as they stand in the file."""
    VOID = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.stack, self.texts, self.rows, self.tiles, self.where = [], {}, [], [], None
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        if tag in self.VOID:
            return
        attributes = dict(attributes)
        name = attributes.get("id")
        self.stack.append((tag, name))
        if name:
            self.texts[name] = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if attributes.get("class") == "tile":
            self.tiles.append("")

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name in self.stack:
            if name:
                self.texts[name] += data
        tags = [tag for tag, _ in self.stack]
        if self.rows and ("td" in tags or "th" in tags):
            self.rows[-1][-1] += data
        if any(name == "tiles" for _, name in self.stack) and self.tiles:
            self.tiles[-1] += data


class Page:
    """A page that `report` wrote: its text and its data, without a browser."""
    count = 0

    def __init__(self, *words, said=None):
        Page.count += 1
        self.path = os.path.join(FOLDER, f"page{Page.count}.html")
        self.said = collsim("report", *words, "-o", self.path)
        self.read()

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            self.source = file.read()
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.source, re.S)
        self.data = json.loads(text.group(1))
        plain = self.source[:text.start()]
        self.parsed = TextParser(re.sub(r"<style>.*?</style>", "", plain, flags=re.S))
        self.url = "file://" + self.path
        self.sweep = self.data.get("sweep")
        if self.sweep:
            self.read_sweep()

    def read_sweep(self):
        s = self.sweep
        self.algorithms, self.dims = s["algorithms"], s["dims"]
        self.index = [unpack(c) for c in s["settings"]["index"]]
        self.n = s["settings"]["n"]
        self.measures = {m["name"]: unpack(m["values"]) for m in s["measures"]}
        self.state = unpack(s["state"])

    def text(self, name):
        return self.parsed.texts[name]

    def values(self, setting):
        """The value of each dim, by its name."""
        return {d["name"]: d["values"][self.index[i][setting]] for i, d in enumerate(self.dims)}

    def value(self, measure, setting, algorithm):
        return self.measures[measure][setting * len(self.algorithms) + self.algorithms.index(algorithm)]


# ---- the browser ----

class Browser:
    running = []

    def __init__(self, width=1280, height=900, **more):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        self.downloads = os.path.join(FOLDER, f"downloads{len(Browser.running)}")
        os.makedirs(self.downloads, exist_ok=True)
        profile = tempfile.mkdtemp(dir=FOLDER)
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                     "--force-device-scale-factor=1", "--hide-scrollbars", "--lang=en-US",
                     f"--window-size={width},{height}", f"--user-data-dir={profile}", *more.get("words", ())):
            options.add_argument(word)
        options.add_experimental_option("prefs", {"download.default_directory": self.downloads,
                                                  "download.prompt_for_download": False})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_script_timeout(120)
        self.driver.set_page_load_timeout(120)
        Browser.running.append(self)
        self.resize(width, height)

    def close(self):
        Browser.running.remove(self)
        self.driver.quit()

    def resize(self, width, height, scale=1):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def media(self, **features):
        """Emulate media features: prefers_color_scheme="dark", prefers_reduced_motion="reduce"."""
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def open(self, page, fragment="", wait=True):
        """Open a page anew; wait until its sections are made and drawn."""
        url = page.url if isinstance(page, Page) else page
        self.driver.get("about:blank")
        self.driver.get(url + ("#" + fragment if fragment else ""))
        if wait:
            self.wait("return Boolean(window.collsim)", "the page's scripts")
            self.js_async("collsim.started.then(() => done())")

    def settle(self):
        """Wait until all sections are drawn, the timeline too."""
        self.wait("return Boolean(collsim.times.all)", "all sections")
        self.js_async("(collsim.timeline && !document.getElementById('timeline').hidden ? collsim.timeline.ready :"
                      " Promise.resolve()).then(() => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def js(self, script, *arguments):
        return self.driver.execute_script(script if "return" in script or ";" in script else "return " + script, *arguments)

    def js_async(self, script, *arguments):
        """Run a script that calls done(value)."""
        return self.driver.execute_async_script("const done = arguments[arguments.length - 1];\n" + script, *arguments)

    def wait(self, script, what="a condition", seconds=60):
        end = time.monotonic() + seconds
        while True:
            value = self.js(script)
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError(f"waited {seconds} s for {what}: {script}")
            time.sleep(0.03)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """All text of an element, shown or not."""
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(n => n.textContent)", selector)

    def press(self, *keys):
        """Keys for whoever has the focus."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def focus(self, selector):
        self.js("document.querySelector(arguments[0]).focus({preventScroll: false});", selector)

    def mouse(self, kind, x, y, **more):
        """A mouse event at a place of the window: mouseMoved, mousePressed, mouseReleased."""
        self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x0, y0, x1, y1, steps=8):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def tip(self):
        """The text of the tip; '' where none is shown."""
        return self.js("const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText;")

    def hash(self):
        """What the address says, when it has been written."""
        time.sleep(0.3)
        return self.js("return location.hash.slice(1)")

    def console(self):
        """What the console got since the last time."""
        return [e["level"] + ": " + e["message"] for e in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that were asked for since the last time."""
        out = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                out.append(message["params"]["request"]["url"])
        return out

    def picture(self, path=None, whole=False):
        """A PNG of what is shown, or of the whole page."""
        more = {}
        if whole:
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            more = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
                    "captureBeyondViewport": True}
        data = base64.b64decode(self.cdp("Page.captureScreenshot", format="png", **more)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return data


def fragment_of(values):
    """The part of an address that shows a setting, by the whole names of its dims."""
    from urllib.parse import quote
    return "&".join(f"{quote(name)}={quote(str(value))}" for name, value in values.items())


def plain(text):
    """Spaces that do not break count as spaces, runs of them as one."""
    return re.sub(r"\s+", " ", text.replace("\u00a0", " ")).strip()


WIDE = """
    const limit = document.scrollingElement.clientWidth + 1, out = [];
    if (document.scrollingElement.scrollWidth <= limit) return out;
    for (const node of document.querySelectorAll('body *')) {
        const b = node.getBoundingClientRect();
        let box = node.parentElement;
        while (box && box !== document.body && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
        if (box && box !== document.body) continue;   // cut, or scrolled by itself
        if (b.right + scrollX > limit && b.width > 0 && ![...node.children].some(c => c.getBoundingClientRect().right + scrollX > limit)) {
            out.push(`${node.closest('section') ? node.closest('section').id : ''} ${node.tagName}.${node.getAttribute('class') || ''}` +
                ` to ${Math.round(b.right + scrollX)}: ${node.textContent.slice(0, 40)}`);
        }
    }
    return out.slice(0, 8);"""


def fits(browser, what):
    """Nothing of the page is wider than the window."""
    same(browser.js(WIDE), [], f"{what}: the page scrolls sideways, because of")
