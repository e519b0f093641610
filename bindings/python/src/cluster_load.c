/* SPDX-License-Identifier: MIT */
/*
 * libweir-cluster.  It needs the client libraries of its engines.  It is loaded
 * when the first semaphore is opened, so that the package does not need them.
 */
#include "cluster.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBRARY "libweir-cluster.so.0"

struct weirpy_api weirpy_api;

bool weirpy_cluster_load(void)
{
	void *library;

	if (weirpy_api.loaded)
		return true;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		PyErr_Format(weirpy_Error, "semaphores between machines need "
			     LIBRARY ": %s", dlerror());
		return false;
	}
#define LOAD(name)                                                             \
	*(void **)&weirpy_api.name = dlsym(library, #name);                    \
	if (!weirpy_api.name) {                                                \
		PyErr_SetString(weirpy_Error, LIBRARY " has no " #name);       \
		return false;                                                  \
	}
	WEIRPY_CLUSTER_FUNCTIONS(LOAD)
#undef LOAD
	weirpy_api.loaded = true;
	return true;
}

PyObject *weirpy_cluster_raise_why(weir_err err, int errnum, const char *why)
{
	PyObject *arguments;

	errno = errnum;
	if (err != WEIR_ESYSTEM || !*why)
		return weirpy_raise(err);
	arguments = Py_BuildValue("(is)", errnum, why);
	if (arguments) {
		PyErr_SetObject(PyExc_OSError, arguments);
		Py_DECREF(arguments);
	}
	return NULL;
}

PyObject *weirpy_cluster_raise(weir_cluster *sem, weir_err err, int errnum)
{
	char why[256] = "";

	weirpy_api.weir_cluster_why(sem, why, sizeof(why));
	return weirpy_cluster_raise_why(err, errnum, why);
}
