#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Holds the last metrics of an OpenSM against its trace.

	metrics.py METRICS TRACE

Prints what is compared, and fails where the two differ.
"""

import collections
import json
import re
import sys

LINE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def read_metrics(path):
    values = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, labels, value = LINE.fullmatch(line.rstrip("\n")).groups()
            key = tuple(text for _, text in LABEL.findall(labels or ""))
            assert key not in values[name], line
            values[name.removeprefix("osmsnoop_")][key] = float(value)
    return values


def counted(values):
    """Without what is there and did not happen."""
    return {key: value for key, value in values.items() if value}


def main():
    metrics = read_metrics(sys.argv[1])
    records = collections.defaultdict(list)
    with open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            records[record["type"]].append(record)
    wrong = 0

    def same(what, have, want):
        nonlocal wrong
        print(f"{what}: {have}")
        if have != want:
            wrong += 1
            print(f"\tthe trace has {want}")

    stop = records["stop"][-1]["captured"]
    mads = metrics["mads_total"]
    errors = metrics["send_errors_total"]
    # as OpenSM, stop takes back what could not be sent
    mads["SubnAdm", "sent"] -= errors["SubnAdm",]
    for direction in ("received", "sent"):
        smps = sum(mads[name, direction] for name in ("SubnDR", "SubnLID"))
        same(f"SMPs {direction}", smps, stop[f"sm_{direction}"])
        same(f"SA MADs {direction}", mads["SubnAdm", direction],
             stop[f"sa_{direction}"])

    sa = records["sa"]
    same("requests", counted(metrics["sa_requests_total"]),
         collections.Counter((r["method"], r["attribute"], r["outcome"])
                             for r in sa))
    own = [r for r in sa if r.get("direction") != "sent"]
    same("requesters",
         {lid: n for (lid, _), n in metrics["sa_requester_requests"].items()},
         collections.Counter(str(r["requester"]["lid"]) for r in own))
    same("names", set(metrics["sa_requester_requests"]),
         {(str(r["requester"]["lid"]), r["requester"]["name"] or "")
          for r in own})

    us = [r["latency_us"] for r in own if r["latency_us"] is not None]
    same("answers", metrics["sa_latency_seconds_count"][()], len(us))
    for (le,), n in metrics["sa_latency_seconds_bucket"].items():
        bound = float(le) * 1e6
        # the trace has whole microseconds
        least = sum(x < bound - 0.5 for x in us)
        most = sum(x < bound + 0.5 for x in us)
        if not least <= n <= most:
            wrong += 1
            print(f"up to {le} s: {n}, the trace has {least} to {most}")
    total = metrics["sa_latency_seconds_sum"][()] * 1e6
    if not sum(us) <= total <= sum(us) + len(us):
        wrong += 1
        print(f"{total} us, the trace has {sum(us)}")

    same("traps", counted(metrics["traps_total"]),
         collections.Counter((str(r.get("trap_number", "vendor")),)
                             for r in records["trap"]))
    same("alerts", metrics["alerts_total"],
         collections.Counter((r["alert"],) for r in records["alert"]
                             if r["phase"] in ("begin", "once")))
    same("send errors", counted(errors), collections.Counter(
        [(r["class"],) for r in records["send_error"]
         if r["completion"] != "canceled"] +
        [("SubnAdm",) for r in sa if r["reason"] == "send_error"]))
    same("losses", counted(metrics["lost_total"]), {
        (where,): sum(r["lost"] for r in records["loss"]
                      if r["where"] == where)
        for where in {r["where"] for r in records["loss"]}})
    same("up, outstanding, ring",
         [metrics[name][()] for name in ("up", "sa_outstanding",
                                         "ring_bytes")], [0, 0, 0])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
