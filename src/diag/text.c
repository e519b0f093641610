/* SPDX-License-Identifier: MIT */
/* Words, numbers, times and names, written to a buffer. */
#include "diag/text.h"

static void put_char(struct dg_text *text, char c)
{
	if (text->used + 1 >= text->size && text->flush)
		text->flush(text);
	if (text->used + 1 >= text->size)
		return;
	text->to[text->used++] = c;
	text->to[text->used] = '\0';
}

void weir_diag_put_(struct dg_text *text, const char *string)
{
	while (*string)
		put_char(text, *string++);
}

/* Write the digits of a number backwards.  Returns their number. */
static int digits(char to[24], uint64_t number, unsigned base)
{
	int n = 0;

	do {
		to[n++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	return n;
}

static void put_digits(struct dg_text *text, uint64_t number, int least)
{
	char room[24];
	int n = digits(room, number, 10);

	while (least-- > n)
		put_char(text, '0');
	while (n)
		put_char(text, room[--n]);
}

void weir_diag_put_int_(struct dg_text *text, int64_t number)
{
	if (number < 0)
		put_char(text, '-');
	put_digits(text, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

void weir_diag_put_right_(struct dg_text *text, int64_t number, int width)
{
	char room[24];
	int n = digits(room, number < 0 ? -(uint64_t)number : (uint64_t)number,
		       10) + (number < 0);

	while (width-- > n)
		put_char(text, ' ');
	weir_diag_put_int_(text, number);
}

static void put_hex(struct dg_text *text, uint64_t number)
{
	char room[24];
	int n = digits(room, number, 16);

	weir_diag_put_(text, "0x");
	while (n)
		put_char(text, room[--n]);
}

/* Write a time with one digit after the point: "7.2 s". */
static void put_tenths(struct dg_text *text, int64_t ns, int64_t unit,
		       const char *name)
{
	put_digits(text, (uint64_t)(ns / unit), 1);
	put_char(text, '.');
	put_digits(text, (uint64_t)(ns % unit * 10 / unit), 1);
	weir_diag_put_(text, name);
}

void weir_diag_put_time_(struct dg_text *text, int64_t ns)
{
	const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms;
	int64_t seconds = ns / s;

	if (ns < 0) {
		weir_diag_put_(text, "?");
	} else if (ns < ms) {
		put_digits(text, (uint64_t)(ns / us), 1);
		weir_diag_put_(text, " us");
	} else if (ns < 100 * ms) {
		put_tenths(text, ns, ms, " ms");
	} else if (ns < s) {
		put_digits(text, (uint64_t)(ns / ms), 1);
		weir_diag_put_(text, " ms");
	} else if (seconds < 60) {
		put_tenths(text, ns, s, " s");
	} else if (seconds < 3600) {
		put_digits(text, (uint64_t)(seconds / 60), 1);
		put_char(text, 'm');
		put_digits(text, (uint64_t)(seconds % 60), 2);
		put_char(text, 's');
	} else if (seconds < INT64_C(48) * 3600) {
		put_digits(text, (uint64_t)(seconds / 3600), 1);
		put_char(text, 'h');
		put_digits(text, (uint64_t)(seconds / 60 % 60), 2);
		put_char(text, 'm');
	} else {
		put_digits(text, (uint64_t)(seconds / 86400), 1);
		weir_diag_put_(text, " days");
	}
}

void weir_diag_put_limit_(struct dg_text *text, int64_t ns)
{
	const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms;
	int64_t step = 1, unit, thousandths;

	if (ns >= 60 * s) {
		weir_diag_put_time_(text, weir_diag_add_(ns, s / 2));
		return;
	}
	while (ns / step >= 1000)
		step *= 10;
	ns = (ns + step / 2) / step * step;
	unit = ns < ms ? us : ns < s ? ms : s;
	put_digits(text, (uint64_t)(ns / unit), 1);
	thousandths = ns % unit * 1000 / unit;
	for (int64_t tenth = 100; thousandths; tenth /= 10) {
		if (tenth == 100)
			put_char(text, '.');
		put_char(text, (char)('0' + thousandths / tenth));
		thousandths %= tenth;
	}
	weir_diag_put_(text, unit == us ? " us" : unit == ms ? " ms" : " s");
}

void weir_diag_put_site_(struct dg_text *text, uint64_t site)
{
	char room[256];

	if (!site)
		return;
	if (text->site &&
	    text->site(text->site_user, site, room, sizeof(room))) {
		char clean[256];

		weir_diag_clean_(clean, sizeof(clean), room, sizeof(room));
		weir_diag_put_(text, clean);
	} else
		put_hex(text, site);
}

void weir_diag_put_context_(struct dg_text *text,
			    const struct dg_context *context)
{
	if (context->kind == DG_CLIENT) {
		weir_diag_put_(text, context->host);
		put_char(text, ' ');
	}
	if (context->kind == RG_THREAD || context->kind >= DG_PROCESS) {
		weir_diag_put_(text, context->kind == RG_THREAD ? "tid " :
								  "pid ");
		weir_diag_put_int_(text, context->tid);
	} else {
		weir_diag_put_(text, weir_diag_kind_name_(context->kind));
		put_char(text, ' ');
		put_hex(text, context->address);
	}
	if (*context->name) {
		put_char(text, ' ');
		weir_diag_put_(text, context->name);
	}
}

void weir_diag_put_object_(struct dg_text *text, const struct dg_object *object)
{
	if (*object->name) {
		weir_diag_put_(text, object->name);
		return;
	}
	weir_diag_put_(text, weir_diag_type_name_(object->type));
	put_char(text, ' ');
	put_hex(text, object->address);
}
