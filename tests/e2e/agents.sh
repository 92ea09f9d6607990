#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Claude Code, Codex and Gemini CLI under their presets: a whole task without a network, settings of
# the host that count, transcripts that outlive the run, and a command that tries to leave something
# for the host's agent. `make check-agents` installs the agents; without them all is skipped.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
[ -n "${E2E_INNER:-}" ] || exit 1 # it cleans a home: only the harness has one for that

bin=${SBX_AGENTS:-/nonexistent}/node_modules/.bin
model=$(dirname "$0")/agent_model.cjs
export MODEL_LOG=$WS/model.log

# What the model asks the shell to do.
export MODEL_COMMAND='id -un >made; echo "said $FROM_SETTINGS"; for f in ~/.claude.json ~/.claude/settings.json ~/.claude/hooks/x ~/.claude/CLAUDE.md ~/.claude/plugins/x ~/.codex/config.toml ~/.codex/AGENTS.md ~/.codex/packages/standalone/current ~/.codex/hooks.json ~/.gemini/settings.json ~/.gemini/GEMINI.md ~/.gemini/extensions/x ~/.bashrc ./.mcp.json ./.claude/settings.json ./.codex/config.toml ./.gemini/settings.json; do mkdir -p "${f%/*}" && echo evil >"$f"; ln -sf /tmp/evil "$f"; done 2>/dev/null; echo ended'

