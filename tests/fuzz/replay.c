/* SPDX-License-Identifier: MIT */
/*
 * Replays every input of the corpus without the fuzzer, so under every compiler
 * and sanitizer.
 *
 *     WEIR_FUZZ_INPUT=crash-... replay        one file, or all of a directory
 *
 * C1 to C16, C19 to C21, C23, C30, C31 and C34: sequence.c.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"
#include "sequence.h"

#define INPUT_MAX (1 << 20)

static void replay(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file)
		check_fail(__FILE__, __LINE__, "cannot open %s", path);
	size = fread(bytes, 1, sizeof(bytes), file);
	CHECK_EQ(ferror(file), 0);
	fclose(file);
	/* The last path printed before a failure is the failing input. */
	printf("%s\n", path);
	sequence_run(bytes, size);
}

/* Returns the number of inputs. */
static int replay_all(const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, alphasort), replayed = 0;

	CHECK(count >= 0);
	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", directory,
			 entries[i]->d_name);
		if (entries[i]->d_name[0] != '.') {
			replay(path);
			replayed++;
		}
		free(entries[i]);
	}
	free(entries);
	return replayed;
}

TEST(c16_every_input_follows_the_model)
{
	const char *input = getenv("WEIR_FUZZ_INPUT");
	struct stat status;
	int inputs = 1;

	CHECK(input);
	CHECK_EQ(stat(input, &status), 0);
	sequence_start(0);
	if (S_ISDIR(status.st_mode))
		inputs = replay_all(input);
	else
		replay(input);
	sequence_stop();
	CHECK(inputs > 0);
	printf("%d inputs, %" PRId64 " steps\n", inputs, sequence_steps());
}
