/* SPDX-License-Identifier: MIT */
/*
 * The names of the semaphores: the keys are weir/NAME/...  One request finds
 * one name, so the cost does not depend on the number of their keys.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/etcd/etcd.h"

#define PREFIX "weir/"
/* The first key after the prefix: '0' follows '/'. */
#define END "weir0"

/*
 * Find the first key from `from` on, and copy the name in it.  *found is false
 * if no key follows.
 */
static enum result find(struct engine *e, const char *from,
			char name[ETCD_KEY], bool *found, int64_t deadline,
			struct fault *fault)
{
	json_t *answer, *item;
	struct kv kv;
	const char *slash;
	int code;
	enum result result = weir_cl_http_post_(&e->lanes[LANE_CALL],
			"kv/range", weir_cl_etcd_first_(from, END), &answer,
			&code, deadline, fault);

	*found = false;
	if (result || code)
		return result ? result : RES_REFUSED;
	item = json_array_get(json_object_get(answer, "kvs"), 0);
	if (item) {
		*found = weir_cl_etcd_kv_(item, &kv) &&
			 !strncmp(kv.key, PREFIX, sizeof(PREFIX) - 1) &&
			 strcmp(kv.key, from) >= 0;
		json_decref(kv.value);
		if (!*found)
			result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
						"the answer of etcd is not "
						"understood");
	}
	json_decref(answer);
	if (!*found)
		return result;
	slash = strchrnul(kv.key + sizeof(PREFIX) - 1, '/');
	(void)snprintf(name, ETCD_KEY, "%.*s",
		       (int)(slash - kv.key) - (int)sizeof(PREFIX) + 1,
		       kv.key + sizeof(PREFIX) - 1);
	return RES_OK;
}

enum result weir_cl_etcd_list_(struct engine *e, struct names *names,
			       int64_t deadline, struct fault *fault)
{
	char from[2 * ETCD_KEY] = PREFIX, name[ETCD_KEY];
	bool found = true;
	enum result result;

	while (!(result = find(e, from, name, &found, deadline, fault)) &&
	       found) {
		if (!weir_cl_names_add_(names, name))
			return weir_cl_fault_(fault, RES_REFUSED, ENOMEM,
					      "out of memory");
		/* Continue after all keys of this name. */
		(void)snprintf(from, sizeof(from), PREFIX "%s0", name);
	}
	return result;
}
