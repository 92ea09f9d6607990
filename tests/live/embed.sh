#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The library as another project would use it: installed, found by pkg-config, linked into the
# example; its answers are those of sbx-policy.
set -u
B=${B:-build}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
chmod 755 "$out"
n=0 bad=0
check() # NAME COMMAND...
{
	name=$1
	shift
	n=$((n + 1))
	if "$@" >"$out/log" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$out/log" | head -n 30
		bad=1
	fi
}

unset MAKEFLAGS MFLAGS MAKELEVEL
check 'make install DESTDIR' make -s B="$B" DESTDIR="$out/root" PREFIX=/usr/local install
export PKG_CONFIG_PATH=$out/root/usr/local/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$out/root
complete_install()
{
	for f in bin/sbx-launch bin/sbx-policy bin/sbx-audit include/sbx.h lib/libsbx.a \
		lib/pkgconfig/sbx.pc share/man/man1/sbx-policy.1 share/man/man5/sbx-policy.5 \
		share/bash-completion/completions/sbx-launch share/zsh/site-functions/_sbx-policy \
		share/fish/vendor_completions.d/sbx-audit.fish; do
		[ -s "$out/root/usr/local/$f" ] || { echo "missing: $f"; return 1; }
	done
}
check 'everything is in its place' complete_install
only_public()
{
	nm -g --defined-only "$out/root/usr/local/lib/libsbx.a" | awk 'NF == 3 { print $3 }' | sort >"$out/symbols"
	printf 'sbx_policy_%s\n' check check_resolved decide explain free load version | diff - "$out/symbols"
}
check 'only what the header declares is visible' only_public

build()
{
	# The flags of the library's own build: a sanitized one needs its run time.
	${CC:-gcc} -std=c11 -Wall -Wextra -Werror docs/example/decide.c -o "$out/decide" \
		$(pkg-config --cflags --libs sbx) ${SAN:+-fsanitize=$SAN}
}
check 'the example builds by pkg-config' build
cplusplus()
{
	echo '#include <sbx.h>' >"$out/a.cc"
	g++ -Wall -Werror -fsyntax-only $(pkg-config --cflags sbx) "$out/a.cc"
}
command -v g++ >/dev/null && check 'the header is fit for C++' cplusplus

mkdir -m 700 "$out/ws" && cat >"$out/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: embedded}
spec:
  denyRead: ["**/*.env"]
  fsProfiles:
    writer: {read: ["**"], modify: ["src/**"]}
    reader: {read: ["**"]}
X
chmod 600 "$out/p.yaml"
answers()
{
	printf 'modify src/a\nread a.env\nmodify b\nread ../x\nread /etc/shadow\n' |
		"$out/decide" "$out/p.yaml" writer "$out/ws" >"$out/answers"
	[ $? -eq 1 ] || { cat "$out/answers"; return 1; }
	cat >"$out/want" <<X
allow ./src/a: profile writer, rule src/** ($out/p.yaml:7:37)
deny a.env: denied by rule \`**/*.env\` ($out/p.yaml:5:14)
X
	head -n 2 "$out/answers" | diff "$out/want" - &&
		grep -q '^deny b: denied by rule `<no matching rule>`' "$out/answers" &&
		grep -q '^deny ../x: cannot be judged: ' "$out/answers" &&
		grep -q '^deny /etc/shadow: denied by rule `/etc/shadow` (preset:secrets' "$out/answers"
}
check 'it decides, with reasons' answers
# Whatever goes wrong denies.
nothing()
{
	cat >"$out/null.c" <<'X'
#include <sbx.h>
int main(void)
{
	struct sbx_policy *p = 0;
	struct sbx_answer a;
	struct sbx_error err;

	if (sbx_policy_decide(0, SBX_POLICY_READ, "/x").allow || sbx_policy_check(0, SBX_POLICY_READ, "/x", &a, &err) == 0)
		return 1;
	if (sbx_policy_load(&(struct sbx_load){0}, &p, &err) < 0)
		return 2;
	if (sbx_policy_decide(p, SBX_POLICY_READ, 0).allow || !sbx_policy_decide(p, SBX_POLICY_READ, "/usr/x").allow)
		return 3;
	/* a link out of what may be changed: it may be made and removed, what it leads to not be written */
	if (sbx_policy_check(p, SBX_POLICY_MODIFY, "out", &a, &err) < 0 || a.allowed)
		return 4;
	if (sbx_policy_check_resolved(p, SBX_POLICY_MODIFY, "out", &a, &err) < 0 || !a.allowed)
		return 5;
	if (sbx_policy_check_resolved(p, SBX_POLICY_READ, ".", &a, &err) < 0 || !a.allowed ||
	    sbx_policy_check_resolved(p, SBX_POLICY_MODIFY, "/usr/x", &a, &err) < 0 || a.allowed)
		return 6;
	if (sbx_policy_check_resolved(p, SBX_POLICY_READ, "../x", &a, &err) == 0)
		return 7;
	sbx_policy_free(p);
	return 0;
}
X
	ln -s /usr "$out/ws/out"
	${CC:-gcc} -std=c11 -Wall -Werror "$out/null.c" -o "$out/null" $(pkg-config --cflags --libs sbx) \
		${SAN:+-fsanitize=$SAN} && (cd "$out/ws" && "$out/null")
}
check 'no policy and no path are a denial' nothing
fails()
{
	"$out/decide" "$out/p.yaml" nobody "$out/ws" </dev/null 2>"$out/err"
	[ $? -eq 2 ] && grep -q '^decide: E_PROFILE: no fsProfile `nobody`' "$out/err" || { cat "$out/err"; return 1; }
}
check 'what is wrong has a code and a line' fails
removed()
{
	make -s B="$B" DESTDIR="$out/root" PREFIX=/usr/local uninstall || return 1
	[ -z "$(find "$out/root" ! -type d)" ] || { find "$out/root" ! -type d; return 1; }
}
# pkg-config answers otherwise below PKG_CONFIG_SYSROOT_DIR: other flags, had it built something
flags=$(stat -c '%y %s' "$B/flags")
check 'make uninstall leaves no file' removed
check 'and the build as it was' [ "$flags" = "$(stat -c '%y %s' "$B/flags")" ]
echo "1..$n"
exit $bad
