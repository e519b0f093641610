/* SPDX-License-Identifier: MIT */
#include "board.h"

/* SysTick registers, Armv7-M. */
#define SYST_CSR (*(volatile uint32_t *)0xe000e010u)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014u)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018u)
#define CSR_ENABLE 1u
#define CSR_TICKINT 2u
#define CSR_CLKSOURCE 4u
/* Interrupt control: clears a pending SysTick. */
#define ICSR (*(volatile uint32_t *)0xe000ed04u)
#define ICSR_PENDSTCLR (UINT32_C(1) << 25)

/* The memory protection unit. */
#define MPU_CTRL (*(volatile uint32_t *)0xe000ed94u)
#define MPU_RNR (*(volatile uint32_t *)0xe000ed98u)
#define MPU_RBAR (*(volatile uint32_t *)0xe000ed9cu)
#define MPU_RASR (*(volatile uint32_t *)0xe000eda0u)
#define CTRL_ENABLE 1u
#define CTRL_PRIVDEFENA 4u		/* default map outside regions */
#define RASR_ENABLE 1u
#define RASR_SIZE_32 (4u << 1) /* 2^(4 + 1); access bits 0: none */

/* Semihosting operations. */
#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

static uint32_t semihost(uint32_t operation, const void *argument)
{
	register uint32_t r0 __asm__("r0") = operation;
	register const void *r1 __asm__("r1") = argument;

	__asm__ __volatile__("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

void print(const char *text)
{
	semihost(SYS_WRITE0, text);
}

void print_number(long number)
{
	unsigned long rest = number < 0 ? 0 - (unsigned long)number
					: (unsigned long)number;
	char text[12];
	char *at = text + sizeof(text);

	*--at = '\0';
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (number < 0)
		*--at = '-';
	print(at);
}

void quit(uint32_t status)
{
	uint32_t block[2] = { ADP_STOPPED_APPLICATION_EXIT, status };

	for (;;)
		semihost(SYS_EXIT_EXTENDED, block);
}

static volatile uint32_t once;

static void tick(uint32_t cycles)
{
	SYST_RVR = cycles;
	SYST_CVR = 0;
	SYST_CSR = CSR_CLKSOURCE | CSR_TICKINT | CSR_ENABLE;
}

void tick_once(uint32_t cycles)
{
	once = 1;
	tick(cycles);
}

void tick_always(uint32_t cycles)
{
	once = 0;
	tick(cycles);
}

void tick_stop(void)
{
	SYST_CSR = 0;
	ICSR = ICSR_PENDSTCLR;
	__asm__ __volatile__("dsb\n\tisb" ::: "memory");
}

void block_forbid(const void *block)
{
	MPU_RNR = 0;
	MPU_RBAR = (uintptr_t)block;
	MPU_RASR = RASR_SIZE_32 | RASR_ENABLE;
	MPU_CTRL = CTRL_PRIVDEFENA | CTRL_ENABLE;
	__asm__ __volatile__("dsb\n\tisb" ::: "memory");
}

void block_allow(void)
{
	MPU_CTRL = 0;
	__asm__ __volatile__("dsb\n\tisb" ::: "memory");
}

/* The registers that the core pushes when it takes an exception. */
struct frame {
	uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
};

void tick_body(const struct frame *frame);
__attribute__((used)) void tick_body(const struct frame *frame)
{
	if (once)
		tick_stop();
	on_tick(frame->pc);
}

void tick_entry(void);
__attribute__((naked)) void tick_entry(void)
{
	__asm__ __volatile__("mov r0, sp\n\tb tick_body");
}

static void fault(void)
{
	print("fault\n");
	quit(STATUS_FAULT);
}

extern uint32_t stack_top[];	/* link.ld */

__attribute__((section(".vectors"), used))
static const struct {
	uint32_t *stack;
	void (*entry[15])(void);
} vectors = {
	stack_top,
	{
		/* Reset, NMI and the faults. */
		run, fault, fault, fault, fault, fault,
		/* Reserved, SVCall. */
		fault, fault, fault, fault, fault,
		/* Debug, reserved, PendSV, SysTick. */
		fault, fault, fault, tick_entry,
	},
};
