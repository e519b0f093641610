/* SPDX-License-Identifier: MIT */
/* The files of semaphores, for tests that examine or damage them. */
#include "file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "weir/named.h"

struct file map_file(const char *name)
{
	struct file file;

	CHECK_OK(weir_named_path(name, file.path, sizeof(file.path)));
	file.fd = open(file.path, O_RDWR | O_CLOEXEC);
	CHECK(file.fd >= 0);
	file.head = mmap(NULL, NM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			 file.fd, 0);
	CHECK(file.head != MAP_FAILED);
	file.slots = (struct nm_slot *)(void *)(file.head + 1);
	return file;
}

void unmap_file(struct file *file)
{
	CHECK(!munmap(file->head, NM_FILE_SIZE));
	close(file->fd);
}

int count_lent(void)
{
	DIR *folder = opendir(getenv("WEIR_DIR"));
	const struct dirent *entry;
	int count = 0;

	CHECK(folder);
	while ((entry = readdir(folder)))
		count += !strncmp(entry->d_name, NM_LENT_PREFIX,
				  strlen(NM_LENT_PREFIX));
	closedir(folder);
	return count;
}
