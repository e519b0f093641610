/* SPDX-License-Identifier: MIT */
/*
 * The bare machine: an Arm MPS2 board with a Cortex-M3 (AN385), emulated by
 * QEMU.  No libc and no run-time library.  Output and exit status use
 * semihosting.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Exit statuses; QEMU's own failures are 1. */
#define STATUS_PASSED 0
#define STATUS_FAILED 3
#define STATUS_FAULT 4

void print(const char *text);
void print_number(long number);
__attribute__((noreturn)) void quit(uint32_t status);

/*
 * SysTick, 25 MHz.  tick_once: one interrupt after `cycles`.  tick_always: one
 * interrupt every `cycles`.
 */
void tick_once(uint32_t cycles);
void tick_always(uint32_t cycles);
void tick_stop(void);

/*
 * Forbid and allow accesses to a block of 32 bytes, aligned to 32: an access in
 * between faults.
 */
#define BLOCK 32
void block_forbid(const void *block);
void block_allow(void);

/* Defined by the test: the interrupt handler.  pc is the next instruction. */
void on_tick(uintptr_t pc);

/* Defined by the test: the entry point after reset. */
__attribute__((noreturn)) void run(void);

#endif /* BOARD_H */
