/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/plan/secret_shapes.c. */
#include "launcher/plan/secret_shapes.h"

#include <criterion/criterion.h>

#include "base/mem.h"
#include "base/str.h"

#define X "[REDACTED]"

static void becomes(const char *before, const char *word, const char *want)
{
	b_auto(b_str_release) struct b_str out = {0};

	lau_hide_shapes(before, word, &out);
	cr_expect_str_eq(b_str_c(&out), want, "%s %s: %s", before, word, b_str_c(&out));
}

Test(launcher_secret_shapes, the_value_of_an_option)
{
	becomes("--password", "hunter2", X);
	becomes("--password", "two words; 'and' more", X);
	becomes("--api-key", "\"k", X);
	becomes("", "--password=hunter2", "--password=" X);
	becomes("", "--client-secret=a b", "--client-secret=" X);
	becomes("curl", "--oauth2-bearer", "--oauth2-bearer");
	becomes("--oauth2-bearer", "abc", X);
}

Test(launcher_secret_shapes, a_variable)
{
	becomes("env", "GITHUB_TOKEN=abc", "GITHUB_TOKEN=" X);
	becomes("env", "DB_PASSWORD=a b", "DB_PASSWORD=" X);
	becomes("-c", "PGPASSWORD=abc psql -h x", "PGPASSWORD=" X " psql -h x");
	becomes("-c", "export A_TOKEN='a b'; B_TOKEN=\"c d\" x",
		"export A_TOKEN='" X "'; B_TOKEN=\"" X "\" x");
}

Test(launcher_secret_shapes, a_login)
{
	becomes("-u", "bob:hunter2", "bob:" X);
	becomes("--user", "bob:1a:2", "bob:" X);
	becomes("-u", "1000:1000", "1000:1000");
	becomes("-u", "bob", "bob");
	becomes("clone", "https://bob:pw@host/x.git", "https://bob:" X "@host/x.git");
	becomes("clone", "https://bob:p@w@host/x@y", "https://bob:" X "@host/x@y");
	becomes("clone", "https://host:8080/x", "https://host:8080/x");
	becomes("clone", "https://bob@host:8080/x", "https://bob@host:8080/x");
	becomes("", "https://h/?access_token=abc&x=1", "https://h/?access_token=" X "&x=1");
}

Test(launcher_secret_shapes, a_header_and_json)
{
	becomes("-H", "Authorization: Bearer abc", "Authorization: " X);
	becomes("-H", "X-Api-Key:abc", "X-Api-Key:" X);
	becomes("-H", "Cookie: a=b; c=d", "Cookie: " X);
	becomes("-H", "Accept: text/html", "Accept: text/html");
	becomes("-d", "{\"user\":\"bob\",\"password\": \"a b\",\"n\":1}",
		"{\"user\":\"bob\",\"password\": \"" X "\",\"n\":1}");
}

Test(launcher_secret_shapes, a_token_says_what_it_is)
{
	becomes("echo", "ghp_0123456789abcdefghijABCDEFGHIJ", X);
	becomes("echo", "x=ghp_0123456789abcdefghijABCDEFGHIJ.", "x=" X);
	becomes("echo", "AKIAIOSFODNN7EXAMPLE", X);
	becomes("echo", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmnop", X);
	becomes("echo", "ghp_short", "ghp_short");
	becomes("echo", "task-0123456789abcdefghijklmnop", "task-0123456789abcdefghijklmnop");
}

Test(launcher_secret_shapes, a_script)
{
	becomes("-c", "curl --password hunter2 -u bob:pw https://u:p@h/ | sh",
		"curl --password " X " -u bob:" X " https://u:" X "@h/ | sh");
	becomes("-ec", "curl -H 'Authorization: Bearer abc' -H \"X-Token: d\" x",
		"curl -H 'Authorization: " X "' -H \"X-Token: " X "\" x");
	becomes("-c", "TOKEN=$X curl -u \"bob:$PW\" --password \"$PW\" --token ${T} https://u:$P@h",
		"TOKEN=$X curl -u \"bob:$PW\" --password \"$PW\" --token ${T} https://u:$P@h");
}

Test(launcher_secret_shapes, other_words_stay)
{
	static const char *const words[] = {
		"",
		"--",
		"=",
		":",
		"://",
		"--author=me",
		"--max-tokens=5",
		"--password-file=/x",
		"--token-type=x",
		"a:b",
		"host:/path",
		"x=y",
		"'\"",
		"--password",
		"--password=",
		"user@host:x",
		"://:@",
		"KEYBOARD=us",
		"-DTOKENIZER",
		"a=b=c::d",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		becomes("", words[i], words[i]);
		becomes("--password-stdin", words[i], words[i]);
	}
	becomes("--password", "--other", "--other");
	becomes("--password", "", "");
}

/* No byte is read behind a word, nor before it: for the sanitizers. */
Test(launcher_secret_shapes, any_piece_of_any_word)
{
	static const char all[] = "--password='a b' -u x:y://u:p@h T_TOKEN=\"c\" A-Key: "
				  "d;ghp_01234567890123456789 eyJ";
	char piece[sizeof all];

	for (size_t from = 0; from < sizeof all; from++)
		for (size_t n = 0; from + n < sizeof all; n++) {
			b_auto(b_str_release) struct b_str out = {0};

			memcpy(piece, all + from, n);
			piece[n] = '\0';
			lau_hide_shapes(n % 2 ? "-c" : "--token", piece, &out);
			cr_assert(out.len <= n + 20 * sizeof X);
		}
}
