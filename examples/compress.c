/* SPDX-License-Identifier: MIT */
/*
 * Compress a directory tree with zlib, in three stages over two channels, with
 * a budget for memory.
 *
 *     compress [--budget=BYTES] [--workers=N] DIRECTORY OUTPUT
 *     compress --check DIRECTORY      one thread and pipeline, compared
 *
 * The first stage reads the files in pieces, the second compresses pieces, as
 * many at a time as there are workers, the third writes them in order.  The
 * budget is a semaphore with one permit per byte.  Before a piece is read, the
 * bytes that it will need are acquired; its raw bytes are released when it is
 * compressed, the rest when it is written.  So memory stays within the budget,
 * even if the tree is large and the disk slow, and the output is the same as
 * with one thread.
 *
 * There is no deadlock: pieces get their bytes in order, so the piece that the
 * writer needs next already has its bytes.
 */
#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include <weir/chan.h>
#include <weir/sem.h>

#define PIECE ((size_t)65536)
#define WORKERS_MAX 64

struct piece {
	int64_t number;			/* in the order of reading */
	unsigned char *raw, *packed;
	size_t raw_size;
	unsigned long packed_size;
	struct piece *next;		/* in the writer's list */
};

static weir_sem budget;
static weir_chan to_pack, to_write;
static atomic_llong in_use, peak;
static atomic_int packing, trouble;

