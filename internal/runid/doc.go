// Package runid says what a run is: the names of the attributes that carry it and which values
// are valid run ids. It is the lowest package of the repository and imports nothing but the
// standard library, so that a producer can use it without pulling in a collector.
package runid
