#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""compare: what tshark and osmsnoop say of each MAD of a capture file.

	compare.py OSMSNOOP FILE

osmsnoop is asked twice: -j has the records, -v the fields of headers and of
records in answers, for the same records in the same order. Each packet that
tshark shows belongs to one record of ours: a mad, send_error or trap record to
one packet, an sa record to its request, to the copies of it that it counts, and
to each segment of its answer. A packet that is in no record, a record whose
packets are not there, and a field that the two give different values are told,
and make it fail. What is printed, NAME=VALUE:

	packets, mads		how many there are; without segments behind the
				first
	sa, mad, ...		records of these types; reports: of the first,
				those of Reports that OpenSM sent
	missed			packets that are in no record of ours
	within			segments that begin within a record, see below
	agree			fields that agree, in all
	agree_NAME		and of each kind
	malformed_NUMBER	packets of this trap that tshark finds malformed

tshark takes each segment of a table for the beginning of a record. It is one
where the data before it, 200 bytes a segment (IBA 13.6.2.1: the segments of an
answer are filled, but for the last), are whole records of AttributeOffset times
8 bytes (15.2.1.1). There its fields are compared with those of that record;
elsewhere they are parts of two.
"""

import collections
import ipaddress
import json
import re
import subprocess
import sys

PAYLOAD = 200           # bytes of an SA answer's data in a MAD
SUBN_ADM, SUBN_DIR = 0x03, 0x81
RESPONSE = 0x80
REPORT, TRAP_REPRESS = 0x06, 0x07
PATH_RECORD, MCMEMBER_RECORD, MULTIPATH_RECORD = 0x35, 0x38, 0x3a

# What is asked of tshark, by its names without the "infiniband."
HEADERS = """lrh.slid lrh.dlid grh.sgid grh.dgid bth.destqp deth.srcqp
	mad.mgmtclass mad.method mad.status mad.transactionid mad.attributeid
	mad.attributemodifier smplid.mkey smpdirected.hoppointer
	smpdirected.hopcount smpdirected.drslid smpdirected.drdlid
	smpdirected.initialpath
	rmpp.rmpptype rmpp.rmppflags rmpp.rmppstatus rmpp.segmentnumber
	rmpp.payloadlength sa.smkey sa.attributeoffset sa.componentmask
	notice.isgeneric notice.type notice.producertypevendorid
	notice.trapnumberdeviceid notice.issuerlid""".split()

# Of an attribute: our name of a component, and tshark's.
COMPONENTS = {
    PATH_RECORD: {
        "dgid": "pathrecord.dgid", "sgid": "pathrecord.sgid",
        "dlid": "pathrecord.dlid", "slid": "pathrecord.slid",
        "p_key": "pathrecord.p_key", "sl": "pathrecord.sl",
        "num_path": "pathrecord.numbpath",
        "hop_limit": "pathrecord.hoplimit", "mtu": "pathrecord.mtu",
        "rate": "pathrecord.rate",
        "packet_life_time": "pathrecord.packetlifetime",
    },
    MCMEMBER_RECORD: {
        "mgid": "mcmemberrecord.mgid", "port_gid": "mcmemberrecord.portgid",
        "join_state": "mcmemberrecord.joinstate",
        "scope": "mcmemberrecord.scope", "q_key": "mcmemberrecord.q_key",
        "mlid": "mcmemberrecord.mlid", "p_key": "mcmemberrecord.p_key",
        "sl": "mcmemberrecord.sl", "mtu": "mcmemberrecord.mtu",
        "rate": "mcmemberrecord.rate",
    },
}

# IBA 13.4.8.2
NOTICE_TYPES = {
    "fatal": 0, "urgent": 1, "security": 2, "subnet_management": 3,
    "informational": 4,
}
PRODUCERS = {"ca": 1, "switch": 2, "router": 3, "class_manager": 4}

# 15.2.5.17
JOIN_STATE = {"full": 1, "non_member": 2, "send_only": 4}

METHODS = {
    "Get": 0x01, "Set": 0x02, "Report": REPORT, "GetTable": 0x12,
    "GetTraceTable": 0x13, "GetMulti": 0x14, "Delete": 0x15,
}

count = collections.Counter()
wrong = 0


def say(text):
    global wrong
    wrong += 1
    if wrong <= 20:
        print(text, file=sys.stderr)


def value(text):
    """A number, or an address, or a word of either's."""
    if not isinstance(text, str):
        return text
    if text in ("yes", "True"):
        return 1
    if text in ("no", "False"):
        return 0
    if re.fullmatch(r"0x[0-9a-f]+|[0-9]+", text):
        return int(text, 0)
    if ":" in text:
        return ipaddress.IPv6Address(text)
    return text


