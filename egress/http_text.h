/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_text.h - parts of a head of HTTP/1: the words that proxy_head.c and http_head.c read alike.
 * Values only; the bytes are the command's, or a server's, and both may be the attacker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host.h"

/* Borrowed from the head; not NUL-terminated. */
struct egr_text {
	const char *s;
	size_t n;
};

/* The same bytes; the same but for the case of letters. */
bool egr_is_word(struct egr_text, const char *word);
bool egr_is_name(struct egr_text, const char *word);
/* `token` of RFC 9110: at least one character, none that separates. */
bool egr_is_token(struct egr_text);
/* Up to the character, which is taken away, too; false: it is not there, nothing is changed. */
bool egr_cut(struct egr_text *from, char at, struct egr_text *out);
/* Without blanks and tabs at both ends. */
struct egr_text egr_trim(struct egr_text);

/* "host:port", "[address]:port"; without a port *out_port stays as it is. *out_host may be of a
 * kind that is no host: that is for who decides. False: no host, or not a port. */
bool egr_read_authority(struct egr_text, struct sbx_host *out_host, uint16_t *out_port);
