/* SPDX-License-Identifier: MIT */
/*
 * Uses everything in weir/spin.h, compiled for a bare machine by
 * freestanding.sh, as C11 and as C++17.
 */
#include "weir/spin.h"

/* C26: at most 64 bytes.  C23: static initialisers. */
typedef char fits[sizeof(weir_spin) == 2 * sizeof(long) ? 1 : -1];
extern weir_spin bounded, unbounded, zeroed;
weir_spin bounded = WEIR_SPIN_INIT(4);
weir_spin unbounded = WEIR_SPIN_INIT_UNBOUNDED(0);
weir_spin zeroed;

WEIR_DECLS_BEGIN

weir_err init(weir_spin *spin, long n);
weir_err init_unbounded(weir_spin *spin, long n);
weir_err acquire(weir_spin *spin, long n);
weir_err try_acquire(weir_spin *spin, long n);
weir_err release(weir_spin *spin, long n);
long available(const weir_spin *spin);

weir_err init(weir_spin *spin, long n)
{
	return weir_spin_init(spin, n);
}

weir_err init_unbounded(weir_spin *spin, long n)
{
	return weir_spin_init_unbounded(spin, n);
}

weir_err acquire(weir_spin *spin, long n)
{
	return weir_spin_acquire(spin, n);
}

weir_err try_acquire(weir_spin *spin, long n)
{
	return weir_spin_try_acquire(spin, n);
}

weir_err release(weir_spin *spin, long n)
{
	return weir_spin_release(spin, n);
}

long available(const weir_spin *spin)
{
	return weir_spin_available(spin);
}

WEIR_DECLS_END
