/* SPDX-License-Identifier: MIT */
/*
 * A thread that used a watched semaphore ends after the library was unloaded.
 * The argument is the module of plugin.c.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

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

int main(int argc, char **argv)
{
	sem_init(&used, 0, 0);
	sem_init(&unloaded, 0, 0);
	for (int i = 0; i < 3; i++)
		if (argc != 2 || load_and_unload(argv[1]))
			return 1;
	return 0;
}
