/* SPDX-License-Identifier: MIT */
/*
 * Run a command under the system call filter of an unprivileged container.
 *
 *     container COMMAND...
 *
 * The filter refuses with EPERM what Docker's default profile refuses to a process
 * without CAP_SYS_ADMIN: new namespaces, mounts, keys, io_uring, performance counters.
 * clone3 fails with ENOSYS, because a filter cannot see its flags; libc then uses
 * clone.  Requires root: the filter is installed without no_new_privs, as in a
 * container.  tools/environments drops the capabilities afterwards.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |         \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static const long refused[] = {
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_fanotify_init,
	SYS_quotactl,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_add_key,
	SYS_keyctl,
	SYS_request_key,
	SYS_syslog,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_mbind,
	SYS_set_mempolicy,
	SYS_get_mempolicy,
	SYS_acct,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_vhangup,
	SYS_open_by_handle_at,
};
#define REFUSED (sizeof(refused) / sizeof(refused[0]))

#define FIELD(name) ((unsigned)offsetof(struct seccomp_data, name))
#define FAIL(error) \
	((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, \
				      SECCOMP_RET_ERRNO | (unsigned)(error)))
#define LOAD(offset) \
	((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset))
#define UNLESS_EQUAL(value) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, \
				      (unsigned)(value), 0, 1))

int main(int argc, char **argv)
{
	struct sock_filter code[2 * REFUSED + 20];
	struct sock_fprog filter = { .filter = code };
	unsigned short n = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s COMMAND...\n", argv[0]);
		return 2;
	}
	code[n++] = LOAD(FIELD(nr));
	for (size_t i = 0; i < REFUSED; i++) {
		code[n++] = UNLESS_EQUAL(refused[i]);
		code[n++] = FAIL(EPERM);
	}
	code[n++] = UNLESS_EQUAL(SYS_clone3);
	code[n++] = FAIL(ENOSYS);
	/* clone: the flags are the first argument on x86_64 and aarch64. */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						 SYS_clone, 0, 3);
	code[n++] = LOAD(FIELD(args[0]));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
						 NAMESPACES, 0, 1);
	code[n++] = FAIL(EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	filter.len = n;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("container: seccomp");
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
