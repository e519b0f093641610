/* SPDX-License-Identifier: MIT */
/*
 * Many threads read many files, and the system allows few open files at once.
 *
 *     open-files --demo         first without the semaphore, then with it
 *     open-files --no-limit     without it: most opens fail with EMFILE
 *     open-files DIRECTORY      with it, on the files of DIRECTORY
 *
 * RLIMIT_NOFILE is lowered so that exactly --limit files can be open.  So the
 * kernel checks the limit: if one file too many is open, an open fails.
 *
 * The essential part is read_file; the rest creates the files and draws the
 * progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <weir/permit.h>
#include <weir/sem.h>

#define PIECE 4096		/* bytes in one read */
#define BAR 40			/* of the progress line, at most */
#define TEXT_BESIDE_BAR 50
#define PIECES 8		/* that are read of one file, at most */
#define PIECE_NS 15000000	/* time of one read: a remote disk */

static long file_count = 400, limit = 16, thread_count = 64;
static bool demo, no_limit, json;

static char **paths, *temporary;
static uint64_t all_bytes, all_sum;	/* expected of reading all files */
static atomic_int interrupted;

/* One run over all the files. */
struct run {
	bool limited;
	weir_sem slots;		/* the limiter: one permit, one open file */
	weir_sem finished;	/* a signal: released once per file */
	atomic_long next, now, most, read, refused, failed, waited;
	atomic_int_least64_t longest_ns;
	atomic_uint_least64_t bytes, sum;
	int64_t took_ns;
};

