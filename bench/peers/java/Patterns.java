// SPDX-License-Identifier: MIT

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** The peers of weir's patterns in Java. */
final class Patterns {
    private static volatile boolean stop;

    private Patterns() {
    }

    /**
     * Items through an ArrayBlockingQueue, measured as in bench/patterns/chan.c.
     * Items are objects that are allocated in advance, so that the measurement
     * allocates none; a 0 ends a receiver.
     */
    static void chan(int pairs, int slots, long warm, long ms)
            throws InterruptedException {
        ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(slots);
        AtomicLongArray done = new AtomicLongArray(pairs * Bench.PAD);
        AtomicInteger sending = new AtomicInteger(pairs);
        AtomicLong balance = new AtomicLong();
        Thread[] all = Bench.start(2 * pairs, number -> {
            if (number < pairs) {
                balance.addAndGet(send(queue));
                for (int i = sending.decrementAndGet() == 0 ? pairs : 0; i > 0;
                        i--)
                    queue.put(0L);
            } else {
                balance.addAndGet(-receive(queue, done,
                    (number - pairs) * Bench.PAD));
            }
        });
        Thread.sleep(warm);
        long used = Support.cpuNs(all);
        long[] before = Bench.sample(done);
        long took = System.nanoTime();
        Thread.sleep(ms);
        long[] after = Bench.sample(done);
        took = System.nanoTime() - took;
        used = Support.cpuNs(all) - used;
        stop = true;
        Bench.join(all);
        Support.must(balance.get() == 0, "items were lost");
        long total = 0;
        for (int i = 0; i < pairs; i++)
            total += after[i] - before[i];
        Support.must(total > 0, "no thread made progress");
        System.out.printf("{\"ns\": %.3f, \"cpu\": %.3f}%n", (double) took / total,
            (double) used / total);
    }

    private static long send(ArrayBlockingQueue<Long> queue)
            throws InterruptedException {
        long sum = 0;
        for (long item = 1; !stop; item = item % 127 + 1) {
            // Java caches boxed integers in this range.
            queue.put(item);
            sum += item;
        }
        return sum;
    }

    private static long receive(ArrayBlockingQueue<Long> queue,
            AtomicLongArray done, int mine) throws InterruptedException {
        long sum = 0;
        long count = 0;
        for (;;) {
            long item = queue.take();
            if (item == 0)
                return sum;
            sum += item;
            done.lazySet(mine, ++count);
        }
    }
}
