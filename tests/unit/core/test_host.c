/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/host.c and core/addresses.c: one spelling, and what an address is for. */
#include "core/host.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/tsv.h"

static const char *spelled(const char *text, size_t len)
{
	static struct sbx_host h;
	static char addr[SBX_ADDR_TEXT];

	if (sbx_host_parse(text, len, &h) == SBX_HOST_NAME) {
		cr_expect_eq(h.len, strlen(h.name));
		return h.name;
	}
	cr_expect_str_eq(h.name, "");
	if (h.kind != SBX_HOST_ADDRESS)
		return NULL;
	sbx_addr_text(&h.addr, addr);
	return addr;
}

static const struct {
	const char *text, *spelled; /* NULL: refused */
} spellings[] = {
	{"GitHub.COM", "github.com"},
	{"github.com.", "github.com"},
	{"a_b.example.org", "a_b.example.org"},
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"1.2.3.com", "1.2.3.com"},
	{"0xg.com", "0xg.com"},
	{"192.0.2.1", "192.0.2.1"},
	{"192.0.2.1.", "192.0.2.1"},
	{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
	{"[2001:db8::1]", "2001:db8::1"},
	{"::", "::"},
	{"::1", "::1"},
	{"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
	{"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
	{"::ffff:10.0.0.1", "::ffff:a00:1"},
	{"64:ff9b::10.0.0.1", "64:ff9b::a00:1"},
	{"", NULL},
	{".", NULL},
	{"a..b", NULL},
	{".a.b", NULL},
	{"a.b..", NULL},
	{"127.1", NULL},
	{"2130706433", NULL},
	{"0x7f000001", NULL},
	{"0x7f.1", NULL},
	{"a.0x7f", NULL},
	{"0177.0.0.1", NULL},
	{"127.0.0.01", NULL},
	{"127.0.0.256", NULL},
	{"1.2.3.4.5", NULL},
	{"example.5", NULL},
	{"user@example.org", NULL},
	{"a b.org", NULL},
	{"a/b.org", NULL},
	{"*.example.org", NULL},
	{"b\303\274cher.example", NULL},
	{"fe80::1%eth0", NULL},
	{"[::1", NULL},
	{"[192.0.2.1]", NULL},
	{"1::2::3", NULL},
	{"1:2:3:4:5:6:7:8:9", NULL},
	{"1:2:3:4:5:6:7", NULL},
	{"12345::", NULL},
	{":1", NULL},
	{"1:", NULL},
	{"::1.2.3", NULL},
};

Test(core_host, names_and_addresses_have_one_spelling)
{
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		const char *found = spelled(spellings[i].text, strlen(spellings[i].text));

		if (!spellings[i].spelled)
			cr_expect_null(found, "`%s` is `%s`", spellings[i].text, found);
		else
			cr_expect_str_eq(found ? found : "refused", spellings[i].spelled, "`%s`",
					 spellings[i].text);
	}
	cr_expect_null(spelled("github.com\0.evil.org", 20));
	cr_expect_null(spelled("::1\0", 4));
}

Test(core_host, lengths_have_limits)
{
	char label[70], name[300];

	memset(label, 'a', sizeof label);
	cr_expect_not_null(spelled(label, SBX_LABEL_MAX));
	cr_expect_null(spelled(label, SBX_LABEL_MAX + 1));
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 2 ? '.' : 'a';
	cr_expect_not_null(spelled(name, SBX_HOST_MAX));
	cr_expect_not_null(spelled(name, SBX_HOST_MAX + 1)); /* with the dot at the end */
	cr_expect_null(spelled(name, SBX_HOST_MAX + 2));
}

static enum sbx_addr_class class_of(const char *text)
{
	struct sbx_addr a;

	cr_assert(sbx_addr_parse(text, strlen(text), &a), "%s", text);
	return sbx_addr_class(&a);
}

/* "seed F / head T": the head binds. Rows -043 to -045 speak of multicast and of addresses inside
 * others, which are judged here. */
static bool expected(const struct tsv_row *row)
{
	const char *value = tsv_cell(row, "value");

	return strstr(value, "head T") || (value[0] == 'T' && value[1] == '\0');
}

Test(core_host, rows_of_addresses)
{
	static const char *const not_binding[] = {"-043", "-044", "-045"};
	struct tsv *t = tsv_load("tests/vectors/openshell_ssrf_ip.tsv");
	size_t asked = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		enum sbx_addr_class class = class_of(tsv_cell(row, "ip"));
		bool found = strcmp(tsv_cell(row, "predicate"), "internal") == 0
				     ? class != SBX_ADDR_PUBLIC
				     : sbx_addr_is_never(class);
		bool skip = false;

		for (size_t k = 0; k < 3; k++)
			skip |= strcmp(row->cells[0] + strlen("openshell_ssrf_ip"),
				       not_binding[k]) == 0;
		if (skip)
			continue;
		cr_expect_eq(found, expected(row), "%s %s", row->cells[0], tsv_cell(row, "ip"));
		asked++;
	}
	cr_expect_geq(asked, 30);
	tsv_free(t);
}