# In the run's own network namespace: the model, then the agent.
run_agent() # AGENT ARGUMENTS...
{
	agent=$1
	shift
	: >"$MODEL_LOG"
	launch -q --strict --preset "$agent" -- bash -c 'node "$1" >up & model=$!; shift
		for i in $(seq 200); do grep -qs up up && break; sleep 0.05; done
		timeout 100 "$@"; status=$?; kill $model; exit $status' - "$model" "$bin/$agent" "$@"
	[ "$status" -eq 0 ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
task() # AGENT ARGUMENTS...
{
	run_agent "$@" && [ "$(cat made)" = "$(id -un)" ] && grep -q 'RESULT.*ended' "$MODEL_LOG" && return
	cat "$MODEL_LOG" "$TMP/out" "$TMP/err"
	return 1
}
untouched() # nothing of the host's is evil, nor a link, and nothing is new but what outlives a run
{
	! grep -rl evil "$HOME/.claude" "$HOME/.claude.json" "$HOME/.codex" "$HOME/.gemini" "$HOME/.bashrc" .mcp.json .claude \
		.codex .gemini 2>/dev/null | grep -vE '/(projects|sessions|tmp|log)/|history' | grep . || return 1
	! find "$HOME/.claude" "$HOME/.codex" "$HOME/.gemini" -type l | grep . || return 1
	find "$HOME/.claude" "$HOME/.codex" "$HOME/.gemini" -mindepth 1 -maxdepth 1 | sed "s,$HOME/,," | grep -vE \
		'^\.claude/(settings\.json|projects|todos|tasks|file-history|history\.jsonl)$|^\.codex/(config\.toml|sessions|archived_sessions|generated_images|log|history\.jsonl|session_index\.jsonl)$|^\.gemini/(settings\.json|tmp|installation_id|google_accounts\.json)$' && return 1
	return 0
}
# The hook inside of the agent's run: its command in a run inside, tied to the call.
hooked() # AGENT ARGUMENTS...
{
	"$SBX" --setup "$1" >"$TMP/setup" 2>&1 || { cat "$TMP/setup"; return 1; }
	echo 'key of the host' >"$HOME/key"
	MODEL_COMMAND='cat ~/key; echo "for $SBX_CONTEXT in $SBX_CHANNEL"; id -un >made; echo ended' task "$@" || return 1
	grep -q "RESULT.*for agent=$1,session=" "$MODEL_LOG" || { cat "$MODEL_LOG"; return 1; }
	grep -qs "\"context\":\"agent=$1,session=" "$HOME"/.local/state/sbx-launch/runs/*/run.json || return 1
	"$SBX" --setup "$1" --undo >"$TMP/setup" 2>&1
}
# Hooks broken on purpose: the command does not run bare.
broken() # AGENT ARGUMENTS...
{
	"$SBX" --setup "$1" >"$TMP/setup" 2>&1 || { cat "$TMP/setup"; return 1; }
	sed -i "s,$SBX ,/nonexistent/sbx-launch ," "$(sed -n 's/^+++ //p' "$TMP/setup")"
	rm -f made
	MODEL_COMMAND='id -un >made; echo ended' run_agent "$@"
	broken_rc=$?
	sed -i "s,/nonexistent/sbx-launch ,$SBX ," "$(sed -n 's/^+++ //p' "$TMP/setup")"
	"$SBX" --setup "$1" --undo >"$TMP/setup" 2>&1
	[ ! -e made ] || { cat "$MODEL_LOG"; echo "status $broken_rc"; return 1; }
	grep -q RESULT "$MODEL_LOG" # it was asked for, and the model heard of it
}
there() # AGENT
{
	[ -x "$bin/$1" ] && command -v node >/dev/null
}

mkdir -p "$HOME/.claude" "$HOME/.codex" "$HOME/.gemini"
echo '{"hasCompletedOnboarding":true}' >"$HOME/.claude.json"
echo '{"env":{"FROM_SETTINGS":"yes"}}' >"$HOME/.claude/settings.json"
cat >"$HOME/.codex/config.toml" <<'X'
model = "m"
model_provider = "loop"
[model_providers.loop]
name = "loop"
base_url = "http://127.0.0.1:8199/v1"
wire_api = "responses"
env_key = "LOOP_KEY"
X
echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
cp -r "$HOME/.claude.json" "$HOME/.claude" "$HOME/.codex" "$HOME/.gemini" "$TMP"
export ANTHROPIC_BASE_URL=http://127.0.0.1:8199 ANTHROPIC_API_KEY=x CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
export DISABLE_AUTOUPDATER=1 LOOP_KEY=x GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8199 GEMINI_API_KEY=x
export GEMINI_TELEMETRY_ENABLED=false OPENAI_API_KEY=x OPENAI_BASE_URL=http://127.0.0.1:8199/v1 OPENAI_MODEL=m

why='not installed for this user: make check-agents'
if there claude; then
	check 'claude: a whole task' task claude -p go --allowedTools Bash
	check 'claude: obeys the settings of the host' grep -q 'RESULT.*said yes' "$MODEL_LOG"
	check 'claude: the transcript stays' sh -c 'ls "$1"/.claude/projects/*/*.jsonl' - "$HOME"
	check 'claude: leaves nothing for the host' untouched
	check 'claude: goes on with the transcript' task claude --continue -p again --allowedTools Bash
	check 'which it has read' sh -c 'grep MESSAGES "$1"; grep -m 1 MESSAGES "$1" | grep -qE " ([3-9]|[0-9]{2,})$"' - "$MODEL_LOG"
	check 'claude: what it says of itself is its own' cmp "$HOME/.claude.json" "$TMP/.claude.json"
	check 'claude: its hook puts the command into a run inside' hooked claude -p go --allowedTools Bash
	check 'claude: a hook that is gone lets nothing run' broken claude -p go --allowedTools Bash
else
	skip claude "$why"
fi
if there codex; then
	check 'codex: a whole task' task codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox go
	check 'codex: starts without complaints of its directory' sh -c '! grep -iE "could not create PATH|failed to record|Permission denied" "$1"' - "$TMP/err"
	check 'codex: the transcript stays' sh -c 'ls "$1"/.codex/sessions/*/*/*/*.jsonl' - "$HOME"
	check 'codex: leaves nothing for the host' untouched
	check 'codex: goes on with the transcript' task codex exec resume --last --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox again
	check 'codex: its settings are the host'\''s' cmp "$HOME/.codex/config.toml" "$TMP/.codex/config.toml"
	check 'codex: its hook puts the command into a run inside' hooked codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust go
	check 'codex: a hook that is gone lets nothing run' broken codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust go
else
	skip codex "$why"
fi
if there gemini; then
	check 'gemini: a whole task' task gemini --skip-trust -y -p go
	check 'gemini: the transcript stays' sh -c 'ls "$1"/.gemini/tmp/*/chats/*' - "$HOME"
	check 'gemini: leaves nothing for the host' untouched
	check 'gemini: its settings are the host'\''s' cmp "$HOME/.gemini/settings.json" "$TMP/.gemini/settings.json"
	check 'gemini: its hook puts the command into a run inside' hooked gemini --skip-trust -y -p go
	check 'gemini: a hook that is gone lets nothing run' broken gemini --skip-trust -y -p go
else
	skip gemini "$why"
fi
if there qwen; then
	check 'qwen: a whole task' task qwen --auth-type openai -y -p go
	check 'qwen: the transcript stays' sh -c 'ls "$1"/.qwen/projects/*/chats/*' - "$HOME"
	check 'qwen: leaves nothing else' sh -c '! ls -A "$1"/.qwen | grep -vxE "projects|todos|installation_id"' - "$HOME"
else
	skip qwen "$why"
fi
# without its module it waits for the network at the start
if there opencode && [ -d "$bin/../@opencode-ai/plugin" ] && "$bin/opencode" --version >"$TMP/out" 2>&1; then
	mkdir -p "$HOME/.config/opencode/node_modules"
	cp -r "$bin/../@opencode-ai" "$bin/../zod" "$HOME/.config/opencode/node_modules"
	echo '{"model":"loop/m","small_model":"loop/m","share":"disabled","autoupdate":false,"permission":"allow","provider":{"loop":{"npm":"@ai-sdk/openai-compatible","name":"loop","options":{"baseURL":"http://127.0.0.1:8199/v1","apiKey":"x"},"models":{"m":{"name":"m"}}}}}' >"$HOME/.config/opencode/opencode.json"
	check 'opencode: a whole task' task opencode run go
	check 'opencode: its session stays' test -s "$HOME/.local/share/opencode/opencode.db"
else
	skip opencode "$why"
fi
exit 0
