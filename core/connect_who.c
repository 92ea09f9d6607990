/* SPDX-License-Identifier: Apache-2.0 */
/* connect_who.c - whose connection it is. */
#include "core/connect.h"
#include "core/decide_priv.h"

bool sbx_connect_asks_programs(const struct sbx_image *img)
{
	return img->hdr->net.nprograms > 0;
}

static bool is_program(const struct sbx_image *img, const struct sbx_image_program *p,
		       const struct sbx_exe *exe)
{
	if (p->dev || p->ino)
		return p->dev == exe->dev && p->ino == exe->ino;
	return exe->path && exe->path_len && exe->path[0] == '/' &&
	       sbx_last_rule(img, &p->rules, exe->path, exe->path_len) != 0;
}

void sbx_connect_programs(const struct sbx_image *img, const struct sbx_exe *exes, size_t n,
			  struct sbx_programs *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const struct sbx_image_program *v = (const void *)(img->base + net->programs);

	*out = (struct sbx_programs){0};
	for (uint32_t i = 0; i < net->nprograms && i < SBX_PROGRAMS_MAX; i++)
		for (size_t k = 0; k < n; k++)
			if (is_program(img, &v[i], &exes[k]))
				out->bit[i / 64] |= UINT64_C(1) << i % 64;
}

void sbx_connect_displaced(const struct sbx_image *img, const struct sbx_exe *exe,
			   struct sbx_programs *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const struct sbx_image_program *v = (const void *)(img->base + net->programs);

	for (uint32_t i = 0; exe->path_len && i < net->nprograms && i < SBX_PROGRAMS_MAX; i++)
		if ((v[i].dev || v[i].ino) && !is_program(img, &v[i], exe) &&
		    sbx_last_rule(img, &v[i].rules, exe->path, exe->path_len) != 0)
			out->replaced[i / 64] |= UINT64_C(1) << i % 64;
}

const char *sbx_connect_why_text(enum sbx_connect_why why)
{
	static const char texts[SBX_CONNECT_WHY_COUNT][48] = {
#define X(name, text) [SBX_CONNECT_##name] = text,
		SBX_CONNECT_WHYS(X)
#undef X
	};

	return (unsigned)why < SBX_CONNECT_WHY_COUNT ? texts[why] : "?";
}
