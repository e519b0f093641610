/* SPDX-License-Identifier: MIT */
/*
 * Operations without any event library, in two styles.
 *
 * Coroutine: a job is a function that is called repeatedly and resumes where it
 * left off, by a switch.  If it has to wait for a permit it returns, and the
 * callback of its operation calls it again.
 *
 * Interrupt: one loop does everything, and polls its operation in each round:
 * weir_op_poll.
 */
#include <stddef.h>
#include <stdio.h>

#include "weir/async.h"

#define JOBS 5
#define SLOTS 2

static weir_sem slots = WEIR_SEM_INIT(SLOTS);
static int busy, most_busy, finished;

struct job {
	weir_op op;
	int number;
	int step;		/* where to resume */
};

static struct job *running[JOBS];
static int running_count;

/* Wait for a permit in the middle of a function that is called again. */
#define AWAIT_PERMIT(job)                                                      \
	do {                                                                   \
		(job)->step = __LINE__;                                        \
		if (weir_op_submit(&(job)->op, &slots, 1, NULL) ==             \
		    WEIR_EQUEUED)                                              \
			return;                                                \
		/* fall through */                                             \
	case __LINE__:;                                                        \
	} while (0)

static void work(struct job *job)
{
	switch (job->step) {
	case 0:
		printf("job %d begins\n", job->number);
		AWAIT_PERMIT(job);
		busy++;
		most_busy = busy > most_busy ? busy : most_busy;
		printf("job %d has a slot\n", job->number);
		running[running_count++] = job;
		return;		/* the work itself takes a while */
	}
}

static void go_on(weir_op *op, weir_err err, void *user)
{
	(void)op;
	if (err == WEIR_OK)
		work(user);
}

static void coroutines(void)
{
	static struct job jobs[JOBS];

	for (int i = 0; i < JOBS; i++) {
		jobs[i].number = i + 1;
		weir_op_init(&jobs[i].op, NULL, go_on, &jobs[i]);
		work(&jobs[i]);
	}
	/* Finish them in the order in which they got their slots. */
	for (int i = 0; i < running_count; i++) {
		printf("job %d ends\n", running[i]->number);
		busy--;
		finished++;
		weir_sem_release(&slots, 1);	/* resumes the next job */
	}
}

static int bare_loop(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_op op;
	int rounds = 0;
	weir_err err;

	weir_op_init(&op, NULL, NULL, NULL);
	if (weir_sem_acquire(&sem, 1, NULL) ||
	    weir_op_submit(&op, &sem, 1, NULL) != WEIR_EQUEUED)
		return 0;
	while ((err = weir_op_poll(&op)) == WEIR_EQUEUED)
		if (++rounds == 3)	/* an interrupt would do this */
			weir_sem_release(&sem, 1);
	return err == WEIR_OK ? rounds : 0;
}

int main(void)
{
	int rounds;

	coroutines();
	rounds = bare_loop();
	printf("%d jobs, at most %d at once; the bare loop had it after %d "
	       "rounds\n", finished, most_busy, rounds);
	return finished == JOBS && most_busy == SLOTS && rounds ? 0 : 1;
}
