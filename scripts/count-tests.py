#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the tests of a CTest run: count-tests.py RESULTS.xml, where ctest --output-junit has written RESULTS.xml.

One CTest entry may be a whole lit folder, GoogleTest program or pytest run: the cases inside are counted, by the lines
that lit -v, GoogleTest and pytest -v print. Any other entry is one test. An entry that failed without a failed case (a
crash, a time-out) adds one failure. Prints what was skipped and why, what failed, and last "N passed, M failed, K
skipped". Exits with 1 if anything failed or nothing passed.
"""

import re
import sys
import xml.etree.ElementTree as xml

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

LIT_CASE = re.compile(r"^(PASS|FLAKYPASS|XFAIL|FAIL|XPASS|UNRESOLVED|TIMEOUT|UNSUPPORTED|SKIPPED|EXCLUDED): "
                      r"(\S+ :: \S+) \(\d+ of \d+\)$")
LIT_OUTCOMES = {"PASS": PASSED, "FLAKYPASS": PASSED, "XFAIL": PASSED,
                "UNSUPPORTED": SKIPPED, "SKIPPED": SKIPPED, "EXCLUDED": SKIPPED}
# The list of failures at the end of a GoogleTest run repeats the names, without the time.
GTEST_CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).* \(\d+ ms\)$")
GTEST_OUTCOMES = {"OK": PASSED, "SKIPPED": SKIPPED}
PYTEST_CASE = re.compile(r"^(\S+\.py::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)(?: \((.*)\))? +\[ *\d+%\]$")
PYTEST_OUTCOMES = {"PASSED": PASSED, "XFAIL": PASSED, "SKIPPED": SKIPPED}
SKIP_REASON = re.compile(r"skipped: (.+)")


def inner_cases(output):
    """The (outcome, name, skip reason) of the lit, GoogleTest and pytest cases in the output of one CTest entry."""
    cases, reason = [], ""
    for line in output.splitlines():
        if match := LIT_CASE.match(line):
            outcome = LIT_OUTCOMES.get(match[1], FAILED)
            cases.append((outcome, match[2], "a feature in its REQUIRES line is missing here"))
        elif match := PYTEST_CASE.match(line):
            cases.append((PYTEST_OUTCOMES.get(match[2], FAILED), match[1], match[3] or "no reason given"))
        elif match := GTEST_CASE.match(line):
            cases.append((GTEST_OUTCOMES.get(match[1], FAILED), match[2], reason or "no reason given"))
            reason = ""
        elif match := SKIP_REASON.search(line):
            reason = match[1]
    return cases


def entry_cases(entry):
    """The (outcome, name, skip reason) of the cases of one CTest entry."""
    name, status = entry.get("name"), entry.get("status")
    output = entry.findtext("system-out") or ""
    cases = inner_cases(output)
    skip = entry.find("skipped")
    is_skipped = status == "disabled" or (skip is not None and skip.get("message", "").startswith("SKIP_"))
    if status != "run" and not is_skipped:
        return cases if any(case[0] == FAILED for case in cases) else cases + [(FAILED, name, "")]
    if cases:
        return cases
    reason = SKIP_REASON.search(output)
    return [(SKIPPED if is_skipped else PASSED, name, reason[1] if reason else status)]


def main(path):
    cases = [case for entry in xml.parse(path).getroot().iter("testcase") for case in entry_cases(entry)]
    for outcome, name, reason in cases:
        if outcome == SKIPPED:
            print(f"skipped: {reason}: {name}")
    for outcome, name, _ in cases:
        if outcome == FAILED:
            print(f"failed: {name}")
    counts = {outcome: sum(case[0] == outcome for case in cases) for outcome in (PASSED, FAILED, SKIPPED)}
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts[FAILED] or not counts[PASSED] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
