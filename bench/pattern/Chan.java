// SPDX-License-Identifier: MIT

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/** How long an item takes through an ArrayBlockingQueue; as chan.c. */
public final class Chan {
    private static double measure(int slots, int in, int out, int items)
            throws InterruptedException {
        ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(slots);
        AtomicLong total = new AtomicLong();
        Thread[] threads = new Thread[in + out];
        for (int i = 0; i < in; i++) {
            long from = (long) items * i / in;
            long to = (long) items * (i + 1) / in;
            threads[i] = new Thread(() -> {
                try {
                    for (long k = from; k < to; k++)
                        queue.put(k);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        for (int i = 0; i < out; i++) {
            long n = (long) items * (i + 1) / out - (long) items * i / out;
            threads[in + i] = new Thread(() -> {
                try {
                    long sum = 0;
                    for (long k = 0; k < n; k++)
                        sum += queue.take();
                    total.addAndGet(sum);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        long begun = System.nanoTime();
        for (Thread thread : threads)
            thread.start();
        for (Thread thread : threads)
            thread.join();
        long took = System.nanoTime() - begun;
        if (total.get() != (long) items * (items - 1) / 2)
            throw new IllegalStateException("items were lost");
        return (double) took / items;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] n = new int[4];
        for (int i = 0; i < 4; i++)
            n[i] = Integer.parseInt(args[i]);
        // Once to be compiled, once to be measured.
        measure(n[0], n[1], n[2], n[3]);
        System.out.printf("%.1f%n", measure(n[0], n[1], n[2], n[3]));
    }
}
