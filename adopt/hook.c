/* SPDX-License-Identifier: Apache-2.0 */
/* hook.c - see hook.h. */
#include "adopt/hook.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "adopt/agents.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"

enum { ID_MAX = 128 }; /* bytes of a session's or a call's name that are kept */

static void free_json(json_t **j)
{
	json_decref(*j);
}

void ad_quote(struct b_str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:,@+=";

	if (*word && !word[strspn(word, plain)]) {
		b_str_add(out, word);
		return;
	}
	b_str_addc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			b_str_add(out, "'\\''");
		else
			b_str_addc(out, *word);
	b_str_addc(out, '\'');
}

/* The name comes from a model's service: what is not plain is an underscore. */
static void add_id(struct b_str *out, const char *key, const json_t *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.:";
	const char *s = json_string_value(value);

	if (!s || !*s)
		return;
	b_str_addf(out, ",%s=", key);
	for (size_t i = 0; s[i] && i < ID_MAX; i++)
		b_str_addc(out, strchr(plain, s[i]) ? s[i] : '_');
}

/* Who asked for the command, for its record: a variable in front of it. */
static void add_context(struct b_str *out, const struct ad_agent *agent, const json_t *input)
{
	b_str_addf(out, "SBX_CONTEXT='agent=%s", agent->name);
	add_id(out, "session", json_object_get(input, agent->session));
	add_id(out, "call", json_object_get(input, agent->call));
	b_str_add(out, "' ");
}

/* A command that begins like ours is wrapped like any other: its options would be the model's. */
static void add_command(struct b_str *out, const struct b_strlist *launcher, const char *command)
{
	for (size_t i = 0; i < launcher->n; i++) {
		ad_quote(out, launcher->v[i]);
		b_str_addc(out, ' ');
	}
	ad_quote(out, command);
}

static json_t *wrap(const struct ad_agent *agent, json_t *changed)
{
	switch (agent->answer) {
	case AD_ANSWER_UPDATED:
		return json_pack("{s:{s:s, s:O}}", "hookSpecificOutput", "hookEventName",
				 agent->event, "updatedInput", changed);
	case AD_ANSWER_ALLOWED:
		return json_pack("{s:{s:s, s:s, s:O}}", "hookSpecificOutput", "hookEventName",
				 agent->event, "permissionDecision", "allow", "updatedInput",
				 changed);
	case AD_ANSWER_MERGED:
		return json_pack("{s:{s:s, s:O}}", "hookSpecificOutput", "hookEventName",
				 agent->event, "tool_input", changed);
	case AD_ANSWER_PLAIN:
		return json_pack("{s:O}", "updated_input", changed);
	}
	return NULL;
}

static int answer(const struct ad_agent *agent, json_t *input, const struct b_strlist *launcher,
		  struct b_str *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str line = {0};
	const char *tool = json_string_value(json_object_get(input, "tool_name"));
	json_t *call = json_object_get(input, "tool_input");
	json_t *command = json_object_get(call, "command");
	b_auto(free_json) json_t *all = NULL;
	b_auto_free char *text = NULL;

	if (!tool)
		return b_fail(err, B_FORMAT, 0, "the input names no tool (tool_name)");
	if (!ad_agent_runs(agent, tool))
		return 0;
	if (!json_is_string(command) ||
	    strlen(json_string_value(command)) != json_string_length(command))
		return b_fail(err, B_FORMAT, 0, "%s: no text in tool_input.command", tool);
	add_context(&line, agent, input);
	add_command(&line, launcher, json_string_value(command));
	if (json_object_set_new(call, "command", json_string(b_str_c(&line))) < 0 ||
	    !(all = wrap(agent, call)) || !(text = json_dumps(all, JSON_COMPACT)))
		return b_fail(err, B_FORMAT, 0, "%s: the command is not UTF-8", tool);
	b_str_addf(out, "%s\n", text);
	return 0;
}

int ad_hook_answer(const struct ad_agent *agent, const char *text, size_t len,
		   const struct b_strlist *launcher, struct b_str *out, struct b_err *err)
{
	json_error_t why;
	/* of two keys with one name the agent could obey the other */
	b_auto(free_json) json_t *input =
		json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

	if (!input)
		return b_fail(err, B_FORMAT, 0, "the input of the hook: line %d: %s", why.line,
			      why.text);
	if (!json_is_object(input))
		return b_fail(err, B_FORMAT, 0, "the input of the hook is not an object");
	return answer(agent, input, launcher, out, err);
}
