/* ask_macos.c - the profile for macOS that the options make, shown and asked. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/engine.h"
#include "sbpl/ops.h"
#include "sbpl/program.h"
#include "sbpl/sbpl.h"

struct ask_macos {
	struct sbpl_profile profile;
	struct sbpl_program *program;
	struct b_arena arena;
};

static int compile(const struct ask_opts *o, const struct asked *a, struct sbpl_profile *out,
		   struct b_err *err)
{
	const struct pol_engine *engine = a->plan.engine;
	struct sbpl_opts opts = sbpl_opts_of(&engine->effect);

	sbpl_opts_add(&opts, &a->dirs.layers.main.settings, a->dirs.layers.n > 0);
	opts.own_sockets = a->dirs.scratch.path;
	opts.style = (enum sbpl_style)o->style;
	opts.orbit = (struct sbpl_orbit_env){
		.home = getenv("HOME"),
		.codex_home = getenv("CODEX_HOME"),
		.claude_config_dir = getenv("CLAUDE_CONFIG_DIR"),
		.grok_home = getenv("GROK_HOME"),
	};
	return sbpl_compile(&engine->rules, &engine->image, &opts, out, err);
}

int ask_macos_show(const struct ask_opts *o, const struct asked *a, struct b_str *out,
		   struct b_err *err)
{
	struct sbpl_profile prof;

	if (compile(o, a, &prof, err) < 0)
		return -1;
	sbpl_profile_show(&prof, out);
	sbpl_profile_release(&prof);
	return 0;
}

int ask_macos_new(const struct ask_opts *o, const struct asked *a, struct ask_macos **out,
		  struct b_err *err)
{
	struct ask_macos *m = b_calloc(1, sizeof *m);
	struct sbpl_source source = {.name = "profile"};

	if (compile(o, a, &m->profile, err) < 0) {
		free(m);
		return -1;
	}
	source.text = m->profile.text;
	source.len = m->profile.len;
	source.params = m->profile.params;
	source.nparams = m->profile.nparams;
	if (sbpl_program_new(&source, &m->program, err) < 0) {
		ask_macos_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void ask_macos_free(struct ask_macos *m)
{
	if (!m)
		return;
	if (m->program)
		sbpl_program_free(m->program);
	sbpl_profile_release(&m->profile);
	b_arena_release(&m->arena);
	free(m);
}

/* Line `n` of the profile, from 1, without what follows the form. */
static const char *line_text(struct ask_macos *m, unsigned n)
{
	const char *p = m->profile.text;
	size_t len;

	while (n-- > 1) {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	len = strcspn(p, "\n");
	return b_arena_strndup(&m->arena, p, len);
}

bool ask_macos_allows(struct ask_macos *m, enum sbx_op op, const char *path, unsigned *out_line,
		      const char **out_text)
{
	const char *there = sbpl_canonical_path(&m->arena, path);
	const struct sbpl_question q = {
		.op = sbpl_op_find(sbpl_op_of(op)), .path = there, .len = strlen(there)};
	bool allowed = sbpl_program_allows(m->program, &q, out_line);

	*out_text = *out_line ? line_text(m, *out_line) : "";
	return allowed;
}

void ask_macos_exceptions(struct ask_macos *m, const char *path, ask_macos_exception *tell,
			  void *ctx)
{
	static const struct {
		const char *op, *file, *directory;
	} asked[] = {
		{"file-write-create", "may not be made", "may not be made as a directory"},
		{"file-write-unlink", "may not be moved or removed",
		 "may not be moved or removed if a directory"},
	};
	const char *there = sbpl_canonical_path(&m->arena, path);

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct sbpl_question q = {.op = sbpl_op_find(asked[i].op),
					  .path = there,
					  .len = strlen(there),
					  .vnode = SBPL_V_REGULAR_FILE};
		const char *what = asked[i].file;
		unsigned line;

		if (sbpl_program_allows(m->program, &q, &line)) {
			q.vnode = SBPL_V_DIRECTORY;
			what = asked[i].directory;
			if (sbpl_program_allows(m->program, &q, &line))
				continue;
		}
		tell(ctx, what, line, line ? line_text(m, line) : "");
	}
}
