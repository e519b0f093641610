/* SPDX-License-Identifier: MIT */
/* Limits by name, from a text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "weir/limits.h"

static weir_limits limits;
static weir_limits_problem problem;

static weir_err load(const char *text)
{
	return weir_limits_load_text(&limits, text, strlen(text), &problem);
}

static void refuses(const char *text, int64_t line, const char *words)
{
	CHECK_ERR(load(text), WEIR_EINVAL);
	CHECK_EQ(problem.line, line);
	if (!strstr(problem.text, words))
		check_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"",
			   problem.text, words);
}

static weir_sem_info named(const char *name)
{
	weir_sem *sem = weir_limits_find(&limits, name);

	CHECK(sem);
	return stat_of(sem);
}

TEST(text_makes_semaphores)
{
	const char *name;

	CHECK_OK(weir_limits_init(&limits, 4));
	CHECK_OK(load("# all of them\n"
		      "\n"
		      "[db_writes]\r\n"
		      "  capacity = 20   # of 50\n"
		      "max_waiters=7\n"
		      "[ decode-2 ]\n"
		      "capacity\t=\t0\n"
		      "policy = barging\n"
		      "barge_us = 200\n"
		      "[last]\n"
		      "policy = fifo\n"
		      "capacity = 1152921504606846976"));
	CHECK_EQ(named("db_writes").capacity, 20);
	CHECK_EQ(named("db_writes").free, 20);
	CHECK_EQ(named("db_writes").policy, WEIR_FIFO);
	CHECK(!strcmp(named("db_writes").name, "db_writes"));
	CHECK_EQ(named("decode-2").capacity, 0);
	CHECK_EQ(named("decode-2").policy, WEIR_BARGING);
	CHECK_EQ(named("last").capacity, WEIR_SEM_MAX);
	CHECK(!weir_limits_find(&limits, "decode"));
	CHECK(weir_limits_at(&limits, 1, &name) ==
	      weir_limits_find(&limits, "decode-2"));
	CHECK(!strcmp(name, "decode-2"));
	CHECK(weir_limits_at(&limits, 2, NULL));
	CHECK(!weir_limits_at(&limits, 3, &name));
	CHECK_OK(weir_limits_destroy(&limits));
}

/* C21: loading again resizes, at once, and shrinks into debt. */
TEST(c21_loading_again_resizes)
{
	weir_sem *a;

	CHECK_OK(weir_limits_init(&limits, 2));
	CHECK_OK(load("[a]\ncapacity = 2\n"));
	a = weir_limits_find(&limits, "a");
	CHECK_OK(weir_sem_acquire(a, 2, NULL));
	CHECK_OK(load("[a]\ncapacity = 5\n[b]\ncapacity = 1\n"));
	CHECK(weir_limits_find(&limits, "a") == a);
	CHECK_EQ(named("a").capacity, 5);
	CHECK_EQ(named("a").free, 3);
	CHECK_OK(load("[a]\ncapacity = 1\n"));
	CHECK_EQ(named("a").debt, 1);
	/* A limit that is no longer in the text stays as it is. */
	CHECK_EQ(named("b").capacity, 1);
	CHECK_ERR(weir_limits_destroy(&limits), WEIR_EBUSY);
	CHECK_EQ(named("b").capacity, 1);
	weir_sem_release(a, 2);
	CHECK_EQ(named("a").free, 1);
	CHECK_OK(weir_limits_destroy(&limits));
}

/* The default of barge_us is a value, not another setting. */
TEST(loading_again_with_the_default_in_numbers)
{
	CHECK_OK(weir_limits_init(&limits, 1));
	CHECK_OK(load("[a]\ncapacity = 1\npolicy = barging\n"));
	CHECK_OK(load("[a]\ncapacity = 2\npolicy = barging\n"
		      "barge_us = 1000\n"));
	CHECK_OK(load("[a]\ncapacity = 3\npolicy = barging\nbarge_us = 0\n"));
	CHECK_EQ(named("a").capacity, 3);
	CHECK_ERR(load("[a]\ncapacity = 4\npolicy = barging\nbarge_us = 999\n"),
		  WEIR_EINVAL);
	CHECK_OK(weir_limits_destroy(&limits));
}

