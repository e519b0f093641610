// SPDX-License-Identifier: MIT

// How long an item takes through a Go channel; as chan.c.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func number(i int) int {
	n, err := strconv.Atoi(os.Args[i])
	if err != nil || n < 1 {
		fmt.Fprintln(os.Stderr, "SLOTS SENDERS RECEIVERS ITEMS")
		os.Exit(2)
	}
	return n
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "SLOTS SENDERS RECEIVERS ITEMS")
		os.Exit(2)
	}
	slots, in, out, items := number(1), number(2), number(3), number(4)
	c := make(chan uint64, slots)
	var all sync.WaitGroup
	var total uint64
	begun := time.Now()
	for i := 0; i < in; i++ {
		all.Add(1)
		go func(from, to int) {
			defer all.Done()
			for ; from < to; from++ {
				c <- uint64(from)
			}
		}(items*i/in, items*(i+1)/in)
	}
	for i := 0; i < out; i++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			sum := uint64(0)
			for ; n > 0; n-- {
				sum += <-c
			}
			atomic.AddUint64(&total, sum)
		}(items*(i+1)/out - items*i/out)
	}
	all.Wait()
	took := time.Since(begun)
	if total != uint64(items)*uint64(items-1)/2 {
		fmt.Fprintln(os.Stderr, "items were lost")
		os.Exit(1)
	}
	fmt.Printf("%.1f\n", float64(took.Nanoseconds())/float64(items))
}
