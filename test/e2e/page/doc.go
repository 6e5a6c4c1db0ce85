// Package page holds the tests of the viewer's page in a real browser: Debian's chromium, driven over
// its DevTools pipe, on our real binaries.
package page
