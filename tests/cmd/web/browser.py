# SPDX-License-Identifier: MIT
"""The page of weir web in Chromium.

    browser.py WEIR CHROMIUM CHROMEDRIVER CROWD HANG...             test
    browser.py --write PNG WEIR CHROMIUM CHROMEDRIVER CROWD HANG... write the guide's screenshot
    ... -- TEST...                                                  only these tests
"""
import atexit
import contextlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ("WEIR_TEST_CHROMIUM", "WEIR_TEST_DRIVER", "WEIR_TEST_CROWD", "WEIR_TEST_HANGS")
# The program runs again in a PID namespace, without these arguments.
if TOOLS[0] not in os.environ:
    tests = []
    if "--" in sys.argv:
        tests = sys.argv[sys.argv.index("--") + 1:]
        del sys.argv[sys.argv.index("--"):]
    if sys.argv[1] == "--write":
        os.environ["WEIR_TEST_PNG"] = os.path.abspath(sys.argv[2])
        del sys.argv[1:3]
        tests = ["test_write_screenshot"]
    paths = [os.path.abspath(one) for one in sys.argv[2:]]
    for name, value in zip(TOOLS, (*paths[:3], ":".join(paths[3:]))):
        os.environ[name] = value
    sys.argv[2:] = tests
sys.path[1:1] = [os.path.dirname(HERE), HERE]
from support import *  # noqa: E402
from server import Server, crowd, hang  # noqa: E402
from webdriver import Browser as Chromium  # noqa: E402

HOSTILE = "<img src=x onerror=document.title='evil'>"


shared = []


@contextlib.contextmanager
def Browser(width=1280, height=1000):
    """The browser, with an empty page; it is started once."""
    if not shared:
        shared.append(Chromium(*(os.environ[name] for name in TOOLS[:2]), width, height))
        atexit.register(shared[0].end)
    browser, = shared
    try:
        yield browser
    finally:
        browser.open("about:blank")
        browser.messages()


def shows(browser, selector, *parts):
    until(lambda: all(part in browser.text(selector) for part in parts),
          f"{selector} shows {parts}; it shows {browser.text(selector)!r}")


def choose(browser, selector, text):
    """Click the one button with this text.  Others may appear at any time: without a PID
    namespace, weir web also shows the processes of other tests."""
    same(browser.run("[...document.querySelectorAll(arguments[0])].filter((one) => "
                     "one.textContent === arguments[1]).map((one) => one.click()).length",
                     selector, text), 1, f"buttons {text}")


def no_errors(browser):
    same(browser.messages(), [], "messages in the console")


# How an element is drawn.
COLOUR = "getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"


def test_a_deadlock_is_visible():
    with hang("hang-timeout") as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, ".notice.bad", "DEADLOCK until a timeout: 2 contexts", "ways out", "client", "service")
        shows(browser, "#summary", "DEADLOCK in hang-timeout")
        check("DEADLOCK" in browser.run("document.title"))
        # Two contexts, two semaphores, two holds and two waits; all of them in red.
        same(len(browser.texts(".node.ctx.bad")), 2)
        same(sorted(browser.texts(".node.sem.bad .title")), ["replies", "slots"])
        same(browser.run("[...document.querySelectorAll('.edge.bad')].map((one) => one.dataset.kind).sort()"),
             ["holds", "holds", "waits", "waits"])
        same(browser.texts(".edge:not(.bad), .node:not(.bad)"), [])
        red = browser.run("getComputedStyle(document.querySelector('.notice.bad')).color")
        check(red in ("rgb(200, 16, 46)", "rgb(255, 95, 115)"), red)
        for selector, part in ((".node.ctx.bad rect", "stroke"), (".node.sem.bad rect", "stroke"),
                               (".edge.bad", "stroke"), (".tip.bad", "fill")):
            same(browser.run(COLOUR, selector, part), red, selector)
        same(sorted(browser.texts(".label.bad")), ["holds 1", "holds 1", "waits for 1", "waits for 1"])
        # The same as text.
        check(all("(DEADLOCK)" in one for one in browser.texts("#edges li")), browser.texts("#edges li"))
        check("client" in browser.run("document.querySelector('.node.ctx').getAttribute('aria-label')"))
        shows(browser, "#connection", "live")
        no_errors(browser)


