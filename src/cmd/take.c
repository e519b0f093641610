/* SPDX-License-Identifier: MIT */
/* Taking permits: the options, the wait, and what is said if it fails. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/take.h"

bool take_option(const struct cmd *self, struct take *take, int option)
{
	switch (option) {
	case 'n':
		take->capacity = cmd_count(self, "-n", optarg, 1, WEIR_SEM_MAX);
		return true;
	case 'w':
		take->weight = cmd_count(self, "-w", optarg, 1, WEIR_SEM_MAX);
		return true;
	case 't':
		take->timeout_ns = cmd_duration(self, "-t", optarg);
		take->timed = true;
		return true;
	case 'E':
		take->impatient = (int)cmd_count(self, "-E", optarg, 0, 255);
		return true;
	case 'l':
		take->label = optarg;
		return true;
	case TAKE_TRY:
		take->try = true;
		return true;
	case TAKE_NESTED:
		take->nested = true;
		return true;
	case TAKE_SHARED:
		take->shared = true;
		return true;
	default:
		return false;
	}
}

void take_check(const struct cmd *self, struct take *take)
{
	const char *given = getenv("WEIR_TIMEOUT");

	if (!take->name)
		cmd_misuse(self, "%s: which semaphore?", self->name);
	if (take->try && take->timed)
		cmd_misuse(self, "%s: -t or --try, not both", self->name);
	if (!take->timed && given && *given)
		take->timeout_ns = cmd_duration(self, "WEIR_TIMEOUT", given);
	if (take->label && strlen(take->label) > WEIR_NAMED_LABEL_MAX)
		cmd_misuse(self, "%s: a label has at most %d bytes",
			   self->name, WEIR_NAMED_LABEL_MAX);
	if (!take->nested && held_has(take->name))
		cmd_misuse(self, "%s: this runs under %s already, and could "
			   "wait for itself; --nested if that is meant",
			   self->name, take->name);
}

weir_named *take_open(const struct take *take)
{
	weir_named_opts open = {
		.capacity = take->capacity < 0 ? 0 : take->capacity,
		.policy = WEIR_NAMED_STRICT,
		.mode = take->shared ? 0666 : 0,
		.flags = WEIR_NAMED_INTERRUPTIBLE |
			 (take->capacity < 0 ? 0 : WEIR_NAMED_CREATE) |
			 (take->shared ? WEIR_NAMED_SHARED : 0),
		.label = take->label,
	};

	return cmd_open_or_make(take->name, &open);
}

weir_err take_permits(const struct take *take, weir_named *sem,
		      const struct signals *signals, int *told)
{
	int64_t deadline = take->timeout_ns == WEIR_FOREVER ? WEIR_FOREVER :
			   weir_deadline_after(take->timeout_ns);
	weir_err err;
	int errnum;

	signals_interrupt(signals);
	if (take->try)
		err = weir_named_try_acquire(sem, take->weight);
	else
		do
			err = weir_named_acquire_until(sem, take->weight,
						       deadline);
		while (err == WEIR_EINTR && !signals_came());
	errnum = errno;
	*told = signals_resume(signals);
	errno = errnum;
	return err;
}

/* It is not its turn, or was not in time. */
static void say_busy(const struct take *take, weir_named *sem, weir_err err)
{
	char holder[HOLDER_ROOM], time[DURATION_ROOM];
	const char *who = wait_holder(sem, holder);
	const char *within = duration_text(take->timeout_ns, time);

	if (err == WEIR_EAGAIN)
		cmd_say("%s: busy%s%s", take->name, *who ? "; " : "", who);
	else
		cmd_say("%s: not granted within %s%s%s", take->name, within,
			*who ? "; " : "", who);
}

int take_refused(const struct take *take, weir_named *sem, weir_err err)
{
	int errnum = errno, status = cmd_status(err, errnum);

	switch (err) {
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		if (!take->quiet)
			say_busy(take, sem, err);
		return take->impatient >= 0 ? take->impatient : status;
	case WEIR_ETOOBIG:
		cmd_say("%s: a weight of %lld is more than its capacity",
			take->name, (long long)take->weight);
		return status;
	default:
		errno = errnum;
		cmd_fail(take->name, err, NULL);
	}
}
