/* SPDX-License-Identifier: MIT */
/* Operations in a GLib main loop: weir/loop/glib.h. */
#include "loop-demo.h"

#include "weir/loop/glib.h"

static GMainLoop *main_loop;

static void demo_over(void)
{
	g_main_loop_quit(main_loop);
}

int main(void)
{
	GSource *source;
	pthread_t holder;
	weir_loop loop;

	if (weir_loop_init(&loop))
		return 1;
	main_loop = g_main_loop_new(NULL, FALSE);
	source = weir_loop_source_new(&loop);
	g_source_attach(source, NULL);
	holder = demo_begin(&loop);
	g_main_loop_run(main_loop);
	g_source_destroy(source);
	g_source_unref(source);
	g_main_loop_unref(main_loop);
	return demo_end(&loop, holder);
}
