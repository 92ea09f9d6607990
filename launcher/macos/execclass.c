/* execclass.c - see launcher/execclass.h. */
#include "launcher/execclass.h"

#include <stdlib.h>

#include "launcher/macos/target.h"

enum sbx_exec_class lau_exec_class(const char *file)
{
	char name[] = "x", *argv[] = {name, NULL};
	enum sbx_exec_class cls;
	struct lau_target t;

	lau_target_find(file, argv, getenv("PATH"), &t);
	cls = t.cls;
	lau_target_release(&t);
	return cls;
}
