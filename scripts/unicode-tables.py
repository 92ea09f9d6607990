#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of sbpl/canon.c from Python's: scripts/unicode-tables.py >sbpl/unicode_table.h"""
import textwrap
import unicodedata as u

PAIRS, EXCLUDED, CLASSES = [], [], []
for c in range(0x110000):
    text = u.decomposition(chr(c))
    if text and not text.startswith("<"):
        to = [int(x, 16) for x in text.split()]
        PAIRS.append((c, to[0], to[1] if len(to) > 1 else 0))
        if len(to) > 1 and u.normalize("NFC", chr(to[0]) + chr(to[1])) != chr(c):
            EXCLUDED.append(c)
    if k := u.combining(chr(c)):
        if CLASSES and CLASSES[-1][1:] == [c - 1, k]:
            CLASSES[-1][1] = c
        else:
            CLASSES.append([c, c, k])



def table(comment, head, cells):
    print(f"\n/* {comment} */\nstatic const uint32_t {head} = {{")
    for line in textwrap.wrap(" ".join(cells), 91):
        print("\t" + line)
    print("};")


print("/* SPDX-License-Identifier: Apache-2.0 */")
print(f"/* unicode_table.h - canonical decompositions and combining classes of Unicode {u.unidata_version}, for")
print(" * sbpl/canon.c. Written by scripts/unicode-tables.py. */")
print("#pragma once\n\n#include <stdint.h>\n\n/* clang-format off */")
table("code, what it becomes, what follows it or 0", "pairs[][3]",
      ("{%d,%d,%d}," % p for p in PAIRS))
table("those of them that are never composed again", "excluded[]", ("%d," % c for c in EXCLUDED))
table("first, last, class; elsewhere 0", "classes[][3]", ("{%d,%d,%d}," % tuple(k) for k in CLASSES))