/* After one mistake, nothing of the text takes effect. */
TEST(mistakes_have_a_line_and_change_nothing)
{
	CHECK_OK(weir_limits_init(&limits, 2));
	CHECK_OK(load("[a]\ncapacity = 2\n"));
	refuses("[a]\ncapacity = 3\n\n[b]\ncapacity = x\n", 5,
		"capacity takes a number up to 2^60, not x");
	refuses("[a]\ncapacity = 3\ncolour = red\n", 3, "unknown key: colour");
	refuses("[a]\ncapacity = 3\ncapacity = 3\n", 3, "twice: capacity");
	refuses("[a]\ncapacity = 3\n[a]\n", 3, "twice: a");
	refuses("[a]\n", 1, "no capacity: a");
	refuses("[a\ncapacity = 3\n", 1, "no ] at the end: [a");
	refuses("[]\n", 1, "1 to 47 characters");
	refuses("[an eagle]\n", 1, "letters, digits, _ and -: an eagle");
	refuses("[aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeee]", 1,
		"1 to 47 characters");
	refuses("capacity = 3\n", 1, "before the first [name]");
	refuses("[a]\ncapacity\n", 2, "neither [name] nor key = value");
	refuses("[a]\ncapacity =\n", 2, "not ");
	refuses("[a]\ncapacity = -1\n", 2, "not -1");
	refuses("[a]\ncapacity = 1152921504606846977\n", 2, "2^60");
	refuses("[a]\ncapacity = 99999999999999999999\n", 2, "2^60");
	refuses("[a]\ncapacity = 1\nmax_waiters = 4294967296\n", 3,
		"max_waiters");
	refuses("[a]\ncapacity = 1\npolicy = random\n", 3,
		"policy is fifo or barging, not random");
	refuses("[a]\ncapacity = 1\nbarge_us = 1\n", 1, "barging: a");
	refuses("[a]\ncapacity = 1\npolicy=barging\nbarge_us = 16777216\n", 4,
		"barge_us takes");
	/* Only the capacity of an existing limit can change. */
	refuses("\n[a]\ncapacity = 9\npolicy = barging\n", 2,
		"only the capacity of a limit can change: a");
	refuses("[a]\ncapacity = 9\nmax_waiters = 1\n", 1, "only the capacity");
	CHECK_ERR(load("[a]\ncapacity = 9\n[b]\ncapacity = 1\n"
		       "[c]\ncapacity = 1\n"), WEIR_ETOOBIG);
	CHECK_ERR(load("[b]\ncapacity = 9\n[c]\ncapacity = 1\n"),
		  WEIR_ETOOBIG);
	CHECK_EQ(named("a").capacity, 2);
	CHECK(!weir_limits_find(&limits, "b"));
	CHECK_OK(weir_limits_destroy(&limits));
}

TEST(environment_overrides_the_file)
{
	CHECK_OK(weir_limits_init(&limits, 2));
	CHECK(!setenv("WEIR_LIMIT_DB_WRITES", "30", 1));
	CHECK_OK(load("[db-writes]\n[b]\ncapacity = 1\n"));
	CHECK_EQ(named("db-writes").capacity, 30);
	CHECK(!setenv("WEIR_LIMIT_DB_WRITES", "many", 1));
	refuses("[db-writes]\ncapacity = 1\n", 0, "WEIR_LIMIT_DB_WRITES");
	CHECK(!unsetenv("WEIR_LIMIT_DB_WRITES"));
	CHECK_OK(load("[db-writes]\ncapacity = 1\n"));
	CHECK_EQ(named("db-writes").capacity, 1);
	CHECK_OK(weir_limits_destroy(&limits));
}

TEST(files)
{
	char path[] = "/tmp/weir-limits-XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	CHECK(fd >= 0);
	CHECK_OK(weir_limits_init(&limits, 1));
	CHECK_EQ(write(fd, "[a]\ncapacity = 3\n", 17), 17);
	CHECK_OK(weir_limits_load(&limits, path, &problem));
	CHECK_EQ(named("a").capacity, 3);
	f = fdopen(fd, "w");
	CHECK(f);
	for (int i = 0; i <= WEIR_LIMITS_FILE_MAX; i++)
		fputc('\n', f);
	CHECK(!fclose(f));
	CHECK_ERR(weir_limits_load(&limits, path, NULL), WEIR_ETOOBIG);
	CHECK(!unlink(path));
	errno = 0;
	CHECK_ERR(weir_limits_load(&limits, path, &problem), WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOENT);
	CHECK(strstr(problem.text, path));
	CHECK_ERR(weir_limits_load(&limits, "/", &problem), WEIR_ESYSTEM);
	CHECK_EQ(named("a").capacity, 3);
	CHECK_OK(weir_limits_destroy(&limits));
}

