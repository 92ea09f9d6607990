/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/hook.h"

#include <string.h>

#include <criterion/criterion.h>

#include "adopt/agents.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"

static struct b_err err;

static int ask(const char *agent, const char *text, size_t len, struct b_str *out)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};

	b_strlist_add(&words, "/opt/our s/sbx-launch");
	b_strlist_add(&words, "--network=host");
	b_strlist_add(&words, "-c");
	return ad_hook_answer(ad_agent_find(agent), text, len, &words, out, &err);
}

static void answers(const char *agent, const char *text, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};

	cr_assert_eq(ask(agent, text, strlen(text), &out), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(&out), want);
}

Test(adopt_hook, each_agent_is_answered_in_its_shape)
{
	answers("claude",
		"{\"session_id\":\"s\",\"tool_use_id\":\"t\",\"tool_name\":\"Bash\","
		"\"tool_input\":{\"command\":\"ls\",\"n\":1.5}}",
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{"
		"\"command\":\"SBX_CONTEXT='agent=claude,session=s,call=t' '/opt/our s/sbx-launch' "
		"--network=host -c ls\",\"n\":1.5}}}\n");
	answers("codex", "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"a b\"}}",
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
		"\"allow\",\"updatedInput\":{\"command\":\"SBX_CONTEXT='agent=codex' '/opt/our "
		"s/sbx-launch' --network=host -c 'a b'\"}}}\n");
	answers("gemini", "{\"tool_name\":\"run_shell_command\",\"tool_input\":{\"command\":\"\"}}",
		"{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeTool\",\"tool_input\":{"
		"\"command\":\"SBX_CONTEXT='agent=gemini' '/opt/our s/sbx-launch' --network=host "
		"-c "
		"''\"}}}\n");
	answers("cursor",
		"{\"conversation_id\":\"c\",\"tool_name\":\"Shell\",\"tool_input\":{\"command\":"
		"\"ls\"}}",
		"{\"updated_input\":{\"command\":\"SBX_CONTEXT='agent=cursor,session=c' '/opt/our "
		"s/sbx-launch' --network=host -c ls\"}}\n");
}

Test(adopt_hook, a_tool_that_runs_nothing_is_left_alone)
{
	answers("claude", "{\"tool_name\":\"Write\",\"tool_input\":{\"command\":\"x\"}}", "");
	answers("claude", "{\"tool_name\":\"Bas\",\"tool_input\":{}}", "");
	answers("claude", "{\"tool_name\":\"Bash|Monitor\",\"tool_input\":{}}", "");
	answers("codex", "{\"tool_name\":\"\",\"tool_input\":{}}", "");
}

/* Whatever the model writes stays one word, and a prefix of ours is no pass. */
Test(adopt_hook, the_command_stays_one_word)
{
	answers("opencode",
		"{\"tool_name\":\"bash\",\"tool_input\":{\"command\":\"a'; rm -rf '/\\n$(x)\"}}",
		"{\"updated_input\":{\"command\":\"SBX_CONTEXT='agent=opencode' '/opt/our "
		"s/sbx-launch' --network=host -c 'a'\\\\''; rm -rf '\\\\''/\\n$(x)'\"}}\n");
	answers("opencode",
		"{\"tool_name\":\"bash\",\"tool_input\":{\"command\":\"sbx-launch --modify / x\"}}",
		"{\"updated_input\":{\"command\":\"SBX_CONTEXT='agent=opencode' '/opt/our "
		"s/sbx-launch' --network=host -c 'sbx-launch --modify / x'\"}}\n");
}

Test(adopt_hook, names_from_outside_are_plain)
{
	answers("claude",
		"{\"session_id\":\"a'b c;\\u00e9\",\"tool_use_id\":7,\"tool_name\":\"Monitor\","
		"\"tool_input\":{\"command\":\"ls\"}}",
		"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{"
		"\"command\":\"SBX_CONTEXT='agent=claude,session=a_b_c___' '/opt/our s/sbx-launch' "
		"--network=host -c ls\"}}}\n");
}

Test(adopt_hook, what_is_not_understood_is_refused)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"null",
		"{\"tool_name\":\"Bash\"}",
		"{\"tool_name\":\"Bash\",\"tool_input\":\"ls\"}",
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":[\"ls\"]}}",
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"a\\u0000b\"}}",
		"{\"tool_name\":\"Write\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}} x",
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}}"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		b_auto(b_str_release) struct b_str out = {0};

		cr_expect_eq(ask("claude", texts[i], strlen(texts[i]), &out), -1, "%s", texts[i]);
		cr_expect_eq(out.len, 0);
	}
}

Test(adopt_hook, no_agent_but_those_of_the_table)
{
	cr_expect_null(ad_agent_find("claud"));
	cr_expect_null(ad_agent_find(""));
	for (size_t i = 0; i < ad_nagents; i++)
		cr_expect_eq(ad_agent_find(ad_agents[i].name), &ad_agents[i]);
}
