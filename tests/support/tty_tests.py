# SPDX-License-Identifier: Apache-2.0
"""tty_tests.py - job control of sbx-launch on a terminal; prints TAP lines without numbers.

Each test runs an interactive bash as the person's shell, and sbx-launch in it. Where the shell
around is to show what it would show for a bare command, the test runs bare, too.
"""
import glob
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from terminal import Terminal, CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH  # noqa: E402

SBX = os.environ["SBX"] + " "
OUTER, INNER = "outer> ", "inner> "


def shell(prompt=OUTER):
    env = dict(os.environ, PS1=prompt, TERM="dumb", HISTFILE="/dev/null")
    t = Terminal(["bash", "--norc", "--noprofile", "-i"], env)
    t.expect(prompt)
    return t


def leave(t):
    t.send("exit 0\n")
    assert t.status() == 0


def inner(t, wrap):
    t.send(f"PS1='{INNER}' {wrap}bash --norc --noprofile -i\n")
    t.expect("\n" + INNER)


def ctrl_c_ends_the_command(wrap):
    t = shell()
    t.send(wrap + "sh -c 'echo up; exec sleep 100'\n")
    t.expect("\nup")
    t.send(CTRL_C)
    t.expect("\n?" + OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 130\n")
    leave(t)


def ctrl_c_is_the_commands_to_handle(wrap):
    t = shell()
    t.send(wrap + "bash -c 'trap \"echo caught; exit 7\" INT; echo up; read x'\n")
    t.expect("\nup")
    t.send(CTRL_C)
    t.expect("caught")
    t.expect(OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 7\n")
    leave(t)


def ctrl_c_arrives_once_for_each_key(wrap):
    t = shell()
    with open("count.py", "w", encoding="utf-8") as f:
        f.write("import os, signal, sys\nn = 0\n"
                "def count(*_):\n    global n\n    n += 1\n    os.write(1, b'INT %d\\n' % n)\n"
                "signal.signal(signal.SIGINT, count)\nprint('ready', flush=True)\n"
                "sys.stdin.readline()\nprint('end', n, flush=True)\nsys.exit(7)\n")
    t.send(wrap + "python3 count.py\n")
    t.expect("\nready")
    for n in (1, 2):
        t.send(CTRL_C)
        t.expect(f"INT {n}\n")
    t.send("\n")
    t.expect("\nend 2\n")
    t.expect(OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 7\n")
    os.unlink("count.py")
    leave(t)


def ctrl_backslash_quits(wrap):
    t = shell()
    t.send("ulimit -c 0\n")
    t.expect(OUTER)
    t.send(wrap + "sh -c 'echo up; exec sleep 100'\n")
    t.expect("\nup")
    t.send(CTRL_BACKSLASH)
    t.expect(OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 131\n")
    leave(t)


def ctrl_z_stops_and_fg_goes_on(wrap):
    t = shell()
    t.send(wrap + "bash -c 'trap \"echo on\" CONT; echo up; read line; echo \"got $line\"; exit 5'\n")
    t.expect("\nup")
    t.send(CTRL_Z)
    t.expect("Stopped")
    t.expect(OUTER)
    t.send("jobs\n")
    t.expect("Stopped")
    t.expect(OUTER)
    t.send("fg\n")
    t.expect("\non\n")
    t.send("words\n")
    t.expect("got words")
    t.expect(OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 5\n")
    leave(t)


def a_job_goes_on_in_the_background(wrap):
    t = shell()
    # no child processes: a shell stopped in vfork(2), as dash may be, is not seen as stopped
    t.send("mkfifo go\n")
    t.expect(OUTER)
    t.send(wrap + "sh -c 'echo up; read x <go; echo done >did'\n")
    t.expect("\nup")
    t.send(CTRL_Z)
    t.expect("Stopped")
    t.expect(OUTER)
    t.send("bg\n")
    t.expect("&")
    t.send("echo >go; wait; cat did; rm go did\n")
    t.expect("\ndone\n")
    leave(t)


def a_background_reader_is_stopped_until_fg(wrap):
    t = shell()
    t.send(wrap + "sh -c 'read x; echo \"read $x\"' &\n")
    t.expect(OUTER)
    t.send("while ! jobs -s | grep -q .; do sleep 0.02; done; jobs -l\n")
    t.expect(r"Stopped \(tty input\)")
    t.expect(OUTER)
    t.send("fg\n")
    t.expect("read x")
    t.send("typed\n")
    t.expect("\nread typed\n")
    leave(t)


def a_pipeline_shares_the_terminal(wrap):
    t = shell()
    t.send(wrap + "sh -c 'echo one; read x </dev/tty; echo \"two $x\"' | cat\n")
    t.expect("\none")
    t.send("here\n")
    t.expect("two here")
    t.expect(OUTER)
    leave(t)


def window_changes_arrive(wrap):
    t = shell()
    t.resize(24, 80)
    t.send("mkfifo fifo\n")
    t.expect(OUTER)
    t.send(wrap + "bash -c 'trap \"stty size </dev/tty\" WINCH; echo up; while [ ! -e over ]; do read -t 0.02 <>fifo; done'\n")
    t.expect("\nup")
    t.resize(33, 101)
    t.expect("33 101")
    open("over", "w").close()
    t.expect(OUTER)
    os.unlink("over")
    os.unlink("fifo")
    leave(t)


def inner_shell_has_job_control(wrap):
    t = shell()
    inner(t, wrap)
    t.send("sh -c 'echo up; exec sleep 100'\n")
    t.expect("\nup")
    t.send(CTRL_C)  # the inner command's, not the inner shell's, not sbx-launch's
    t.expect("\n?" + INNER)
    t.send("echo status $?\n")
    t.expect("\nstatus 130\n")
    t.expect(INNER)
    t.send("sh -c 'echo up; read x; echo \"got $x\"'\n")
    t.expect("\nup")
    t.send(CTRL_Z)
    t.expect("Stopped")
    t.expect(INNER)
    t.send("fg\n")
    t.expect("read x")
    t.send("again\n")
    t.expect("got again")
    t.expect(INNER)
    t.send("typed at")  # echoed by readline, which so is there to hear the next key
    t.expect("typed at")
    t.send(CTRL_C)  # at the prompt: nothing ends; bash may take note at the next key only
    t.send("\n")
    t.expect(INNER)
    t.send("exit 6\n")
    t.expect(OUTER)
    t.send("echo status $?\n")
    t.expect("\nstatus 6\n")
    leave(t)


def suspend_of_the_inner_shell_reaches_the_outer(wrap):
    t = shell()
    inner(t, wrap)
    t.send("suspend\n")
    t.expect("Stopped")
    t.expect(OUTER)
    t.send("echo in the outer\n")
    t.expect("\nin the outer\n")
    t.expect(OUTER)
    t.send("fg\n")
    t.expect(INNER)
    t.send("echo back $((40 + 2))\n")
    t.expect("\nback 42\n")
    t.expect(INNER)
    t.send("exit 3\n")
    t.expect(OUTER)
    leave(t)


def end_of_file_ends_the_inner_shell(wrap):
    t = shell()
    inner(t, wrap)
    t.send(CTRL_D)
    t.expect(OUTER)
    leave(t)


def runs(arg):
    """By what it was started with: its number inside may be another than here."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if f.read().split(b"\0")[:2] == [b"sleep", arg.encode()]:
                    return True
        except OSError:
            pass
    return False


def hang_up_ends_everything(wrap):
    t = shell()
    arg = "100.%d" % os.getpid()
    t.send(wrap + "sh -c 'echo up; exec sleep %s'\n" % arg)
    t.expect("\nup")
    while not runs(arg):
        time.sleep(0.02)
    os.close(t.fd)
    for _ in range(t.limit * 50):
        if not runs(arg):
            break
        os.waitpid(t.pid, os.WNOHANG) if os.path.exists(f"/proc/{t.pid}") else None
        time.sleep(0.02)
    assert not runs(arg), "still there after the terminal went away"


def a_killed_command_leaves_the_terminal_as_it_was(wrap):
    t = shell()
    t.send("stty -a >before.tty\n")
    t.expect(OUTER)
    t.send(wrap + "sh -c 'stty raw -echo; echo up; kill -9 $$'\n")
    t.expect("\nup")
    t.expect(OUTER)
    t.send("stty -a | cmp - before.tty && echo as it was\n")
    t.expect("\nas it was")
    leave(t)


# ---- under the exec contract: sbx-launch only ----


def result():
    with open("r.json", encoding="utf-8") as f:
        return json.load(f)


def contract(t, command):
    t.send(f"rm -f r.json; {SBX}--result-json r.json {command}; echo status $?\n")


def a_command_that_reads_gets_the_terminal(_):
    t = shell()
    contract(t, "sh -c 'read x </dev/tty; echo \"got $x\"'")
    t.send("a line\n")
    t.expect("\nstatus 0\n")
    assert result()["stdout"] == "got a line\n", result()
    t.expect(OUTER)
    t.send("echo mine again\n")
    t.expect("\nmine again\n")
    leave(t)


def ctrl_c_interrupts_the_run(_):
    t = shell()
    contract(t, "sh -c 'echo up >/dev/tty; exec sleep 100'")
    t.expect("\nup")
    t.send(CTRL_C)
    t.expect("\n?status 130\n")
    assert result()["stderr"] == "process interrupted by signal SIGINT", result()
    leave(t)


def ctrl_c_interrupts_a_run_that_reads(_):
    t = shell()
    contract(t, "sh -c 'read x; echo \"up $x\" >/dev/tty; read y'")
    t.send("once\n")
    t.expect("\nup once")
    t.send(CTRL_C)
    t.expect("\n?status 130\n")
    assert result()["exit_code"] == 130, result()
    leave(t)


def ctrl_z_stops_the_run_and_fg_goes_on(_):
    t = shell()
    t.send(f"{SBX}--result-json r.json bash -c 'read x; echo \"up $x\" >/dev/tty; read y; echo $x$y'\n")
    t.send("one\n")
    t.expect("\nup one")
    t.send(CTRL_Z)
    t.expect("Stopped")
    t.expect(OUTER)
    t.send("echo in the shell\n")
    t.expect("\nin the shell\n")
    t.expect(OUTER)
    t.send("fg\n")
    t.expect("result-json")
    t.send("two\n")
    t.expect(OUTER)
    assert result()["stdout"] == "onetwo\n", result()
    leave(t)


def a_password_is_asked_for_without_echo(_):
    t = shell()
    contract(t, "python3 -c 'import getpass; print(len(getpass.getpass(\"Secret: \")))'")
    t.expect("\nSecret: ")
    t.send("hush\n")
    t.expect("\nstatus 0\n")
    assert result()["stdout"] == "4\n", result()
    assert "hush" not in t.text
    t.expect(OUTER)
    t.send("echo seen\n")
    t.expect("echo seen\nseen\n")  # the shell's modes are back
    leave(t)


def a_denial_waits_until_the_screen_is_free(_):
    os.makedirs(".git/hooks", exist_ok=True)
    with open("screen.py", "w", encoding="utf-8") as f:
        f.write("import os, sys, termios, time, tty\n"
                "before = termios.tcgetattr(0)\n"
                "def refused(name):\n    try:\n        open('.git/hooks/' + name, 'w')\n    except OSError:\n        pass\n"
                "tty.setraw(0)\nos.write(1, b'drawn')\nrefused('one')\ntime.sleep(0.5)\n"
                "for i in range(30):\n    refused('more%d' % i)\n    time.sleep(0.15)\n"
                "os.write(1, b'left')\ntermios.tcsetattr(0, termios.TCSANOW, before)\n"
                "sys.stdin.readline()\nrefused('late')\n")
    t = shell()
    t.send(SBX + "-q python3 screen.py\n")
    t.expect("drawn")
    begun = t.at
    t.expect("left")
    assert "sbx-launch" not in t.text[begun:t.at], t.text[begun:]
    t.expect("\n?sbx-launch: denied modify [^ ]*/one .*\n")
    # of 31 at most 20 wait; where events come late and many at once, no more than 10 of a second have a line at all
    t.expect("\n?sbx-launch: [0-9]+ (more|refused): sbx-audit denials\n")
    t.send("\n")
    t.expect("\n?sbx-launch: denied modify [^ ]*/late .*\n")
    t.expect(OUTER)
    leave(t)


def a_denial_in_an_interactive_shell_is_told_at_once(_):
    os.makedirs(".git/hooks", exist_ok=True)
    t = shell()
    inner(t, SBX + "-q ")
    t.send(": >.git/hooks/x\n")
    t.expect("\n?sbx-launch: denied modify [^ ]*/x .*\n")
    t.send("exit\n")
    t.expect(OUTER)
    leave(t)


CONTRACT_TESTS = [
    a_denial_waits_until_the_screen_is_free,
    a_denial_in_an_interactive_shell_is_told_at_once,
    a_command_that_reads_gets_the_terminal,
    ctrl_c_interrupts_the_run,
    ctrl_c_interrupts_a_run_that_reads,
    ctrl_z_stops_the_run_and_fg_goes_on,
    a_password_is_asked_for_without_echo,
]

TESTS = [
    ctrl_c_ends_the_command,
    ctrl_c_is_the_commands_to_handle,
    ctrl_c_arrives_once_for_each_key,
    ctrl_backslash_quits,
    ctrl_z_stops_and_fg_goes_on,
    a_job_goes_on_in_the_background,
    a_background_reader_is_stopped_until_fg,
    a_pipeline_shares_the_terminal,
    window_changes_arrive,
    inner_shell_has_job_control,
    suspend_of_the_inner_shell_reaches_the_outer,
    end_of_file_ends_the_inner_shell,
    hang_up_ends_everything,
    a_killed_command_leaves_the_terminal_as_it_was,
]


def main():
    who = os.environ["E2E_INNER"]
    for test in TESTS + CONTRACT_TESTS:
        for how, wrap in (("bare", ""), ("sandboxed", SBX), ("run in a run", SBX + SBX)):
            if test in CONTRACT_TESTS and how != "sandboxed":
                continue
            name = f"{who}: {test.__name__.replace('_', ' ')} ({how})"
            try:
                test(wrap)
                print("ok -", name)
            except AssertionError as e:
                print("not ok -", name)
                print("#", str(e).replace("\n", "\n# "))
            sys.stdout.flush()


main()
