/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - the agents whose commands sbx-launch can take over by a hook: one table. A row says
 * what a hook reads and answers, and where the settings name it; hook.c and setup.c know no agent
 * by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How an agent takes the changed input: the keys around it. */
enum ad_answer {
	AD_ANSWER_UPDATED, /* hookSpecificOutput: hookEventName, updatedInput */
	AD_ANSWER_ALLOWED, /* the same with permissionDecision, without which it is no answer */
	AD_ANSWER_MERGED,  /* hookSpecificOutput: hookEventName, tool_input */
	AD_ANSWER_PLAIN,   /* updated_input */
};

/* How a hook stands in the list of an event. */
enum ad_shape {
	AD_SHAPE_GROUP,	 /* {matcher, hooks: [{type, command, timeout}]} */
	AD_SHAPE_FLAT,	 /* {matcher, command, timeout, failClosed} */
	AD_SHAPE_PLUGIN, /* a file of its own, in JavaScript */
};

struct ad_agent {
	const char *name;
	enum ad_answer answer;
	enum ad_shape shape;
	const char *event; /* also what hook_event_name says */
	const char *tools; /* names of the tools that run a command, "A|B"; also the matcher */
	unsigned timeout;  /* of the hook, in the agent's unit: ten seconds */
	const char *session, *call; /* keys of the input that say what the command belongs to */
	/* The directory of the user's settings: a variable that leads to it (then `below` it), else
	 * below the home. */
	const char *variable, *below, *home;
	const char *file;    /* in that directory */
	const char *project; /* the same of a project, below its top */
	const char *off[2];  /* keys of the settings that put all hooks out of force */
	bool off_value;	     /* when they have this value */
	const char *note;    /* what the user has to know, or NULL */
};

extern const struct ad_agent ad_agents[];
extern const size_t ad_nagents;

/* NULL: no such agent. */
const struct ad_agent *ad_agent_find(const char *name);
/* Is this one of the tools that run a command? */
bool ad_agent_runs(const struct ad_agent *, const char *tool);
