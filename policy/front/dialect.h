/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.h - the languages of policy documents: which one a document is in, and the front-
 * ends of each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/document/model.h"
#include "policy/front/tree.h"

struct b_err;
struct b_str;
struct pol_doc;
struct pol_http_rules;
struct pol_text;
struct pol_texts;
struct pol_ynode;

/*
 * A document in whatever language it is written: Orbit's and OpenShell's YAML, the
 * JSON settings of srt, the `[sandbox]` TOML of caliban, settings of Claude Code and Codex. Never
 * touches the file system.
 *
 *	const struct pol_input in = {.name = "p.yaml", .text = text, .len = len};
 *	if (pol_front_parse(&in, &doc, &err) < 0) ...
 *
 * The content decides the language: an object in braces is JSON unless its keys are those of a
 * YAML document; a text whose first line is a `[table]` or `key =` is TOML; YAML with a key that
 * only OpenShell has, or a `version` and neither `kind` nor `schemaVersion`, is OpenShell's; all
 * else is Orbit's.
 */

struct pol_input {
	const char *name, *text;
	size_t len;
	enum pol_dialect dialect; /* POL_DIALECT_auto: by the content */
	/* Gets all that is wrong, a line each, where the language lists more than the first thing;
	 * NULL = not asked. */
	struct b_str *report;
};

/* B_POLICY, B_LIMIT. */
int pol_front_parse(const struct pol_input *, struct pol_doc *out, struct b_err *err);
/* The same as a tree, of the arena, whose keys nobody has looked at. */
int pol_front_tree(const struct pol_input *, struct b_arena *, struct pol_ynode **out,
		   struct b_err *err);
/* unchanged.c: two texts of one file, of which the later one may differ in rules on endpoints and
 * in its metadata. B_POLICY: in what else it differs, with the place. */
int pol_front_unchanged(const struct pol_input *was, const struct pol_input *is, struct b_err *err);
/* The language that the text seems to have, before it is read: srt, caliban, or auto, for all that
 * is YAML. */
enum pol_dialect pol_front_guess(const char *text, size_t len);
/* The word of --dialect, and the name in messages. */
const char *pol_dialect_word(enum pol_dialect);
const char *pol_dialect_name(enum pol_dialect);
/* Whether it is another system's document, which does not merge with others. */
bool pol_doc_is_foreign(const struct pol_doc *);

/*
 * Shared by the front-ends of other systems: each reads a tree into the structures of model.h. A
 * profile has the rules on the workspace, and the structures of `spec.sandbox` the rest. Private to
 * policy/front/.
 */

/* Each takes a tree in the document's arena. */
int pol_openshell_take(const struct pol_ynode *root, struct pol_doc *, struct b_str *report,
		       struct b_err *err);
int pol_srt_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
int pol_caliban_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);

/* agent_settings.c: the settings of Claude Code and of Codex; does the tree look like them? */
int pol_claude_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
int pol_codex_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
bool pol_claude_is(const struct pol_ynode *root);
bool pol_codex_is(const struct pol_ynode *root);

/* The document gets a name and its only profile, empty. */
struct pol_profile *pol_foreign_begin(struct pol_doc *, const struct pol_ynode *root,
				      enum pol_dialect);
void pol_foreign_rule(struct pol_doc *, struct pol_texts *, const char *rule, struct pol_pos);
void pol_foreign_set(struct pol_doc *, enum pol_setting, int value, struct pol_pos);
/* A path with everything below it, or with `is_literal` false a rule that may have wildcards. */
int pol_foreign_root(struct pol_front *, enum pol_root_list, const char *text, struct pol_pos,
		     bool is_literal);
