// SPDX-License-Identifier: MIT

//go:build xsync || channel

// The measuring program of Go's semaphores: built once for each (-tags xsync or
// channel), with goroutines instead of threads.  bench/harness/support.h documents
// the command line.  The patterns that use the same library are included.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type share struct {
	done  uint64
	_     [120]byte
	times times
}

func start(count int64, fn func(number int64)) *sync.WaitGroup {
	var all sync.WaitGroup
	all.Add(int(count))
	for i := int64(0); i < count; i++ {
		go func(number int64) {
			defer all.Done()
			fn(number)
		}(i)
	}
	return &all
}

func sample(shares []share) ([]uint64, int64) {
	counts := make([]uint64, len(shares))
	for i := range shares {
		counts[i] = atomic.LoadUint64(&shares[i].done)
	}
	return counts, now()
}

func uncontended(workload string, args arguments) {
	permits := int64(8)
	if workload == "try-fail" {
		permits = 0
	}
	s := newSem(permits, 1<<20)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	loops := map[string]func(times int64){
		"pair": func(times int64) {
			for ; times > 0; times-- {
				s.acquire()
				s.release()
			}
		},
		"try": func(times int64) {
			for ; times > 0; times-- {
				must(s.try(), "try")
				s.release()
			}
		},
		"try-fail": func(times int64) {
			for ; times > 0; times-- {
				must(!s.try(), "try must fail")
			}
		},
		"timeout": func(times int64) {
			for ; times > 0; times-- {
				must(s.acquireFor(time.Hour), "timeout")
				s.release()
			}
		},
		"ctx": func(times int64) {
			for ; times > 0; times-- {
				must(s.acquireCtx(ctx), "ctx")
				s.release()
			}
		},
	}
	if hasWeight {
		loops["weight3"] = func(times int64) {
			for ; times > 0; times-- {
				s.acquireN(3)
				s.releaseN(3)
			}
		}
	}
	loop := loops[workload]
	if loop == nil {
		cannot(workload)
	}
	fmt.Printf("{\"ns\": %.3f}\n", repeat(args, loop))
}

func contended(args arguments, timed bool) {
	var stop, warm uint32
	s := newSem(args["capacity"], args["capacity"])
	rounds := busyRounds(args["section"])
	shares := make([]share, args["threads"])
	all := start(args["threads"], func(number int64) {
		mine := &shares[number]
		x, before := uint64(number), int64(0)
		for atomic.LoadUint32(&stop) == 0 {
			if timed {
				before = now()
			}
			s.acquire()
			if timed && atomic.LoadUint32(&warm) == 1 {
				mine.times.add(now() - before)
			}
			x = busy(x, rounds)
			s.release()
			atomic.StoreUint64(&mine.done, mine.done+1)
		}
		atomic.AddUint64(&sink, x)
	})
	sleepMs(args["warm"])
	atomic.StoreUint32(&warm, 1)
	used := cpu()
	before, from := sample(shares)
	sleepMs(args["ms"])
	after, to := sample(shares)
	used = cpu() - used
	atomic.StoreUint32(&stop, 1)
	all.Wait()
	total := uint64(0)
	var every times
	for i := range after {
		after[i] -= before[i]
		total += after[i]
		every.merge(&shares[i].times)
	}
	must(total > 0, "no task made progress")
	fmt.Printf("{\"ns\": %.3f, \"cpu\": %.3f, %s", float64(to-from)/float64(total),
		float64(used)/float64(total), fairness(after))
	if timed {
		fmt.Printf(", %s", &every)
	}
	fmt.Println("}")
}

func pingPong(args arguments) {
	var stop, over, done uint64
	ping, pong := newSem(0, 1), newSem(0, 1)
	all := start(2, func(number int64) {
		for {
			if number == 1 {
				ping.acquire()
				if atomic.LoadUint64(&over) == 1 {
					return
				}
				pong.release()
				continue
			}
			last := atomic.LoadUint64(&stop)
			atomic.StoreUint64(&over, last)
			ping.release()
			if last == 1 {
				return
			}
			pong.acquire()
			atomic.StoreUint64(&done, done+1)
		}
	})
	sleepMs(args["warm"])
	used := cpu()
	before, from := atomic.LoadUint64(&done), now()
	sleepMs(args["ms"])
	after, to := atomic.LoadUint64(&done), now()
	used = cpu() - used
	atomic.StoreUint64(&stop, 1)
	all.Wait()
	must(after > before, "no task made progress")
	fmt.Printf("{\"ns\": %.3f, \"cpu\": %.3f}\n",
		float64(to-from)/float64(after-before), float64(used)/float64(after-before))
}

