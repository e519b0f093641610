// SPDX-License-Identifier: MIT

// What others.c measures, in Go: x/time/rate, and errgroup with a limit.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "limit TIMES | group WORKERS TIMES")
		os.Exit(2)
	}
	times, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	begun := time.Now()
	switch os.Args[1] {
	case "limit":
		l := rate.NewLimiter(1e9, 1000000000)
		for i := 0; i < times; i++ {
			if !l.Allow() {
				os.Exit(1)
			}
		}
	case "group":
		workers, _ := strconv.Atoi(os.Args[2])
		var g errgroup.Group
		g.SetLimit(workers)
		for i := 0; i < times; i++ {
			g.Go(func() error { return nil })
		}
		if g.Wait() != nil {
			os.Exit(1)
		}
	}
	took := time.Since(begun)
	fmt.Printf("%.1f\n", float64(took.Nanoseconds())/float64(times))
}
