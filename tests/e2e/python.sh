#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# python3: a virtual environment, pip with a local wheel, multiprocessing.
. "$(dirname "$0")/../support/e2e.sh"

if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
	skip 'python' 'no python3-venv'
	exit 0
fi

wheel()
{
	python3 - <<'PY'
import zipfile
d = "hello_sbx-1.0.dist-info/"
files = {
    "hello_sbx.py": "def main():\n    print('hello from a wheel')\n",
    d + "METADATA": "Metadata-Version: 2.1\nName: hello-sbx\nVersion: 1.0\n",
    d + "WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    d + "entry_points.txt": "[console_scripts]\nhello-sbx = hello_sbx:main\n",
}
files[d + "RECORD"] = "".join(f"{n},,\n" for n in [*files, d + "RECORD"])
with zipfile.ZipFile("hello_sbx-1.0-py3-none-any.whl", "w") as z:
    for name, text in files.items():
        z.writestr(name, text)
PY
}

# The quick form takes the pip that is there, and does not install another one.
how=
full || ! python3 -m pip --version >/dev/null 2>&1 || how='--without-pip --system-site-packages'
same_after 'venv, pip install of a local wheel, its script' wheel '
	pip() { python3 -m pip "$@"; }
	python3 -m venv '"$how"' env && . env/bin/activate || exit 9
	pip --disable-pip-version-check install --no-index ./hello_sbx-1.0-py3-none-any.whl
	hello-sbx && python -c "import hello_sbx, sys; print(sys.prefix == sys.base_prefix)"
	pip --disable-pip-version-check list --format=freeze | grep hello'
same 'subprocesses, pipes, temporary files' '
	python3 - <<PY
import subprocess, tempfile, os
with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, "x")
    open(p, "w").write("data")
    print(subprocess.run(["cat", p], capture_output=True, text=True).stdout)
print(subprocess.run("exit 5", shell=True).returncode)
PY'
same 'multiprocessing: fork, spawn and a pipe' '
	cat >m.py <<PY
import multiprocessing as m
def f(c): c.send(42)
if __name__ == "__main__":
    for how in ("fork", "spawn"):
        a, b = m.Pipe()
        p = m.get_context(how).Process(target=f, args=(b,))
        p.start(); print(how, a.recv()); p.join(); print(p.exitcode)
PY
	python3 m.py'
exit 0
