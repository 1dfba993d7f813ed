"""A picture of a page, or of a part of it, as a browser shows it: to look at while working on it.

Usage: picture.py PAGE.html PICTURE.png [--width N] [--height N] [--top N] [--dark] [--phone]"""

import argparse
import base64

import chrome

parser = argparse.ArgumentParser()
parser.add_argument("page")
parser.add_argument("picture")
parser.add_argument("--width", type=int, default=1280)
parser.add_argument("--height", type=int, default=1200)
parser.add_argument("--top", type=int, default=0, help="where on the page")
parser.add_argument("--dark", action="store_true")
parser.add_argument("--phone", action="store_true")
wanted = parser.parse_args()

with chrome.Chrome(chrome.find()) as browser:
    browser.window(wanted.width, wanted.height, wanted.dark, wanted.phone)
    browser.open(wanted.page)
    browser.evaluate(
        f"new Promise(done => {{ scrollTo(0, {wanted.top}); setTimeout(done, 500); }})")
    with open(wanted.picture, "wb") as file:
        file.write(base64.b64decode(browser.send("Page.captureScreenshot")["data"]))
for complaint in browser.complaints:
    print(complaint)
