/*
 * normalise.h - one name, several spellings: Unicode's canonical forms. A file system that
 * compares them alike (APFS) still hands out the bytes a name was made with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;

/* Appends the text decomposed (NFD), or composed (NFC). False, nothing appended: no well-formed
 * UTF-8. */
bool b_normalise(const char *s, size_t len, bool composed, struct b_str *out);
