/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - removing a directory tree that a sandbox filled: its names, links, modes and depth are
 * hostile. Symbolic links are never followed. */
#pragma once

struct b_err;

/* Removes `path` and everything below; missing is fine. At most a fixed number of descriptors
 * is open at a time, however deep the tree. */
int b_tree_remove(const char *path, struct b_err *err);
/* Everything below it, and not itself. */
int b_tree_clear(const char *path, struct b_err *err);
/* The same of an open directory, whatever its path leads to by now. */
int b_tree_clear_at(int dir, struct b_err *err);
