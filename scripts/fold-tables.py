#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of core/fold.c from Python's: scripts/fold-tables.py >core/fold_table.h

A code point becomes what is left when case, marks and what displays nothing are taken away: the
fixed point of compatibility decomposition (ZFS with normalization=formKC compares by that), upper case and full
case folding. That is more than any file system folds: the kernel's utf8 keeps marks, the tables of vfat, exfat,
ntfs and xfs know no decompositions. Compatibility forms stay what they are where that does not fit (fits()).
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


def fold(s, form="NFKD"):
    while True:
        t = u.normalize(form, u.normalize(form, s.upper()).casefold())
        t = "".join(c for c in t if not is_dropped(c))
        if t == s:
            return t
        s = t


def fits(c, t):
    """A row has four; a text grows threefold at most; a letter becomes no separator and no wildcard."""
    return len(t) <= 4 and len(t.encode()) <= 3 * len(c.encode()) and not set(t) & set("/\\*?")


def folded(c):
    t = fold(c)
    if fits(c, t):
        return t
    t = fold(c, "NFD")
    assert all(fold(x) == x or not fits(x, fold(x)) for x in t), hex(ord(c))
    return t


def rows(name, cells, comment):
    print(f"/* {comment} */\nstatic const {name} = {{")
    line = ""
    for cell in cells:
        if len(line) + len(cell) > 220:
            print("\t" + line)
            line = ""
        line += cell + ","
    print("\t" + line + "\n};\n")


def main():
    drop, one, many, far = [], [], [], []
    for c in range(0x80, 0x110000):
        if 0xD800 <= c <= 0xDFFF or 0xAC00 <= c <= 0xD7A3:
            continue
        to = [ord(x) for x in folded(chr(c))]
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
        elif max(to) > 0xFFFF:
            assert len(to) == 2
            far.append([c] + to)
        else:
            many.append([c] + to + [0] * (4 - len(to)))
    print(f"/* SPDX-License-Identifier: Apache-2.0 */\n/* fold_table.h - what code points are folded to, by Unicode {u.unidata_version}, for"
          " core/fold.c. Written by\n * scripts/fold-tables.py. */\n#pragma once\n\n"
          "#include <stdint.h>\n\n/* clang-format off */\n")
    rows("uint32_t dropped[][2]", ["{%d,%d}" % tuple(x) for x in drop], "first and last: nothing")
    rows("uint32_t single[][3]", ["{%d,%d,%d}" % tuple(x) for x in one],
         "first, last, what the first becomes")
    rows("struct {\n\tuint32_t code;\n\tuint16_t to[4];\n} several[]", ["{%d,{%s}}" % (x[0], ",".join(map(str, x[1:]))) for x in many],
         "the characters that one becomes, two to four of them; 0 fills up")
    rows("uint32_t several_far[][3]", ["{%d,%d,%d}" % tuple(x) for x in far], "what two of more than 16 bits stand for")
    print("/* clang-format on */")


main()
