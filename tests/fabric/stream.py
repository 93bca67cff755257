#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""stream: reads the plugin's live stream, as a program of others would.

	stream.py SOCKET FILE [all | stuck | slow | brief BYTES]
	stream.py SOCKET FILE crowd SECONDS

FILE is there as soon as the stream has begun. At its end FILE has a line:
how many packets there were, and how many their loss counters say are missing.
stuck reads nothing until SIGUSR1, slow naps between reads, and brief leaves
after so many bytes, whatever they are the half of. crowd is ten that are stuck
and 100 that come and go in that time, one after the other: a load that takes
little of a processor itself.
"""
import signal
import socket
import struct
import sys
import time

HEADER = struct.pack("=IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 197)
EXT_LOST = 0x61


def losses(packet):
    """Of an ERF record: its loss counter, or the larger one behind it."""
    lost = packet[12] << 8 | packet[13]
    more, at = packet[8] & 0x80, 16
    while more:
        kind = packet[at]
        if kind & 0x7f == EXT_LOST:
            lost = int.from_bytes(packet[at + 1:at + 8], "big")
        more, at = kind & 0x80, at + 8
    return lost


def take(data):
    """The packets in data, their losses, and what is left of it."""
    packets = lost = at = 0
    while len(data) - at >= 16:
        nsec, captured, original = struct.unpack_from("=III", data, at + 4)
        if nsec >= 10**9 or captured > 496 or original < captured:
            sys.exit("no packet at byte %d" % at)
        if len(data) - at < 16 + captured:
            break
        lost += losses(data[at + 16:at + 16 + captured])
        packets += 1
        at += 16 + captured
    return packets, lost, data[at:]


def begin(path):
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.connect(path)
    data = stream.recv(len(HEADER), socket.MSG_WAITALL)
    if data != HEADER:
        sys.exit("it begins with %r" % data)
    return stream


def crowd(path, name, seconds):
    stuck = [begin(path) for _ in range(10)]
    for i in range(100):
        with begin(path) as stream:
            stream.recv(1000 * i + 77)
            time.sleep(seconds / 100)
    with open(name, "w") as out:
        print(len(stuck), "stuck, 100 came and went", file=out)


def main():
    path, name = sys.argv[1:3]
    how = sys.argv[3] if len(sys.argv) > 3 else "all"
    if how == "crowd":
        crowd(path, name, float(sys.argv[4]))
        return
    go_on = []
    signal.signal(signal.SIGUSR1, lambda *_: go_on.append(1))
    stream = begin(path)
    with open(name, "w") as out:
        if how == "brief":
            left = int(sys.argv[4])
            # where nothing is captured any more, less will do
            stream.settimeout(1)
            try:
                while left > 0:
                    left -= len(stream.recv(left))
            except TimeoutError:
                pass
            return
        while how == "stuck" and not go_on:
            time.sleep(0.05)
        packets = lost = 0
        rest = b""
        while True:
            more = stream.recv(1 << 18)
            if not more:
                break
            n, missing, rest = take(rest + more)
            packets += n
            lost += missing
            if how == "slow":
                time.sleep(0.02)
        if rest:
            sys.exit("the end is in a packet")
        print(packets, lost, file=out)


main()
