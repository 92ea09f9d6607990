#include "base/near.h"

enum { NAME_MAX_LEN = 63 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Edit distance where swapped neighbours count as one (optimal string alignment); too many for
 * names too long. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][NAME_MAX_LEN + 1];
	size_t i, j;

	if (na > NAME_MAX_LEN || nb > NAME_MAX_LEN)
		return B_NEAR_MAX + 1;
	for (j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (j = 1; j <= nb; j++) {
			row[j] =
				min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min3(row[j], up2[j - 2] + 1, row[j]);
		}
	}
	return rows[na % 3][nb];
}

void b_near_offer(struct b_near *near, const char *typed, size_t n, const char *name, size_t len)
{
	unsigned d = distance(typed, n, name, len);

	if (d <= B_NEAR_MAX && d < near->best && (size_t)d * 2 < (n > len ? n : len))
		*near = (struct b_near){name, len, d};
}
