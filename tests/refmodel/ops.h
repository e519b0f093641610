/* SPDX-License-Identifier: MIT */
#ifndef TESTS_REFMODEL_OPS_H
#define TESTS_REFMODEL_OPS_H

#include "world.h"

/* One random operation. */
void ops_step(world *w);

/* Operations with which a sequence ends. */
void ops_cancel_all(world *w);
void ops_close(world *w, weir_close how);
void ops_release(world *w, int64_t n);

/* The panic hook of the whole test: no panic is expected. */
void ops_no_panic(const char *message);

#endif /* TESTS_REFMODEL_OPS_H */
