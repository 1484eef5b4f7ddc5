"""files.py FOLDER: the files that view.sh had written parse, and hold nothing but what a drawing needs."""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

bad = []
for path in sorted(glob.glob(sys.argv[1] + "/*.svg")):
    root = xml.etree.ElementTree.parse(path).getroot()
    kinds = {e.tag.rpartition("}")[2] for e in root.iter()}
    if kinds - {"svg", "title", "style", "g", "path", "rect", "text"}:
        bad.append(f"{path}: elements {kinds}")
    if any(key.startswith("on") or "href" in key for e in root.iter() for key in e.attrib):
        bad.append(f"{path}: an attribute acts")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.current, self.acting = [], None, []

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self.current = dict(attrs).get("type", "")
            self.scripts.append([self.current, ""])
        if tag in ("img", "iframe", "object", "embed", "link", "base") or any(k.startswith("on") or k in ("src", "href") for k, _ in attrs):
            self.acting.append((tag, attrs))

    def handle_data(self, data):
        if self.current is not None:
            self.scripts[-1][1] += data

    def handle_endtag(self, tag):
        if tag == "script":
            self.current = None


for path in sorted(glob.glob(sys.argv[1] + "/*.html")):
    text = open(path, encoding="utf-8").read()
    page = Page()
    page.feed(text)
    if [kind for kind, _ in page.scripts] != ["application/json", ""]:
        bad.append(f"{path}: scripts {[kind for kind, _ in page.scripts]}")
    if page.acting:
        bad.append(f"{path}: {page.acting[:3]}")
    if re.search(r"https?://(?!www\.w3\.org/2000/svg)", text):
        bad.append(f"{path}: names an address of the network")
    data = json.loads(page.scripts[0][1])
    if data["schema"] != "nnex.view/1" or not data["nodes"]:
        bad.append(f"{path}: no data")
    if "layers.html" in path:
        # The numbers of b3 as models.py made them: 0, 4 and six times 0.5.
        weight = next(v["weight"] for v in data["values"].values() if v["name"] == "b3")
        if (weight["low"], weight["high"], weight["mean"], weight["zeros"], weight["count"]) != (0, 4, 0.875, 1, 8):
            bad.append(f"{path}: b3 is {weight}")
        if weight["bars"][0] != 1 or weight["bars"][31] != 1 or weight["bars"][4] != 6 or sum(weight["bars"]) != 8:
            bad.append(f"{path}: bars of b3 are {weight['bars']}")
        if [(r["period"], len(r["nodes"])) for r in data["repeats"]] != [(6, 72)]:
            bad.append(f"{path}: repeats {data['repeats']}")
    if "broken.html" in path:
        told = {f.get("at", "") for f in data["faults"]}
        if not any(a in told for a in [f"n{n}" for n, node in data["nodes"].items()]) and not any(a.startswith("i") for a in told):
            bad.append(f"{path}: no fault stands at a node: {data['faults']}")
if shutil.which("dot"):
    for path in sorted(glob.glob(sys.argv[1] + "/*.dot")):
        made = subprocess.run(["dot", "-Tplain", path, "-o", os.devnull], capture_output=True, text=True)
        if made.returncode != 0:
            bad.append(f"{path}: {made.stderr[:200]}")
for line in bad:
    print(" ", line)
sys.exit(1 if bad else 0)
