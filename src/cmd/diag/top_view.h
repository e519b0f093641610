/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_TOP_VIEW_H
#define WEIR_CMD_DIAG_TOP_VIEW_H

#include "cmd/diag/rows.h"

/* Rows above and below the list. */
#define FRAME 3
#define DETAIL_ROOM 16384

struct top_view {
	struct rows *rows;
	bool paused, coloured;
	bool opened;		/* one object is shown */
	uint32_t pid;		/* of the selected object */
	uint64_t id;
	uint32_t selected, top;
	char detail[DETAIL_ROOM];	/* the object that is open */
	uint32_t first;		/* the row of it that is shown first */
};

/* Draw the table, or the object that is open. */
void top_paint(struct top_view *view);

#endif /* WEIR_CMD_DIAG_TOP_VIEW_H */
