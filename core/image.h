/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the operations a rule speaks of (sbx-policy(5)). The order is part of the image format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_op {
	SBX_READ,    /* open for reading, list a directory, read xattrs */
	SBX_MODIFY,  /* open for writing, create, remove, rename (both ends), metadata, bind */
	SBX_EXEC,    /* execve */
	SBX_CONNECT, /* connect to a socket path */
	SBX_OP_COUNT
};

/* "read", "modify", "exec", "connect": static strings. [AS-safe] */
const char *sbx_op_name(enum sbx_op op);

/*
 * The compiled policy: one flat, versioned, position-independent file.
 *
 * Written by policy/compile/image.c, mapped read-only by every process of a run, walked
 * by core/decide.c only. Little-endian, all offsets from the start of the file, all
 * sections 8-aligned. Equal rulesets give equal bytes.
 *
 * A verdict automaton answers allow/deny in one table step per byte. The deciding rule is
 * named by a hash table of literal rules and by attribution automata of the others: the
 * largest rule number counts.
 *
 * Path spelling inside the automata: "" is the root directory, "/a/b" everything else.
 */

#define SBX_IMAGE_MAGIC	  UINT64_C(0x31474d4958425301) /* "\1SBXIMG1" */
#define SBX_IMAGE_VERSION 9u

/* Flags of a state of a verdict automaton. */
#define SBX_ST_ALLOW	 0x01u /* a path ending here is allowed */
#define SBX_ST_SLASH	 0x02u /* the last byte was '/': no path ends here */
#define SBX_ST_ALL_ALLOW 0x04u /* every canonical path that goes on from here is allowed */
#define SBX_ST_ALL_DENY	 0x08u /* every canonical path that goes on from here is denied */

struct sbx_dfa {
	uint32_t start;
	uint32_t nstates;
	uint32_t nsettled; /* states below this number: what follows cannot change the answer */
	uint32_t nclasses;
	uint32_t shift; /* a row of the table has 1 << shift entries, >= nclasses */
	uint32_t width; /* bytes per table entry: 2 or 4 */
	uint32_t
		scaled; /* an entry is next state << scaled, 0..shift: the walk need not multiply */
	uint32_t classes; /* offset: uint8_t[256], byte -> class */
	uint32_t table;	  /* offset: entry[nstates << shift]; 256 readable entries follow */
	uint32_t flags;	  /* offset: uint8_t[nstates]; 0 in attribution automata */
	/* Attribution automata, offsets, uint32_t[nstates] of rule index + 1 or 0; of all that the
	 * walk meets the largest counts. */
	uint32_t labels;  /* the last rule that matches a path ending here */
	uint32_t latches; /* the last rule that matches every path that comes here */
	uint32_t last;	  /* the largest of all */
	/* Automata of folded denials: offset, uint32_t[nstates], the largest that a path can meet
	 * which goes on from here. 0 in the others. */
	uint32_t reach;
	uint32_t pad;
};

/*
 * The data that names the deciding rule. A policy may be several documents that must all allow, in
 * layers: each has its own last matching rule, and the first layer that denies counts.
 */
struct sbx_image_layer {
	uint32_t groups; /* offset: struct sbx_dfa[ngroups], by `last`, largest first */
	uint32_t ngroups;
	uint32_t first_rule; /* of the layer, among those of the operation */
	uint32_t nrules;
	/* Rules that are one path, or one and all below it, named without an automaton. */
	uint32_t literals;  /* offset: struct sbx_image_literal[nliterals], a hash table */
	uint32_t nliterals; /* a power of two, or 0 */
	uint32_t seed;	    /* of sbx_literal_start() */
	uint32_t is_main;   /* this layer names the rule when all layers allow */
	/* Rules that deny, once more, by their folded text (core/fold.h); nothing in an image that
	 * was made where no file system folds names. */
	struct {
		uint32_t groups; /* offset: struct sbx_dfa[ngroups], by `last`, largest first */
		uint32_t ngroups;
		uint32_t names;	 /* offset: struct sbx_image_name[nnames], a hash table */
		uint32_t nnames; /* a power of two, more than are used; or 0 */
		uint32_t wide;	 /* the last that names other characters than ASCII, + 1 */
		uint32_t pad;
	} folded;
};

#define SBX_LAYERS_MAX 8

struct sbx_image_op {
	struct sbx_dfa verdict; /* of all layers */
	uint32_t first_rule;	/* index of this operation's first rule in the rule table */
	uint32_t nrules;
	uint32_t has_positive; /* 0: "[]" is the sentinel of an unmatched path, else "<no matching
				  rule>" */
	uint32_t nlayers;
	struct sbx_image_layer layer[SBX_LAYERS_MAX];
};

