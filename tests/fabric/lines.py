#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Reads files of JSON lines strictly and adds them up.

	lines.py [-t] FILE...

The files are read in the given order; in each of them seq counts from 1 and
misses nothing. -t: the last line of the last file may be torn. What is printed,
NAME=VALUE:

	lines, torn	whole lines, bytes behind the last newline
	sa, mad		records of these types; so for the others
	answered, unanswered, failed	sa records by outcome
	reports		sa records of Reports that OpenSM sent
	lost_ring, lost_memory, ...	what the loss records say (WHERE)
	first, last	type of the first and the last record
	complete	the last stop record's: true, false; none without one
	captured, opensm, lost	its sums
	missing		opensm - captured
	sa_captured, sa_counted	SA MADs received, of these
	seq		of the last line

Fails, and says why on standard error, when a line is not valid: no UTF-8, no
JSON, a key twice, not an object, a control character, a number missing.
"""

import json
import sys

TYPES = ("sa", "mad", "send_error", "trap", "alert", "state", "loss", "start",
         "stop")
WHERE = ("ring", "memory", "shutdown", "short", "port", "rmpp", "kernel", "events",
         "file")


def once(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice in {keys}")
    return dict(pairs)


def constant(name):
    raise ValueError(f"{name} is not JSON")


def parse(line):
    if any(byte < 0x20 or byte == 0x7f for byte in line):
        raise ValueError("a control character")
    record = json.loads(line.decode("utf-8", "strict"),
                        object_pairs_hook=once, parse_constant=constant)
    if not isinstance(record, dict):
        raise ValueError("no object")
    if record.get("type") not in TYPES:
        raise ValueError(f"type {record.get('type')}")
    return record


def main():
    args = sys.argv[1:]
    torn_is_well = args[:1] == ["-t"]
    files = args[torn_is_well:]
    n = dict.fromkeys(("lines", "torn") + TYPES, 0)
    n.update(dict.fromkeys(("answered", "unanswered", "failed", "reports"), 0))
    n.update(dict.fromkeys((f"lost_{where}" for where in WHERE), 0))
    n.update(first="none", last="none", complete="none", captured=0, opensm=0,
             lost=0, missing=0, sa_captured=0, sa_counted=0, seq=0)
    wrong = 0

    def say(where, what):
        nonlocal wrong
        wrong += 1
        if wrong <= 10:
            print(f"{where}: {what}", file=sys.stderr)

    for path in files:
        n["seq"] = 0
        try:
            file = open(path, "rb")
        except OSError as error:
            say(path, error.strerror)
            continue
        with file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                if not line.endswith(b"\n"):
                    n["torn"] += len(line)
                    if not torn_is_well or path != files[-1]:
                        say(where, f"torn: {line[-200:]!r}")
                    continue
                n["lines"] += 1
                n["seq"] += 1
                try:
                    record = parse(line[:-1])
                except ValueError as error:
                    say(where, f"{error}: {line[:400]!r}")
                    continue
                if record.get("seq") != number:
                    say(where, f"seq {record.get('seq')}")
                kind = record["type"]
                n[kind] += 1
                if n["first"] == "none":
                    n["first"] = kind
                n["last"] = kind
                if kind == "sa":
                    if record.get("direction") == "sent":
                        n["reports"] += 1
                    else:
                        n[record["outcome"]] += 1
                elif kind == "loss":
                    n[f"lost_{record['where']}"] += record["lost"]
                elif kind == "stop":
                    captured, opensm = record["captured"], record["opensm"]
                    n.update(complete=str(record["complete"]).lower(),
                             lost=record["lost"],
                             captured=sum(captured.values()),
                             opensm=sum(opensm.values()),
                             sa_captured=captured["sa_received"],
                             sa_counted=opensm["sa_received"])
                    n["missing"] = n["opensm"] - n["captured"]
    for key, value in n.items():
        print(f"{key}={value}")
    if wrong:
        print(f"{wrong} lines are wrong", file=sys.stderr)
    sys.exit(wrong != 0)


main()
