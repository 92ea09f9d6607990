/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h - policy files: reading them, finding them by name, and trusting a project's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "policy/front/dialect.h"

struct b_err;
struct b_str;
struct pol_doc;

/*
 * The document of a request: which files it means, read, parsed and merged.
 *
 *	struct pol_doc doc = {0};
 *	const char *name;
 *	if (pol_documents_load(rq->policies, rq->npolicies, rq->dialect, &doc, &name, &err) < 0) ...
 *	pol_doc_release(&doc);
 *
 * Each text is a file, or the name of a policy in the store (documents.h), which may be two files.
 * Several merge, in order, as Orbit's merged(): pol_doc_merge(). None is the built-in default.
 */

/* *out_name (in the document's arena) is how messages call the whole: the files, or
 * "builtin:default". */
int pol_documents_load(const char *const *texts, size_t n, enum pol_dialect, struct pol_doc *out,
		       const char **out_name, struct b_err *err);
/* One file, with its path in doc->files. `report` as of dialect.h. */
int pol_document_read(const char *path, enum pol_dialect, struct b_str *report, struct pol_doc *out,
		      struct b_err *err);
/* Puts what the text of a file says on what was read before (nothing: as it is). B_POLICY: one of
 * the two is of another system. */
int pol_documents_put(const struct pol_input *, struct pol_doc *doc, struct b_err *err);
/* What messages call the whole, from the files in it; in the document's arena. */
const char *pol_documents_name(struct pol_doc *);

/* Reads policy files, checked for who can have written them: what is checked is what is
 * read, as one descriptor serves both. Never blocks on a FIFO. */

/* Appends the file to *out. B_POLICY, naming the file and the remedy: not a regular file, larger
 * than POL_MAX_FILE, writable by group or others, owned by a user who is neither root nor the
 * caller, unreadable, missing. */
int pol_policy_read(const char *path, struct b_str *out, struct b_err *err);
/* The same with another limit of bytes. */
int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err);
/* The host's: root's, and so is the directory it lies in. *out_there false: there is none. */
int pol_managed_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err);
/* A project's: anybody may have written it, so it may only tighten. No symlink. */
int pol_project_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err);

/*
 * Policies by name: NAME.yaml in the directory of the host and in that of the user.
 *
 *	struct pol_store store;
 *	pol_store_find(&arena, &store);
 *	if (pol_store_is_name(text))
 *		pol_store_files(&store, &arena, text, files, &n, &err);
 *
 * Where both have the name, the host's comes first and the user's is merged on it
 * (pol_doc_merge()). Only the user's is ever written.
 */

#define POL_STORE_PLACES 2

struct pol_store {
	const char *dirs[POL_STORE_PLACES]; /* host, user; NULL = none (no home) */
};

/* /etc/sbx-launch/policies, $XDG_CONFIG_HOME/sbx-launch/policies (~/.config). Arena. */
void pol_store_find(struct b_arena *, struct pol_store *out);

/* Is the text of --policy a name? A file is written with a slash or a dot: a name has neither, so
 * no file that lies about in the current directory is ever taken for one. */
bool pol_store_is_name(const char *text);

/* The files of that name, in the order of merging. B_POLICY: it is no name (checked before any
 * path is built), or there is none of it. */
int pol_store_files(const struct pol_store *, struct b_arena *, const char *name,
		    const char *out[POL_STORE_PLACES], size_t *out_n, struct b_err *err);
/* All names, once each, sorted. Entries that are no names are left out. Arena. */
int pol_store_list(const struct pol_store *, struct b_arena *, const char ***out, size_t *out_n,
		   struct b_err *err);
/* Puts a valid document into the user's directory, under its metadata.name, over what was there.
 * *out_path (arena) is where. */
int pol_store_add(const struct pol_store *, struct b_arena *, const char *file,
		  const char **out_path, struct b_err *err);

/*
 * Which project files the user lets say more than the policy says.
 *
 * A file is trusted by its path and its content: a change ends it. The list is a file of the
 * user's configuration, one `SHA-256  PATH` a line, which no command of ours may change.
 */

enum pol_trust { POL_UNTRUSTED, POL_TRUST_CHANGED, POL_TRUSTED };

/* `config` from pol_config_dir(), NULL = none; `path` canonical. A list that cannot be read, or
 * that others could have written, trusts nothing. */
enum pol_trust pol_trust_of(const char *config, const char *path, const char hash[B_SHA256_HEX]);
/* Trusts the file as it is now; hash NULL: no longer. */
int pol_trust_set(const char *config, const char *path, const char *hash, struct b_err *err);
/* The list as it stands. */
void pol_trust_list(const char *config, struct b_str *out);