// Waits until `count` goroutines have run; they stay until the end.
func awaitRan(ran *int64, count int64) {
	for atomic.LoadInt64(ran) < count {
		runtime.Gosched()
	}
}

func waiters(args arguments, oneByOne bool) {
	var ran, came int64
	count := args["count"]
	s := newSem(0, count)
	end := make(chan struct{})
	before, bytes := now(), resident()
	all := start(count, func(int64) {
		atomic.AddInt64(&came, 1)
		s.acquire()
		atomic.AddInt64(&ran, 1)
		<-end
	})
	awaitRan(&came, count)
	queued := now()
	sleepMs(20 + count/1000)
	bytes = resident() - bytes
	from := now()
	if oneByOne {
		for i := int64(0); i < count; i++ {
			s.release()
		}
	} else {
		s.releaseN(count)
	}
	called := now()
	awaitRan(&ran, count)
	to := now()
	fmt.Printf("{\"ns\": %.3f, \"call_ns\": %.3f, \"queue_ns\": %.3f, "+
		"\"bytes\": %.1f}\n",
		float64(to-from)/float64(count), float64(called-from)/float64(count),
		float64(queued-before)/float64(count), float64(bytes)/float64(count))
	close(end)
	all.Wait()
}

func cancelGrowth(args arguments) {
	var ran int64
	count := args["count"]
	s := newSem(0, count)
	end := make(chan struct{})
	cancels := make([]context.CancelFunc, count)
	contexts := make([]context.Context, count)
	for i := range cancels {
		contexts[i], cancels[i] = context.WithCancel(context.Background())
	}
	random := uint64(1)
	order := make([]int, count)
	for i := range order {
		random = busy(random, 1)
		other := int(random >> 33 % uint64(i+1))
		order[i] = order[other]
		order[other] = i
	}
	all := start(count, func(number int64) {
		must(!s.acquireCtx(contexts[number]), "acquire must fail")
		atomic.AddInt64(&ran, 1)
		<-end
	})
	sleepMs(20 + count/1000)
	from := now()
	for _, i := range order {
		cancels[i]()
	}
	called := now()
	awaitRan(&ran, count)
	to := now()
	fmt.Printf("{\"ns\": %.3f, \"call_ns\": %.3f}\n",
		float64(to-from)/float64(count), float64(called-from)/float64(count))
	close(end)
	all.Wait()
}

type token struct {
	cancel atomic.Pointer[context.CancelFunc]
	_      [120]byte
}

func storm(args arguments, cancels bool) {
	var stop uint32
	s := newSem(0, args["threads"])
	shares := make([]share, args["threads"])
	tokens := make([]token, args["threads"])
	all := start(args["threads"], func(number int64) {
		mine := &shares[number]
		for atomic.LoadUint32(&stop) == 0 {
			if cancels {
				ctx, cancel := context.WithCancel(context.Background())
				tokens[number].cancel.Store(&cancel)
				must(!s.acquireCtx(ctx), "acquire must fail")
			} else {
				must(!s.acquireFor(time.Duration(args["timeout"])), "acquire must fail")
			}
			atomic.StoreUint64(&mine.done, mine.done+1)
		}
	})
	cancelAll := func() {
		any := false
		for i := range tokens {
			if cancel := tokens[i].cancel.Swap(nil); cancel != nil {
				(*cancel)()
				any = true
			}
		}
		if !any {
			runtime.Gosched()
		}
	}
	from := now()
	if cancels {
		for now()-from < args["ms"]*1000000 {
			cancelAll()
		}
	} else {
		sleepMs(args["ms"])
	}
	counts, to := sample(shares)
	atomic.StoreUint32(&stop, 1)
	left := make(chan struct{})
	go func() { all.Wait(); close(left) }()
	for running := true; running; {
		select {
		case <-left:
			running = false
		default:
			cancelAll()
		}
	}
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	must(total > 0, "no task made progress")
	fmt.Printf("{\"ns\": %.3f}\n", float64(to-from)/float64(total))
}

func main() {
	workload, args := parse()
	if pattern := patterns[workload]; pattern != nil {
		pattern(args)
		return
	}
	switch workload {
	case "contended", "latency":
		contended(args, workload == "latency")
	case "ping-pong":
		pingPong(args)
	case "waiters", "waiters-one":
		waiters(args, workload == "waiters-one")
	case "cancel-growth":
		cancelGrowth(args)
	case "cancels", "timeouts":
		storm(args, workload == "cancels")
	case "section":
		rounds := busyRounds(args["section"])
		fmt.Printf("{\"ns\": %.3f}\n", repeat(args, func(times int64) {
			for ; times > 0; times-- {
				sink = busy(sink, rounds)
			}
		}))
	default:
		uncontended(workload, args)
	}
}
