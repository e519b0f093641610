// SPDX-License-Identifier: MIT

//go:build rate

// The measuring program of golang.org/x/time/rate (-tags rate): tokens of a rate
// limit that is never reached.  Allow is its cheapest call.
package main

import (
	"fmt"

	"golang.org/x/time/rate"
)

func main() {
	workload, args := parse()
	if workload != "limit" {
		cannot(workload)
	}
	limiter := rate.NewLimiter(1e9, 1000000000)
	fmt.Printf("{\"ns\": %.3f}\n", repeat(args, func(times int64) {
		for ; times > 0; times-- {
			must(limiter.Allow(), "allow")
		}
	}))
}
