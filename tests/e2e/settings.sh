#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# spec.sandbox: what a document says of the run has effect, and the command line wins.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

doc() # NAME SANDBOX
{
	cat >"$TMP/$1.yaml" <<X
schemaVersion: 2
kind: Policy
metadata: {name: $1}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["**"]}}
  sandbox: $2
X
	chmod 600 "$TMP/$1.yaml"
}

interfaces='tail -n +3 /proc/net/dev | grep -vc " lo:"'
host=$(bash -c "$interfaces")
doc host '{network: host}'
doc none '{network: none}'
check 'network host of the document' out "$host" -p "$TMP/host.yaml" -- bash -c "$interfaces"
check 'the command line wins' out 0 -p "$TMP/host.yaml" --network none -- bash -c "$interfaces"
check 'and over none' out "$host" -p "$TMP/none.yaml" --network host -- bash -c "$interfaces"

mkdir -p "$HOME/side" "$HOME/data" "$HOME/.cache/tool" && echo data >"$HOME/data/f"
doc sides '{sideRoots: [~/side, "${XDG_CACHE_HOME}/tool"], denyModify: ["~/side/*.lock"]}'
check 'a side root is written to, by renaming too' out ok -p "$TMP/sides.yaml" -- \
	bash -c 'echo x >~/side/.t && mv ~/side/.t ~/side/f && echo y >~/.cache/tool/f && echo ok'
check 'beside it nothing is' out no -p "$TMP/sides.yaml" -- \
	bash -c 'echo x >~/other || echo no'
check 'a deny of the document holds in it' out no -p "$TMP/sides.yaml" -- \
	bash -c 'echo x >~/side/a.lock || echo no'

doc closed '{reads: system}'
doc roots '{reads: system, readRoots: [~/data]}'
check 'reads: system closes the home' out no -p "$TMP/closed.yaml" -- \
	bash -c 'cat ~/data/f || echo no'
check 'readRoots open what is named' out data -p "$TMP/roots.yaml" -- cat "$HOME/data/f"
check '--also-read opens one file' out data -p "$TMP/closed.yaml" --also-read ~/data/f -- \
	cat "$HOME/data/f"
check 'and that alone' out no -p "$TMP/closed.yaml" --also-read ~/data/f -- \
	bash -c 'ls ~/data || echo no'

doc bare '{scratch: false}'
check 'scratch: false leaves TMPDIR as it was' out "$TMPDIR" -p "$TMP/bare.yaml" -- \
	bash -c 'echo "$TMPDIR"'
check 'and closed' out no -p "$TMP/bare.yaml" -- bash -c 'echo x >"$TMPDIR/f" || echo no'
doc cache '{cache: true}'
check 'cache: true gives a build cache' out yes -p "$TMP/cache.yaml" -- \
	bash -c 'echo x >"$XDG_CACHE_HOME/f" && echo yes'

doc off '{enabled: false}'
refused() # TEXT ARGS...
{
	text=$1
	shift
	"$SBX" "$@" -- touch ran >"$TMP/err" 2>&1
	status=$?
	[ "$status" -eq 125 ] && [ ! -e ran ] && grep -qF -- "$text" "$TMP/err" ||
		{ echo "status $status"; cat "$TMP/err"; return 1; }
}
check 'enabled: false is a refusal, never a bare run' \
	refused 'sandbox.enabled is false' -p "$TMP/off.yaml"

# What no kernel here can hold: the host's loopback alone.
doc loop '{network: loopback}'
doc lax '{network: loopback, allowFallback: true}'
if "$SBX" -q -p "$TMP/loop.yaml" -- true 2>/dev/null; then
	echo "ok - $E2E_INNER: allowFallback # SKIP nothing is lost on this host"
else
	check 'what cannot be held is refused' refused 'cannot be enforced' -p "$TMP/loop.yaml"
	check 'allowFallback is heard' out ran -p "$TMP/lax.yaml" -- echo ran
	check '--strict wins over it' refused 'cannot be enforced' --strict -p "$TMP/lax.yaml"
fi
