// SPDX-License-Identifier: MIT

//go:build channel

package main

import (
	"fmt"
	"sync/atomic"
)

var patterns = map[string]func(arguments){"chan": channel}

// Returns the number of context switches of this process.
func switches() int64 {
	used := usage()
	return used.Nvcsw + used.Nivcsw
}

// Items through a channel, measured as in bench/patterns/chan.c.
func channel(args arguments) {
	var stop uint32
	var sent, received uint64
	pairs := args["threads"]
	sending := pairs
	c := make(chan uint64, args["capacity"])
	shares := make([]share, pairs)
	all := start(2*pairs, func(number int64) {
		sum := uint64(0)
		if number >= pairs {
			mine := &shares[number-pairs]
			for item := range c {
				sum += item
				atomic.StoreUint64(&mine.done, mine.done+1)
			}
			atomic.AddUint64(&received, sum)
			return
		}
		for item := uint64(1); atomic.LoadUint32(&stop) == 0; item++ {
			c <- item
			sum += item
		}
		atomic.AddUint64(&sent, sum)
		if atomic.AddInt64(&sending, -1) == 0 {
			close(c)
		}
	})
	sleepMs(args["warm"])
	switched, used := switches(), cpu()
	before, from := sample(shares)
	sleepMs(args["ms"])
	after, to := sample(shares)
	switched, used = switches()-switched, cpu()-used
	atomic.StoreUint32(&stop, 1)
	all.Wait()
	must(sent == received, "items were lost")
	total := uint64(0)
	for i := range after {
		total += after[i] - before[i]
	}
	must(total > 0, "no task made progress")
	fmt.Printf("{\"ns\": %.3f, \"cpu\": %.3f, \"switches\": %.5f}\n",
		float64(to-from)/float64(total), float64(used)/float64(total),
		float64(switched)/float64(total))
}
