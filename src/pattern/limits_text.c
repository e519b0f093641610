/* SPDX-License-Identifier: MIT */
/*
 * The parser of limits: sections of "key = value", weir/limits.h.
 *
 * The parser handles a line as spans of characters.  It changes nothing in the
 * text and copies only names.  Anything that it does not understand is an
 * error with a line number.
 */
#include <stdlib.h>
#include <string.h>

#include "pattern/limits.h"

struct span {
	const char *at;
	size_t length;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static struct span trimmed(struct span s)
{
	while (s.length && is_space(s.at[0])) {
		s.at++;
		s.length--;
	}
	while (s.length && is_space(s.at[s.length - 1]))
		s.length--;
	return s;
}

static bool is(struct span s, const char *word)
{
	return s.length == strlen(word) && !memcmp(s.at, word, s.length);
}

weir_err weir_limits_wrong_(weir_limits_problem *problem, int64_t line,
			    const char *what, const char *which)
{
	size_t a = strlen(what), b = strlen(which);
	size_t room = sizeof(problem->text) - 1;

	a = a < room ? a : room;
	b = b < room - a ? b : room - a;
	problem->line = line;
	memcpy(problem->text, what, a);
	memcpy(problem->text + a, which, b);
	problem->text[a + b] = '\0';
	return WEIR_EINVAL;
}

static weir_err wrong_span(weir_limits_problem *problem, int64_t line,
			   const char *what, struct span which)
{
	char text[48];
	size_t n = which.length < sizeof(text) ? which.length :
						 sizeof(text) - 1;

	memcpy(text, which.at, n);
	text[n] = '\0';
	return weir_limits_wrong_(problem, line, what, text);
}

/* Parse decimal digits, 0 .. max.  Returns false if s is anything else. */
static bool number_of(struct span s, int64_t max, int64_t *n)
{
	if (!s.length)
		return false;
	*n = 0;
	for (size_t i = 0; i < s.length; i++) {
		int64_t digit = s.at[i] - '0';

		if (digit < 0 || digit > 9 || *n > (max - digit) / 10)
			return false;
		*n = *n * 10 + digit;
	}
	return true;
}

static weir_err begin_section(struct weir_limits_specs_ *specs,
			      struct span name, int64_t line,
			      weir_limits_problem *problem)
{
	struct weir_limits_spec_ *spec;

	name = trimmed(name);
	if (!name.length || name.length > WEIR_LIMITS_NAME_MAX)
		return wrong_span(problem, line, "a name has 1 to 47 characters: ",
				  name);
	for (size_t i = 0; i < name.length; i++)
		if (!is_name(name.at[i]))
			return wrong_span(problem, line,
				"a name has letters, digits, _ and -: ", name);
	for (uint32_t i = 0; i < specs->count; i++)
		if (is(name, specs->specs[i].name))
			return wrong_span(problem, line, "defined twice: ", name);
	if (specs->count == specs->max) {
		(void)wrong_span(problem, line, "too many limits: ", name);
		return WEIR_ETOOBIG;
	}
	spec = &specs->specs[specs->count++];
	*spec = (struct weir_limits_spec_){ .line = line };
	memcpy(spec->name, name.at, name.length);
	return WEIR_OK;
}

enum key { CAPACITY, MAX_WAITERS, BARGE_US, POLICY, KEYS };

static weir_err parse_pair(struct weir_limits_spec_ *spec, struct span key,
			   struct span value, int64_t line,
			   weir_limits_problem *problem)
{
	static const struct {
		const char *name, *what;
		int64_t max;
	} keys[KEYS] = {
		{ "capacity", "capacity takes a number up to 2^60, not ",
		  WEIR_SEM_MAX },
		{ "max_waiters", "max_waiters takes a number, not ",
		  UINT32_MAX },
		{ "barge_us", "barge_us takes a number up to 16777215, not ",
		  WEIR_BARGE_US_MAX },
		{ "policy", "policy is fifo or barging, not ", 0 },
	};
	int k = 0;

	while (k < KEYS && !is(key, keys[k].name))
		k++;
	if (k == KEYS)
		return wrong_span(problem, line, "unknown key: ", key);
	if (spec->given & 1u << k)
		return wrong_span(problem, line, "defined twice: ", key);
	spec->given |= 1u << k;
	if (k != POLICY) {
		int64_t *places[] = { &spec->capacity, &spec->max_waiters,
				      &spec->barge_us };

		if (number_of(value, keys[k].max, places[k]))
			return WEIR_OK;
		return wrong_span(problem, line, keys[k].what, value);
	}
	if (is(value, "barging"))
		spec->policy = WEIR_BARGING;
	else if (!is(value, "fifo"))
		return wrong_span(problem, line, keys[k].what, value);
	return WEIR_OK;
}

static weir_err parse_line(struct weir_limits_specs_ *specs, struct span s,
			   int64_t line, weir_limits_problem *problem)
{
	const char *comment = s.length ? memchr(s.at, '#', s.length) : NULL;
	const char *equals;
	struct span key, value;

	if (comment)
		s.length = (size_t)(comment - s.at);
	s = trimmed(s);
	if (!s.length)
		return WEIR_OK;
	if (s.at[0] == '[') {
		if (s.at[s.length - 1] != ']')
			return wrong_span(problem, line, "no ] at the end: ", s);
		return begin_section(specs,
				     (struct span){ s.at + 1, s.length - 2 },
				     line, problem);
	}
	equals = memchr(s.at, '=', s.length);
	if (!equals)
		return wrong_span(problem, line, "neither [name] nor key = value: ",
				  s);
	if (!specs->count)
		return wrong_span(problem, line, "key before the first [name]: ", s);
	key = trimmed((struct span){ s.at, (size_t)(equals - s.at) });
	value = trimmed((struct span){
		equals + 1, s.length - (size_t)(equals - s.at) - 1 });
	return parse_pair(&specs->specs[specs->count - 1], key, value, line,
			  problem);
}

/* WEIR_LIMIT_<NAME> in the environment overrides the capacity in the file. */
static weir_err apply_environment(struct weir_limits_spec_ *spec,
				  weir_limits_problem *problem)
{
	char variable[sizeof("WEIR_LIMIT_") + WEIR_LIMITS_NAME_MAX] =
		"WEIR_LIMIT_";
	char *to = variable + sizeof("WEIR_LIMIT_") - 1;
	const char *value;

	for (const char *c = spec->name; *c; c++)
		*to++ = (char)(*c == '-' ? '_' :
			       *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	value = secure_getenv(variable);
	if (!value)
		return WEIR_OK;
	if (!number_of((struct span){ value, strlen(value) }, WEIR_SEM_MAX,
		       &spec->capacity))
		return weir_limits_wrong_(problem, 0,
			"not a number in the environment: ", variable);
	spec->given |= 1u << CAPACITY;
	return WEIR_OK;
}

/* Complete a section: apply the environment and check the keys. */
static weir_err finish_section(struct weir_limits_spec_ *spec,
			       weir_limits_problem *problem)
{
	weir_err err = apply_environment(spec, problem);

	if (err)
		return err;
	if (!(spec->given & 1u << CAPACITY))
		return weir_limits_wrong_(problem, spec->line, "no capacity: ",
					  spec->name);
	if (spec->given & 1u << BARGE_US && spec->policy != WEIR_BARGING)
		return weir_limits_wrong_(problem, spec->line,
			"barge_us is for policy = barging: ", spec->name);
	/* The default and its number are the same value to a later load. */
	if (spec->policy == WEIR_BARGING && !spec->barge_us)
		spec->barge_us = WEIR_BARGE_US;
	return WEIR_OK;
}

weir_err weir_limits_parse_(struct weir_limits_specs_ *specs, const char *text,
			    size_t length, weir_limits_problem *problem)
{
	weir_err err = WEIR_OK;
	int64_t line = 1;

	for (size_t at = 0; !err && at < length; line++) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t n = end ? (size_t)(end - text) - at : length - at;

		err = parse_line(specs, (struct span){ text + at, n }, line,
				 problem);
		at += n + 1;
	}
	for (uint32_t i = 0; !err && i < specs->count; i++)
		err = finish_section(&specs->specs[i], problem);
	return err;
}
