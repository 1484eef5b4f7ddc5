#!/usr/bin/env python3
"""Compares the values of an nnex program with those of the standard's text, on random NNEF documents.

    nnef_oracle.py NNEX [--seconds N] [--seed S] [--count N] [--keep FOLDER] [-- OPTION OF conform...]

Documents of one to three operations, of every operation of the standard, with random extents and attributes: borders, negative
and automatic padding, dilations, groups, empty lists of axes, extents of 0, infinities and NaN. Each runs as it is written and
by the bodies that the standard gives its compounds (nnex conform nnef); one that the text forbids must be refused.
`--seed S --count 1` repeats a document that is named. Exits 1 if any differs. Options behind `--` go to `nnex conform nnef`:
--through onnx|webnn|nnef runs each graph as it is written in that standard too (what has no words there is counted), --isa,
--no-optimize.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    sys.exit("nnef_oracle.py needs numpy (Debian: python3-numpy)")

import nnef_document
import nnef_draw
import nnef_semantics

BATCH = 400


def number(v):
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if v != v else "inf" if v > 0 else "-inf"
    return v


def tensor(array):
    return {"dtype": nnef_document.KINDS[array.dtype], "shape": list(array.shape),
            "values": [number(v) for v in array.reshape(-1).tolist()]}


def drawn(seed):
    """The document of a seed; nothing where the text or float32 would not decide its values."""
    try:
        return nnef_draw.document(random.Random(seed))
    except nnef_semantics.Undefined:
        return None


def write(folder, documents):
    """Documents as folders that `nnex conform nnef` reads."""
    values, rules = [], []
    os.makedirs(f"{folder}/values")
    os.makedirs(f"{folder}/rules")
    for seed, d in documents:
        if d.invalid:
            with open(f"{folder}/rules/{seed}.nnef", "w") as f:
                f.write(d.text())
            rules.append({"file": f"{seed}.nnef", "verdict": "invalid"})
        else:
            values.append({"id": str(seed), "graph": d.text(), "inputs": {n: tensor(a) for n, a in d.inputs.items()},
                           "outputs": {n: tensor(d.values[n]) for n in d.results}})
    with open(f"{folder}/values/values.json", "w") as f:
        json.dump({"tolerance": 2e-5, "cases": values}, f)
    with open(f"{folder}/rules/index.json", "w") as f:
        json.dump({"cases": rules}, f)


def differences(nnex, options, documents):
    """What the program says of those documents that it answers otherwise, by seed; and how many it could not write."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, documents)
        report = f"{folder}/report.json"
        run = subprocess.run([nnex, "conform", "nnef", folder, "--quiet", "--json", report, *options], capture_output=True,
                             text=True)
        if not os.path.exists(report):
            sys.exit(f"{nnex} ended with {run.returncode}: {run.stdout}{run.stderr}")
        with open(report) as f:
            rows = json.load(f)["cases"]
        found = {}
        for row in rows:
            if row["verdict"] == "failed":
                found[int(row["name"].split("/")[1].removesuffix(".nnef"))] = row["reason"]
        if len(rows) != len(documents):
            sys.exit(f"{nnex} answered {len(rows)} of {len(documents)} documents")
        return found, sum(row["verdict"] == "skipped" for row in rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("nnex")
    p.add_argument("--seconds", type=float, default=15)
    p.add_argument("--seed", type=int, default=0, help="of the first document; the next has the next number")
    p.add_argument("--count", type=int, help="documents, instead of a time")
    p.add_argument("--keep", help="a folder to leave the documents in; they are not run")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    a = p.parse_args(sys.argv[1:at])
    options = sys.argv[at + 1:]
    np.seterr(all="ignore")
    end, seed, last = time.monotonic() + a.seconds, a.seed, a.seed + a.count if a.count else None
    if a.keep:
        write(a.keep, [(s, d) for s in range(seed, last or seed + BATCH) if (d := drawn(s))])
        return 0
    seen, refused, left, wrong, unsaid = {}, 0, 0, 0, 0
    while seed < last if last else time.monotonic() < end:
        documents = []
        while len(documents) < BATCH and (seed < last if last else time.monotonic() < end):
            d = drawn(seed)
            if d is None:
                left += 1
            else:
                documents.append((seed, d))
                refused += d.invalid is not None
                for op in getattr(d, "ops", []):
                    seen[op] = seen.get(op, 0) + 1
            seed += 1
        found, skipped = differences(a.nnex, options, documents) if documents else ({}, 0)
        unsaid += skipped
        for s, why in sorted(found.items()):
            d = dict(documents)[s]
            wrong += 1
            print(f"seed {s}: {why}" + (f" (the text refuses it: {d.invalid})" if d.invalid else ""))
            print("    " + "\n    ".join(d.lines))
    missing = [op for op in nnef_document.GENERATORS if op not in seen]
    print(f"{sum(seen.values())} calls of {len(seen)} operations in {seed - a.seed - left} documents, {refused} of which must be "
          f"refused; {left} left out; {unsaid} not written; {wrong} differ")
    if missing and not last:
        print("never called: " + " ".join(missing))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
