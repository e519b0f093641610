/* SPDX-License-Identifier: MIT */
/*
 * The switch saves the callee-saved registers of the calling convention and the
 * stack pointer.
 */
#include "fiber.h"

#include <string.h>

void fiber_swap(void **from_sp, void *to_sp);

#if defined(__aarch64__)
#define SAVED 20	/* x19-x30, d8-d15 */
#define ENTRY 11	/* x30, the return address */
__asm__(".text\n"
	".global fiber_swap\n"
	".type fiber_swap, %function\n"
	"fiber_swap:\n"
	"	sub	sp, sp, #160\n"
	"	stp	x19, x20, [sp, #0]\n"
	"	stp	x21, x22, [sp, #16]\n"
	"	stp	x23, x24, [sp, #32]\n"
	"	stp	x25, x26, [sp, #48]\n"
	"	stp	x27, x28, [sp, #64]\n"
	"	stp	x29, x30, [sp, #80]\n"
	"	stp	d8, d9, [sp, #96]\n"
	"	stp	d10, d11, [sp, #112]\n"
	"	stp	d12, d13, [sp, #128]\n"
	"	stp	d14, d15, [sp, #144]\n"
	"	mov	x9, sp\n"
	"	str	x9, [x0]\n"
	"	mov	sp, x1\n"
	"	ldp	x19, x20, [sp, #0]\n"
	"	ldp	x21, x22, [sp, #16]\n"
	"	ldp	x23, x24, [sp, #32]\n"
	"	ldp	x25, x26, [sp, #48]\n"
	"	ldp	x27, x28, [sp, #64]\n"
	"	ldp	x29, x30, [sp, #80]\n"
	"	ldp	d8, d9, [sp, #96]\n"
	"	ldp	d10, d11, [sp, #112]\n"
	"	ldp	d12, d13, [sp, #128]\n"
	"	ldp	d14, d15, [sp, #144]\n"
	"	add	sp, sp, #160\n"
	"	ret\n"
	".size fiber_swap, .-fiber_swap\n");
#elif defined(__x86_64__)
#define SAVED 8		/* rbx, rbp, r12-r15, return address, alignment */
#define ENTRY 6
__asm__(".text\n"
	".global fiber_swap\n"
	".type fiber_swap, @function\n"
	"fiber_swap:\n"
	"	push	%rbp\n"
	"	push	%rbx\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	mov	%rsp, (%rdi)\n"
	"	mov	%rsi, %rsp\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	pop	%rbp\n"
	"	ret\n"
	".size fiber_swap, .-fiber_swap\n");
#else
#error "fiber_swap is written for aarch64 and x86_64"
#endif

void fiber_prepare(struct fiber *fiber, void (*entry)(void))
{
	uintptr_t top, *frame;

	top = (uintptr_t)fiber->stack + FIBER_STACK;
	frame = (uintptr_t *)top - SAVED;
	memset(frame, 0, SAVED * sizeof(*frame));
	frame[ENTRY] = (uintptr_t)entry;
	fiber->sp = frame;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
	fiber_swap(&from->sp, to->sp);
}