static _Noreturn __attribute__((format(printf, 1, 2)))
void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("open-files: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

/* Read the first pieces of a file; add up their sizes and a checksum. */
static bool digest(int fd, long pause_ns, uint64_t *bytes, uint64_t *sum)
{
	unsigned char piece[PIECE];
	ssize_t n = 1;

	for (int i = 0; i < PIECES && n > 0; i++) {
		struct timespec far_away = { 0, pause_ns };

		n = read(fd, piece, sizeof(piece));
		for (ssize_t k = 0; k < n; k++)
			*sum += piece[k] * UINT64_C(2654435761);
		*bytes += n > 0 ? (uint64_t)n : 0;
		nanosleep(&far_away, NULL);
	}
	return n >= 0;
}

/* Acquire a permit; record whether the thread had to wait, and for how long. */
static weir_err take_slot(struct run *run, weir_permit *slot)
{
	weir_err err = weir_permit_try_acquire(slot, &run->slots, 1);

	if (err == WEIR_EAGAIN) {
		int64_t asked = weir_now_ns();

		atomic_fetch_add(&run->waited, 1);
		err = weir_permit_acquire(slot, &run->slots, 1, NULL);
		int64_t wait = weir_now_ns() - asked, seen = run->longest_ns;
		while (wait > seen && !atomic_compare_exchange_weak(
					      &run->longest_ns, &seen, wait))
			continue;
	}
	return err;
}

static void read_file(struct run *run, const char *path)
{
	/* Released at the end of the block, after the file has been closed. */
	WEIR_SCOPED weir_permit slot = WEIR_PERMIT_INIT;
	uint64_t bytes = 0, sum = 0;

	if (run->limited && take_slot(run, &slot) != WEIR_OK) {
		run->failed++;
		return;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		long now = ++run->now, seen = run->most;

		while (now > seen &&
		       !atomic_compare_exchange_weak(&run->most, &seen, now))
			continue;
		if (digest(fd, PIECE_NS, &bytes, &sum))
			run->read++;
		else
			run->failed++;
		run->now--;
		close(fd);
	} else if (errno == EMFILE) {
		run->refused++;
	} else {
		run->failed++;
	}
	run->bytes += bytes;
	run->sum += sum;
}

static void *reader(void *arg)
{
	struct run *run = arg;
	long k;

	while (!interrupted && (k = run->next++) < file_count) {
		read_file(run, paths[k]);
		weir_sem_release(&run->finished, 1);
	}
	return NULL;
}

/* The width of the bar beside the text; 0 if the terminal is too narrow. */
static int bar_width(bool terminal)
{
	struct winsize size;
	int room = BAR;

	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		room = size.ws_col - TEXT_BESIDE_BAR;
	return room < 8 ? 0 : room < BAR ? room : BAR;
}

static void draw(struct run *run, long done, bool terminal)
{
	static const char marks[] = "########################################";
	static const char dots[] = "........................................";
	int width = bar_width(terminal), full;
	weir_sem_info info;

	if (weir_sem_stat(&run->slots, &info))
		return;
	full = (int)(done * width / file_count);
	printf("%s  %s  [%.*s%.*s] %3ld/%ld", terminal ? "\r" : "",
	       run->limited ? "with weir   " : "without weir", full, marks,
	       width - full, dots, done, file_count);
	if (run->limited)
		printf("  %" PRId64 " open, %u waiting",
		       info.held + info.granted, info.waiters);
	else
		printf("  %ld refused", run->refused);
	fputs(terminal ? "\033[K" : "\n", stdout);
	fflush(stdout);
}

/* Count the files as the readers finish them, and draw. */
static void watch(struct run *run)
{
	bool terminal = isatty(STDOUT_FILENO);
	long done = 0, quarter = 0;
	int64_t more;

	while (done < file_count && !interrupted) {
		int64_t soon = weir_deadline_after(40000000);

		if (weir_sem_acquire_until(&run->finished, 1, soon) == WEIR_OK)
			done++;
		if (weir_sem_drain(&run->finished, &more) == WEIR_OK)
			done += more;
		/* The reader of our output has closed the pipe. */
		if (ferror(stdout))
			interrupted = SIGPIPE;
		if (json || (!terminal && done * 4 / file_count == quarter))
			continue;
		quarter = done * 4 / file_count;
		draw(run, done, terminal);
	}
	if (terminal && !json)
		puts("");
}

static void run_all(struct run *run, bool limited)
{
	/* Watching needs a descriptor, and every one is counted here. */
	weir_sem_opts files = { .permits = limit, .name = "open files",
				.flags = WEIR_SEM_UNWATCHED };
	weir_sem_opts finished = { .name = "finished",
				   .flags = WEIR_SEM_UNBOUNDED |
					    WEIR_SEM_UNWATCHED };
	pthread_t *threads = calloc((size_t)thread_count, sizeof(*threads));
	int64_t began = weir_now_ns();

	run->limited = limited;
	if (!threads || weir_sem_init_opts(&run->slots, &files) ||
	    weir_sem_init_opts(&run->finished, &finished))
		give_up("cannot set up a run");
	for (long i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, reader, run))
			give_up("cannot make %ld threads", thread_count);
	watch(run);
	for (long i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	run->took_ns = weir_now_ns() - began;
}

/* Returns true if the limit held and every file was read completely. */
static bool held(struct run *run)
{
	weir_sem_info info;

	return weir_sem_stat(&run->slots, &info) == WEIR_OK &&
	       info.free == limit && info.waiters == 0 &&
	       weir_sem_destroy(&run->slots) == WEIR_OK &&
	       weir_sem_destroy(&run->finished) == WEIR_OK &&
	       run->read == file_count && run->refused == 0 &&
	       run->failed == 0 && run->bytes == all_bytes &&
	       run->sum == all_sum && (!run->limited || run->most <= limit);
}

static void report(struct run *run, bool good)
{
	if (json) {
		printf("{\"semaphore\":%s,\"files\":%ld,\"limit\":%ld,"
		       "\"threads\":%ld,\"read\":%ld,\"refused\":%ld,"
		       "\"failed\":%ld,\"most_at_once\":%ld,\"waited\":%ld,"
		       "\"longest_wait_ns\":%" PRId64 ",\"took_ns\":%" PRId64
		       ",\"held\":%s}\n",
		       run->limited ? "true" : "false", file_count, limit,
		       thread_count, run->read, run->refused, run->failed,
		       run->most, run->waited, run->longest_ns, run->took_ns,
		       good ? "true" : "false");
		return;
	}
	printf("      %ld of %ld files read in %.1f s, %ld opens failed"
	       " (EMFILE, %s)\n", run->read, file_count,
	       (double)run->took_ns / 1e9, run->refused, strerror(EMFILE));
	if (run->failed)
		printf("      %ld files failed otherwise\n", run->failed);
	if (run->limited)
		printf("      at most %ld open at once; %ld had to wait for"
		       " their turn, the longest %.0f ms\n", run->most,
		       run->waited, (double)run->longest_ns / 1e6);
	puts("");
}

static void verdict(bool good, long read)
{
	bool colours = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

	if (colours)
		fputs(good ? "\033[32m" : "\033[31m", stdout);
	if (good && no_limit)
		puts("Nothing was refused: are there more threads than the limit?");
	else if (good)
		printf("The limit held: %ld files read, their contents checked,"
		       " never more than %ld open.\n", file_count, limit);
	else
		printf("%s: %ld files were not read.\n",
		       no_limit ? "Without the semaphore it failed"
				: "The limit did NOT hold", file_count - read);
	if (colours)
		fputs("\033[0m", stdout);
}

/* The files of a directory, or temporary ones. */
static int add_path(const char *path, const struct stat *status, int type,
		    struct FTW *at)
{
	static long found;

	(void)at;
	if (type == FTW_F && S_ISREG(status->st_mode) &&
	    (paths[found] = strdup(path)))
		found++;
	return found == file_count;
}

static void find_files(const char *directory)
{
	if (nftw(directory, add_path, 8, FTW_PHYS) < 0)
		give_up("%s: %s", directory, strerror(errno));
	for (long i = 0; i < file_count; i++)
		if (!paths[i])
			file_count = i;
	if (file_count == 0)
		give_up("%s: no files there", directory);
}

static void remove_files(void)
{
	for (long i = 0; i < file_count && paths[i]; i++)
		unlink(paths[i]);
	rmdir(temporary);
}

static void make_files(void)
{
	const char *where = getenv("TMPDIR");

	if (asprintf(&temporary, "%s/open-files.XXXXXX", where ? where : "/tmp")
	    < 0 || !mkdtemp(temporary))
		give_up("%s: %s", temporary, strerror(errno));
	atexit(remove_files);
	for (long i = 0; i < file_count; i++) {
		FILE *file = NULL;

		if (asprintf(&paths[i], "%s/%04ld.txt", temporary, i) > 0)
			file = fopen(paths[i], "w");
		for (long k = 0; file && k < 40 + i % 5 * 80; k++)
			fprintf(file, "file %ld, line %ld: the quick brown fox"
				" opens a file\n", i, k);
		if (!file || fclose(file))
			give_up("%s: %s", temporary, strerror(errno));
	}
}

/* Record the expected totals, then allow exactly `limit` open files. */
static void lower_limit(void)
{
	struct rlimit most;
	long vacant = 0;
	int fd;

	for (long i = 0; i < file_count; i++) {
		fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0 || !digest(fd, 0, &all_bytes, &all_sum))
			give_up("%s: %s", paths[i], strerror(errno));
		close(fd);
	}
	for (fd = 0; vacant < limit; fd++)
		vacant += fcntl(fd, F_GETFD) < 0;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0 &&
	    most.rlim_max < (rlim_t)fd)
		give_up("--limit %ld is more than this system allows", limit);
	most.rlim_cur = (rlim_t)fd;
	if (setrlimit(RLIMIT_NOFILE, &most))
		give_up("setrlimit: %s", strerror(errno));
}