static void fail(const char *what)
{
	fprintf(stderr, "compress: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(weir_err err)
{
	if (err != WEIR_OK) {
		fprintf(stderr, "compress: %s\n", weir_err_text(err));
		exit(1);
	}
}

/* Allocate memory and count it, to check that the budget is kept. */
static void *get(size_t size)
{
	long long now = atomic_fetch_add(&in_use, (long long)size) +
			(long long)size, before = peak;
	void *memory = malloc(size);

	while (now > before &&
	       !atomic_compare_exchange_weak(&peak, &before, now))
		;
	if (!memory)
		fail("memory");
	return memory;
}

static void put(void *memory, size_t size)
{
	free(memory);
	atomic_fetch_sub(&in_use, (long long)size);
}

static size_t room(void)
{
	return compressBound(PIECE);
}

/*
 * The three stages, for one piece.
 */
static void pack(struct piece *p)
{
	p->packed = get(room());
	p->packed_size = room();
	if (compress2(p->packed, &p->packed_size, p->raw, p->raw_size, 6) !=
	    Z_OK)
		fail("zlib");
	put(p->raw, PIECE);
}

static void write_out(struct piece *p, FILE *out, uLong *sum)
{
	*sum = crc32(*sum, p->packed, (uInt)p->packed_size);
	if (out && fwrite(p->packed, 1, p->packed_size, out) != p->packed_size)
		fail("output");
	put(p->packed, room());
	put(p, sizeof(*p));
}

/* The most bytes that a piece needs, until it is packed and written. */
static int64_t raw_cost(void)
{
	return (int64_t)(PIECE);
}

static int64_t packed_cost(void)
{
	return (int64_t)(room() + sizeof(struct piece));
}

static struct piece *read_piece(FILE *in, int64_t number)
{
	struct piece *p = get(sizeof(*p));

	*p = (struct piece){ .number = number, .raw = get(PIECE) };
	p->raw_size = fread(p->raw, 1, PIECE, in);
	return p;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Call fn for each piece of a file; the last piece is short, perhaps empty. */
static int64_t each_of_file(FILE *in, int64_t number,
			    void (*fn)(struct piece *, void *), void *arg)
{
	for (size_t got = PIECE; got == PIECE;) {
		struct piece *p;

		must(weir_sem_acquire(&budget, raw_cost() + packed_cost(),
				      NULL));
		p = read_piece(in, number++);
		got = p->raw_size;
		fn(p, arg);
	}
	return number;
}

/*
 * Call fn for each piece of each file, in the order of names.  A null fn only
 * counts the pieces.  Returns the number of pieces.
 */
static int64_t each_piece(char *directory, void (*fn)(struct piece *, void *),
			  void *arg)
{
	char *const roots[] = { directory, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	int64_t pieces = 0;
	const FTSENT *e;

	if (!tree)
		fail(directory);
	while ((e = fts_read(tree))) {
		FILE *in;

		if (e->fts_info != FTS_F)
			continue;
		if (!fn) {
			pieces += e->fts_statp->st_size / (off_t)PIECE + 1;
			continue;
		}
		in = fopen(e->fts_accpath, "rb");
		if (in) {
			pieces = each_of_file(in, pieces, fn, arg);
			fclose(in);
			continue;
		}
		fprintf(stderr, "compress: %s: %s\n", e->fts_path,
			strerror(errno));
		atomic_store(&trouble, 1);
	}
	fts_close(tree);
	return pieces;
}

/*
 * One thread.
 */
struct output {
	FILE *file;
	uLong sum;
	int64_t written;
};

static void one_after_the_other(struct piece *p, void *arg)
{
	struct output *out = arg;

	pack(p);
	weir_sem_release(&budget, raw_cost());
	write_out(p, out->file, &out->sum);
	weir_sem_release(&budget, packed_cost());
	out->written++;
}

/*
 * The pipeline.
 */
static void send_on(struct piece *p, void *arg)
{
	(void)arg;
	must(weir_chan_send(&to_pack, &p, NULL));
}

static void *read_all(void *directory)
{
	each_piece(directory, send_on, NULL);
	weir_chan_close(&to_pack);
	return NULL;
}

static void *pack_all(void *arg)
{
	struct piece *p;

	(void)arg;
	while (weir_chan_recv(&to_pack, &p, NULL) == WEIR_OK) {
		pack(p);
		weir_sem_release(&budget, raw_cost());
		must(weir_chan_send(&to_write, &p, NULL));
	}
	if (atomic_fetch_sub(&packing, 1) == 1)
		weir_chan_close(&to_write);
	return NULL;
}

static void show_progress(int64_t written, int64_t all)
{
	static const char bar[] = "########################################";
	int width = sizeof(bar) - 1, full;

	if (!isatty(STDERR_FILENO))
		return;
	full = written < all ? (int)(written * width / all) : width;
	fprintf(stderr, "\r[%.*s%*s] %" PRId64 " of %" PRId64 "%s", full, bar,
		width - full, "", written, all, written < all ? "" : "\n");
}

/* Write pieces in order; keep those that arrive early. */
static void write_all(struct output *out, int64_t all)
{
	struct piece *kept = NULL, *p;

	while (weir_chan_recv(&to_write, &p, NULL) == WEIR_OK) {
		struct piece **at = &kept;

		while (*at && (*at)->number < p->number)
			at = &(*at)->next;
		p->next = *at;
		*at = p;
		while (kept && kept->number == out->written) {
			p = kept;
			kept = p->next;
			write_out(p, out->file, &out->sum);
			weir_sem_release(&budget, packed_cost());
			out->written++;
		}
		show_progress(out->written, all);
	}
}

static pthread_t spawn(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	if (errno)
		fail("thread");
	return thread;
}

static void pipeline(char *directory, int workers, struct output *out)
{
	pthread_t reader, packers[WORKERS_MAX];

	must(weir_chan_init(&to_pack, NULL, workers, sizeof(struct piece *)));
	must(weir_chan_init(&to_write, NULL, workers, sizeof(struct piece *)));
	atomic_store(&packing, workers);
	reader = spawn(read_all, directory);
	for (int i = 0; i < workers; i++)
		packers[i] = spawn(pack_all, NULL);
	write_all(out, each_piece(directory, NULL, NULL));
	pthread_join(reader, NULL);
	for (int i = 0; i < workers; i++)
		pthread_join(packers[i], NULL);
	must(weir_chan_destroy(&to_pack));
	must(weir_chan_destroy(&to_write));
}

static int report(const char *how, const struct output *out, int64_t bytes)
{
	printf("%s: %" PRId64 " pieces, peak %lld of %" PRId64 " bytes, sum %08lx\n",
	       how, out->written, atomic_load(&peak), bytes, out->sum);
	return peak > bytes || in_use || weir_sem_available(&budget) != bytes;
}

int main(int argc, char **argv)
{
	struct output out = { NULL, 0, 0 }, alone = { NULL, 0, 0 };
	int64_t bytes = 8 * (raw_cost() + packed_cost());
	int workers = 4, check = 0, wrong = 0;

	for (; argc > 1 && !strncmp(argv[1], "--", 2); argc--, argv++) {
		if (!strncmp(argv[1], "--budget=", 9))
			bytes = atoll(argv[1] + 9);
		else if (!strncmp(argv[1], "--workers=", 10))
			workers = atoi(argv[1] + 10);
		else if (!strcmp(argv[1], "--check"))
			check = 1;
		else
			argc = 0;
	}
	if (argc != 3 - check || workers < 1 || workers > WORKERS_MAX ||
	    bytes < raw_cost() + packed_cost()) {
		fprintf(stderr, "usage: compress [--budget=BYTES] [--workers=N] "
			"DIRECTORY OUTPUT\n       compress --check DIRECTORY\n"
			"The budget is at least %" PRId64 " bytes.\n",
			raw_cost() + packed_cost());
		return 2;
	}
	must(weir_sem_init(&budget, bytes));
	if (check) {
		each_piece(argv[1], one_after_the_other, &alone);
		wrong |= report("one thread", &alone, bytes);
		atomic_store(&peak, 0);
	} else {
		out.file = fopen(argv[2], "wb");
		if (!out.file)
			fail(argv[2]);
	}
	pipeline(argv[1], workers, &out);
	wrong |= report("pipeline", &out, bytes);
	if (out.file && fclose(out.file))
		fail("output");
	if (check && (out.sum != alone.sum || out.written != alone.written))
		wrong = 1;
	if (check)
		puts(wrong ? "it went WRONG" : "the same, and within the budget");
	return wrong || trouble;
}
