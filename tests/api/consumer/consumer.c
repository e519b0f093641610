/* SPDX-License-Identifier: MIT */
/* A program that uses the installed weir. */
#include <stdio.h>
#include <string.h>

#include <weir/base.h>
#include <weir/ctx.h>
#include <weir/permit.h>
#include <weir/sem.h>

static weir_sem sem = WEIR_SEM_INIT(2);

static weir_err use(weir_ctx *ctx)
{
	WEIR_SCOPED weir_permit permit = WEIR_PERMIT_INIT;
	weir_err err = weir_permit_acquire(&permit, &sem, 2, ctx);

	if (err)
		return err;
	return weir_sem_try_acquire(&sem, 1);
}

int main(void)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", WEIR_VERSION_MAJOR,
		 WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
	if (strcmp(version, weir_version()) != 0)
		return 1;
	if (use(&ctx) != WEIR_EAGAIN || weir_sem_available(&sem) != 2)
		return 2;
	weir_ctx_cancel(&ctx);
	if (use(&ctx) != WEIR_ECANCELED || weir_sem_available(&sem) != 2)
		return 3;
	if (weir_ctx_destroy(&ctx) || weir_sem_destroy(&sem))
		return 4;
	return 0;
}
