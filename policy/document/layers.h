/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - the documents of a run, and the settings that follow from all of them.
 *
 *	struct pol_layers layers = {0};
 *	if (pol_layers_load(&rq, workspaces, n, &layers, &err) < 0) ...
 *	rq.layers = &layers;			(else pol_engine_new() loads them itself)
 *	pol_layers_release(&layers);
 *
 * The main document is the user's: --policy, else the built-in default. The host's managed
 * document and the `.sbx-launch.yaml` of each workspace are further layers: all must allow, and
 * their settings only tighten. A project file that the user trusts as it is (trust.h) is not a
 * layer: it is merged onto the main document, as Orbit merges a workspace's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/document/model.h"
#include "policy/document/settings.h"
#include "policy/rules/workspace.h"

struct b_err;
struct pol_request;

#define POL_HOST_DIR	 "/etc/sbx-launch"
#define POL_MANAGED_FILE POL_HOST_DIR "/policy.yaml"
#define POL_BUNDLE_KEY	 POL_HOST_DIR "/bundle.pub"
#define POL_PROJECT_FILE ".sbx-launch.yaml"

struct pol_layer {
	unsigned number;   /* enum pol_layer_number, and further */
	const char *label; /* in front of the origins of its rules: "managed:", "project:" */
	bool is_managed;   /* the host's, or a signed one: it asks for nothing */
	struct pol_doc doc;
	size_t first_ws, end_ws; /* the workspaces that it speaks of */
};

struct pol_layers {
	struct b_arena arena;
	struct pol_doc main;
	const char *main_name; /* how messages call it */
	struct pol_layer *v;   /* beside it, by number: a managed one is the first */
	size_t n, cap;
	/* Directories that the default workspace lies in (pol_workspace_above): the documents deny
	 * there, and open nothing. Behind the workspaces, by number. */
	const char *above[POL_ABOVE_MAX];
	size_t nabove;
	struct pol_effect effect;
	const char **notices; /* lines for the person */
	size_t nnotices, notices_cap;
};

/* Appends a line for the person, which lives as long as the layers. */
void pol_layers_tell(struct pol_layers *, const char *line);
/* trust.c: pol_config_dir(), where the list of what is trusted lies; NULL, with a line: in a
 * workspace, or a link there leads to it, so that an earlier run that had its own elsewhere may
 * have made it. */
const char *pol_trust_place(struct pol_layers *, const char *const *workspaces, size_t n);
/* `workspaces` canonical. *out is released by pol_layers_release() on success. */
int pol_layers_load(const struct pol_request *, const char *const *workspaces, size_t nworkspaces,
		    struct pol_layers *out, struct b_err *err);
void pol_layers_release(struct pol_layers *);