void pol_foreign_loss(struct pol_doc *, const struct pol_pos *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A loss where rules on endpoints are not enforced, or the network is the host's. */
void pol_foreign_net_loss(struct pol_doc *, const struct pol_pos *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A loss where the command has the host's network; without any it is held. */
void pol_foreign_host_loss(struct pol_doc *, const struct pol_pos *, const char *key);
void pol_foreign_note(struct pol_doc *, const struct pol_pos *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A list of strings: calls `take` for each; an empty string is refused. `what` is for messages. */
int pol_foreign_strings(struct pol_front *, const struct pol_ynode *list, const char *what,
			int (*take)(struct pol_front *, const struct pol_ynode *item));
/* A boolean, *out only when it is one. */
int pol_foreign_bool(struct pol_front *, const struct pol_ynode *, const char *what, bool *out);
/* A whole number in [min, max]. */
int pol_foreign_number(struct pol_front *, const struct pol_ynode *, const char *what,
		       unsigned long long min, unsigned long long max, unsigned long long *out);
/* One of the words in "a|b|c": its index. */
int pol_foreign_word(struct pol_front *, const struct pol_ynode *, const char *what,
		     const char *words, int *out);
/* A list of strings that would be rules on the network: a loss where it says anything. */
int pol_foreign_host_rules(struct pol_front *, const struct pol_ynode *key,
			   const struct pol_ynode *value);
/* Keys whose value is checked and has no use here: strings, true or false, one string. */
int pol_foreign_texts(struct pol_front *, const struct pol_ynode *key,
		      const struct pol_ynode *value);
int pol_foreign_either(struct pol_front *, const struct pol_ynode *key,
		       const struct pol_ynode *value);
int pol_foreign_string(struct pol_front *, const struct pol_ynode *key,
		       const struct pol_ynode *value);
int pol_foreign_anything(struct pol_front *, const struct pol_ynode *key,
			 const struct pol_ynode *value);
/* foreign_net.c: rules on the network as entries of `connect`. A domain of srt; an address that no
 * name may resolve to; a proxy at a port of the host; `network_policies` of OpenShell. */
int pol_srt_domain(struct pol_front *, const struct pol_ynode *item, bool allow);
int pol_foreign_denied_address(struct pol_front *, const struct pol_ynode *item);
void pol_foreign_proxy(struct pol_front *, const struct pol_ynode *port);
void pol_openshell_connect(struct pol_front *, const struct pol_ynode *policies);
/* srt_values.c: a path of its, with its wildcards. srt_values.c. */
int pol_srt_path(struct pol_front *, const struct pol_ynode *item, enum pol_root_list);
int pol_srt_credentials(struct pol_front *, const struct pol_ynode *key,
			const struct pol_ynode *value);
/* openshell.c: empty and "." components gone; ".." stays, and is refused. Arena. */
const char *pol_openshell_path(struct b_arena *, const char *text);
/* openshell_net.c: `network_policies`, checked and kept; openshell_middlewares.c. */
int pol_openshell_network(struct pol_front *, const struct pol_ynode *key,
			  const struct pol_ynode *value);
/* openshell_http.c: whether requests of this endpoint are judged here: HTTP, and not left
 * encrypted. The rules on requests of an endpoint that was checked. Borrowed from the tree and the
 * arena. False: its protocol is not `rest`. */
bool pol_openshell_is_judged(const struct pol_ynode *endpoint);
bool pol_openshell_requests(struct b_arena *, const struct pol_ynode *endpoint,
			    struct pol_http_rules *out);
int pol_openshell_middlewares(struct pol_front *, const struct pol_ynode *key,
			      const struct pol_ynode *value);

/* Grants that srt and caliban have without an entry in the document: their front-ends add them, and
 * the conversion to them leaves them out. */

/* Readable in caliban; NULL-terminated. */
extern const char *const pol_caliban_readable[];
/* Writable in srt; NULL-terminated. */
extern const char *const pol_srt_writable[];
/* Not writable in srt, in the workspace and below; `allowGitConfig` takes the last out. */
enum { POL_SRT_DENIED = 15, POL_SRT_GIT_CONFIG = POL_SRT_DENIED - 1 };
extern const char *const pol_srt_denied[POL_SRT_DENIED];

/* Whether an entry of the list could be the path, or be below it. Only then may a path of srt be
 * modified that may not be read. */
bool pol_srt_may_hold(const struct pol_text *path, const struct pol_texts *list);

/* Front-end for Orbit v2 policy documents (YAML). */

/* Parses and validates. `name` is how messages call the text ("policy.yaml", "builtin:default").
 * Duplicate and unknown keys, anchors that nest or multiply beyond the limits, wrong types,
 * tabs, bad UTF-8: B_POLICY with file:line:col. Never touches the file system. */
int pol_orbit_parse(const char *name, const char *text, size_t len, struct pol_doc *out,
		    struct b_err *err);
/* The same of a tree (policy/front/tree.h), which lives as long as the document. */
int pol_orbit_take(const struct pol_ynode *root, struct pol_doc *out, struct b_err *err);
/* The same into an empty document, whose arena may hold the tree. */
int pol_orbit_take_in(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