static long number(const char *option, const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < 1 || value > most)
		give_up("--%s takes a number from 1 to %ld, not '%s'", option,
			most, text);
	return value;
}

static const char usage[] =
	"usage: open-files [options] [DIRECTORY]\n"
	"Read many files with many threads where few may be open at once.\n"
	"\n"
	"  --demo        without the semaphore first, then with it\n"
	"  --no-limit    without the semaphore only\n"
	"  --files N     how many files (400)\n"
	"  --limit N     how many may be open at once (16)\n"
	"  --threads N   how many threads read (64)\n"
	"  --json        one line of JSON for each run, and nothing else\n"
	"  --help        this text\n"
	"\n"
	"Without DIRECTORY it makes files of its own and removes them.\n"
	"Exit status: 0 every file was read and the limit held; 1 not so;\n"
	"2 it could not run as asked.\n";

static const char *parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "demo", no_argument, NULL, 'd' },
		{ "no-limit", no_argument, NULL, 'n' },
		{ "files", required_argument, NULL, 'f' },
		{ "limit", required_argument, NULL, 'l' },
		{ "threads", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'd': demo = true; break;
		case 'n': no_limit = true; break;
		case 'f': file_count = number("files", optarg, 100000); break;
		case 'l': limit = number("limit", optarg, 100000); break;
		case 't': thread_count = number("threads", optarg, 4096); break;
		case 'j': json = true; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: fputs("try open-files --help\n", stderr); exit(2);
		}
	}
	if (optind + 1 < argc)
		give_up("one DIRECTORY at most, not also '%s'", argv[optind + 1]);
	if (demo && no_limit)
		give_up("--demo and --no-limit exclude each other");
	return argv[optind];
}

static void interrupt(int signal_number)
{
	interrupted = signal_number;
}

int main(int argc, char **argv)
{
	static struct run without, with;
	const char *directory = parse(argc, argv);
	bool good = false;

	signal(SIGHUP, interrupt);
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	signal(SIGPIPE, SIG_IGN);
	paths = calloc((size_t)file_count, sizeof(*paths));
	if (!paths)
		give_up("out of memory");
	if (directory)
		find_files(directory);
	else
		make_files();
	lower_limit();
	if (!json)
		printf("%ld files, %ld threads, and the system allows %ld open"
		       " files at once.\n\n", file_count, thread_count, limit);

	if (demo || no_limit) {
		run_all(&without, false);
		good = held(&without);
		report(&without, good);
	}
	if (!no_limit && !interrupted) {
		run_all(&with, true);
		good = held(&with);
		report(&with, good);
	}
	if (interrupted)
		give_up("interrupted");
	if (!json)
		verdict(good, no_limit ? without.read : with.read);
	if (fflush(stdout) || ferror(stdout))
		give_up("cannot write what it found");
	return good ? 0 : 1;
}
