// Package release holds the end-to-end test of what `make release` makes.
package release
