package simulation

import (
	"container/heap"
	"time"
)

// loop is the time of a run: what happens, and when. What is to happen at the same time happens in
// the order in which it was said.
type loop struct {
	now    time.Duration // since the start of the run
	coming events
	said   int
	halted bool
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

// after has do happen d from now.
func (l *loop) after(d time.Duration, do func()) {
	l.said++
	heap.Push(&l.coming, event{l.now + d, l.said, do})
}

// run lets everything happen, until nothing more is to come or halt was called.
func (l *loop) run() {
	for len(l.coming) > 0 && !l.halted {
		e := heap.Pop(&l.coming).(event)
		l.now = e.at
		e.do()
	}
}

// halt ends the run now.
func (l *loop) halt() { l.halted = true }

type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
