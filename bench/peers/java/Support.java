// SPDX-License-Identifier: MIT

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The counterpart of bench/harness/support.h: command line, repetition, a section of
 * known length, percentiles.
 */
final class Support {
    private Support() {
    }

    static void cannot(String what) {
        System.err.println("bench: not supported: " + what);
        System.exit(3);
    }

    static void must(boolean ok, String what) {
        if (!ok) {
            System.err.println("bench: failed: " + what);
            System.exit(1);
        }
    }

    private static final ThreadMXBean CLOCKS =
        ManagementFactory.getThreadMXBean();

    /**
     * Returns the CPU time of the threads in ns.  The compiler and the collector are
     * not included: their work is not that of an operation.  (The CPU time of the
     * process is also known to Java, but only in steps of 10 ms.)
     */
    static long cpuNs(Thread[] threads) {
        long sum = 0;
        for (Thread thread : threads)
            sum += Math.max(0, CLOCKS.getThreadCpuTime(thread.getId()));
        return sum;
    }

    static Map<String, Long> numbers(String[] words) {
        Map<String, Long> args = new HashMap<>(Map.of("threads", 2L,
            "capacity", 1L, "section", 0L, "ms", 100L, "warm", 0L, "count", 1L,
            "timeout", 1000L));
        for (int i = 1; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            if (!pair[0].equals("kind"))
                args.put(pair[0], Long.parseLong(pair[1]));
        }
        return args;
    }

    static String kind(String[] words) {
        for (String word : words)
            if (word.startsWith("kind="))
                return word.substring(5);
        return "fair";
    }

    interface Loop {
        void run(long times);
    }

    /** The time for the compiler to optimise hot code. */
    static final long WARM_NS = 300_000_000L;

    /** Returns the ns of one operation: the median over chunks of about 50 us. */
    static double repeat(long ms, Loop loop) {
        long times = 16;
        long start = System.nanoTime();
        while (System.nanoTime() - start < WARM_NS)
            loop.run(1000);
        for (;;) {
            times *= 2;
            long before = System.nanoTime();
            loop.run(times);
            if (System.nanoTime() - before >= 50_000)
                break;
        }
        double[] chunks = new double[100_000];
        int count = 0;
        long before = System.nanoTime();
        long end = before + ms * 1_000_000;
        while (before < end && count < chunks.length) {
            loop.run(times);
            long after = System.nanoTime();
            chunks[count++] = (double) (after - before) / times;
            before = after;
        }
        Arrays.sort(chunks, 0, count);
        return chunks[count / 2];
    }

    static long busy(long x, long rounds) {
        for (long i = 0; i < rounds; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static volatile long sink;

    static long busyRounds(long ns) {
        double best = 1e9;
        if (ns == 0)
            return 0;
        // Repetition also makes the JIT compile it.
        for (int i = 0; i < 20_000; i++)
            sink = busy(sink, 20);
        for (int i = 0; i < 200; i++) {
            long before = System.nanoTime();
            sink = busy(sink, 10_000);
            best = Math.min(best, (System.nanoTime() - before) / 10_000.0);
        }
        return (long) (ns / best + 0.5);
    }

    /** Times in buckets 3 % wide, and their exact maximum. */
    static final class Times {
        private final long[] bucket = new long[2048];
        private long count;
        private long max;

        void add(long ns) {
            int at = (int) ns;
            if (ns >= 64) {
                int high = 63 - Long.numberOfLeadingZeros(ns);
                at = 64 + (high - 6) * 32 + (int) (ns >> (high - 5) & 31);
            }
            bucket[at]++;
            count++;
            max = Math.max(max, ns);
        }

        void merge(Times from) {
            for (int i = 0; i < bucket.length; i++)
                bucket[i] += from.bucket[i];
            count += from.count;
            max = Math.max(max, from.max);
        }

        private double percentile(double part) {
            long want = (long) (count * part);
            long seen = 0;
            for (int i = 0; i < bucket.length; i++) {
                seen += bucket[i];
                if (seen <= want)
                    continue;
                if (i < 64)
                    return i;
                int high = (i - 64) / 32 + 6;
                return (32 + (i - 64) % 32 + 0.5) * (1L << (high - 5));
            }
            return max;
        }

        @Override
        public String toString() {
            return String.format("\"p50\": %.0f, \"p90\": %.0f, \"p99\": %.0f, "
                + "\"p999\": %.0f, \"max\": %d", percentile(0.5),
                percentile(0.9), percentile(0.99), percentile(0.999), max);
        }
    }

    static String fairness(long[] shares) {
        double sum = 0;
        double squares = 0;
        for (long share : shares) {
            sum += share;
            squares += (double) share * share;
        }
        long most = Arrays.stream(shares).max().getAsLong();
        long least = Arrays.stream(shares).min().getAsLong();
        return String.format("\"min_max\": %.4f, \"jain\": %.4f",
            most > 0 ? (double) least / most : 0,
            squares > 0 ? sum * sum / (squares * shares.length) : 0);
    }
}
