#!/usr/bin/env python3
"""What test programs say they did: "PASSED FAILED", then a line "NAME<tab>REASON" for what was skipped.

    skipped.py FOLDER        FOLDER has ctest's report `ctest` and one of googletest's for each program, NAME.xml

A program whose cases were all skipped, or that has none, is skipped and counts as neither; of another each skipped case is named.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def skipped_cases(report):
    """The cases of a program, and (name, reason) of those that were skipped."""
    cases, out = 0, []
    for case in tree.parse(report).iter("testcase"):
        cases += 1
        if case.get("result") == "skipped":
            found = case.find("skipped")
            reason = " ".join((found.get("message", "") if found is not None else "").split("\n")[-1].split())
            out.append((f"{case.get('classname')}.{case.get('name')}", reason or "no reason given"))
    return cases, out


def main():
    folder = pathlib.Path(sys.argv[1])
    passed, failed, names = 0, 0, []
    for test in tree.parse(folder / "ctest").iter("testcase"):
        program, status = test.get("name"), test.get("status")
        report = folder / f"{program}.xml"
        cases, skipped = skipped_cases(report) if report.exists() else (0, [])
        if status != "run":  # it failed, or could not be started
            failed += 1
        elif report.exists() and len(skipped) == cases:
            names.append((program, skipped[0][1] if skipped else "it has no cases"))
        else:
            passed += 1
            names += [(f"{program} {name}", reason) for name, reason in skipped]
    print(passed, failed)
    for name, reason in names:
        print(f"{name}\t{reason}")


main()
