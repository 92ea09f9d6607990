/*
 * foreign.h - what the front-ends of other systems share: each reads a tree into the shapes of
 * model.h. A profile holds what is said of the workspace, `spec.sandbox` shapes the rest. Private
 * to policy/front/.
 */
#pragma once

#include "policy/front/keys.h"
#include "policy/front/yaml.h"
#include "policy/model.h"

/* Each takes a tree in the document's arena. */
int pol_openshell_take(const struct pol_ynode *root, struct pol_doc *, struct b_str *report,
		       struct b_err *err);
int pol_srt_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
int pol_caliban_take(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);

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
/* srt_paths.c: a path of its, with its wildcards. srt_credentials.c. */
int pol_srt_path(struct pol_front *, const struct pol_ynode *item, enum pol_root_list);
int pol_srt_credentials(struct pol_front *, const struct pol_ynode *key,
			const struct pol_ynode *value);
/* openshell.c: empty and "." components gone; ".." stays, and is refused. Arena. */
const char *pol_openshell_path(struct b_arena *, const char *text);
/* openshell_net.c: `network_policies`, checked and kept; a loss where there are any. */
int pol_openshell_network(struct pol_front *, const struct pol_ynode *key,
			  const struct pol_ynode *value);
int pol_openshell_middlewares(struct pol_front *, const struct pol_ynode *key,
			      const struct pol_ynode *value);
