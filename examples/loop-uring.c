/* SPDX-License-Identifier: MIT */
/* Operations in an io_uring loop: weir/loop/uring.h. */
#include "loop-demo.h"

#include <stdbool.h>
#include <string.h>

#include "weir/loop/uring.h"

static bool over;

static void demo_over(void)
{
	over = true;
}

int main(void)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	pthread_t holder;
	weir_loop loop;
	int err = io_uring_queue_init(8, &ring, 0);

	if (err) {
		printf("io_uring: %s\n", strerror(-err));
		return 77;
	}
	if (weir_loop_init(&loop) || weir_loop_uring_arm(&ring, &loop))
		return 1;
	holder = demo_begin(&loop);
	while (!over)
		if (weir_loop_uring_wait(&ring, &loop, &cqe) != -EAGAIN)
			return 1;
	io_uring_queue_exit(&ring);
	return demo_end(&loop, holder);
}
