"""Opens a page of `lathe report` in a real browser: every plot is drawn, nothing complains, and
nothing is loaded.

Usage: report.py LATHE [FOLDER]   with a FOLDER, the database and the page are left there."""

import json
import os
import subprocess
import sys
import tempfile

import chrome
import models
import records

SKIPPED = 77  # of CTest
# Tables that do not fit their place, by their columns.
CLIPPED = """
[...document.querySelectorAll('.scroll')]
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.querySelector('tr').innerText)
"""
# Of each canvas: how many of its pixels are drawn on, and in how many colours.
DRAWN = """
(async () => {
  const out = [];
  for (const figure of document.querySelectorAll('figure[data-chart]')) {
    for (let box = figure.closest('details'); box; box = box.parentElement.closest('details'))
      box.open = true;
    figure.scrollIntoView({block: 'center'});
    const canvas = figure.querySelector('canvas');
    for (let i = 0; i < 200 && !Chart.getChart(canvas); ++i)
      await new Promise(done => setTimeout(done, 10));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const copy = new OffscreenCanvas(canvas.width, canvas.height)
        .getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    let pixels = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      ++pixels;
      colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    }
    out.push({kind: figure.dataset.chart, pixels, colours: colours.size,
              width: canvas.clientWidth});
  }
  return out;
})()
"""


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def make_page(lathe, folder):
    os.makedirs(folder, exist_ok=True)
    lines, database, page = (os.path.join(folder, name) for name in ("trials.jsonl", "records.db",
                                                                     "report.html"))
    records.write(lines,
                  records.trials(records.MATMUL, records.run_of(), 320, 1),
                  records.trials(records.MATMUL, records.run_of(seed=1), 320, 2),
                  records.trials(records.MATMUL, records.run_of("random", "none"), 320, 3),
                  records.trials(records.COPY, records.run_of(target=records.LONG_TARGET), 40, 4))
    subprocess.run([lathe, "import", lines, "--db", database], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([lathe, "report", database, "-o", page], check=True, stdout=subprocess.DEVNULL)
    return page


def look(browser, name, phone=False):
    check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          f"{name}: the page is wider than the window")
    if not phone:
        check(browser.evaluate(CLIPPED) == [],
              f"{name}: tables that are cut off: {browser.evaluate(CLIPPED)}")
    drawn = browser.evaluate(DRAWN)
    # Both workloads: progress over trials and over time, six knobs, model, time.
    kinds = sorted(chart["kind"] for chart in drawn)
    check(kinds == ["bars"] * 12 + ["lines"] * 6 + ["stacked"] * 2,
          f"{name}: the charts are {kinds}")
    for number, chart in enumerate(drawn):
        check(chart["pixels"] > 500 and chart["colours"] > 2,
              f"{name}: chart {number} ({chart['kind']}) is blank: {chart}")
        check(chart["width"] > 150, f"{name}: chart {number} is only {chart['width']} pixels wide")


def sorts(browser):
    column = ("[...document.querySelectorAll('table.sortable tbody')][0]"
              ".rows[0].cells[0].textContent")
    header = "document.querySelectorAll('table.sortable th button')[4]"  # trials
    browser.evaluate(header + ".click()")
    most = browser.evaluate(column)
    browser.evaluate(header + ".click()")
    check(browser.evaluate(column) != most, "a second click on a column does not turn its order")
    check(most.startswith("C[i,j]"), f"the workload with most trials is {most}")


def prints(browser):
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    charts = browser.evaluate("document.documentElement.dataset.charts")
    check(charts == "20/20", f"on paper, {charts} charts are drawn")
    check(browser.send("Page.printToPDF")["data"].startswith("JVBERi0"), "printing makes no PDF")
    browser.evaluate("dispatchEvent(new Event('afterprint'))")


LAYERS = 45
# Of the nodes of a model: whether the boxes stand below each other, none is cut off, and where the
# lines beside them end.
GRAPH = """
(() => {
  const boxes = [...document.querySelectorAll('.row')].map(row => row.getBoundingClientRect());
  const lanes = document.querySelector('.graph svg').getBoundingClientRect();
  const tasks = document.querySelector('.tasks').getBoundingClientRect();
  return {
    boxes: boxes.length,
    ordered: boxes.every((box, i) => i === 0 || Math.abs(box.top - boxes[i - 1].bottom) < 0.5),
    inside: boxes.every(box => box.left >= 0 && box.right <= innerWidth && box.width > 150),
    beside: lanes.right <= boxes[0].left + 0.5,
    off: Math.max(Math.abs(lanes.top - boxes[0].top), Math.abs(lanes.bottom - boxes.at(-1).bottom)),
    lanes: document.querySelectorAll('.lane').length,
    far: tasks.left >= boxes[0].right || tasks.bottom <= boxes[0].top,
  };
})()
"""
# What is told of a node: the texts that can be seen.
TOLD = """
[...document.querySelectorAll('.detail')].filter(each => each.offsetHeight > 0)
    .map(each => ({id: each.id, text: each.innerText}))
"""


