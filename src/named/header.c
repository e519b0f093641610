/* SPDX-License-Identifier: MIT */
/*
 * The header of a new file, and the check of its constant fields.
 */
#include <errno.h>
#include <string.h>

#include "named/handle.h"

void weir_nm_header_init_(struct nm_header *head, const weir_named_opts *opts)
{
	*head = (struct nm_header){
		.version = NM_VERSION,
		.order = NM_ORDER,
		.header_size = sizeof(struct nm_header),
		.slot_size = sizeof(struct nm_slot),
		.record_size = sizeof(struct nm_record),
		.slots = NM_SLOTS,
		.records = NM_RECORDS,
		.policy = (uint32_t)opts->policy,
		.file_size = NM_FILE_SIZE,
		.capacity = opts->capacity,
		.value = opts->capacity,
		.next_ticket = 1,
	};
	memcpy(head->magic, NM_MAGIC, sizeof(head->magic));
}

const char *weir_nm_check_constants_(const struct nm_header *head)
{
	errno = EBADMSG;
	if (memcmp(head->magic, NM_MAGIC, sizeof(head->magic)) != 0)
		return "is not a semaphore";
	errno = EPROTO;
	if (head->order != NM_ORDER)
		return "is from a machine with another byte order";
	if (head->version != NM_VERSION)
		return "has another version of the file format";
	errno = EBADMSG;
	if (head->header_size != sizeof(struct nm_header) ||
	    head->slot_size != sizeof(struct nm_slot) ||
	    head->record_size != sizeof(struct nm_record) ||
	    head->slots != NM_SLOTS || head->records != NM_RECORDS ||
	    head->file_size != NM_FILE_SIZE || head->policy > 1)
		return "is damaged: its header is inconsistent";
	return NULL;
}
