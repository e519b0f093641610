/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_NAMED_PROGRAMS_H
#define TESTS_MODEL_NAMED_PROGRAMS_H

/*
 * Small programs for the kernel services that src/named uses, with their
 * outcomes.  tests/named/kernel.c runs them on the kernel; the explorer's kernel
 * model runs them too (validate.c).  Both must have the same outcome.  If the
 * kernel may have several, separated by " or ", the model has the first one.
 *
 * A program is a list of steps, separated by "; ".  Each step has an actor, a
 * verb and numbers.  The actors A to D are processes with one thread each.  A
 * step begins when every actor is idle, asleep, stopped or dead.  Words have the
 * value 0 at the start; bytes are those of one file, which every actor opens for
 * itself.
 *
 *   enter L W    the robust list has word L; W is the obituary word, 9: none
 *   enter2 L W   the same with the words L and L + 2
 *   leave        empty the robust list
 *   wait W...    sleep on one word, or on several, while they keep their values
 *   late W...    the same, with a deadline
 *   wake W       wake one sleeper; wakeall W: all
 *   sleepers W   ask whether a thread sleeps on the word: yes or no
 *   move W V     move one sleeper from word W to word V: yes or no
 *   set W V      store V, in one step
 *   lock B       lock byte B of the file without waiting: yes or no
 *   unlock B
 *   query B      is byte B locked by another description: yes or no
 *   end          the thread ends by itself
 *   kill, stop, cont    SIGKILL, SIGSTOP, SIGCONT, sent by the test
 *
 * The outcome lists the answers in order, then the actors that sleep, then the
 * words that are not 0: "died" is the mark without a thread id.
 */
struct kernel_program {
	const char *name, *steps, *outcome;
};

