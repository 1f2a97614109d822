#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of `collsim serve` in a real browser: every kind of field, what they show against the command, errors beside their
field, two settings side by side, the scenario in the address, export, and a server that goes away.

usage: live_page.py COLLSIM [--shots FOLDER]
Skipped (77) without Selenium, Chromium, its driver, or a page.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

try:
    from selenium import webdriver
    from selenium.common.exceptions import JavascriptException, WebDriverException
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("skipped: apt-get install python3-selenium chromium-driver")
    sys.exit(77)

COLLSIM = os.path.abspath(sys.argv[1])
SHOTS = sys.argv[sys.argv.index("--shots") + 1] if "--shots" in sys.argv else None
PROBLEMS = []
SIX = ["ring", "rhd", "stragglar", "broadcast", "allpairs", "circulant"]


def check(condition, what):
    if not condition:
        PROBLEMS.append(what)
        print("WRONG:", what, flush=True)
    return condition


def serve(*words):
    server = subprocess.Popen([COLLSIM, "serve", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip()
    if not url:
        print("skipped:", server.stderr.read())
        sys.exit(77)
    return server, url


def browser(downloads):
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,1400", "--lang=en"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": downloads,
                                              "profile.default_content_setting_values.automatic_downloads": 1})
    try:
        return webdriver.Chrome(options=options)
    except WebDriverException as problem:
        print("skipped: no Chromium:", str(problem).split("\n")[0])
        sys.exit(77)


class Page:
    def __init__(self, driver):
        self.driver = driver

    def js(self, code, *values):
        return self.driver.execute_script(code, *values)

    def wait(self, code, what, seconds=20):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.js("return " + code):
                    return True
            except JavascriptException:
                pass
            time.sleep(0.05)
        return check(False, f"{what}: not in {seconds} s")

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def open(self, url):
        self.driver.get("about:blank")
        self.driver.get(url)
        self.wait("document.querySelectorAll('#live .live-field').length > 5", "the fields")

    def settled(self, what):
        """Nothing under way, also no timelines."""
        time.sleep(0.15)
        self.wait("!document.querySelector('#live').hasAttribute('aria-busy') && !document.documentElement.classList.contains('live-stale')"
                  " && collsim.D.runs && collsim.D.runs.length > 0", what)

    def rows(self):
        """{algorithm: exposed_s} of the setting that is shown, as the page has it"""
        return self.js("const {sweep, state} = collsim, v = sweep.measure.exposed_s.values;"
                       "return Object.fromEntries(sweep.algorithms.map((a, i) => [a, v[state.setting * sweep.A + i]]))")

    def range_to(self, label, place):
        """Move a slider as a pointer does: many events, the last is a change."""
        self.js("""const range = document.querySelector('#live input[type=text][aria-label="' + arguments[0] + '"]')
            .closest('.live-field').querySelector('input[type=range]');
            for (let p = Math.max(0, arguments[1] - 5); p <= arguments[1]; p++) { range.value = p; range.dispatchEvent(new Event('input', {bubbles: true})); }
            range.dispatchEvent(new Event('change', {bubbles: true}));""", label, place)

    def type_in(self, label, text):
        field = self.find(f'#live input[type=text][aria-label="{label}"]')
        self.js("arguments[0].scrollIntoView({block: 'center'})", field)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text, Keys.TAB)

    def press(self, text):
        done = self.js("const b = [...document.querySelectorAll('#live button')].find(b => b.textContent === arguments[0]);"
                       "if (b) b.click(); return Boolean(b)", text)
        check(done, f"there is no button {text}")

    def config(self):
        return json.loads(self.js("return document.querySelector('#live textarea').value"))

    def shot(self, name):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            self.driver.save_screenshot(os.path.join(SHOTS, name + ".png"))


def wanted_rows(config):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        done = subprocess.run([COLLSIM, "run", file.name, "--format", "json"], capture_output=True, text=True)
    return {row["algorithm"]: row["exposed_s"] for row in json.loads(done.stdout)}


def check_fields(page):
    for what, act in [
            ("GPUs", lambda: page.range_to("GPUs", 13)),
            ("size", lambda: page.type_in("size", "64M")),
            ("NIC rate", lambda: page.type_in("NIC rate", "200Gb/s")),
            ("NIC start-up", lambda: page.range_to("NIC start-up", 12)),
            ("a late GPU", lambda: page.press("+ a late GPU")),
            ("its delay", lambda: page.range_to("delay of GPU 27", 30)),
            ("a slow NIC", lambda: page.press("+ a slow NIC")),
            ("its slowdown", lambda: page.type_in("slowdown of GPU 27", "3")),
            ("another algorithm", lambda: page.press("merged rhd")),
            ("one algorithm less", lambda: page.press("allpairs"))]:
        act()
        page.settled(what)
        rows, wanted = page.rows(), wanted_rows(page.config())
        check(rows == wanted, f"{what}: the page has {rows}, the command {wanted}")
    config = page.config()
    check(config["cluster"]["ranks"] == 28 and config["bytes"] == "64M" and config["faults"] == [{"rank": 27, "slowdown": 3}] and
          config["arrivals"]["late"][0]["rank"] == 27 and "merged_rhd" in config["sweep"]["algorithm.name"], f"fields: {config}")
    page.shot("live-fields")


def check_error(page):
    page.type_in("size", "64 parsecs")
    page.wait("document.querySelector('#live .live-field.wrong .why') !== null", "an error beside its field")
    check("parsecs" in page.js("return document.querySelector('#live .why').textContent"), "the error's words")
    check(page.js("return document.documentElement.classList.contains('live-stale')"), "the last result is not grey")
    page.shot("live-error")
    page.type_in("size", "64M")
    page.settled("behind an error")
    check(page.js("return document.querySelectorAll('#live .why').length") == 0, "the error stays")


