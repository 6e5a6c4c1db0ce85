package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signals are those that another program sends, to be passed on to the command.
type signals struct{ received chan os.Signal }

func newSignals() *signals {
	s := &signals{received: make(chan os.Signal, 16)}
	signal.Notify(s.received, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	keyboard := []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	if !inForeground() {
		signal.Notify(s.received, keyboard...)
		return s
	}
	// The terminal sends those of its keys to the command as well: passing them on would make two of
	// one, and many programs take the second for "at once". They are taken here and forgotten.
	signal.Notify(make(chan os.Signal, 1), keyboard...)
	return s
}

func (s *signals) stop() { signal.Stop(s.received) }

// inForeground reports whether the keys of a terminal reach this process and its children.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = tty.Close() }()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