/* Random bytes give a result, and the message is always NUL-terminated. */
TEST(any_bytes)
{
	static const char good[] = "[a]\ncapacity = 3\n[b]\ncapacity=12 #x\n"
				   "policy = barging\nbarge_us = 7\n";
	uint64_t seed = seed_of(1);

	for (int round = 0; round < 3000; round++) {
		char text[sizeof(good)];
		weir_err err;

		CHECK_OK(weir_limits_init(&limits, 3));
		memcpy(text, good, sizeof(good));
		for (int64_t k = random_below(&seed, 4); k >= 0; k--)
			text[random_below(&seed, sizeof(text))] =
				random_below(&seed, 2) ?
					(char)random_below(&seed, 256) :
					good[random_below(&seed, sizeof(good))];
		err = weir_limits_load_text(&limits, text,
			(size_t)random_below(&seed, sizeof(text)), &problem);
		CHECK(err == WEIR_OK || err == WEIR_EINVAL ||
		      err == WEIR_ETOOBIG);
		CHECK(memchr(problem.text, 0, sizeof(problem.text)));
		CHECK(!err == !problem.text[0]);
		CHECK_OK(weir_limits_destroy(&limits));
	}
}

TEST(bad_input)
{
	weir_limits zeroed;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_limits_init(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_limits_init(&limits, 0), WEIR_EINVAL);
	CHECK_ERR(weir_limits_init(&limits, WEIR_LIMITS_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(weir_limits_load_text(&zeroed, "", 0, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_limits_load(&zeroed, "/", NULL), WEIR_EINVAL);
	CHECK_ERR(weir_limits_destroy(&zeroed), WEIR_EINVAL);
	CHECK(!weir_limits_find(&zeroed, "a"));
	CHECK(!weir_limits_at(NULL, 0, NULL));
	CHECK_OK(weir_limits_init(&limits, 1));
	CHECK_ERR(weir_limits_load_text(&limits, NULL, 1, NULL), WEIR_EINVAL);
	CHECK_OK(weir_limits_load_text(&limits, NULL, 0, NULL));
	CHECK_ERR(weir_limits_load_text(&limits, "", WEIR_LIMITS_FILE_MAX + 1,
					NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_limits_load(&limits, NULL, NULL), WEIR_EINVAL);
	CHECK(!weir_limits_find(&limits, NULL));
	CHECK(!weir_limits_at(&limits, -1, NULL));
	CHECK_OK(weir_limits_destroy(&limits));
}

static void *load_again(void *arg)
{
	for (int i = 0; i < 500; i++) {
		CHECK_OK(weir_limits_load_text(&limits, arg, strlen(arg), NULL));
		CHECK(weir_limits_find(&limits, "a"));
	}
	return NULL;
}

static void *use(void *arg)
{
	weir_sem *a = weir_limits_find(&limits, "a");

	for (int i = 0; i < 2000; i++) {
		CHECK_OK(weir_sem_acquire(a, 1, NULL));
		weir_sem_release(a, 1);
	}
	return arg;
}

/* C21: permits are conserved while limits are loaded and used concurrently. */
TEST(c21_storm_of_loads)
{
	static char three[] = "[a]\ncapacity = 3\n[b]\ncapacity = 2\n",
		    one[] = "[c]\ncapacity = 1\n[a]\ncapacity = 1\n";
	check_thread threads[4];

	CHECK_OK(weir_limits_init(&limits, 3));
	CHECK_OK(load("[a]\ncapacity = 2\n"));
	threads[0] = start(load_again, three);
	threads[1] = start(load_again, one);
	threads[2] = start(use, NULL);
	threads[3] = start(use, NULL);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK_EQ(named("a").free, named("a").capacity);
	CHECK(named("a").capacity == 1 || named("a").capacity == 3);
	CHECK_OK(weir_limits_destroy(&limits));
}