def agree(name, where, ours, theirs):
    if value(ours) == value(theirs) and theirs not in (None, ""):
        count["agree"] += 1
        count[f"agree_{name}"] += 1
    else:
        say(f"{where}: {name}: ours {ours}, tshark's {theirs}")


#
# tshark
#


class Packet:
    def __init__(self, names, line):
        self.fields = dict(zip(names, line.split("\t")))
        self.number = self.fields["frame.number"]
        second, part = self.fields["frame.time_epoch"].split(".")
        self.time = int(second) * 10**9 + int(part.ljust(9, "0"))
        self.sent = int(self.fields["erf.flags.cap"], 0) & 1
        self.failed = self.fields["erf.flags.rxe"] not in ("0", "False")
        self.mgmt_class = self.get("mad.mgmtclass")
        self.method = self.get("mad.method")
        self.attribute = self.get("mad.attributeid")
        self.tid = self.get("mad.transactionid")
        self.peer = self.get("lrh.dlid" if self.sent else "lrh.slid")
        self.segment = self.get("rmpp.segmentnumber") or 1
        # an ACK has other fields there
        self.is_data = self.get("rmpp.rmpptype") == 1

    def __str__(self):
        return f"packet {self.number}"

    def text(self, name):
        return self.fields["infiniband." + name]

    def get(self, name):
        text = self.text(name)
        return None if text == "" else value(text)


def read_packets(path):
    names = ["frame.number", "frame.time_epoch", "erf.flags.cap",
             "erf.flags.rxe", "_ws.malformed"]
    names += ["infiniband." + name for name in HEADERS]
    for components in COMPONENTS.values():
        names += ["infiniband." + name for name in components.values()]
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E",
               "separator=/t", "-E", "occurrence=f"]
    for name in names:
        command += ["-e", name]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True).stdout
    return [Packet(names, line) for line in out.splitlines()]


#
# osmsnoop
#

TITLE = re.compile(r" {4}(request|response|header|record|data|notice)"
                   r"(?: \d+)?:(.*)")
PAIR = re.compile(r'(\w+) ("(?:[^"\\]|\\.)*"|\S+)')


def read_verbose(lines):
    """Of each record, its paragraphs: (title, {name: value})."""
    paragraphs = None
    text = None
    records = []

    def end():
        if text:
            paragraphs.append((text[0], dict(PAIR.findall(text[1]))))

    for line in lines:
        title = TITLE.fullmatch(line)
        if not line[:1].isspace():
            end()
            text, paragraphs = None, []
            records.append(paragraphs)
        elif title:
            end()
            text = [title[1], title[2]]
        elif text and line.startswith("       "):
            text[1] += line
        else:
            end()
            text = None
    end()
    return records


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def nanoseconds(text):
    """Of the day, which is enough within one capture."""
    hour, minute, second = text[11:-1].split(":")
    second, part = second.split(".")
    return (int(hour) * 3600 + int(minute) * 60 + int(second)) * 10**9 + \
        int(part)


DAY = 86400 * 10**9


class Record:
    def __init__(self, fields, paragraphs):
        self.fields = fields
        self.type = fields["type"]
        self.time = nanoseconds(fields["time"])
        self.paragraphs = paragraphs

    def __str__(self):
        return f"record {self.fields['seq']}"

    def __getitem__(self, name):
        return self.fields[name]

    def part(self, title, number=0):
        """A paragraph, {} where there is none."""
        all_of_them = [p[1] for p in self.paragraphs if p[0] == title]
        return all_of_them[number] if number < len(all_of_them) else {}


def read_records(osmsnoop, path):
    lines = run(osmsnoop, "-r", path, "-j").splitlines()
    verbose = read_verbose(run(osmsnoop, "-r", path, "-v").splitlines())
    if len(lines) != len(verbose):
        sys.exit(f"-j has {len(lines)} records, -v {len(verbose)}")
    return [Record(json.loads(line), paragraphs)
            for line, paragraphs in zip(lines, verbose)]


#
# Both
#


