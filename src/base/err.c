/* SPDX-License-Identifier: MIT */
/* The names and texts of errors, generated from the list in weir/base.h. */
#include "weir/base.h"

#define STRING(x) #x
#define DOTTED(major, minor, patch)                                            \
	STRING(major) "." STRING(minor) "." STRING(patch)

const char *weir_version(void)
{
	return DOTTED(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR,
		      WEIR_VERSION_PATCH);
}

const char *weir_err_name(weir_err err)
{
	switch ((int)err) {
#define NAME(name, value, text) case value: return #name;
	WEIR_ERR_LIST_(NAME)
#undef NAME
	}
	return "WEIR_E?";
}

const char *weir_err_text(weir_err err)
{
	switch ((int)err) {
#define TEXT(name, value, text) case value: return text;
	WEIR_ERR_LIST_(TEXT)
#undef TEXT
	}
	return "unknown error";
}