def test_the_arrows_join_the_nodes():
    """A hold goes from the semaphore to the context, and a wait the other way."""
    with hang("hang-timeout") as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, ".notice.bad", "DEADLOCK")
        boxes = browser.run("[...document.querySelectorAll('.node')].map((one) => "
                            "{ const b = one.querySelector('rect').getBBox();"
                            " return [one.querySelector('.title').textContent, b.x, b.y, b.width, b.height]; })")
        edges = browser.run("[...document.querySelectorAll('.edge')].map((one) => [one.dataset.kind, "
                            "...[0, one.getTotalLength()].flatMap((at) => "
                            "{ const p = one.getPointAtLength(at); return [p.x, p.y]; })])")

        def box_at(x, y):
            found, = (name for name, left, top, width, height in boxes
                      if left - 10 <= x <= left + width + 10 and top <= y <= top + height)
            return found.split()[-1]
        same({(kind, box_at(x1, y1), box_at(x2, y2)) for kind, x1, y1, x2, y2 in edges},
             {("holds", "slots", "client"), ("waits", "replies", "client"),
              ("holds", "replies", "service"), ("waits", "slots", "service")})


def test_clicking_shows_the_call_sites():
    with hang("hang-timeout") as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, ".node.sem", "slots")
        names = {one.split()[-1]: key for one, key in browser.run(
            "[...document.querySelectorAll('.node')].map((one) => "
            "[one.querySelector('.title').textContent, one.dataset.key])")}
        browser.click(f"[data-key='{names['client']}'] rect")
        shows(browser, "#details", "client", "slots", "replies", "times out in", "hang-timeout")
        sites = browser.texts("#details .site")
        same(len(sites), 2)
        check(all("hang-timeout" in one for one in sites), sites)
        # By keyboard: the next node, and enter.
        browser.press(f"[data-key='{names['slots']}']", "Enter")
        shows(browser, "#details", "Holders", "Queue", "0 of 1 free", "client", "service")
        same(browser.run("document.activeElement.dataset.key"), names["slots"], "the focus")
        browser.press(f"[data-key='{names['slots']}']", "ArrowDown")
        same(browser.run("document.activeElement.dataset.key"), names["replies"], "the focus")
        # From the table.
        browser.click("#body tr:first-child .name button")
        shows(browser, "#details h3", browser.texts("#body tr:first-child .name")[0])
        no_errors(browser)


def test_sorting_and_filtering():
    with crowd(12, "held") as program, Server(program.pid) as server, Browser() as browser:
        for number in (3, 3, 7):
            program.do(number)
        browser.open(server.url)

        def column(number):
            return browser.texts(f"#body td:nth-child({number})")
        until(lambda: len(column(2)) == 13, "the rows")
        browser.click("[data-column=name]")
        names = sorted(column(2), key=lambda one: (one[0] == "s", int(one[1:]) if one[0] == "s" else 0))
        same(column(2), names, "by name")
        same(browser.run("document.querySelector('th[aria-sort]').getAttribute('aria-sort')"), "ascending")
        browser.click("[data-column=name]")
        same(column(2), names[::-1], "by name, descending")
        browser.click("[data-column=held]")
        same(column(2)[:3], ["s3", "held", "s7"], "by held")
        same(column(4)[:4], ["2", "1", "1", "0"])
        same(column(3)[:2], ["3/5", "1/2"], "free")
        same(len(browser.texts(".node.sem")), 3, "semaphores in the graph")
        shows(browser, "#omitted", "10 semaphores without holders and waiters")
        browser.press("#filter", "s1")
        same(sorted(column(2)), ["s1", "s10", "s11"])
        no_errors(browser)


def test_the_page_is_live_and_does_not_jump():
    places = ("Object.fromEntries([...document.querySelectorAll('.node')].map((one) => "
              "[one.querySelector('.title').textContent, one.querySelector('rect').getAttribute('y')]))")
    with crowd(12, "held") as program, Server(program.pid) as server, Browser() as browser:
        program.do(5)
        browser.open(server.url)
        shows(browser, ".node.sem", "s5", "held")
        first = browser.run("[...document.querySelectorAll('.node.sem .title')].map((one) => one.textContent)")
        program.do(2)
        shows(browser, ".node.sem", "s2")
        second = browser.run("[...document.querySelectorAll('.node.sem .title')].map((one) => one.textContent)")
        same(second, first + ["s2"], "a new node is the last one")
        before = browser.run(places)
        time = browser.run("document.querySelector('#body td:nth-child(7)').textContent")
        until(lambda: browser.run("document.querySelector('#body td:nth-child(7)').textContent") != time,
              "another refresh")
        same(browser.run(places), before, "the places")
        browser.click("#pause")
        shows(browser, "#connection", "paused")


