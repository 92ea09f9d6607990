/* account.c - see base/account.h: getpwuid(3) of macOS asks a daemon and loads nothing. */
#include "base/account.h"

#include <pwd.h>
#include <stddef.h>

#include "base/str.h"

bool b_account_home(uid_t uid, struct b_str *out)
{
	const struct passwd *pw = getpwuid(uid);

	if (!pw || pw->pw_dir[0] != '/')
		return false;
	b_str_add(out, pw->pw_dir);
	return true;
}