def compare_header(p, header):
    """What -v says of all headers, ours by name."""
    names = {
        "class": "mad.mgmtclass", "method": "mad.method",
        "tid": "mad.transactionid", "attribute_id": "mad.attributeid",
        "attribute_modifier": "mad.attributemodifier",
        "hop_count": "smpdirected.hopcount",
        "hop_pointer": "smpdirected.hoppointer",
        "m_key": "smplid.mkey",
        "dr_slid": "smpdirected.drslid", "dr_dlid": "smpdirected.drdlid",
        "rmpp_type": "rmpp.rmpptype", "rmpp_status": "rmpp.rmppstatus",
        "sm_key": "sa.smkey", "attribute_offset": "sa.attributeoffset",
        "component_mask": "sa.componentmask",
    }
    for ours, theirs in names.items():
        if ours in header:
            agree(ours, p, header[ours], p.text(theirs))
    # tshark's has the direction bit of directed routes
    direction = header.get("direction") == "yes"
    agree("status", p, direction << 15 | value(header["status"]),
          p.text("mad.status"))
    if p.is_data:
        agree("rmpp_flags", p, value(header["rmpp_flags"]),
              p.get("rmpp.rmppflags") & 7)
        agree("segment", p, header["segment"], p.text("rmpp.segmentnumber"))
        agree("payload_length", p, header["payload_length"],
              p.text("rmpp.payloadlength"))


def compare_peer(p, peer):
    here, there = ("s", "d") if p.sent else ("d", "s")
    agree("lid", p, peer["lid"], p.text(f"lrh.{there}lid"))
    agree("qpn", p, peer["qpn"],
          p.text("bth.destqp" if p.sent else "deth.srcqp"))
    if peer["gid"]:
        agree("gid", p, peer["gid"], p.text(f"grh.{there}gid"))
    elif p.text(f"grh.{here}gid"):
        say(f"{p}: a GRH that we do not tell of")


def compare_components(p, ours):
    for name, theirs in COMPONENTS.get(p.attribute, {}).items():
        if name in ours:
            # a line has join_state's bits by name
            agree(f"{name}_{p.attribute:02x}", p,
                  JOIN_STATE.get(ours[name], ours[name]), p.text(theirs))


def compare_notice(p, r):
    """A trap or Report as records have it."""
    agree("generic", p, r["generic"], p.text("notice.isgeneric"))
    agree("trap_type", p, NOTICE_TYPES.get(r["trap_type"]),
          p.text("notice.type"))
    agree("trap_number", p, r["trap_number" if r["generic"] else "device_id"],
          p.text("notice.trapnumberdeviceid"))
    agree("producer", p, PRODUCERS.get(r["producer"], r["producer"]),
          p.text("notice.producertypevendorid"))
    agree("issuer_lid", p, r["issuer_lid"], p.text("notice.issuerlid"))


def compare_mad(p, r):
    compare_header(p, r.part("header"))
    if r.type == "trap":
        compare_peer(p, r["from"])
        compare_notice(p, r)
        return
    agree("direction", p, r["direction"] == "sent", bool(p.sent))
    agree("class", p, r["class_id"], p.text("mad.mgmtclass"))
    agree("attribute_id", p, r["attribute_id"], p.text("mad.attributeid"))
    agree("tid", p, r["tid"], p.text("mad.transactionid"))
    agree("completion", p, r["completion"] != "ok", p.failed)
    compare_peer(p, r["peer"])
    if p.mgmt_class == SUBN_DIR:
        hops = bytes.fromhex(p.text("smpdirected.initialpath"))
        path = hops[:p.get("smpdirected.hopcount") + 1]
        agree("path", p, r["path"], ",".join(map(str, path)))


def compare_request(p, r):
    compare_header(p, r.part("request"))
    compare_peer(p, r["requester"])
    agree("attribute_id", p, r["attribute_id"], p.text("mad.attributeid"))
    agree("component_mask", p, r["component_mask"],
          p.text("sa.componentmask"))
    compare_components(p, r["query"])
    if "notice" in r.fields:
        compare_notice(p, r["notice"])


