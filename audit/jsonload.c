/* jsonload.c - see jsonload.h. */
#include "audit/jsonload.h"

json_t *aud_json_load(const char *s, size_t len, json_error_t *out_why)
{
	json_t *j = json_loadb(s, len, JSON_REJECT_DUPLICATES, out_why);

	if (j || json_error_code(out_why) != json_error_numeric_overflow)
		return j;
	return json_loadb(s, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, out_why);
}

int64_t aud_json_int(const json_t *v, int64_t fallback)
{
	double d;

	if (json_is_integer(v))
		return json_integer_value(v);
	if (!json_is_real(v))
		return fallback;
	d = json_real_value(v);
	if (d >= 0x1p63)
		return INT64_MAX;
	return d <= -0x1p63 ? INT64_MIN : (int64_t)d;
}
