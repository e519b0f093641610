/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_DW_H
#define WEIR_CMD_DIAG_DW_H

#include <elfutils/libdwfl.h>

struct modules;

/*
 * libdw, loaded when the first call site is named: loading it with the program
 * would cost every `weir run` time.
 */
#define DW_FUNCTIONS(X)                                                        \
	X(dwarf_diename)                                                       \
	X(dwarf_getscopes)                                                     \
	X(dwarf_tag)                                                           \
	X(dwfl_addrmodule)                                                     \
	X(dwfl_begin)                                                          \
	X(dwfl_build_id_find_elf)                                              \
	X(dwfl_end)                                                            \
	X(dwfl_lineinfo)                                                       \
	X(dwfl_module_addrdie)                                                 \
	X(dwfl_module_addrinfo)                                                \
	X(dwfl_module_addrname)                                                \
	X(dwfl_module_getsrc)                                                  \
	X(dwfl_module_info)                                                    \
	X(dwfl_report_begin)                                                   \
	X(dwfl_report_elf)                                                     \
	X(dwfl_report_end)                                                     \
	X(dwfl_standard_find_debuginfo)

/* The functions of libdw; dw_begin sets them. */
struct dw {
#define MEMBER_(name) __typeof__(name) *name;
	DW_FUNCTIONS(MEMBER_)
#undef MEMBER_
};

extern struct dw dw;

/*
 * Open the files of the modules.  Returns null if libdw is not installed, or if
 * memory is short.  End with dw.dwfl_end.
 */
Dwfl *dw_begin(const struct modules *modules);

#endif /* WEIR_CMD_DIAG_DW_H */
