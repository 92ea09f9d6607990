#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completions: loaded into each shell that is here, and asked.
. "$(dirname "$0")/../support/e2e.sh"

BIN=$(dirname "$SBX")
touch 'a file.yaml' && mkdir 'a dir'

# The candidates that bash has for the last word, one a line.
ask_bash() # PROGRAM WORD...
{
	"$BIN/$1" --completion bash >"$TMP/c.bash" || return 1
	bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
		f=$(complete -p "$1") && f=${f#*-F } && ${f%% *} 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' bash "$TMP/c.bash" "$@" | sort
}
bash_says() # WANT PROGRAM WORD...
{
	want=$1
	shift
	got=$(ask_bash "$@" | tr '\n' ' ')
	[ "$got" = "$want " ] || { echo "got $got"; return 1; }
}
bash_has() # WANT PROGRAM WORD...
{
	want=$1
	shift
	ask_bash "$@" | grep -qFx -e "$want"
}

check 'bash: options by their beginning' bash_says '--deny-connect --deny-modify --deny-read' sbx-launch --deny
check 'bash: letters, too' bash_has -p sbx-launch -
check 'bash: the words of a value' bash_says 'host loopback none watch' sbx-launch --network ''
check 'bash: the beginning of one' bash_says 'loopback' sbx-launch --network l
check 'bash: behind an equals sign' bash_says 'loopback' sbx-launch --network = l
check 'bash: nothing typed behind an equals sign' bash_says 'host loopback none watch' sbx-launch --network =
check 'bash: files of an option' bash_has 'a file.yaml' sbx-launch -p a
check 'bash: directories of another' bash_says 'a dir' sbx-launch --workspace a
check 'bash: words or files' bash_has host sbx-launch --unix h
check 'bash: a command, found in PATH' bash_has setpriv sbx-launch --network host setpri
check 'bash: behind the command files, no options' bash_has 'a dir' sbx-launch -v make a
check 'bash: none of ours behind the command' bash_says '' sbx-launch make --netw
check 'bash: questions' bash_says 'schema show' sbx-policy s
check 'bash: options of a question' bash_has --effective sbx-policy show --e
check 'bash: sbx-audit' bash_says 'denied' sbx-audit show --verdict d

# Every option that --help shows is offered, by each script.
all_offered() # SHELL
{
	for program in sbx-launch sbx-policy sbx-audit; do
		"$BIN/$program" --completion "$1" >"$TMP/c.$1" || return 1
		"$BIN/$program" --help | grep -oE '^ +(-., )?--[a-z][a-z0-9-]*' | grep -oE -e '--.*' |
			sed 's/^--//' >"$TMP/options"
		[ "$(wc -l <"$TMP/options")" -gt 8 ] || return 1
		script=$(cat "$TMP/c.$1")
		while read -r option; do
			[[ $script =~ (--|-l\ )$option([^a-z0-9-]|$) ]] || { echo "$program: no $option"; return 1; }
		done <"$TMP/options"
	done
}
for shell in bash zsh fish; do
	check "$shell: every option of --help" all_offered "$shell"
done

zsh_loads()
{
	for program in sbx-launch sbx-policy sbx-audit; do
		"$BIN/$program" --completion zsh >"$TMP/_$program"
		zsh -f -c "fpath=('$TMP' \$fpath); autoload -Uz compinit; compinit -u -d '$TMP/dump';
			[ \"\$_comps[$program]\" = _$program ] && autoload +X _$program" || return 1
	done
}
if command -v zsh >/dev/null; then
	check 'zsh loads the scripts' zsh_loads
else
	skip 'zsh loads the scripts' 'no zsh'
fi
fish_says()
{
	for program in sbx-launch sbx-policy sbx-audit; do
		"$BIN/$program" --completion fish >"$TMP/$program.fish"
	done
	[ "$(fish -N -c "source $TMP/sbx-launch.fish; complete -C 'sbx-launch --network l'" | cut -f 1)" = loopback ] &&
		fish -N -c "source $TMP/sbx-policy.fish; complete -C 'sbx-policy sch'" | grep -q '^schema'
}
if command -v fish >/dev/null; then
	check 'fish answers from the scripts' fish_says
else
	skip 'fish answers from the scripts' 'no fish'
fi
