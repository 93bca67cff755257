#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What valgrind --xml=yes found where some objects are in the stack.

	memcheck.py OBJECT-PATTERN FILE

Prints each such report and fails; prints how many others there are.
"""

import re
import sys
import xml.etree.ElementTree as ET


def main():
    pattern, path = re.compile(sys.argv[1]), sys.argv[2]
    ours = others = 0
    for error in ET.parse(path).getroot().findall("error"):
        frames = error.findall("./stack/frame")
        if not any(pattern.search(f.findtext("obj", "")) for f in frames):
            others += 1
            continue
        ours += 1
        if ours > 3:
            continue
        print(error.findtext("kind"), error.findtext("what") or
              error.findtext("xwhat/text"))
        for f in frames:
            print("   ", f.findtext("fn"), f.findtext("file"),
                  f.findtext("line"), f.findtext("obj"))
    print(f"{ours} reports of ours, {others} of others")
    sys.exit(ours != 0)


main()
