#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Do the headers for building on other systems and the linker's list of libSystem agree?

    scripts/check-darwin-sdk.py [--write]

launcher/macos/sdk/darwin*.h declare what our sources use of macOS; libSystem.tbd has to list the
same symbols, and no others: a name that is only in the one compiles and does not link, one that is
only in the other is dead. --write makes the list anew from the headers.
"""
import glob
import re
import sys

SDK = "launcher/macos/sdk/"
TBD = SDK + "libSystem.tbd"

# What no header of ours declares: the compiler's own calls, and what is found by dlsym().
OTHERS = {
    "__bzero", "bzero", "__stack_chk_fail", "__stack_chk_guard", "memset_pattern16",
    "sandbox_check", "sandbox_init_with_parameters", "realpath$DARWIN_EXTSN",
}


def declared(text):
    """(names, names with $INODE64 on x86_64) of the functions and objects of a header."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.M)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", "", text)
    names, inode = set(), set()
    for item in text.split(";"):
        item = " ".join(item.split())
        if item.startswith(("typedef", "_Static_assert", "struct", "union")) and "(" not in item:
            continue
        if item.startswith(("typedef", "_Static_assert")):
            continue
        both = re.search(r'DARWIN_INODE64\("(\w+)"\)', item)
        if both:
            inode.add(both.group(1))
            names.add(both.group(1))
        elif "(" in item:
            returned = re.match(r"void \(\*(\w+)\(", item)  # signal(3)
            plain = re.search(r"(\w+) ?\(", item)
            names.add(returned.group(1) if returned else plain.group(1))
        elif item.startswith("extern "):
            names.update(re.findall(r"\*(\w+)", item))
    return names, inode


def other_names():
    """Other spellings of functions, as our sources bind them: __asm("_open$NOCANCEL")."""
    found = set()
    for file in glob.glob("shim/macos/*.c") + glob.glob("launcher/macos/*.c"):
        found.update(re.findall(r'__asm\("_([\w$]+)"\)', open(file).read()))
    return found


def wanted():
    names, inode = set(), set()
    for file in sorted(glob.glob(SDK + "darwin*.h")):
        a, b = declared(open(file).read())
        names |= a
        inode |= b
    names |= OTHERS | other_names()
    symbols = {"_" + n for n in names} | {"dyld_stub_binder"}
    return symbols, {"_%s$INODE64" % n for n in inode}


def listed(text):
    lists = re.findall(r"symbols: +\[(.*?)\]", text, flags=re.S)
    return [set(re.findall(r"[\w$]+", part)) for part in lists]


def shown(symbols):
    lines, line = [], ""
    for s in sorted(symbols):
        s = "'%s'" % s if "$" in s else s
        if len(line) + len(s) > 76:
            lines.append(line.rstrip())
            line = ""
        line += s + ", "
    lines.append(line.rstrip(", "))
    return "\n                   ".join(lines)


def write(everywhere, x86_64):
    with open(TBD, "w") as f:
        f.write(
            "--- !tapi-tbd\n"
            "tbd-version:     4\n"
            "targets:         [ x86_64-macos, arm64-macos ]\n"
            "install-name:    '/usr/lib/libSystem.B.dylib'\n"
            "current-version: 1311\n"
            "exports:\n"
            "  - targets:     [ x86_64-macos, arm64-macos ]\n"
            "    symbols:     [ %s ]\n"
            "  - targets:     [ x86_64-macos ]\n"
            "    symbols:     [ %s ]\n"
            "...\n" % (shown(everywhere), shown(x86_64)))


def main():
    want = wanted()
    if sys.argv[1:] == ["--write"]:
        write(*want)
        return 0
    have = listed(open(TBD).read())
    bad = 0
    for name, a, b in zip(("every machine", "x86_64"), want, have):
        for symbol in sorted(a ^ b):
            where = "the headers" if symbol in a else TBD
            print("check-darwin-sdk: %s: %s: only in %s" % (name, symbol, where))
            bad = 1
    return bad


sys.exit(main())
