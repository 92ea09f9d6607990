#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Symlinks between what a grant opens and what outsiders run or obey, both ways: a grant that leads to it, and
# names that lead into the grant. What the user opens is said, what the workspace opens is closed.
. "$(dirname "$0")/../support/e2e.sh"
POLICY=$(dirname "$SBX")/sbx-policy

lay()
{
	chmod -R u+rwx "${HOME:?}" && rm -rf "${HOME:?}"/.[!.]* "${HOME:?}"/*
	fresh
	mkdir -p ~/.claude ~/.config/autostart ~/d ~/dot/nvim ~/dot/old ~/other
	echo good >~/.bashrc
	ln -s .claude ~/lnk
	ln -s ../.bashrc ~/d/rc
	ln -s "$HOME/.config" ~/d/conf
}
said() # GRANT NAME: the start and `show` name it
{
	launch -q --modify "$1" -- true
	grep -q "^sbx-launch: note: --modify .* opens .*$2.* run or obeyed outside by" "$TMP/err" || return 1
	"$POLICY" show --modify "$1" >"$TMP/out" 2>&1
	grep -A3 '^opened, although programs outside' "$TMP/out" | grep -q "$2"
}
silent() # GRANT
{
	launch -q --modify "$1" -- true
	[ ! -s "$TMP/err" ]
}

lay
check 'a link to the directory of an agent' said '~/lnk' '~/.claude/'
check 'a link to a start-up file' said '~/d/rc' '~/.bashrc'
check 'a link to a directory of settings' said '~/d/conf' '~/.config/'
launch --modify '~/lnk' -- sh -c 'echo new >~/.claude/settings.json'
check 'the user'\''s own word opens' grep -qx new ~/.claude/settings.json
launch -q --modify '~/d' -- sh -c 'echo evil >~/d/rc'
check 'what a link inside of the grant leads to is shut' [ "$(cat ~/.bashrc)" = good ]
check 'and nothing is said of it' silent '~/d'
launch -q --modify '~/.claude.json' -- true
check 'a file and the name by which it is saved are one' sh -c 'grep -q "opens .~/.claude.json." "$1" && ! grep -q " more" "$1"' - "$TMP/err"

# dotfiles: the names are links into a directory
dotfiles()
{
	lay
	mv ~/.bashrc ~/dot/bashrc
	ln -s dot/bashrc ~/.bashrc
	ln -s ../dot/nvim ~/.config/nvim
	ln -s dot/cur ~/.claude.d && ln -s old ~/dot/cur && ln -s dot/cur/profile ~/.profile
	ln -s nowhere/zshrc ~/.zshrc
	echo good >~/dot/old/profile
}
dotfiles
check 'a start-up file that leads into the grant' said '~/dot' '~/.bashrc'
check 'and how many more' grep -q 'and [0-9]* more of: shells; vim' "$TMP/out"
rm ~/.bashrc
check 'another, by two links' said '~/dot' '~/.profile'
rm ~/.profile
check 'a directory among them' said '~/dot' '~/.config/nvim'
check 'what leads nowhere yet' said '~/nowhere' '~/.zshrc'
check 'another directory is nobody'\''s' silent '~/other'
dotfiles
cd ~/dot || exit 1
launch -q -- sh -c 'echo evil >bashrc; echo evil >nvim/init.lua; echo evil >cur/profile; rm cur; ln -s nvim cur; mv old moved; echo mine >notes; echo mine >old/notes'
check 'as the workspace: what is obeyed is shut' sh -c 'cat bashrc old/profile | grep -cx good | grep -qx 2 && [ ! -e nvim/init.lua ]'
check 'and each link on the way' [ "$(readlink cur)" = old ]
check 'the rest is open' sh -c 'grep -qx mine notes && grep -qx mine old/notes'
launch --modify bashrc -- sh -c 'echo new >bashrc'
check 'one that is named opens, and is said' sh -c 'grep -qx new ~/.bashrc && grep -q "opens .~/.bashrc., run or obeyed outside by" "$1"' - "$TMP/err"
cd ~/dot/nvim || exit 1
launch -q -- sh -c 'echo mine >init.lua'
check 'who works in it has chosen to, and is told' sh -c 'grep -qx mine init.lua && grep -q "opens .~/.config/nvim/" "$1"' - "$TMP/err"
# a link to all there is closes nothing of it
lay
ln -s "$HOME" ~/.oh-my-zsh
cd "$WS" || exit 1
launch -q --preset npm -- sh -c 'echo mine >x; mkdir -p ~/.npm/_cacache && echo mine >~/.npm/_cacache/x'
check 'a link to the home closes neither workspace nor presets' sh -c 'grep -qx mine x && grep -qx mine ~/.npm/_cacache/x'

# What the workspace's names lead to, outside of it.
lay
cd "$WS" || exit 1
echo good >~/other/envrc && ln -s ~/other/envrc .envrc
check 'a name of the workspace that leads into the grant' said '~/other' '.envrc'

exit 0
