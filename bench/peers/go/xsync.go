// SPDX-License-Identifier: MIT

//go:build xsync

package main

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// golang.org/x/sync/semaphore.
type sem struct{ w *semaphore.Weighted }

const hasWeight = true

var background = context.Background()

func newSem(permits, capacity int64) sem {
	s := sem{semaphore.NewWeighted(capacity)}
	must(s.w.TryAcquire(capacity-permits), "new")
	return s
}

func (s sem) acquire()         { must(s.w.Acquire(background, 1) == nil, "acquire") }
func (s sem) release()         { s.w.Release(1) }
func (s sem) try() bool        { return s.w.TryAcquire(1) }
func (s sem) acquireN(n int64) { must(s.w.Acquire(background, n) == nil, "acquire") }
func (s sem) releaseN(n int64) { s.w.Release(n) }

func (s sem) acquireFor(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(background, d)
	defer cancel()
	return s.w.Acquire(ctx, 1) == nil
}

func (s sem) acquireCtx(ctx context.Context) bool {
	return s.w.Acquire(ctx, 1) == nil
}