def compare_answer(segments, r):
    """All packets of an answer with the record that has all of it."""
    first, last = segments[0], segments[-1]
    header = r.part("response")
    data = r["bytes"] - 56
    many = max(1, -(-data // PAYLOAD)) if first.is_data else 1

    compare_header(first, header)
    agree("latency", first, r["latency_us"],
          (first.time - r.request.time) // 1000)
    agree("segments", last, many, len(segments))
    if first.is_data:
        # each segment has the rest of the SA header: 20 bytes
        agree("bytes", first, 20 * many + data, first.get("rmpp.payloadlength"))
        agree("bytes", last, data - PAYLOAD * (many - 1) + 20 *
              (many if many == 1 else 1), last.get("rmpp.payloadlength"))
    for i, p in enumerate(segments):
        compare_peer(p, r["requester"])
        for name in ("mgmtclass", "method", "transactionid", "attributeid"):
            agree(f"later_{name}", p, first.text(f"mad.{name}"), p.text(f"mad.{name}"))
        agree("status_code", p, r["status_code"], p.text("mad.status"))
        if not first.is_data:
            continue
        agree("rmpp_type", p, header["rmpp_type"], p.text("rmpp.rmpptype"))
        agree("segment", p, i + 1, p.text("rmpp.segmentnumber"))
        agree("rmpp_flags", p, 1 | (i == 0) << 1 | (i == many - 1) << 2,
              p.get("rmpp.rmppflags") & 7)
    compare_records(segments, r)


def compare_records(segments, r):
    stride = 8 * segments[0].get("sa.attributeoffset")
    for i, p in enumerate(segments):
        if i and (not stride or i * PAYLOAD % stride):
            count["within"] += 1
            continue
        number = i * PAYLOAD // stride if i else 0
        if number < r["records"]:
            compare_components(p, r.part("record", number))


#
# Each packet in one record
#


def key(peer, tid, attribute, method):
    """Of a request, and of its answer.

    A Set is answered by a GetResp, a MultiPathRecord by PathRecords.
    """
    if attribute == MULTIPATH_RECORD:
        attribute = PATH_RECORD
    method &= ~RESPONSE
    return peer, tid, attribute, 0x01 if method == 0x02 else method


def key_of(p):
    return key(p.peer, p.tid, p.attribute, p.method)


class Packets:
    """Those that are in no record yet."""

    def __init__(self, packets):
        self.mads = collections.defaultdict(collections.deque)
        self.requests = collections.defaultdict(collections.deque)
        self.answers = collections.defaultdict(collections.deque)
        for p in packets:
            if p.mgmt_class != SUBN_ADM:
                self.mads[p.time % DAY].append(p)
            elif p.failed:
                self.answers[key_of(p)].append([p])
            elif not p.method & RESPONSE and p.method != TRAP_REPRESS:
                self.requests[key_of(p)].append(p)
            elif p.is_data and p.segment > 1:
                self.answers[key_of(p)][-1].append(p)
            else:
                self.answers[key_of(p)].append([p])

    def left(self):
        for queue in self.mads, self.requests, self.answers:
            for packets in queue.values():
                for p in packets:
                    yield p[0] if isinstance(p, list) else p


def account_sa(r, packets):
    which = key(r["requester"]["lid"], int(r["tid"], 16), r["attribute_id"],
                METHODS[r["method"]])
    requests, answers = packets.requests[which], packets.answers[which]
    if not requests or requests[0].time % DAY != r.time:
        say(f"{r}: no packet has its request: {r.fields}")
        return
    r.request = requests[0]
    for _ in range(1 + r["retries"]):
        if not requests:
            say(f"{r}: no packet has its {r['retries']}. copy")
            return
        compare_request(requests.popleft(), r)
    if r["status_code"] is None:
        # what tells of the failure
        if r["reason"] == "send_error" and answers:
            answers.popleft()
        return
    if not answers:
        say(f"{r}: no packet has its answer: {r.fields}")
        return
    compare_answer(answers.popleft(), r)


def account(r, packets):
    if r.type == "sa":
        account_sa(r, packets)
    elif r.type == "trap" and not r["from"]["lid"]:
        pass            # OpenSM's own: no packet has it
    elif not packets.mads[r.time]:
        say(f"{r}: no packet has it: {r.fields}")
    else:
        compare_mad(packets.mads[r.time].popleft(), r)


def main():
    osmsnoop, path = sys.argv[1:]
    packets = read_packets(path)
    records = read_records(osmsnoop, path)
    rest = Packets(packets)

    for p in packets:
        count["mads"] += not p.is_data or p.segment == 1
        if p.fields["_ws.malformed"]:
            number = p.get("notice.trapnumberdeviceid")
            count[f"malformed_{number}"] += 1
    for r in records:
        count[r.type] += 1
        count["reports"] += r["type"] == "sa" and r["method"] == "Report"
        account(r, rest)
    left = list(rest.left())
    for p in left:
        say(f"{p} is in no record: {[f for f in p.fields.values() if f]}")
    print(f"packets={len(packets)}\nmissed={len(left)}")
    for name in sorted(count):
        print(f"{name}={count[name]}")
    if wrong:
        print(f"{wrong} things are wrong", file=sys.stderr)
    sys.exit(wrong != 0)


main()
