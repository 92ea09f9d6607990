/* host.c - see launcher/host.h: what this Mac can do. */
#include "launcher/host.h"

#include <stddef.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "launcher/macos/release.h"
#include "launcher/macos/seatbelt.h"

unsigned lau_macos_release(void)
{
	char text[32] = "";
	size_t n = sizeof text - 1;
	unsigned major = 0, minor = 0, *part = &major;

	if (sysctlbyname("kern.osproductversion", text, &n, NULL, 0) != 0)
		return 0;
	for (const char *p = text; *p; p++) {
		if (*p == '.' && part == &minor)
			break;
		if (*p == '.')
			part = &minor;
		else if (*p < '0' || *p > '9' || *part > 99)
			return 0;
		else
			*part = *part * 10 + (unsigned)(*p - '0');
	}
	return major * 100 + minor;
}

void lau_host_quick(struct lau_host *h)
{
	*h = (struct lau_host){.is_root = geteuid() == 0};
}

void lau_host_probe(struct lau_host *h)
{
	lau_host_quick(h);
}

void lau_host_show(const struct lau_host *h, bool json, bool colour, struct b_str *out)
{
	unsigned release = lau_macos_release();
	struct b_err err = {.kind = B_OK};
	bool has = lau_seatbelt_probe(LAU_BACKEND_SANDBOX_EXEC, &err) == 0;

	(void)h, (void)colour;
	if (json) {
		struct b_json j = {.out = out};

		b_json_open(&j, '{');
		b_json_key(&j, "macos");
		b_json_u64(&j, release);
		b_json_key(&j, "seatbelt");
		b_json_bool(&j, has);
		if (!has) {
			b_json_key(&j, "why");
			b_json_str(&j, err.msg);
		}
		b_json_close(&j, '}');
		b_str_addc(out, '\n');
		return;
	}
	b_str_addf(out, "macOS     %u.%u\n", release / 100, release % 100);
	b_str_addf(out, "seatbelt  %s%s\n", has ? "yes" : "NO: ", has ? "" : err.msg);
}
