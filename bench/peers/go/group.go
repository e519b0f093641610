// SPDX-License-Identifier: MIT

//go:build xsync

package main

import (
	"fmt"

	"golang.org/x/sync/errgroup"
)

var patterns = map[string]func(arguments){"group": group}

func nothing() error { return nil }

// Empty tasks, measured as in bench/patterns/others.c.
func group(args arguments) {
	const chunk = 256
	var g errgroup.Group
	g.SetLimit(int(args["threads"]))
	tasks := int64(0)
	from := now()
	for {
		for i := 0; i < chunk; i++ {
			g.Go(nothing)
		}
		tasks += chunk
		if now()-from >= args["ms"]*1000000 {
			break
		}
	}
	must(g.Wait() == nil, "wait")
	fmt.Printf("{\"ns\": %.3f}\n", float64(now()-from)/float64(tasks))
}