def test_a_hostile_name_is_text():
    with crowd(2, HOSTILE, "</script><script>x") as program, Server(program.pid) as server, \
            Browser() as browser:
        browser.open(server.url)
        shows(browser, "#body", HOSTILE, "</script><script>x")
        shows(browser, ".node.sem .title", "<img src=x onerror=")
        browser.click("#body tr .name button")
        until(lambda: browser.texts("#details h3"), "the details")
        same(browser.run("document.querySelectorAll('img').length"), 0)
        same(browser.run("document.querySelectorAll('script').length"), 1)
        check("evil" not in browser.run("document.title"))
        no_errors(browser)


def test_the_policy_stops_a_script():
    """Even if a name were inserted as HTML, its script would not be executed."""
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, "#body", "s0")
        no_errors(browser)
        browser.run("(document.querySelector('main').innerHTML = arguments[0])", HOSTILE)
        until(lambda: any("Content Security Policy" in one for one in browser.messages()), "it is refused")
        check("evil" not in browser.run("document.title"))


def test_a_leak():
    with hang("hang-leak") as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, ".notice.warn", "LEAKED")
        shows(browser, ".node.ctx.warn", "THREAD EXITED")
        same(browser.texts(".bad.node, .bad.edge"), [])


def test_a_reader_writer_lock():
    """The roles are shown, not the permits of the semaphore inside."""
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        program.do("read")
        program.do("write")
        browser.open(server.url)
        shows(browser, ".node.sem", "table", "1 reader inside, 1 waiting")
        same(sorted(browser.texts("#graph .label")), ["is a reader", "waits to be the writer"])
        check(any("is a reader of table" in one for one in browser.texts("#edges li")),
              browser.texts("#edges li"))
        browser.click(".node.sem rect")
        shows(browser, "#details", "1 reader inside", "1 context", "waits to be the writer for")
        check("1073741" not in browser.text("body"), browser.text("body"))
        no_errors(browser)


def test_waits_for_other_things_than_permits():
    """An item of a channel, a token, the end of tasks: as weir explain says it."""
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        for command in ("receive", "pace", "idle"):
            program.do(command)
        browser.open(server.url)
        until(lambda: sorted(browser.texts("#graph .label")) ==
              ["holds 1", "waits for an item", "waits for tokens", "waits in the queue",
               "waits until idle"], "the labels")
        # Semaphores are in the order in which they came up: select each by its name.
        for name, *parts in (("jobs", "channel", "2 of 2 free, 0 items", "waits for an item for",
                              "can be cancelled"),
                             ("mail", "rate limit", "a call waits for tokens"),
                             ("tasks", "group", "1 of 2 free, 1 held", "1 context")):
            row, = [i for i, one in enumerate(browser.texts("#body tr")) if name in one]
            browser.click(f"#body tr:nth-child({row + 1}) button")
            shows(browser, "#details", *parts)
            check("for 0" not in browser.text("#details"), browser.text("#details"))
            # The calls of a rate limit are not counted.
            same("Acquires" in browser.text("#details"), name != "mail", name)
        no_errors(browser)


def test_waits_for_slots_and_room_and_permits_handed_over():
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        for command in ("send", "spawn", "pass"):
            program.do(command)
        browser.open(server.url)
        until(lambda: {"waits for a slot", "waits for room"} <= set(browser.texts("#graph .label")),
              "the labels")
        for name, *parts in (("letters", "0 of 1 free, 1 item", "waits for a slot for"),
                             ("queue", "waits for room for", "1 context"),
                             ("baton", "Handed over", "threads release what others hold")):
            row, = [i for i, one in enumerate(browser.texts("#body tr")) if name in one]
            browser.click(f"#body tr:nth-child({row + 1}) button")
            shows(browser, "#details", *parts)
            check("for 0" not in browser.text("#details"), browser.text("#details"))
        no_errors(browser)


def test_a_paused_semaphore():
    same(weir("open", "gate", "-n", "1")[0], 0)
    same(weir("pause", "gate")[0], 0)
    with Server() as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, "#body", "gate")
        choose(browser, "#body .name button", "gate")
        shows(browser, "#details", "paused: no permit is granted")


def test_a_process_that_ends():
    with hang("hang-nested") as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, ".notice.bad", "DEADLOCK")
        program.end()
        shows(browser, ".notice.warn", f"hang-nested {program.pid} has ended", "last state")
        # The last state stays.
        shows(browser, ".notice.bad", "DEADLOCK")
        same(len(browser.texts(".node.ctx.bad")), 3)