def check_compare(page):
    before = page.rows()
    page.press("Pin this as A")
    page.wait("!document.querySelector('.live-compare').hidden", "the comparison")
    page.type_in("size", "256M")
    page.settled("beside A")
    text = page.find(".live-compare").text
    check("bytes: 64M → 256M" in text, f"what differs: {text}")
    check(len(page.driver.find_elements("css selector", ".live-compare tbody tr")) == len(before), "rows of the comparison")
    page.shot("live-compare")


def check_address(page, url):
    """A new window with the same address shows the same."""
    page.js("collsim.change({})")
    time.sleep(0.4)
    address, rows, config = page.js("return location.href"), page.rows(), page.config()
    check("cfg=" in address and "pin=" in address, f"the address: {address[:200]}")
    page.open(address)
    page.settled("the address")
    page.wait("!document.querySelector('.live-compare').hidden", "what was pinned")
    check(page.config() == config and page.rows() == rows, "another scenario from the same address")
    page.open(url + "#cfg={broken")
    page.settled("a broken address")
    check(page.config() != config, "a broken address")
    page.open(address)
    page.settled("the address again")


def check_export(page, downloads):
    config, rows = page.config(), page.rows()
    page.press("Command line")
    page.wait("!document.querySelector('.live-command').hidden", "the command line")
    words = shlex.split(page.js("return document.querySelector('.live-command code').textContent"))
    done = subprocess.run([COLLSIM, *words[1:], "--format", "json"], capture_output=True, text=True)
    check({r["algorithm"]: r["exposed_s"] for r in json.loads(done.stdout)} == rows, f"the command line {words}")
    for text, name in (("Save as configuration", "collsim.json"), ("Save as page", "report.html")):
        page.press(text)
        path = os.path.join(downloads, name)
        until = time.monotonic() + 20
        while not os.path.exists(path) and time.monotonic() < until:
            time.sleep(0.1)
        check(os.path.exists(path), f"{text}: no file")
    with open(os.path.join(downloads, "collsim.json")) as file:
        check(wanted_rows(json.load(file)) == rows and config != {}, "the configuration that was saved")
    with open(os.path.join(downloads, "report.html")) as file:
        check("<!doctype html>" in file.read(100), "the page that was saved")


def check_drag(page):
    """Results come while a slider is dragged, and the last one counts."""
    seen = page.js("""window.seen = 0; const range = document.querySelector('#live input[type=text][aria-label=size]')
        .closest('.live-field').querySelector('input[type=range]');
        const old = collsim.D; let last = collsim.D, n = 0, p = 4;
        window.watch = setInterval(() => { if (collsim.D !== last) { last = collsim.D; window.seen++; } }, 4);
        window.dragging = setInterval(() => { p++; range.value = p % 25; range.dispatchEvent(new Event('input', {bubbles: true}));
            if (p >= 80) { clearInterval(window.dragging); window.dragging = null; range.value = 20;
                range.dispatchEvent(new Event('input', {bubbles: true})); range.dispatchEvent(new Event('change', {bubbles: true})); } }, 30);
        return 0""")
    page.wait("window.dragging === null", "the drag")
    seen = page.js("return window.seen")
    page.settled("behind a drag")
    page.js("clearInterval(window.watch)")
    check(seen >= 5, f"a drag of 2.3 s has shown {seen} results")
    check(page.config()["bytes"] == "1G" and page.rows() == wanted_rows(page.config()), "the last result counts")
    print(f"drag: {seen} results in 2.3 s")


def check_gone(page, server):
    server.terminate()
    check(server.wait(timeout=10) == 0, "the server's end")
    page.type_in("size", "32M")
    page.wait("!document.querySelector('.live-banner').hidden", "the banner")
    check(page.js("return document.documentElement.classList.contains('live-stale') && collsim.sweep !== null"), "the last result")
    page.shot("live-gone")
    again = subprocess.Popen([COLLSIM, "serve", "--port", page.js("return location.port")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    page.wait("document.querySelector('.live-banner').hidden", "the server is back")
    page.settled("the server is back")
    check(page.config()["bytes"] == "32M" and page.rows() == wanted_rows(page.config()), "behind a server that was gone")
    return again


def check_console(driver):
    for line in driver.get_log("browser"):
        if "ERR_CONNECTION_REFUSED" not in line["message"] and "400 (Bad Request)" not in line["message"]:
            check(False, f"the console: {line['message'][:300]}")


def main():
    server, url = serve("--port", "0", "-a", ",".join(SIX), "-n", "16", "-s", "1G", "--late", "7=4ms")
    with tempfile.TemporaryDirectory() as downloads:
        driver = browser(downloads)
        try:
            page = Page(driver)
            page.open(url)
            if not page.js("return Boolean(window.collsim)"):
                print("skipped: there is no page")
                return 77
            page.shot("live-begin")
            check(page.config()["cluster"]["ranks"] == 16, "what the server began with")
            page.js("document.querySelector('#live .live-group button[aria-label^=\"late of\"]').click()")  # takes the late GPU away
            page.settled("a late GPU less")
            check("arrivals" not in page.config(), f"a late GPU less: {page.config()}")
            for step in (check_fields, check_error, check_compare):
                step(page)
            check_address(page, url)
            check_export(page, downloads)
            check_drag(page)
            server = check_gone(page, server)
            check_console(driver)
        finally:
            driver.quit()
            server.terminate()
            server.wait()
    print(f"{len(PROBLEMS)} problems")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
