/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - see agents.h. */
#include "adopt/agents.h"

#include <string.h>

const struct ad_agent ad_agents[] = {
	{.name = "claude",
	 .answer = AD_ANSWER_UPDATED,
	 .shape = AD_SHAPE_GROUP,
	 .event = "PreToolUse",
	 .tools = "Bash|Monitor",
	 .timeout = 10,
	 .session = "session_id",
	 .call = "tool_use_id",
	 .variable = "CLAUDE_CONFIG_DIR",
	 .home = ".claude",
	 .file = "settings.json",
	 .project = ".claude/settings.json",
	 .off = {"disableAllHooks"},
	 .off_value = true},
	{.name = "codex",
	 .answer = AD_ANSWER_ALLOWED,
	 .shape = AD_SHAPE_GROUP,
	 .event = "PreToolUse",
	 .tools = "Bash",
	 .timeout = 10,
	 .session = "session_id",
	 .call = "tool_use_id",
	 .variable = "CODEX_HOME",
	 .home = ".codex",
	 .file = "hooks.json",
	 .project = ".codex/hooks.json",
	 .note = "Codex silently skips a hook that you have not trusted: type /hooks in Codex "
		 "once"},
	{.name = "gemini",
	 .answer = AD_ANSWER_MERGED,
	 .shape = AD_SHAPE_GROUP,
	 .event = "BeforeTool",
	 .tools = "run_shell_command",
	 .timeout = 10000,
	 .session = "session_id",
	 .call = "tool_use_id",
	 .variable = "GEMINI_CLI_HOME",
	 .below = ".gemini",
	 .home = ".gemini",
	 .file = "settings.json",
	 .project = ".gemini/settings.json",
	 .off = {"hooksConfig", "enabled"},
	 .off_value = false},
	{.name = "cursor",
	 .answer = AD_ANSWER_PLAIN,
	 .shape = AD_SHAPE_FLAT,
	 .event = "preToolUse",
	 .tools = "Shell",
	 .timeout = 10,
	 .session = "conversation_id",
	 .call = "tool_use_id",
	 .home = ".cursor",
	 .file = "hooks.json",
	 .project = ".cursor/hooks.json",
	 .note = "this follows Cursor's documents and was not tried with Cursor: check that "
		 "sbx-audit lists the first command of the agent"},
	{.name = "opencode",
	 .answer = AD_ANSWER_PLAIN,
	 .shape = AD_SHAPE_PLUGIN,
	 .event = "tool.execute.before",
	 .tools = "bash",
	 .session = "session_id",
	 .call = "tool_use_id",
	 .variable = "XDG_CONFIG_HOME",
	 .below = "opencode",
	 .home = ".config/opencode",
	 .file = "plugins/sbx-launch.js",
	 .project = ".opencode/plugins/sbx-launch.js"},
};
const size_t ad_nagents = sizeof ad_agents / sizeof *ad_agents;

const struct ad_agent *ad_agent_find(const char *name)
{
	for (size_t i = 0; i < ad_nagents; i++)
		if (strcmp(ad_agents[i].name, name) == 0)
			return &ad_agents[i];
	return NULL;
}

bool ad_agent_runs(const struct ad_agent *agent, const char *tool)
{
	size_t n = strlen(tool), len;

	for (const char *p = agent->tools;; p += len + 1) {
		len = strcspn(p, "|");
		if (len == n && memcmp(p, tool, n) == 0)
			return true;
		if (!p[len])
			return false;
	}
}