def test_several_processes():
    with hang("hang-nested") as one, hang("hang-timeout") as other, Server() as server, \
            Browser() as browser:
        browser.open(server.url)
        names = [f"hang-nested {one.pid}", f"hang-timeout {other.pid}"]
        shows(browser, "#processes", *names)
        shows(browser, ".node.sem", "database", "slots", "replies")
        choose(browser, "#processes button", names[1] + "DEADLOCK")
        until(lambda: sorted(browser.texts("#body .name")) == ["replies", "slots"], "one process")
        same(sorted(browser.texts(".node.sem .title")), ["replies", "slots"])
        other.end()
        shows(browser, ".notice.warn", "has ended")


def test_a_lost_connection():
    # Another program might take the port on 127.0.0.1 meanwhile.
    with crowd(1, "held") as program, Server(program.pid, address="127.77.0.1:0") as server, \
            Browser() as browser:
        browser.open(server.url)
        shows(browser, "#connection", "live")
        server.end()
        shows(browser, "#connection", "connection lost")
        shows(browser, ".notice.bad", "No connection to weir web")
        shows(browser, "#body", "held")
        with Server(program.pid, address=f"127.77.0.1:{server.port}", key=server.key):
            shows(browser, "#connection", "live")
            same(browser.texts(".notice"), [])


def test_a_thousand_semaphores():
    """The page answers to a click, and the graph has only those with holders."""
    with crowd(1000) as program, Server(program.pid) as server, Browser() as browser:
        for number in range(0, 1000, 2):
            program.do(number)
        browser.open(server.url)
        until(lambda: browser.run("document.querySelectorAll('#body tr').length") == 1000, "the rows")
        shows(browser, "#omitted", "500 semaphores without holders", "less important link")
        same(browser.run("document.querySelectorAll('.edge').length"), 8, "links of one context")
        shows(browser, ".node.ctx .title", "(+492 links)")
        browser.click("[data-column=held]")
        same(browser.texts("#body tr:first-child td:nth-child(4)"), ["1"])
        no_errors(browser)


def test_the_graph_is_limited():
    """A process with 1000 holders: the waits that cannot end are drawn, and 300 links in all."""
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, "#connection", "live")
        browser.click("#pause")
        data = server.data()
        model = data["processes"][0]["model"]
        one, context = model["objects"][0], model["contexts"][0] if model["contexts"] else \
            {"kind": "thread", "address": "0x0", "name": "x", "ended": False, "verdict": "FINE"}
        # The last two of them are a deadlock.
        model["contexts"] = [{**context, "context": i, "id": hex(i + 1), "tid": i + 1,
                              **({"verdict": "DEADLOCK", "group": 1} if i > 997 else {})} for i in range(1000)]
        model["objects"] = [{**one, "id": hex(i + 1), "name": f"s{i}", "holders": [
            {"context": i, "weight": 1, "age_ns": 5}], "waiters": []} for i in range(1000)]
        for i in (998, 999):
            model["objects"][i].update(verdict="DEADLOCK", waiting=1, waiters=[
                {"context": 1997 - i, "min": 1, "max": 1, "age_ns": 5}])
        data["now_ns"] += 1
        browser.run("accept(arguments[0])", data)
        same(browser.run("document.querySelectorAll('.edge').length"), 300)
        same(browser.texts("#omitted"), ["Not drawn: 702 less important links, of 1002."])
        same(browser.texts(".node.sem.bad .title"), ["s998", "s999"])
        # They are at the top.
        same(browser.texts(".node.sem .title")[:2], ["s998", "s999"])
        same(len(browser.texts(".edge.bad")), 4)
        no_errors(browser)


def test_nothing_else_is_requested():
    """The browser asks this server for the page and the data, and no other host."""
    with crowd(1) as program, Server(program.pid) as server, Browser() as browser:
        browser.open(server.url)
        shows(browser, "#connection", "live")
        same(set(browser.run("performance.getEntriesByType('resource').map((one) => one.name)")),
             {server.url + "data.json"})


def test_write_screenshot():
    if "WEIR_TEST_PNG" not in os.environ:
        return
    with hang("hang-timeout") as program, Server(program.pid) as server, \
            Browser(width=1240, height=900) as browser:
        browser.open(server.url)
        shows(browser, ".notice.bad", "DEADLOCK")
        client = browser.run("[...document.querySelectorAll('.node.ctx')].find((one) => "
                             "one.textContent.includes('client')).dataset.key")
        browser.click(f"[data-key='{client}'] rect")
        shows(browser, "#details", "client")
        browser.run("document.activeElement.blur()")
        with open(os.environ["WEIR_TEST_PNG"], "wb") as file:
            file.write(browser.screenshot())


if __name__ == "__main__":
    main()
