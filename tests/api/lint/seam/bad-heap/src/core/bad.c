/* SPDX-License-Identifier: MIT */
void *twice(void *p)
{
	free (p);
	return calloc(2, 8) ? malloc(1) : realloc(p, 2);
}