struct sbx_image_str {
	uint32_t off, len; /* NUL follows, not counted */
};

/* The last rules of each shape for a path; in a free slot both are 0. */
struct sbx_image_literal {
	struct sbx_image_str path; /* "" = the root directory */
	uint32_t exact, tree;	   /* rule index + 1, 0 = none */
};

/* A folded path that literal rules deny, or a directory above one. By its hash alone: another path
 * of the same hash is denied, never allowed. In a free slot `reach` is 0. */
struct sbx_image_name {
	uint64_t hash;
	uint32_t exact, tree; /* rule index + 1, 0 = none */
	uint32_t reach;	      /* the last of those at it and below, + 1 */
	uint32_t pad;
};

#define SBX_LITERAL_PROBES 16 /* the slot of a path is one of so many, without a gap */

/* The hash of a path, a byte at a time (FNV-1a). */
static inline uint64_t sbx_literal_start(uint32_t seed)
{
	return UINT64_C(0xcbf29ce484222325) + seed;
}
static inline uint64_t sbx_literal_step(uint64_t h, unsigned char byte)
{
	return (h ^ byte) * UINT64_C(0x100000001b3);
}
static inline uint32_t sbx_literal_slot(uint64_t h)
{
	return (uint32_t)(h ^ h >> 32);
}

struct sbx_image_rule {
	struct sbx_image_str matched; /* normalised rule, without '!' */
	struct sbx_image_str origin;  /* "file:line:col", "builtin:base:3", "cli:--read:1" */
	uint32_t allow;
	uint32_t pad;
};

/* A directory symlink of the system that paths often pass through (/bin -> /usr/bin),
 * resolved at launch, so that the shim need not ask the kernel. Longest first. */
struct sbx_image_alias {
	struct sbx_image_str from, to;
};

/*
 * Rules on endpoints of the network (connect.h), which are in the rule table behind those of the
 * operations. Each layer is a few parts, each an ordered list of its own for some ports and some
 * programs; of all parts that hold the largest rule counts. Within a part a host is a path, and
 * rules on hosts are rules on paths:
 *
 *	api.example.com   /n/com/example/api	      itself
 *	*.example.com	  /n/com/example/\*	      itself; asked for beside the name
 *	**.example.com	  /n/com/example	      what is below it, not itself
 *	10.0.0.0/8	  /4/0/a		      what is below it: hexadecimal digits
 *
 * In the part of single ports the port stands in front: /:01bb/n/com/example.
 */
struct sbx_image_net_part {
	struct sbx_image_layer rules; /* first_rule, is_main and folded are not used */
	uint32_t map;	    /* offset: uint32_t[rules.nrules], a rule's place in `facts` */
	uint32_t by;	    /* programs: index in `bys` + 1; 0 = all */
	uint16_t low, high; /* ports */
	uint32_t is_single; /* the part of single ports */
};

struct sbx_image_net_layer {
	uint32_t first_part, nparts;
	uint32_t is_main;
	uint32_t is_open;    /* its document leaves the network open */
	uint32_t is_watched; /* what it denies passes, and is recorded: SBX_CONNECT would_deny */
	uint32_t pad;
};

/* Properties of a rule on endpoints besides its text. */
#define SBX_NET_EXACT  0x1u /* one name: private addresses may be its */
#define SBX_NET_SHUT   0x2u /* opens no address of a class that is never open */
#define SBX_NET_LISTED 0x4u /* addresses must be in `places` */
#define SBX_NET_NAME   0x8u /* on names */
#define SBX_NET_HOSTS                                                                              \
	0x10u /* ports of the loopback interface, said by their numbers: the host's                \
	       */
struct sbx_image_net_rule {
	uint32_t flags;
	uint32_t first_place, nplaces;
	uint16_t low, high; /* ports */
	uint32_t requests;  /* the set of rules on requests that it has + 1 (request.h); 0 = none */
};

/* Rules on requests (request.h): records that name each other by indices. */
struct sbx_request_text {
	uint32_t at, len; /* bytes of `text` */
};

struct sbx_request_glob {
	uint32_t first_op, nops;
	uint32_t first_range, nranges;
	uint32_t separator;
};

struct sbx_request_param {
	struct sbx_request_text key;
	uint32_t first_glob, nglobs; /* one of them */
};
#define SBX_REQUEST_PARAMS 32u /* of a rule */

