/* SPDX-License-Identifier: MIT */
/*
 * A permit that is kept in a long-lived struct.
 *
 * A request takes a connection and stores it in the session of its user, so
 * that the next request of this user is faster.  A session lives until its user
 * logs out.  Two users log in and stay; the third waits for as long as they do.
 */
#include "hang.h"

#define CONNECTIONS 2

static weir_sem connections;

struct session {
	const char *user;
	int64_t permits;	/* of connections, until the user logs out */
};

static void log_in(struct session *session)
{
	hang_check(weir_sem_acquire(&connections, 1, NULL));
	session->permits = 1;
}

/* The thread of a user: it serves the user's requests until the log-out. */
static void *serve(void *arg)
{
	log_in(arg);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	static struct session sessions[] = {
		{ "ann", 0 }, { "bob", 0 }, { "eve", 0 }
	};

	hang_init(&connections, "connections", CONNECTIONS);
	for (int i = 0; i < 3; i++) {
		(void)hang_start(sessions[i].user, serve, &sessions[i]);
		/* The next user comes after this one. */
		while (i < CONNECTIONS &&
		       weir_sem_available(&connections) > CONNECTIONS - 1 - i)
			continue;
	}
	hang_until_queued(&connections, 1);
	hang_here("hang-kept");
}
