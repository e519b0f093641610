/* SPDX-License-Identifier: MIT */
/* Leases: release, validity, notification of loss. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

/*
 * Begin a call that gives permits back.  Returns WEIR_ELOST if the lease has
 * been lost.  A lease whose time has passed is lost even if the thread has not
 * noticed it yet.
 */
static weir_err begin_release(weir_lease *lease, enum phase phase)
{
	weir_cluster *c = lease->cluster;
	weir_err err = WEIR_OK;

	pthread_mutex_lock(&c->lock);
	if (lease->phase != HELD || boot_now() >= valid_until(lease))
		err = WEIR_ELOST;
	else
		weir_cl_request_phase_(lease, phase);
	pthread_mutex_unlock(&c->lock);
	return err;
}

static void withdraw_later(weir_lease *lease)
{
	weir_cluster *c = lease->cluster;

	pthread_mutex_lock(&c->lock);
	weir_cl_request_withdraw_(c, lease->id);
	pthread_mutex_unlock(&c->lock);
}

weir_err weir_lease_release(weir_lease *lease)
{
	struct answer answer;
	struct fault fault;
	enum result result;
	bool repeated;
	weir_err err;

	if (!lease)
		return WEIR_OK;
	err = begin_release(lease, LEAVING);
	if (err) {
		/* The engine may still have the lease: free its permits now. */
		withdraw_later(lease);
		weir_cl_request_free_(lease);
		return err;
	}
	result = weir_cl_call_release_(lease, 0, false, &answer, &repeated,
				       &fault);
	if (result) {
		err = weir_cl_call_failed_(lease->cluster, result, &fault);
		withdraw_later(lease);
		if (result == RES_UNSENT)
			err = WEIR_EINDETERMINATE;
	} else if (answer.state == S_GONE && !repeated) {
		err = WEIR_ELOST;
	}
	weir_cl_request_free_(lease);
	return err;
}

weir_err weir_lease_reduce(weir_lease *lease, int64_t keep)
{
	weir_cluster *c;
	struct answer answer;
	struct fault fault;
	enum result result;
	bool repeated;
	weir_err err;

	if (!lease || keep < 1 || keep > lease->weight)
		return WEIR_EINVAL;
	c = lease->cluster;
	err = begin_release(lease, HELD);
	if (err)
		return err;
	result = weir_cl_call_release_(lease, keep, false, &answer, &repeated,
				       &fault);
	if (result)
		return weir_cl_call_failed_(c, result, &fault);
	pthread_mutex_lock(&c->lock);
	if (answer.state == S_GONE) {
		err = WEIR_ELOST;
		/* The thread asks the engine again, and reports the loss. */
		if (lease->phase == HELD) {
			lease->renew_at = boot_now();
			weir_cl_thread_at_(c, lease->renew_at);
		}
	} else {
		lease->weight = keep;
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

uint64_t weir_lease_fence(const weir_lease *lease)
{
	return lease->fence;
}

int64_t weir_lease_weight(const weir_lease *lease)
{
	return lease->weight;
}

const char *weir_lease_id(const weir_lease *lease)
{
	return lease->id;
}

int64_t weir_lease_deadline(const weir_lease *lease)
{
	int64_t deadline = 0;

	pthread_mutex_lock(&lease->cluster->lock);
	if (lease->phase == HELD)
		deadline = valid_until(lease);
	pthread_mutex_unlock(&lease->cluster->lock);
	return deadline;
}

weir_err weir_lease_check(const weir_lease *lease)
{
	return boot_now() < weir_lease_deadline(lease) ? WEIR_OK : WEIR_ELOST;
}

weir_err weir_lease_lost_fd(weir_lease *lease, int *fd)
{
	weir_cluster *c = lease->cluster;
	weir_err err = WEIR_OK;

	pthread_mutex_lock(&c->lock);
	if (lease->lost_fd < 0) {
		lease->lost_fd = eventfd(lease->phase == LOST, EFD_CLOEXEC |
				     EFD_NONBLOCK);
		if (lease->lost_fd < 0)
			err = WEIR_ESYSTEM;
	}
	*fd = lease->lost_fd;
	pthread_mutex_unlock(&c->lock);
	return err;
}

void weir_lease_on_lost(weir_lease *lease, weir_lease_lost_fn *fn, void *user)
{
	weir_cluster *c = lease->cluster;
	bool lost;

	pthread_mutex_lock(&c->lock);
	lost = lease->phase == LOST;
	lease->lost_fn = lost ? NULL : fn;
	lease->lost_user = user;
	pthread_mutex_unlock(&c->lock);
	if (lost && fn)
		fn(lease, user);
}