struct sbx_request_rule {
	uint32_t allow;
	struct sbx_request_text method; /* empty: all */
	uint32_t first_glob, nglobs;	/* of paths, one of them; 0: all */
	uint32_t first_param, nparams;	/* all of them */
	/* For events and answers: "GET /repos/x", "file:line:col". */
	struct sbx_request_text matched, origin;
};

/* The rules of one endpoint. */
struct sbx_request_set {
	uint32_t first_rule, nrules;
	uint32_t flags;
	struct sbx_request_text name; /* of the network policy it is of; empty: it has none */
};
#define SBX_REQUEST_AUDIT   0x1u /* what no rule allows is recorded, and passes */
#define SBX_REQUEST_SLASHES 0x2u /* "%2F" may be in a path: SBX_TARGET_SLASHES */
#define SBX_REQUEST_NO_TLS  0x4u /* encrypted requests are not opened, and are refused */

/* Their arrays, offsets; ranges are struct sbx_glob_range, ops uint32_t (text_glob.h). */
struct sbx_image_requests {
	uint32_t sets, nsets, rules, nrules, params, nparams, globs, nglobs;
	uint32_t ranges, nranges, ops, nops, text, ntext;
	uint32_t first_rule; /* of `rules`, in the rule table: what events name */
	uint32_t pad;
};

/* A pattern of programs: a file that was there at the start, or a pattern of paths (one rule). */
struct sbx_image_program {
	uint64_t dev, ino; /* both 0: go by `rules` alone; else these have its path */
	struct sbx_image_layer rules;
};
#define SBX_PROGRAMS_MAX 256 /* patterns of programs in an image */
struct sbx_image_by {
	uint64_t bit[SBX_PROGRAMS_MAX / 64]; /* any of these patterns */
};

struct sbx_image_net {
	uint32_t first_rule, nrules; /* in the rule table */
	uint32_t facts;		     /* offset: struct sbx_image_net_rule[nrules] */
	uint32_t parts, nparts;	     /* struct sbx_image_net_part[], by layer */
	uint32_t programs, nprograms;
	uint32_t bys, nbys;
	uint32_t places, nplaces;   /* struct sbx_cidr[], of `allowed_ips` */
	uint32_t trusted, ntrusted; /* struct sbx_cidr[]: treated as public */
	uint32_t ports, nports;	    /* uint16_t[]: where an answer may change; the first is 1 */
	uint32_t nlayers;	    /* 0: nothing is open */
	uint32_t pad;
	struct sbx_image_requests requests;
	struct sbx_image_net_layer layer[SBX_LAYERS_MAX];
};

struct sbx_image_header {
	uint64_t magic;
	uint32_t version;
	uint32_t size;	   /* of the whole file */
	uint64_t checksum; /* sbx_image_checksum() */
	struct sbx_image_op op[SBX_OP_COUNT];
	struct sbx_image_net net;
	uint32_t rules, nrules;	    /* struct sbx_image_rule[] */
	uint32_t aliases, naliases; /* struct sbx_image_alias[] */
	struct sbx_image_str profile;
	uint32_t on_error; /* what the shim answers on an internal failure: 0 pass to the floor, 1
			      deny */
	uint32_t folds;	   /* 1: it has folded denials, for file systems that fold names */
	uint32_t inside;   /* 1: of a run inside a run, whose rules are those of both */
	uint32_t unused;
};

struct sbx_image {
	const unsigned char *base;
	size_t size;
	const struct sbx_image_header *hdr;
};

enum sbx_image_status {
	SBX_IMAGE_OK,
	SBX_IMAGE_SHORT,
	SBX_IMAGE_BAD_MAGIC,
	SBX_IMAGE_BAD_VERSION,
	SBX_IMAGE_BAD_BOUNDS,
	SBX_IMAGE_BAD_CHECKSUM
};

/* Checks header and section bounds (work independent of the size of the tables); with
 * `whole` also the checksum, every table entry and every label. The walker stays in
 * bounds on any image that passed without `whole` too. Borrowed: `data` must outlive *out.
 * [AS-safe] [no-alloc] */
enum sbx_image_status sbx_image_open(struct sbx_image *out, const void *data, size_t size,
				     bool whole);
const char *sbx_image_status_text(enum sbx_image_status);

/* A text of the image, NUL-terminated; "" when it does not lie in the image. [AS-safe] */
const char *sbx_image_text(const struct sbx_image *, struct sbx_image_str);

/* FNV-1a 64, a word at a time, with the header's checksum field taken as zero. */
uint64_t sbx_image_checksum(const void *data, size_t size);
