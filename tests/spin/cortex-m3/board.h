/* SPDX-License-Identifier: MIT */
/*
 * The bare machine: an Arm MPS2 board with a Cortex-M3 (AN385), as emulated by
 * QEMU.  No libc and no run-time library; what is printed and the exit status
 * go through semihosting.
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
 * SysTick, 25 MHz.  Once: one interrupt after `cycles`, then silence.  Always:
 * one every `cycles`.
 */
void tick_once(uint32_t cycles);
void tick_always(uint32_t cycles);
void tick_stop(void);

/*
 * Take a block of 32 bytes, aligned to as many, out of the address space, and
 * put it back: an access in between is a fault.
 */
#define BLOCK 32
void block_forbid(const void *block);
void block_allow(void);

/* In the test: what the interrupt does, which came before the one at pc. */
void on_tick(uintptr_t pc);

/* In the test: where the board starts it. */
__attribute__((noreturn)) void run(void);

#endif /* BOARD_H */