Test(core_host, the_address_inside_counts)
{
	static const struct {
		const char *text;
		enum sbx_addr_class class;
	} rows[] = {
		{"::ffff:127.0.0.1", SBX_ADDR_LOOPBACK},
		{"::127.0.0.1", SBX_ADDR_LOOPBACK},
		{"::ffff:0:127.0.0.1", SBX_ADDR_LOOPBACK},
		{"64:ff9b::127.0.0.1", SBX_ADDR_LOOPBACK},
		{"64:ff9b::8.8.8.8", SBX_ADDR_PUBLIC},
		{"64:ff9b:1::10.0.0.1", SBX_ADDR_PRIVATE},
		{"64:ff9b:1:7f00:0:100::", SBX_ADDR_UNSPECIFIED},
		{"2002:7f00:1::", SBX_ADDR_LOOPBACK},
		{"2002:a9fe:a9fe::", SBX_ADDR_METADATA},
		{"2001:0:1:2:3:4:80ff:fffe", SBX_ADDR_LOOPBACK},
		{"::5", SBX_ADDR_UNSPECIFIED},
		{"224.0.0.1", SBX_ADDR_MULTICAST},
		{"ff02::1", SBX_ADDR_MULTICAST},
		{"255.255.255.255", SBX_ADDR_BROADCAST},
		{"240.0.0.1", SBX_ADDR_BROADCAST},
		{"169.254.169.254", SBX_ADDR_METADATA},
		{"fd00:ec2::254", SBX_ADDR_METADATA},
		{"fd00::1", SBX_ADDR_PRIVATE},
		{"100.100.100.200", SBX_ADDR_METADATA},
		{"100.64.0.1", SBX_ADDR_SHARED},
		{"2001:4860::8888", SBX_ADDR_PUBLIC},
		{"fec0::1", SBX_ADDR_PRIVATE},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(sbx_addr_class_name(class_of(rows[i].text)),
				 sbx_addr_class_name(rows[i].class), "%s", rows[i].text);
}

Test(core_host, ranges)
{
	static const struct {
		const char *range, *addr;
		bool is_in;
	} rows[] = {
		{"10.0.0.0/8", "10.255.0.1", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"10.1.2.3/8", "10.9.9.9", true},
		{"0.0.0.0/0", "1.2.3.4", true},
		{"0.0.0.0/0", "::1", false},
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.0/31", "192.0.2.2", false},
		{"2001:db8::/33", "2001:db8:7fff::1", true},
		{"2001:db8::/33", "2001:db8:8000::1", false},
	};
	static const char *const bad[] = {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0/8",
					  "::/129",	 "x/8",	      "10.0.0.0/-1", "not-an-ip"};
	struct sbx_cidr c;
	struct sbx_addr a;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert(sbx_cidr_parse(rows[i].range, strlen(rows[i].range), &c));
		cr_assert(sbx_addr_parse(rows[i].addr, strlen(rows[i].addr), &a));
		cr_expect_eq(sbx_cidr_has(&c, &a), rows[i].is_in, "%s %s", rows[i].range,
			     rows[i].addr);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(sbx_cidr_parse(bad[i], strlen(bad[i]), &c), "%s", bad[i]);
}