static const struct kernel_program kernel_programs[] = {
	{ "wake_one_in_order",
	  "A wait 0; B wait 0; C wake 0; C wake 0; C wake 0",
	  "A woken; B woken;" },
	{ "wake_all",
	  "A wait 0; B wait 0; C wakeall 0",
	  "A woken; B woken;" },
	{ "wake_before_wait_is_lost",
	  "C wake 0; A wait 0",
	  "A asleep;" },
	{ "changed_word_does_not_sleep",
	  "A wait 0; C set 0 1; B wait 0; C wake 0; C set 0 0",
	  "A woken; B asleep;" },
	{ "waitv_wakes_by_any_word",
	  "A wait 0 1; B wait 0 1; C wake 1; C wake 0",
	  "A woken; B woken;" },
	{ "waitv_leaves_all_queues",
	  "A wait 0 1; B wait 1; C wake 0; C wake 1",
	  "A woken; B woken;" },
	{ "deadline",
	  "A late 0; B late 0 1; C wait 0; D wake 0",
	  "A late; B late; C woken;" },
	{ "sleepers",
	  "C sleepers 1; A wait 0 1; C sleepers 1; C sleepers 0; C sleepers 2; "
	  "C wake 0; C sleepers 1",
	  "C no; C yes; C yes; C no; A woken; C no;" },
	{ "sleepers_keeps_order",
	  "A wait 0; B wait 0; C sleepers 0; C wake 0",
	  "C yes; A woken; B asleep;" },
	{ "sleepers_keeps_order_of_waitv",
	  "A wait 0 1; B wait 0 2; C sleepers 1; C sleepers 0; C sleepers 0; "
	  "C wake 0; C sleepers 1; C sleepers 2",
	  "C yes; C yes; C yes; A woken; C no; C yes; B asleep;" },
	{ "moved_sleeper_wakes_by_the_other_word",
	  "A wait 1; C move 1 0; C sleepers 1; C sleepers 0; C wake 1; C wake 0",
	  "C yes; C no; C yes; A woken;" },
	/* It keeps its place if both words have one bucket in the kernel's hash. */
	{ "moved_sleeper_is_last",
	  "A wait 1; B wait 0; C move 1 0; C wake 0; C move 1 0",
	  "C yes; B woken; C no; A asleep; or "
	  "C yes; A woken; C no; B asleep;" },
	{ "moved_sleeper_continues_on_its_own_word",
	  "A wait 1; C move 1 0; A stop; A cont; C wake 0; C sleepers 1; C wake 1",
	  "C yes; C yes; A woken;" },
	{ "moved_sleeper_compares_when_it_continues",
	  "A wait 1; C set 1 1; C move 1 0; A stop; A cont",
	  "C yes; A woken; w1=1" },
	{ "death_wakes_moved_sleeper",
	  "A enter 4 0; B wait 1; C move 1 0; A kill",
	  "C yes; B woken; w4=died" },
	{ "death_marks_and_wakes_one",
	  "A enter 4 9; B wait 4; C wait 4; A kill",
	  "B woken; C asleep; w4=died" },
	{ "end_marks_and_wakes_one",
	  "A enter 4 9; B wait 4; C wait 4; A end",
	  "B woken; C asleep; w4=died" },
	{ "death_marks_each_word",
	  "A enter2 4 9; B wait 4; C wait 6; D wait 6; A kill",
	  "B woken; C woken; D asleep; w4=died w6=died" },
	{ "death_wakes_on_obituary",
	  "A enter 4 0; B wait 0 1; C wait 0 2; A kill",
	  "B woken; C asleep; w4=died" },
	{ "death_wakes_on_both",
	  "A enter 4 0; B wait 0 1; C wait 4; D wait 0 2; A kill",
	  "B woken; C woken; D asleep; w4=died" },
	{ "obituary_with_another_value",
	  "A enter 4 0; D set 0 2147483648; B wait 0 1; A kill",
	  "B woken; w0=2147483648 w4=died" },
	{ "obituary_with_owner_bits",
	  "A enter 4 0; D set 0 77; B wait 0 1; A kill",
	  "B asleep; w0=77 w4=died" },
	{ "foreign_word_is_not_marked",
	  "A enter 4 0; D set 4 3; B wait 4; C wait 0; A kill",
	  "C woken; B asleep; w4=3" },
	{ "zero_word_is_not_marked",
	  "A enter 4 0; D set 4 0; B wait 4; C wait 0; A kill",
	  "C woken; B asleep;" },
	{ "left_list_does_nothing",
	  "A enter 4 0; A leave; B wait 0; C wait 4; A kill",
	  "B asleep; C asleep; w4=alive" },
	{ "killed_sleeper_is_off_the_queue",
	  "A enter 4 0; B wait 0 1; C wait 0 2; B kill; A kill",
	  "C woken; w4=died" },
	{ "baton_passes_by_deaths",
	  "A enter 4 0; B enter 5 0; B wait 0 1; C wait 0 2; B kill; A kill",
	  "C woken; w4=died w5=died" },
	{ "two_deaths_wake_two",
	  "A enter 4 0; B enter 5 0; C wait 0 1; D wait 0 2; A kill; B kill",
	  "C woken; D woken; w4=died w5=died" },
	{ "stopped_sleeper_swallows_nothing",
	  "B wait 0 1; C wait 0 2; B stop; D wake 0; D sleepers 1",
	  "C woken; D no;" },
	{ "stopped_sleeper_swallows_no_death",
	  "A enter 4 0; B wait 0 1; C wait 0 2; B stop; A kill",
	  "C woken; w4=died" },
	{ "continued_sleeper_sleeps_again_at_the_end",
	  "B wait 0; C wait 0; B stop; B cont; D wake 0",
	  "C woken; B asleep;" },
	{ "continued_sleeper_of_waitv_sleeps_again_at_the_end",
	  "B wait 0 1; C wait 0 2; B stop; B cont; D sleepers 1; D wake 0",
	  "D yes; C woken; B asleep;" },
	{ "wake_while_stopped_is_lost",
	  "B wait 0 1; B stop; D wake 0; B cont",
	  "B asleep;" },
	{ "change_while_stopped_is_seen",
	  "B wait 0 1; B stop; D set 1 1; D wake 1; B cont",
	  "B woken; w1=1" },
	{ "stopped_sleeper_of_one_word_too",
	  "B wait 0; B stop; D set 0 1; B cont",
	  "B woken; w0=1" },
	{ "stopped_process_dies",
	  "A enter 4 0; B wait 0; A stop; A kill",
	  "B woken; w4=died" },
	{ "lock_excludes_and_death_unlocks",
	  "A lock 1; B lock 1; B query 1; A query 1; A kill; B lock 1; C query 1",
	  "A yes; B no; B yes; A no; B yes; C yes;" },
	{ "unlock",
	  "A lock 1; A unlock 1; B query 1; B lock 1; A lock 1",
	  "A yes; B no; B yes; A no;" },
	{ "stopped_process_keeps_its_lock",
	  "A lock 2; A stop; B lock 2; B query 2; B lock 1",
	  "A yes; B no; B yes; B yes;" },
};

#define KERNEL_PROGRAMS                                                        \
	(sizeof(kernel_programs) / sizeof(kernel_programs[0]))

#endif /* TESTS_MODEL_NAMED_PROGRAMS_H */
