/* SPDX-License-Identifier: MIT */
/*
 * Transactions of etcd in JSON: keys and values are in base64, numbers are
 * strings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/etcd/txn.h"

#define VALUE_MAX 2048

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static json_t *encode(const char *text, size_t size)
{
	char out[(VALUE_MAX + 2) / 3 * 4 + 1], *p = out;

	if (size > VALUE_MAX)
		return NULL;
	for (size_t i = 0; i < size; i += 3) {
		unsigned word = (unsigned)(unsigned char)text[i] << 16;

		if (i + 1 < size)
			word |= (unsigned)(unsigned char)text[i + 1] << 8;
		if (i + 2 < size)
			word |= (unsigned char)text[i + 2];
		*p++ = digits[word >> 18];
		*p++ = digits[word >> 12 & 63];
		*p++ = (char)(i + 1 < size ? digits[word >> 6 & 63] : '=');
		*p++ = (char)(i + 2 < size ? digits[word & 63] : '=');
	}
	*p = 0;
	return json_string(out);
}

/* Returns the length, or -1.  The text is NUL-terminated. */
static int decode(const char *text, char *out, size_t size)
{
	size_t used = 0;
	unsigned word = 0;
	int bits = 0;

	for (; *text && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		if (!digit)
			return -1;
		word = word << 6 | (unsigned)(digit - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			if (used + 1 >= size)
				return -1;
			out[used++] = (char)(word >> bits & 255);
		}
	}
	out[used] = 0;
	return (int)used;
}

json_t *weir_cl_etcd_range_(const char *key, bool prefix)
{
	size_t length = strlen(key);
	char end[ETCD_KEY];
	json_t *range;

	range = json_pack("{s:o}", "key", encode(key, length));
	if (!range || !prefix)
		return range;
	(void)snprintf(end, sizeof(end), "%s", key);
	end[length - 1]++;
	if (json_object_set_new(range, "range_end", encode(end, length))) {
		json_decref(range);
		return NULL;
	}
	return range;
}

json_t *weir_cl_etcd_first_(const char *from, const char *end)
{
	return json_pack("{s:o,s:o,s:s,s:b}", "key", encode(from, strlen(from)),
			 "range_end", encode(end, strlen(end)), "limit", "1",
			 "keys_only", 1);
}

void weir_cl_txn_begin_(struct txn *txn)
{
	txn->compare = json_array();
	txn->success = json_array();
	txn->operations = 0;
	txn->bad = !txn->compare || !txn->success;
}

void weir_cl_txn_drop_(struct txn *txn)
{
	json_decref(txn->compare);
	json_decref(txn->success);
	txn->compare = txn->success = NULL;
}

/* Append the item; consumes its reference. */
static void append(struct txn *txn, json_t *list, json_t *item)
{
	if (!item || json_array_append_new(list, item))
		txn->bad = true;
}

void weir_cl_txn_if_(struct txn *txn, const char *key, int64_t mod)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%lld", (long long)mod);
	append(txn, txn->compare,
	       json_pack("{s:o,s:s,s:s,s:s}", "key", encode(key, strlen(key)),
			 "target", "MOD", "result", "EQUAL", "mod_revision",
			 number));
}

void weir_cl_txn_if_exists_(struct txn *txn, const char *key)
{
	append(txn, txn->compare,
	       json_pack("{s:o,s:s,s:s,s:s}", "key", encode(key, strlen(key)),
			 "target", "CREATE", "result", "GREATER",
			 "create_revision", "0"));
}

void weir_cl_txn_put_(struct txn *txn, const char *key, json_t *value,
		      int64_t lease)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	char number[24];

	json_decref(value);
	(void)snprintf(number, sizeof(number), "%lld", (long long)lease);
	append(txn, txn->success, !text ? NULL :
	       json_pack("{s:{s:o,s:o,s:s}}", "request_put", "key",
			 encode(key, strlen(key)), "value",
			 encode(text, strlen(text)), "lease", number));
	txn->operations++;
	free(text);
}

void weir_cl_txn_delete_(struct txn *txn, const char *key)
{
	append(txn, txn->success,
	       json_pack("{s:{s:o}}", "request_delete_range", "key",
			 encode(key, strlen(key))));
	txn->operations++;
}

void weir_cl_txn_range_(struct txn *txn, const char *key, bool prefix,
			int limit)
{
	json_t *range = weir_cl_etcd_range_(key, prefix);

	if (range && limit) {
		char number[16];

		(void)snprintf(number, sizeof(number), "%d", limit);
		if (json_object_set_new(range, "limit", json_string(number)))
			txn->bad = true;
	}
	append(txn, txn->success, !range ? NULL :
	       json_pack("{s:o}", "request_range", range));
	txn->operations++;
}

json_t *weir_cl_txn_end_(struct txn *txn)
{
	json_t *request = NULL;

	if (!txn->bad)
		request = json_pack("{s:O,s:O}", "compare", txn->compare,
				    "success", txn->success);
	weir_cl_txn_drop_(txn);
	return request;
}

int64_t weir_cl_etcd_number_(const json_t *object, const char *field)
{
	const json_t *value = json_object_get(object, field);
	const char *text = json_string_value(value);
	long long number;
	char *end;

	/* The gateway omits zeros. */
	if (!value)
		return 0;
	if (json_is_integer(value))
		return json_integer_value(value);
	if (!text || !*text)
		return -1;
	number = strtoll(text, &end, 10);
	return *end ? -1 : number;
}

json_t *weir_cl_etcd_kvs_(const json_t *answer, size_t i)
{
	json_t *one = json_array_get(json_object_get(answer, "responses"), i);

	return json_object_get(json_object_get(one, "response_range"), "kvs");
}

bool weir_cl_etcd_kv_(const json_t *item, struct kv *kv)
{
	const char *key = json_string_value(json_object_get(item, "key"));
	const char *value = json_string_value(json_object_get(item, "value"));
	char text[VALUE_MAX];

	memset(kv, 0, sizeof(*kv));
	if (!key || decode(key, kv->key, sizeof(kv->key)) < 0)
		return false;
	kv->create = weir_cl_etcd_number_(item, "create_revision");
	kv->mod = weir_cl_etcd_number_(item, "mod_revision");
	kv->lease = weir_cl_etcd_number_(item, "lease");
	if (!value)
		return true;
	if (decode(value, text, sizeof(text)) < 0)
		return false;
	kv->value = json_loads(text, 0, NULL);
	if (!json_is_object(kv->value)) {
		json_decref(kv->value);
		kv->value = NULL;
		return false;
	}
	return true;
}
