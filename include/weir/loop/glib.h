/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_GLIB_H
#define WEIR_LOOP_GLIB_H

/*
 * A weir_loop in a GLib main loop, as a GSource.
 *
 *     GSource *source = weir_loop_source_new(&loop);
 *     g_source_attach(source, NULL);
 *     g_main_loop_run(main_loop);
 *     g_source_destroy(source);
 *     g_source_unref(source);
 */
#include <glib-unix.h>

#include "weir/loop.h"

typedef struct weir_loop_source {
	GSource source;
	gpointer tag;
	weir_loop *loop;
} weir_loop_source;

static inline gboolean weir_loop_source_prepare_(GSource *source, gint *ms)
{
	*ms = weir_loop_timeout_ms(((weir_loop_source *)source)->loop);
	return *ms == 0;
}

static inline gboolean weir_loop_source_check_(GSource *source)
{
	weir_loop_source *in = (weir_loop_source *)source;

	return g_source_query_unix_fd(source, in->tag) != 0 ||
	       weir_loop_timeout_ms(in->loop) == 0;
}

static inline gboolean weir_loop_source_run_(GSource *source, GSourceFunc fn,
					     gpointer data)
{
	(void)fn;
	(void)data;
	weir_loop_dispatch(((weir_loop_source *)source)->loop);
	return G_SOURCE_CONTINUE;
}

static inline GSource *weir_loop_source_new(weir_loop *loop)
{
	static GSourceFuncs fns;
	GSource *source;
	weir_loop_source *in;

	fns.prepare = weir_loop_source_prepare_;
	fns.check = weir_loop_source_check_;
	fns.dispatch = weir_loop_source_run_;
	source = g_source_new(&fns, sizeof(weir_loop_source));
	in = (weir_loop_source *)source;
	in->loop = loop;
	in->tag = g_source_add_unix_fd(source, weir_loop_fd(loop), G_IO_IN);
	return source;
}

#endif /* WEIR_LOOP_GLIB_H */
