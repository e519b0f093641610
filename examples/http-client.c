/* SPDX-License-Identifier: MIT */
/*
 * A client of a server that answers 429 if requests come too fast.
 *
 *     http-client RATE REQUESTS URL
 *     http-client RATE REQUESTS --unix-socket PATH URL
 *
 * Four threads send the requests (libcurl): first as fast as they can, then
 * with a limit of RATE per second.  With the limit no request is refused, and
 * little of the rate is unused. examples/http-client.sh starts a private nginx
 * with this rate limit, and runs this program.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <weir/rate.h>

#define THREADS 4
#define BURST 5		/* lets the client catch up after a delay */

static const char *url, *socket_path;
static weir_rate limit;
static atomic_int to_do, good, refused, failed;

static size_t throw_away(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

static void request(CURL *curl)
{
	long status = 0;

	if (curl_easy_perform(curl) == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		atomic_fetch_add(&good, 1);
	else if (status == 429)
		atomic_fetch_add(&refused, 1);
	else
		atomic_fetch_add(&failed, 1);
}

static void *client(void *arg)
{
	weir_rate *own = arg;		/* null: no limit */
	CURL *curl = curl_easy_init();

	if (!curl)
		exit(1);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	if (socket_path)
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket_path);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, throw_away);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	while (atomic_fetch_sub(&to_do, 1) > 0) {
		if (own && weir_rate_acquire(own, 1, NULL) != WEIR_OK)
			break;
		request(curl);
	}
	curl_easy_cleanup(curl);
	return NULL;
}

/* Returns requests per second. */
static double run(const char *name, int requests, int limited)
{
	pthread_t threads[THREADS];
	int64_t begun = weir_now_ns();
	double seconds;

	good = refused = failed = 0;
	to_do = requests;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, client,
				   limited ? &limit : NULL))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	seconds = (double)(weir_now_ns() - begun) / 1e9;
	printf("%-8s %5d good, %5d answered 429, %d failed, %.1f a second\n",
	       name, atomic_load(&good), atomic_load(&refused),
	       atomic_load(&failed), requests / seconds);
	return requests / seconds;
}

int main(int argc, char **argv)
{
	weir_rate_opts opts = { .burst = BURST };
	int requests = argc > 2 ? atoi(argv[2]) : 0, wrong;
	double rate;

	opts.rate = argc > 2 ? atoi(argv[1]) : 0;
	if (argc == 6 && !strcmp(argv[3], "--unix-socket"))
		socket_path = argv[4];
	if (requests < 1 || (argc != 4 && !socket_path) ||
	    weir_rate_init(&limit, &opts) != WEIR_OK) {
		fputs("usage: http-client RATE REQUESTS "
		      "[--unix-socket PATH] URL\n", stderr);
		return 2;
	}
	url = argv[argc - 1];
	curl_global_init(CURL_GLOBAL_DEFAULT);
	run("without", requests, 0);
	wrong = !refused || failed;
	/* Wait until the server's count of our requests has drained. */
	if (weir_rate_acquire(&limit, 1, NULL) != WEIR_OK)
		return 1;
	for (int i = 0; i < opts.rate / 2; i++)
		if (weir_rate_acquire(&limit, 1, NULL) != WEIR_OK)
			return 1;
	rate = run("with", requests, 1);
	wrong |= refused || failed || good != requests;
	printf("%.1f %% of the rate was used\n",
	       100 * rate / (double)opts.rate);
	puts(wrong ? "it went WRONG" : "with weir: not one 429");
	curl_global_cleanup();
	return wrong || weir_rate_destroy(&limit) != WEIR_OK;
}
