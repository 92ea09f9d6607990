/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.c - asks a policy before acting, as a tool would: decide POLICY PROFILE WORKSPACE, then
 * questions "read PATH" or "modify PATH" on standard input, an answer for each.
 *
 *	cc decide.c $(pkg-config --cflags --libs sbx) -o decide
 */
#include <sbx.h>
#include <stdio.h>
#include <string.h>

static int answer(struct sbx_policy *policy, const char *word, const char *path)
{
	enum sbx_policy_operation op =
		strcmp(word, "modify") == 0 ? SBX_POLICY_MODIFY : SBX_POLICY_READ;
	struct sbx_decision d = sbx_policy_decide(policy, op, path);
	struct sbx_answer a;

	if (!d.allow) {
		printf("deny %s: %s\n", path, d.reason);
		return 1;
	}
	if (sbx_policy_check(policy, op, path, &a, NULL) < 0)
		return 1;
	printf("allow %s: profile %s, rule %s (%s)\n", a.path, a.profile, a.matched_rule, a.rule);
	return 0;
}

int main(int argc, char **argv)
{
	struct sbx_load how = {0};
	struct sbx_policy *policy;
	struct sbx_error err;
	char line[4096], *path;
	int denied = 0;

	if (argc > 1)
		how.policy = argv[1];
	if (argc > 2)
		how.profile = argv[2];
	if (argc > 3)
		how.workspace = argv[3];
	if (sbx_policy_load(&how, &policy, &err) < 0) {
		fprintf(stderr, "decide: %s: %s\n", err.code, err.message);
		return 2;
	}
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		path = strchr(line, ' ');
		if (!path)
			continue;
		*path++ = '\0';
		denied |= answer(policy, line, path);
	}
	sbx_policy_free(policy);
	return denied;
}
