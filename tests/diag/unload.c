/* SPDX-License-Identifier: MIT */
/*
 * A thread that used a watched semaphore ends after the library was unloaded.
 * The argument is the module of plugin.c.  Then no descriptor of a registry is open, and
 * the registry is marked, so that a reader uses that of the next copy of the library.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/layout.h"

static int (*use_semaphore)(void);
static sem_t used, unloaded;

static void *use(void *result)
{
	*(int *)result = use_semaphore();
	sem_post(&used);
	while (sem_wait(&unloaded))
		;
	return NULL;
}

static int load_and_unload(const char *path)
{
	void *module = dlopen(path, RTLD_NOW), *found;
	pthread_t thread;
	int result = 1;

	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	found = dlsym(module, "use_semaphore");
	if (!found)
		return 1;
	memcpy(&use_semaphore, &found, sizeof(found));
	if (pthread_create(&thread, NULL, use, &result))
		return 1;
	while (sem_wait(&used))
		;
	dlclose(module);
	sem_post(&unloaded);
	pthread_join(thread, NULL);
	return result;
}

static int is_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder))) {
		char path[300], target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			found |= strstr(target, RG_FILE_NAME) != NULL;
	}
	if (!folder || closedir(folder))
		return 1;
	return found;
}

/* Returns the number of registries that are marked; -1 if one is not. */
static int count_marked(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int count = 0;
	char line[512];

	while (maps && count >= 0 && fgets(line, sizeof(line), maps)) {
		uintptr_t start;

		if (!strstr(line, RG_FILE_NAME) ||
		    sscanf(line, "%" SCNxPTR, &start) != 1)
			continue;
		count = ((const struct rg_header *)start)->unloaded ? count + 1 :
								      -1;
	}
	if (maps)
		fclose(maps);
	return count;
}

int main(int argc, char **argv)
{
	sem_init(&used, 0, 0);
	sem_init(&unloaded, 0, 0);
	for (int i = 0; i < 3; i++)
		if (argc != 2 || load_and_unload(argv[1]) || is_open() ||
		    count_marked() != i + 1)
			return 1;
	return 0;
}
