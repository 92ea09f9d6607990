#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is learned of real work lets the same work pass again under --strict; a policy loses the grants that
# nobody used; a run ends with its proposal.
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit

cargo_files()
{
	mkdir -p src lib/src
	printf '[package]\nname = "w"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nd = { path = "lib" }\n' >Cargo.toml
	printf '[package]\nname = "d"\nversion = "0.1.0"\nedition = "2021"\n' >lib/Cargo.toml
	echo 'fn main() { println!("{}", d::f()); }' >src/main.rs
	echo 'pub fn f() -> u32 { 7 }' >lib/src/lib.rs
}
python_files()
{
	mkdir pkg && touch pkg/__init__.py && echo 'x = 1' >pkg/m.py
}
c_files()
{
	printf 'all: a\na: a.o b.o\n\t$(CC) -o a a.o b.o\n' >Makefile
	echo 'int f(void); int main(void) { return f(); }' >a.c
	echo 'int f(void) { return 0; }' >b.c
}
git_files()
{
	git init -q . && git config user.name x && git config user.email x@y && echo 1 >f && mkdir d && echo 2 >d/g
}
npm_files()
{
	mkdir src lib && echo 'exports.f = () => 7' >src/m.js && echo 'SECRET=1' >.env
	echo 'require("fs").writeFileSync("dist/out.js", "console.log(" + require("../src/m.js").f() + ")")' >lib/build.js
	printf '{"name":"w","version":"1.0.0","private":true,"dependencies":{"d":"file:./dep"},
		"scripts":{"prebuild":"mkdir -p dist","build":"node lib/build.js","test":"node dist/out.js | grep -qx 7"}}' >package.json
	mkdir dep && echo '{"name":"d","version":"1.0.0","main":"i.js"}' >dep/package.json && echo 'module.exports = 1' >dep/i.js
}
learned() # FILES WORK [OPTIONS...]
{
	fresh
	$1
	rm -rf "$TMP/again" && cp -R . "$TMP/again"
	work=$2
	shift 2
	launch -q "$@" -- sh -c "$work"
	[ "$status" -eq 0 ] || { echo "the work itself: $status"; cat "$TMP/err"; return 1; }
	"$AUDIT" learn last -o "$TMP/policy.yaml" || { cat "$TMP/policy.yaml"; return 1; }
	fresh
	cp -R "$TMP/again/." .
	launch -q --strict -p "$TMP/policy.yaml" "$@" -- sh -c "$work"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$TMP/policy.yaml")" -lt 40 ] && grep -q 'were asked of it again: allowed' "$TMP/policy.yaml" ||
		{ echo "status $status"; cat "$TMP/policy.yaml" "$TMP/err"; return 1; }
	! grep -nE '\.ssh|\.env|\.git/(hooks|config)' "$TMP/policy.yaml"
}
check 'git: what is learned is enough' learned git_files 'git add . && git commit -qm x && git checkout -q -b z && echo 3 >>f && git commit -qam y && git gc -q'
check 'make: what is learned is enough' learned c_files 'make -s && ./a && make -s'
check 'python: what is learned is enough' learned python_files 'python3 -c "import pkg.m; open(\"out\", \"w\").write(str(pkg.m.x))" && python3 -m compileall -q pkg'
if command -v npm >/dev/null; then
	check 'npm: what is learned is enough' learned npm_files 'npm install --offline --no-audit --no-fund --silent && npm run -s build && npm test -s && node -e "require(\"d\")"'
else
	skip 'npm: what is learned is enough' 'no npm'
fi
cargo=$(command -v cargo || ls /root/.cargo/bin/cargo 2>/dev/null)
if [ -x "$cargo" ] && RUSTUP_HOME=${RUSTUP_HOME:-/root/.rustup} "$cargo" --version >/dev/null 2>&1; then
	check 'cargo: what is learned is enough' learned cargo_files "PATH=\$PATH:${cargo%/*} cargo build -q --offline && target/debug/w" --preset cargo --setenv "RUSTUP_HOME=${RUSTUP_HOME:-/root/.rustup}" --read '/root/.cargo/**' --read '/root/.rustup/**'
else
	skip 'cargo: what is learned is enough' 'no cargo that this user may run'
fi

# ---- a policy that has more than it needs ----
cat >"$TMP/wide.yaml" <<'EOP'
schemaVersion: 2
kind: Policy
metadata:
  name: wide
spec:
  fsProfiles:
    work:
      read:
        - "**"
        - "!secret/**"
      modify:
        # where results go
        - "out/**"
        - "docs/**"
        - "old/*" # of last year
EOP
fresh
mkdir out docs old secret && echo x >in
launch -q -p "$TMP/wide.yaml" -- sh -c 'cat in >out/a'
check 'the run under it' [ "$status" -eq 0 ]
check 'a policy is tightened' "$AUDIT" learn --from "$TMP/wide.yaml" -o "$TMP/tight.yaml"
check 'what was used stays, and so do denials and remarks' eval 'grep -qxF "        - \"out/**\"" "$TMP/tight.yaml" && grep -qxF "        - \"!secret/**\"" "$TMP/tight.yaml" && grep -q "where results go" "$TMP/tight.yaml"'
check 'what was not used is listed' [ "$(grep -c '^ *# unused: - "\(docs/\*\*\|old/\*\)"' "$TMP/tight.yaml")" -eq 2 ]
check 'and how many there were' grep -q '^# sbx-audit: 2 of 4 grants were used by 1 run\.$' "$TMP/tight.yaml"
launch -q --strict -p "$TMP/tight.yaml" -- sh -c 'cat in >out/a'
check 'the same work passes under the rest' [ "$status" -eq 0 ]
launch -q -p "$TMP/tight.yaml" -- sh -c 'echo x >docs/a'
check 'other work does not' [ "$status" -ne 0 ]
check 'a policy in another form is refused' eval 'echo "{}" >"$TMP/x.json"; "$AUDIT" learn --from "$TMP/x.json" 2>"$TMP/err"; [ $? -eq 2 ] && grep -q "sbx-policy convert" "$TMP/err"'

# ---- a run that ends with its proposal ----
fresh
git init -q . && mkdir -p .git/hooks
launch --learn -- sh -c 'echo 1 >new; (echo k >.git/hooks/x) 2>/dev/null; exit 3'
check '--learn: the run is enforced, and ends as it ends' eval '[ "$status" -eq 3 ] && [ ! -e .git/hooks/x ] && [ ! -s "$TMP/out" ]'
sed -n '/^# All/,$p' "$TMP/err" >"$TMP/proposed.yaml"
check '--learn: the proposal is a policy for it' eval 'rm new; launch -q --strict -p "$TMP/proposed.yaml" -- sh -c "echo 1 >new"; [ "$status" -eq 0 ] && ! grep -q hooks "$TMP/proposed.yaml"'
launch --learn --audit-level none -- true
check '--learn: without a record there is nothing to learn' [ "$status" -eq 125 ]
