#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pairs of names that a file system without case takes for one: name_forms.py SEED COUNT

A line is two names in hexadecimal. Both have one text by the rules of the kernel's utf8 (fs/unicode:
decomposed, folded, without what is ignorable), or by those of vfat and NTFS (upper case, no dots and
blanks at the end), which Python judges here by itself.
"""
import random
import sys
import unicodedata as u

IGNORABLE = "\u00ad\u034f\u200b\u200c\u200d\u2060\ufe0f\ufeff\U000e0020"
SPECIAL = "ßẞſKÅıİéèÉçÇñüÜöÄåΑαάΣςσЙйЁёǅǆﬁﬃŉΐΰᾳᾼ각가힣ががﾊਖ਼క़"
PLAIN = "abcegitxABCEGITX0129._-"


def kernel(s):
    s = u.normalize("NFD", u.normalize("NFD", s).casefold())
    return "".join(c for c in s if c not in IGNORABLE)


def dos(s):
    return s.rstrip(". ").upper()


def change(r, c):
    how = r.randrange(6)
    if how == 0:
        return c.upper()
    if how == 1:
        return c.lower()
    if how == 2:
        return u.normalize("NFC", c)
    if how == 3:
        return u.normalize("NFD", c)
    if how == 4:
        return c.casefold()
    return c + r.choice(IGNORABLE)


def main():
    r = random.Random(int(sys.argv[1]))
    left = int(sys.argv[2])
    while left:
        name = "".join(r.choice(PLAIN if r.randrange(3) else SPECIAL) for _ in range(r.randint(1, 7)))
        other = "".join(change(r, c) if r.randrange(2) else c for c in name)
        if r.randrange(4) == 0:
            other = u.normalize(r.choice(["NFC", "NFD"]), name)
        if r.randrange(6) == 0:
            other += r.choice([".", " ", "..", ". "])
        # no such name is where dots and blanks at the end count for nothing
        if not kernel(name).strip(". ") or name[-1] in ". ":
            continue
        if kernel(name) != kernel(other) and dos(name) != dos(other):
            continue
        print(name.encode().hex(), other.encode().hex())
        left -= 1


main()
