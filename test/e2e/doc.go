// Package e2e holds the end-to-end tests: they start the real binary with the shipped configs, feed
// it with producers that are not ours, and hold what arrived against what was sent.
package e2e
