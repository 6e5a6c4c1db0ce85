// Package producer tests the package of that name and `runspan exec` end to end: programs of their own
// that send spans, the real collector that they start, and what is in the file afterwards.
package producer
