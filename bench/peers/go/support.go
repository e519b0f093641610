// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/bits"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The counterpart of bench/harness/support.h: command line, clock, repetition, a
// section of known length, percentiles.

func cannot(what string) {
	fmt.Fprintln(os.Stderr, "bench: not supported:", what)
	os.Exit(3)
}

func must(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "bench: failed:", what)
		os.Exit(1)
	}
}

type arguments map[string]int64

func parse() (string, arguments) {
	args := arguments{"threads": 2, "capacity": 1, "ms": 100, "count": 1,
		"timeout": 1000}
	must(len(os.Args) > 1, "no workload")
	for _, word := range os.Args[2:] {
		key, value, _ := strings.Cut(word, "=")
		if key == "kind" {
			continue
		}
		number, err := strconv.ParseInt(value, 10, 64)
		must(err == nil, "a value must be a number")
		args[key] = number
	}
	return os.Args[1], args
}

var begin = time.Now()

func now() int64 { return int64(time.Since(begin)) }

func usage() syscall.Rusage {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil, "getrusage")
	return used
}

// Returns the CPU time of all threads of this process.
func cpu() int64 {
	used := usage()
	return used.Utime.Nano() + used.Stime.Nano()
}

// Returns the resident memory of this process in bytes.
func resident() int64 {
	var all, here int64
	text, err := os.ReadFile("/proc/self/statm")
	must(err == nil, "statm")
	fmt.Sscan(string(text), &all, &here)
	return here * int64(os.Getpagesize())
}

func sleepMs(ms int64) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// Returns the ns of one operation: the median over chunks of about 50 us.
func repeat(args arguments, fn func(times int64)) float64 {
	times := int64(16)
	for {
		times *= 2
		before := now()
		fn(times)
		if now()-before >= 50000 {
			break
		}
	}
	var chunks []float64
	before := now()
	for end := before + args["ms"]*1000000; before < end; {
		fn(times)
		after := now()
		chunks = append(chunks, float64(after-before)/float64(times))
		before = after
	}
	sort.Float64s(chunks)
	return chunks[len(chunks)/2]
}

// Not inlined: its duration must be the same in every loop.
//
//go:noinline
func busy(x uint64, rounds int64) uint64 {
	for i := int64(0); i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var sink uint64

func busyRounds(ns int64) int64 {
	const rounds = 10000
	best := 1e9
	for i := 0; ns > 0 && i < 50; i++ {
		before := now()
		sink += busy(uint64(i), rounds)
		if took := float64(now()-before) / rounds; took < best {
			best = took
		}
	}
	return int64(float64(ns)/best + 0.5)
}

// Times in buckets 3 % wide, and their exact maximum.
type times struct {
	bucket [2048]uint64
	count  uint64
	max    int64
}

func (t *times) add(ns int64) {
	at := int(ns)
	if ns >= 64 {
		high := 63 - bits.LeadingZeros64(uint64(ns))
		at = 64 + (high-6)*32 + int(ns>>(high-5)&31)
	}
	t.bucket[at]++
	t.count++
	if ns > t.max {
		t.max = ns
	}
}

func (t *times) merge(from *times) {
	for i, n := range from.bucket {
		t.bucket[i] += n
	}
	t.count += from.count
	if from.max > t.max {
		t.max = from.max
	}
}

func (t *times) percentile(part float64) float64 {
	want, seen := uint64(float64(t.count)*part), uint64(0)
	for i, n := range t.bucket {
		seen += n
		if seen > want {
			if i < 64 {
				return float64(i)
			}
			high := (i-64)/32 + 6
			return (float64(32+(i-64)%32) + 0.5) * float64(uint64(1)<<(high-5))
		}
	}
	return float64(t.max)
}

func (t *times) String() string {
	return fmt.Sprintf(`"p50": %.0f, "p90": %.0f, "p99": %.0f, "p999": %.0f, "max": %d`,
		t.percentile(0.5), t.percentile(0.9), t.percentile(0.99),
		t.percentile(0.999), t.max)
}

func fairness(shares []uint64) string {
	least, most := shares[0], shares[0]
	sum, squares := 0.0, 0.0
	for _, n := range shares {
		if n < least {
			least = n
		}
		if n > most {
			most = n
		}
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if most == 0 {
		return `"min_max": 0, "jain": 0`
	}
	return fmt.Sprintf(`"min_max": %.4f, "jain": %.4f`,
		float64(least)/float64(most),
		sum*sum/(squares*float64(len(shares))))
}
