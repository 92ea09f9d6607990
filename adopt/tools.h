/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h - programs that start commands of others and can be told by what: one table. Which file
 * says it, and which lines; setup_tool.c knows no tool by name. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct b_err;
struct b_strlist;

/* The words from which a tool makes its lines. */
struct ad_tool_words {
	const struct b_strlist *launcher; /* its path, then options */
	const char *shell;		  /* sbx-shell beside it, or NULL where there is none */
	const char *helper;		  /* where helpers lie: a directory */
};

struct ad_tool {
	const char *name;
	/* The user's file: what a variable names; below the directory that a variable names; below
	 * the home, the first that is there, else the first. None: a project's alone. */
	const char *variable, *variable_dir, *below_dir;
	const char *user[2];
	/* Below the current directory: the first that is there, else the first. */
	const char *project[3];
	bool is_many;	   /* project[0] is a directory: each *.yml and *.yaml in it */
	bool must_be;	   /* a project's file is not made where it is not there */
	bool is_top;	   /* the lines stand at the top */
	const char *taken; /* a key that must not stand in the file otherwise */
	/* A program that the lines name, in a directory of the user's. */
	bool (*needs_helper)(const struct ad_tool_words *);
	const char *const *helpers; /* their names */
	void (*add_helper)(const struct ad_tool_words *, struct b_str *out);
	/* `text`: the file without our lines. B_USAGE: what it says leaves no place for them. */
	int (*add_lines)(const struct ad_tool_words *, const char *text, struct b_str *out,
			 struct b_err *err);
	const char *kept; /* a key whose lines go their own way: counted in a note */
	const char *note;
};

extern const struct ad_tool ad_tools[];
extern const size_t ad_ntools;

/* NULL: no such tool. */
const struct ad_tool *ad_tool_find(const char *name);
