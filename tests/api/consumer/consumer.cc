/* SPDX-License-Identifier: MIT */
/* The same in C++, with weir::permit. */
#include <utility>

#include <weir/base.h>
#include <weir/ctx.h>
#include <weir/permit.h>
#include <weir/sem.h>

static_assert(sizeof(weir_sem) <= 64, "C26");
static_assert(sizeof(weir_err) == 4, "the size that the library was built with");

static weir_sem sem = WEIR_SEM_INIT(2);

static int use()
{
	weir::permit both(sem, 2);

	if (!both || both.count() != 2)
		return 1;
	if (weir::permit::try_acquire(sem))
		return 2;
	weir::permit moved = std::move(both);

	if (both || !moved || weir_sem_available(&sem) != 0)
		return 3;
	throw 0;
}

int main()
{
	try {
		return use();
	} catch (int thrown) {
		return weir_sem_available(&sem) == 2 ? thrown : 4;
	}
}
