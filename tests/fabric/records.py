#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What the fabric tests ask of a trace.

	records.py complete FILE...	the stop record's numbers agree
	records.py account FILE...	each capture is in one record
	records.py match FILE CLIENT...	an sa record for each query that
					sa_client -o CLIENT wrote down, with
					what became of it, and no other;
					--left CLIENT: it was still asking
					when OpenSM ended; --failed CLIENT: its
					answers could not be sent; --twice
					CLIENT: a copy of a query may be a
					record of its own

Says what is wrong, ten lines of it at most, and fails.
"""

import json
import sys

METHODS = {
    0x01: "Get", 0x02: "Set", 0x12: "GetTable", 0x13: "GetTraceTable",
    0x14: "GetMulti", 0x15: "Delete",
}

wrong = 0


def say(text):
    global wrong
    wrong += 1
    if wrong <= 10:
        print(text)


def records(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        for line in file:
            yield json.loads(line)


def complete(path):
    last = None
    for last in records(path):
        if last["type"] == "loss":
            say(f"{path}: {last}")
    if last["type"] != "stop":
        say(f"{path}: ends with {last}")
        return
    if last["complete"] is not True or last["lost"] != 0:
        say(f"{path}: complete {last['complete']}, lost {last['lost']}")
    if last["captured"] != last["opensm"]:
        say(f"{path}: captured {last['captured']}, OpenSM {last['opensm']}")
    if not last["captured"]["sm_received"]:
        say(f"{path}: nothing captured")
    print(f"{last['captured']}")


def account(path):
    """A capture is in a mad record or part of an sa or a trap record.

    Of answers to the copies that an answered query counts only their number
    at most is known: OpenSM may have dropped a copy. All others are exact.
    """
    n = {"sm_received": 0, "sm_sent": 0, "sa_received": 0, "sa_sent": 0}
    further = dict.fromkeys(n, 0)
    last = None
    for r in records(path):
        last = r
        kind = {"SubnDR": "sm_", "SubnLID": "sm_", "SubnAdm": "sa_"}.get(
            r.get("class"))
        if r["type"] == "mad" and kind:
            n[kind + r["direction"]] += 1
        elif r["type"] == "send_error" and kind:
            # as OpenSM counts: what could not be sent is taken back
            n[kind + "sent"] -= r["completion"] == "error"
        elif r["type"] == "trap" and r["from"]["lid"]:
            n["sm_received"] += 1
        elif r["type"] == "sa":
            here, there = "sa_received", "sa_sent"
            if r.get("direction") == "sent":
                here, there = there, here
            n[here] += 1 + r["retries"]
            if r["outcome"] == "answered":
                n[there] += 1
                further[there] += r["retries"]
    for key, captured in last["captured"].items():
        if not n[key] <= captured <= n[key] + further[key]:
            say(f"{path}: {key}: records have {n[key]} and at most "
                f"{further[key]} more, captured {captured}")


def queries(path):
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("#"):
                continue
            (_, tid, method, attr, mask, sm_key, status, _, sends,
             kind) = line.split()
            yield (int(tid, 16), METHODS[int(method, 16)], int(attr, 16)), {
                "mask": int(mask, 16), "key": int(sm_key, 16),
                "status": status, "sends": int(sends), "kind": kind,
            }


def match(path, arguments):
    sent = {}
    clients = []
    special = {}
    how = None
    for argument in arguments:
        if argument.startswith("--"):
            how = argument
            continue
        clients.append(argument)
        special[argument], how = how, None
    for client in clients:
        for key, query in queries(client):
            if query["status"] == "undeliverable":
                continue
            if key in sent:
                say(f"{client}: {key} was sent twice")
            query["how"] = special[client]
            query["left"] = query["sends"]
            sent[key] = query
    for r in records(path):
        if r["type"] != "sa" or r.get("direction") == "sent":
            continue
        query = sent.get((int(r["tid"], 16), r["method"], r["attribute_id"]))
        if not query:
            say(f"no client sent this: {r}")
            continue
        compare(query, r)
    for key, query in sent.items():
        if query["left"] and not is_cut_off(query):
            say(f"no record of {key}: {query}")
    print(f"{len(sent)} queries")


def is_cut_off(query):
    return query["how"] == "--left" and query["status"] == "none"


def compare(query, r):
    copies = 1 + r["retries"]
    if query["left"] < copies or \
            (query["left"] > copies and query["how"] != "--twice"):
        say(f"{query}: retries {r['retries']}")
    query["left"] -= copies
    if is_cut_off(query):
        return
    status = "none" if r["status_code"] is None else \
        f"0x{r['status_code']:04x}"
    outcome = "answered" if query["status"] != "none" else \
        "failed" if query["how"] == "--failed" else "unanswered"
    if (status, r["outcome"]) != (query["status"], outcome):
        say(f"{query}: {r}")
    if (r["reason"] is None) != (outcome == "answered"):
        say(f"{query}: reason {r['reason']}")
    if int(r["component_mask"], 16) != query["mask"]:
        say(f"{query}: mask {r['component_mask']}")
    if r["sm_key_used"] != (query["key"] != 0):
        say(f"{query}: sm_key_used {r['sm_key_used']}")


def main():
    command, files = sys.argv[1], sys.argv[2:]
    if command == "match":
        match(files[0], files[1:])
    else:
        for path in files:
            {"complete": complete, "account": account}[command](path)
    if wrong:
        print(f"{wrong} things are wrong")
    sys.exit(wrong != 0)


main()
