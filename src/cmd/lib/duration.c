/* SPDX-License-Identifier: MIT */
/* Durations as text. */
#include <stdio.h>
#include <string.h>

#include "cmd/lib/duration.h"
#include "weir/base.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static bool unit_of(const char *text, int64_t *unit)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
		{ "", SECOND }, { "s", SECOND }, { "ms", MS }, { "us", 1000 },
		{ "m", MINUTE }, { "h", HOUR }, { "d", DAY },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i].name)) {
			*unit = units[i].ns;
			return true;
		}
	return false;
}

bool duration_parse(const char *text, int64_t *ns)
{
	int64_t whole = 0, part = 0, tenth = SECOND, unit;
	bool digits = false, saturated = false;

	for (; *text >= '0' && *text <= '9'; text++, digits = true)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *text - '0', &whole))
			saturated = true;
	/* The fraction, in units of 10^-9. */
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++) {
			tenth /= 10;
			part += (*text - '0') * tenth;
			digits = true;
		}
	if (!digits || !unit_of(text, &unit))
		return false;
	if (saturated || __builtin_mul_overflow(whole, unit, ns))
		*ns = WEIR_FOREVER;
	/* Every unit is a multiple of 1 us, so unit / 1000 is exact. */
	else if (__builtin_add_overflow(*ns, part / 1000 * (unit / 1000) / 1000,
					ns))
		*ns = WEIR_FOREVER;
	return true;
}

const char *duration_text(int64_t ns, char room[DURATION_ROOM])
{
	long long s = ns / SECOND, size = DURATION_ROOM;

	if (ns < 0)
		ns = s = 0;
	if (ns < SECOND)
		(void)snprintf(room, (size_t)size, "%lldms",
			       (long long)(ns / MS));
	else if (s < 60)
		(void)snprintf(room, (size_t)size, "%llds", s);
	else if (s < 3600)
		(void)snprintf(room, (size_t)size, "%lldm %llds", s / 60,
			       s % 60);
	else if (s < 86400)
		(void)snprintf(room, (size_t)size, "%lldh %lldm", s / 3600,
			       s / 60 % 60);
	else
		(void)snprintf(room, (size_t)size, "%lldd %lldh", s / 86400,
			       s / 3600 % 24);
	return room;
}
