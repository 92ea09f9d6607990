# SPDX-License-Identifier: Apache-2.0
"""console.py DOCUMENT: plays a document, as a reader would type it.

A block whose fence is ```LANGUAGE FILE is written to that file of the present directory. A block ```console
has commands after `$ `, each followed by what is printed (both streams). All run in one shell, in order; `$HOME`
is shown as /home/me. In what is expected a line `…` stands for any lines, and `…` in a line for any text.
Prints TAP, one test a command.
"""
import os
import re
import subprocess
import sys

MARK = "@console-end@"


class Shell:
    def __init__(self):
        self.proc = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)

    def run(self, command):
        self.proc.stdin.write("{ %s\n} </dev/null\nprintf '\\n%s %%s\\n' \"$PWD\"\n" % (command, MARK))
        self.proc.stdin.flush()
        lines = []
        for line in self.proc.stdout:
            if line.startswith(MARK):
                self.cwd = line[len(MARK) + 1:-1]
                break
            lines.append(line.rstrip("\n"))
        if lines and lines[-1] == "":  # the printf's own newline, after output that ended with one
            lines.pop()
        return [line.replace(os.environ["HOME"], "/home/me") for line in lines]


def pattern(expected):
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(re.escape(p) for p in line.split("…")) + r"\n")
    return re.compile("".join(parts))


def blocks(path):
    block, lines = None, []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("```"):
            if block is None:
                block, lines = line[3:].split(), []
            else:
                yield block, lines
                block = None
        elif block is not None:
            lines.append(line)


def commands(lines):
    command, expected = None, []
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        else:
            expected.append(line)
    if command:
        yield command, expected


def main():
    shell, count, bad = Shell(), 0, 0
    shell.run("cd")
    for info, lines in blocks(sys.argv[1]):
        if len(info) == 2:
            open(os.path.join(shell.cwd, info[1]), "w", encoding="utf-8").write("\n".join(lines) + "\n")
        elif info[:1] == ["console"]:
            for command, expected in commands(lines):
                got = shell.run(command)
                fine = pattern(expected).fullmatch("".join(line + "\n" for line in got))
                count += 1
                bad += not fine
                print("%sok - %s" % ("" if fine else "not ", command.replace("#", "")))
                if not fine:
                    print("\n".join(["# expected:"] + ["#   " + line for line in expected] + ["# printed:"] + ["#   " + line for line in got]))
    if not count:
        print("not ok - the document has commands")
    return bad != 0 or not count


sys.exit(main())