def make_model_page(lathe, folder):
    model, lines, database, page = (
        os.path.join(folder, name) for name in ("model.onnx", "model.jsonl", "model.db",
                                                "model.html"))
    models.write(model, LAYERS)
    timed = json.loads(subprocess.run(
        [lathe, "bench", model, "--threads", "1", "--no-check", "--json", "--db", database],
        check=True, stdout=subprocess.PIPE).stdout)
    keys = sorted({node["workload"] for node in timed["nodes"]})
    models.write_records(lines, keys[:-1], timed["target"])
    subprocess.run([lathe, "import", lines, "--db", database], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([lathe, "report", model, "--threads", "1", "--db", database, "-o", page],
                   check=True, stdout=subprocess.DEVNULL)
    return page, len(timed["nodes"])


def look_at_model(browser, nodes, name):
    check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          f"{name}: the page is wider than the window")
    graph = browser.evaluate(GRAPH)
    check(graph["boxes"] == nodes + 2, f"{name}: {graph} for {nodes} nodes, an input, an output")
    for what in ("ordered", "inside", "beside", "far"):
        check(graph[what], f"{name}: not {what}: {graph}")
    check(graph["off"] < 0.5, f"{name}: lines and boxes are not in line: {graph}")
    check(graph["lanes"] == LAYERS, f"{name}: {graph} for {LAYERS} ways around")


def point(browser):
    told = browser.evaluate(TOLD)
    check(len(told) == 1, f"at first one node is told of, not {told}")
    for n in (5, 1):
        browser.evaluate(f"document.querySelectorAll('a.node')[{n}]"
                         ".dispatchEvent(new MouseEvent('mouseenter'))")
        told = browser.evaluate(TOLD)
        check([each["id"] for each in told] == [f"n{n}"], f"of node {n}, {told} is told")
        check("f32[" in told[0]["text"] and "sum(" in told[0]["text"], f"no expression: {told}")
    near = "[...document.querySelectorAll('.lane.near')].map(lane => lane.dataset.rows)"
    # It adds the input, and the node after the next adds what it makes.
    check(browser.evaluate(near) == ["2 0 ", "4 2 "], f"lines of node 1: {browser.evaluate(near)}")
    last = "[...document.querySelectorAll('.tasks a')].at(-1)"
    browser.evaluate(last + ".click()")
    told = browser.evaluate(TOLD)
    check(["#" + each["id"] for each in told] == [browser.evaluate(last + ".hash")],
          f"the list leads to {told}")
    for keys in ("guessed", "elsewhere"):
        check(browser.evaluate(f"document.querySelector('.tasks').innerText.includes('{keys}')"),
              f"no time is said to be {keys}")


def run_model(lathe, browser, folder):
    page, nodes = make_model_page(lathe, folder)
    browser.window(1280, 900)
    browser.open(page)
    look_at_model(browser, nodes, "model")
    point(browser)
    check(browser.send("Page.printToPDF")["data"].startswith("JVBERi0"), "printing makes no PDF")
    browser.window(390, 844, dark=True, phone=True)
    look_at_model(browser, nodes, "model, phone")
    browser.window(1280, 900)


def run(lathe, browser_path, folder):
    page = make_page(lathe, folder)
    with chrome.Chrome(browser_path) as browser:
        browser.window(1280, 900)
        browser.open(page)
        look(browser, "light")
        sorts(browser)
        prints(browser)
        browser.window(390, 844, dark=True, phone=True)
        look(browser, "phone, dark", phone=True)
        run_model(lathe, browser, folder)
        check(not browser.complaints, "the browser complains: " + "; ".join(browser.complaints))


def main():
    lathe, *keep = sys.argv[1:]
    browser_path = chrome.find()
    if browser_path is None:
        print("skipped: no Chromium is installed (" + ", ".join(chrome.NAMES) +
              "); scripts/install installs one")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="lathe-report-") as folder:
        run(lathe, browser_path, *keep or [folder])
    return 0


if __name__ == "__main__":
    sys.exit(main())
