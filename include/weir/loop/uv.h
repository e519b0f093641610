/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LOOP_UV_H
#define WEIR_LOOP_UV_H

/*
 * A weir_loop in a libuv loop.
 *
 *     weir_loop_uv in_uv;
 *     weir_loop_uv_start(&in_uv, uv_default_loop(), &loop);
 *     uv_run(uv_default_loop(), UV_RUN_DEFAULT);
 *
 * The adapter keeps uv_run running until weir_loop_uv_stop, which a callback
 * may call.  libuv uses *in_uv until its close callbacks have run.
 */
#include <uv.h>

#include "weir/loop.h"

typedef struct weir_loop_uv {
	uv_poll_t poll;
	uv_timer_t timer;
	weir_loop *loop;
} weir_loop_uv;

static inline void weir_loop_uv_run_(weir_loop_uv *in);

static inline void weir_loop_uv_late_(uv_timer_t *timer)
{
	weir_loop_uv_run_((weir_loop_uv *)timer->data);
}

static inline void weir_loop_uv_ready_(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	weir_loop_uv_run_((weir_loop_uv *)poll->data);
}

/*
 * If a submit makes the next deadline earlier, the descriptor becomes readable.
 */
static inline void weir_loop_uv_run_(weir_loop_uv *in)
{
	int ms;

	weir_loop_dispatch(in->loop);
	if (uv_is_closing((uv_handle_t *)&in->timer))
		return;
	ms = weir_loop_timeout_ms(in->loop);
	if (ms < 0) {
		uv_timer_stop(&in->timer);
		return;
	}
	uv_update_time(in->timer.loop);
	uv_timer_start(&in->timer, weir_loop_uv_late_, (uint64_t)ms, 0);
}

/* Returns 0, or an error of libuv. */
static inline int weir_loop_uv_start(weir_loop_uv *in, uv_loop_t *uv,
				     weir_loop *loop)
{
	int err = uv_poll_init(uv, &in->poll, weir_loop_fd(loop));

	if (err)
		return err;
	in->loop = loop;
	in->poll.data = in->timer.data = in;
	uv_timer_init(uv, &in->timer);
	/*
	 * Deadlines may exist already; the descriptor does not announce them.
	 */
	uv_timer_start(&in->timer, weir_loop_uv_late_, 0, 0);
	return uv_poll_start(&in->poll, UV_READABLE, weir_loop_uv_ready_);
}

static inline void weir_loop_uv_stop(weir_loop_uv *in)
{
	uv_close((uv_handle_t *)&in->poll, 0);
	uv_close((uv_handle_t *)&in->timer, 0);
}

#endif /* WEIR_LOOP_UV_H */
