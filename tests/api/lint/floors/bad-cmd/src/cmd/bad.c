/* SPDX-License-Identifier: MIT */
#include "core/sem_impl.h"
