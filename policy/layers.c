/* layers.c - see layers.h. */
#include "policy/layers.h"

#include "base/err.h"
#include "policy/bundle.h"
#include "policy/documents.h"
#include "policy/engine.h"

int pol_layers_load(const struct pol_request *rq, const char *const *workspaces, size_t nworkspaces,
		    struct pol_layers *out, struct b_err *err)
{
	const struct pol_said nothing = pol_said_nothing();
	struct pol_layers l = {0};

	(void)workspaces;
	(void)nworkspaces;
	if ((rq->bundle ? pol_bundle_documents(rq->bundle, &l.main, &l.main_name, err)
			: pol_documents_load(rq->policies, rq->npolicies, &l.main, &l.main_name,
					     err)) < 0)
		return -1;
	if (pol_settings_settle(&l.main.settings, NULL, 0, rq->said ? rq->said : &nothing,
				l.main.files.n > 0, &l.effect, err) < 0) {
		pol_layers_release(&l);
		return -1;
	}
	*out = l;
	return 0;
}

void pol_layers_release(struct pol_layers *l)
{
	pol_doc_release(&l->main);
	*l = (struct pol_layers){0};
}
