/* SPDX-License-Identifier: MIT */
int weir_sem_here;
