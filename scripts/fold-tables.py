#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of core/fold.c from Python's: scripts/fold-tables.py >core/fold_table.h

A code point becomes what is left when case, marks and what displays nothing are taken away: the
fixed point of canonical decomposition, upper case and full case folding. That is more than a file system
folds: the kernel's utf8 keeps marks, the tables of vfat, exfat, ntfs and xfs know no decompositions. But
ZFS with normalization=formKC or formKD decomposes compatibility forms, which is left out here (ADR 10).
Hangul syllables are computed.
"""
import unicodedata as u

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt; what is reserved for it included.
IGNORED = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]


def is_dropped(c):
    return u.combining(c) or any(a <= ord(c) <= b for a, b in IGNORED)


def fold(s):
    while True:
        t = u.normalize("NFD", u.normalize("NFD", s.upper()).casefold())
        t = "".join(c for c in t if not is_dropped(c))
        if t == s:
            return t
        s = t


def rows(name, cells, comment):
    print(f"/* {comment} */\nstatic const uint32_t {name} = {{")
    line = ""
    for cell in cells:
        if len(line) + len(cell) > 90:
            print("\t" + line)
            line = ""
        line += cell + ","
    print("\t" + line + "\n};\n")


def main():
    drop, one, many = [], [], []
    for c in range(0x80, 0x110000):
        if 0xD800 <= c <= 0xDFFF or 0xAC00 <= c <= 0xD7A3:
            continue
        to = [ord(x) for x in fold(chr(c))]
        if to == [c]:
            continue
        if not to:
            if drop and drop[-1][1] == c - 1:
                drop[-1][1] = c
            else:
                drop.append([c, c])
        elif len(to) == 1:
            if one and one[-1][1] == c - 1 and one[-1][2] + c - one[-1][0] == to[0]:
                one[-1][1] = c
            else:
                one.append([c, c, to[0]])
        else:
            many.append([c] + to + [0] * (3 - len(to)))
    print(f"/* SPDX-License-Identifier: Apache-2.0 */\n/* fold_table.h - what code points are folded to, by Unicode {u.unidata_version}, for"
          " core/fold.c. Written by\n * scripts/fold-tables.py. */\n#pragma once\n\n"
          "#include <stdint.h>\n\n/* clang-format off */\n")
    rows("dropped[][2]", ["{%d,%d}" % tuple(x) for x in drop], "first and last: nothing")
    rows("single[][3]", ["{%d,%d,%d}" % tuple(x) for x in one],
         "first, last, what the first becomes")
    rows("several[][4]", ["{%d,%d,%d,%d}" % tuple(x) for x in many],
         "code, what it becomes, 0 where there is no third")
    print("/* clang-format on */")


main()
