// SPDX-License-Identifier: MIT

import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The measuring program of java.util.concurrent.Semaphore; kind=fair or unfair.
 * bench/harness/support.h documents the command line.
 */
public final class Bench {
    static final int PAD = 16;  // longs: two cache lines

    private static Map<String, Long> args;
    private static boolean fair;
    private static volatile boolean stop;
    private static volatile boolean over;
    private static volatile boolean warm;

    private Bench() {
    }

    private static int arg(String key) {
        return Math.toIntExact(args.get(key));
    }

    private static Semaphore semaphore(int permits) {
        return new Semaphore(permits, fair);
    }

    interface Body {
        void run(int number) throws InterruptedException;
    }

    static Thread[] start(int count, Body body) {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = new Thread(null, () -> {
                try {
                    body.run(number);
                } catch (InterruptedException unexpected) {
                    Support.must(false, "interrupted");
                }
            }, "worker", 256 * 1024);
            threads[i].start();
        }
        return threads;
    }

    static void join(Thread[] threads) throws InterruptedException {
        for (Thread thread : threads)
            thread.join();
    }

    static long[] sample(AtomicLongArray done) {
        long[] counts = new long[done.length() / PAD];
        for (int i = 0; i < counts.length; i++)
            counts[i] = done.get(i * PAD);
        return counts;
    }

    private static void pair(Semaphore sem, long times) {
        for (; times > 0; times--) {
            sem.acquireUninterruptibly();
            sem.release();
        }
    }

    private static void weight(Semaphore sem, long times) {
        for (; times > 0; times--) {
            sem.acquireUninterruptibly(3);
            sem.release(3);
        }
    }

    private static void tryBoth(Semaphore sem, long times) {
        for (; times > 0; times--) {
            Support.must(sem.tryAcquire(), "try");
            sem.release();
        }
    }

    private static void tryFail(Semaphore sem, long times) {
        for (; times > 0; times--)
            Support.must(!sem.tryAcquire(), "try must fail");
    }

    private static void timeout(Semaphore sem, long times) {
        try {
            for (; times > 0; times--) {
                Support.must(sem.tryAcquire(1, TimeUnit.HOURS), "timeout");
                sem.release();
            }
        } catch (InterruptedException unexpected) {
            Support.must(false, "interrupted");
        }
    }

    /** In Java an interrupt takes the place of a ctx. */
    private static void interruptible(Semaphore sem, long times) {
        try {
            for (; times > 0; times--) {
                sem.acquire();
                sem.release();
            }
        } catch (InterruptedException unexpected) {
            Support.must(false, "interrupted");
        }
    }

    private static void uncontended(String workload) {
        Semaphore sem = semaphore(workload.equals("try-fail") ? 0 : 8);
        Support.Loop loop = null;
        switch (workload) {
        case "pair": loop = times -> pair(sem, times); break;
        case "weight3": loop = times -> weight(sem, times); break;
        case "try": loop = times -> tryBoth(sem, times); break;
        case "try-fail": loop = times -> tryFail(sem, times); break;
        case "timeout": loop = times -> timeout(sem, times); break;
        case "ctx": loop = times -> interruptible(sem, times); break;
        default: Support.cannot(workload);
        }
        System.out.printf("{\"ns\": %.3f}%n",
            Support.repeat(arg("ms"), loop));
    }

    private static void contended(boolean timed) throws InterruptedException {
        int threads = arg("threads");
        Semaphore sem = semaphore(arg("capacity"));
        long rounds = Support.busyRounds(arg("section"));
        AtomicLongArray done = new AtomicLongArray(threads * PAD);
        Support.Times[] waits = new Support.Times[threads];
        for (int i = 0; i < threads; i++)
            waits[i] = new Support.Times();
        Thread[] all = start(threads, number -> {
            long x = number;
            long count = 0;
            long before = 0;
            while (!stop) {
                if (timed)
                    before = System.nanoTime();
                sem.acquireUninterruptibly();
                if (timed && warm)
                    waits[number].add(System.nanoTime() - before);
                x = Support.busy(x, rounds);
                sem.release();
                done.lazySet(number * PAD, ++count);
            }
            Support.sink = x;
        });
        Thread.sleep(arg("warm"));
        warm = true;
        long used = Support.cpuNs(all);
        long[] before = sample(done);
        long took = System.nanoTime();
        Thread.sleep(arg("ms"));
        long[] after = sample(done);
        took = System.nanoTime() - took;
        used = Support.cpuNs(all) - used;
        stop = true;
        join(all);
        Support.Times every = new Support.Times();
        long total = 0;
        for (int i = 0; i < threads; i++) {
            after[i] -= before[i];
            total += after[i];
            every.merge(waits[i]);
        }
        Support.must(total > 0, "no thread made progress");
        System.out.printf("{\"ns\": %.3f, \"cpu\": %.3f, %s%s}%n",
            (double) took / total, (double) used / total,
            Support.fairness(after), timed ? ", " + every : "");
    }

    private static void pingPong() throws InterruptedException {
        Semaphore ping = semaphore(0);
        Semaphore pong = semaphore(0);
        AtomicLong done = new AtomicLong();
        Thread[] all = start(2, number -> {
            for (long count = 0;;) {
                if (number == 1) {
                    ping.acquireUninterruptibly();
                    if (over)
                        return;
                    pong.release();
                    continue;
                }
                boolean last = stop;
                over = last;
                ping.release();
                if (last)
                    return;
                pong.acquireUninterruptibly();
                done.lazySet(++count);
            }
        });
        Thread.sleep(arg("warm"));
        long used = Support.cpuNs(all);
        long before = done.get();
        long took = System.nanoTime();
        Thread.sleep(arg("ms"));
        long after = done.get();
        took = System.nanoTime() - took;
        used = Support.cpuNs(all) - used;
        stop = true;
        join(all);
        Support.must(after > before, "no thread made progress");
        System.out.printf("{\"ns\": %.3f, \"cpu\": %.3f}%n",
            (double) took / (after - before), (double) used / (after - before));
    }

    /** `count` threads wait, and then are granted permits or interrupted. */
    private static void waiters(boolean oneByOne, boolean cancel)
            throws InterruptedException {
        int count = arg("count");
        Semaphore sem = semaphore(0);
        Semaphore end = semaphore(0);
        AtomicLong ran = new AtomicLong();
        Thread[] all = start(count, number -> {
            try {
                sem.acquire();
                Support.must(!cancel, "acquire must fail");
            } catch (InterruptedException expected) {
                Support.must(cancel, "interrupted");
            }
            ran.incrementAndGet();
            end.acquireUninterruptibly();
        });
        while (sem.getQueueLength() < count)
            Thread.sleep(1);
        Thread.sleep(20);
        int[] order = new int[count];
        long random = 1;
        for (int i = 0; i < count; i++) {
            random = Support.busy(random, 1);
            int other = (int) ((random >>> 33) % (i + 1));
            order[i] = order[other];
            order[other] = i;
        }
        long start = System.nanoTime();
        if (cancel)
            for (int i : order)
                all[i].interrupt();
        else if (oneByOne)
            for (int i = 0; i < count; i++)
                sem.release();
        else
            sem.release(count);
        long called = System.nanoTime() - start;
        while (ran.get() < count)
            Thread.yield();
        long took = System.nanoTime() - start;
        System.out.printf("{\"ns\": %.3f, \"call_ns\": %.3f}%n",
            (double) took / count, (double) called / count);
        System.out.flush();
        end.release(count);
        join(all);
    }

    private static void storm(boolean cancels) throws InterruptedException {
        int threads = arg("threads");
        int timeout = arg("timeout");
        Semaphore sem = semaphore(0);
        AtomicLongArray done = new AtomicLongArray(threads * PAD);
        AtomicLongArray armed = new AtomicLongArray(threads * PAD);
        Thread[] all = start(threads, number -> {
            for (long count = 0; !stop;) {
                try {
                    armed.set(number * PAD, 1);
                    Support.must(!sem.tryAcquire(cancels ? Long.MAX_VALUE
                        : timeout, TimeUnit.NANOSECONDS), "acquire must fail");
                } catch (InterruptedException expected) {
                    Support.must(cancels, "interrupted");
                }
                done.lazySet(number * PAD, ++count);
            }
            armed.set(number * PAD, 2);
        });
        long start = System.nanoTime();
        if (!cancels)
            Thread.sleep(arg("ms"));
        while (cancels && System.nanoTime() - start < arg("ms") * 1_000_000L)
            interruptAll(all, armed);
        long total = 0;
        for (long count : sample(done))
            total += count;
        long took = System.nanoTime() - start;
        stop = true;
        for (int i = 0; cancels && i < threads; i++)
            while (armed.get(i * PAD) != 2)
                interruptAll(all, armed);
        join(all);
        Support.must(total > 0, "no thread made progress");
        System.out.printf("{\"ns\": %.3f}%n", (double) took / total);
    }

    private static void interruptAll(Thread[] all, AtomicLongArray armed) {
        boolean any = false;
        for (int i = 0; i < all.length; i++) {
            if (armed.compareAndSet(i * PAD, 1, 0)) {
                all[i].interrupt();
                any = true;
            }
        }
        if (!any)
            Thread.yield();
    }

    private static void section() {
        long rounds = Support.busyRounds(arg("section"));
        System.out.printf("{\"ns\": %.3f}%n", Support.repeat(arg("ms"), times -> {
            for (; times > 0; times--)
                Support.sink = Support.busy(Support.sink, rounds);
        }));
    }

    public static void main(String[] words) throws InterruptedException {
        String workload = words[0];
        args = Support.numbers(words);
        fair = Support.kind(words).equals("fair");
        switch (workload) {
        case "contended": contended(false); break;
        case "latency": contended(true); break;
        case "ping-pong": pingPong(); break;
        case "waiters": waiters(false, false); break;
        case "waiters-one": waiters(true, false); break;
        case "cancel-growth": waiters(true, true); break;
        case "cancels": storm(true); break;
        case "timeouts": storm(false); break;
        case "section": section(); break;
        case "chan":
            Patterns.chan(arg("threads"), arg("capacity"), arg("warm"), arg("ms"));
            break;
        default: uncontended(workload);
        }
    }
}
