// SPDX-License-Identifier: MIT

//go:build channel

package main

import (
	"context"
	"time"
)

// A buffered channel as a semaphore: an element in it is a permit that is held.
type sem struct{ c chan struct{} }

const hasWeight = false

func newSem(permits, capacity int64) sem {
	s := sem{make(chan struct{}, capacity)}
	for i := permits; i < capacity; i++ {
		s.c <- struct{}{}
	}
	return s
}

func (s sem) acquire() { s.c <- struct{}{} }
func (s sem) release() { <-s.c }

func (s sem) try() bool {
	select {
	case s.c <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s sem) acquireN(n int64) { cannot("weight") }

func (s sem) releaseN(n int64) {
	for ; n > 0; n-- {
		s.release()
	}
}

func (s sem) acquireFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case s.c <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

func (s sem) acquireCtx(ctx context.Context) bool {
	select {
	case s.c <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
