package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/width"
)

// byteSize is a flag in bytes that takes and prints units: 64MiB.
type byteSize int64

// String implements pflag.Value.
func (b *byteSize) String() string { return humanize.IBytes(uint64(*b)) }

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > 1<<62 {
		return fmt.Errorf("%q is no size: write for example 64MiB or 1GB", text)
	}
	*b = byteSize(n)
	return nil
}

// Type implements pflag.Value.
func (*byteSize) Type() string { return "size" }

// plural returns "1 line", "2 lines".
func plural[T int | int64](n T, what string) string {
	if n != 1 {
		what += "s"
	}
	return humanize.Comma(int64(n)) + " " + what
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(0, bytes))) }

// stamp returns a time to the second, "-" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// visible returns text from a file for a terminal: what could move its cursor or mix up lines is
// escaped.
func visible(text string) string {
	clean := func(r rune) bool {
		return r != utf8.RuneError && unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029'
	}
	if strings.IndexFunc(text, func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// table prints rows under their headings, in columns. Columns whose heading begins with > are aligned
// to the right.
func (a *app) table(headings []string, rows [][]string) {
	widths := make([]int, len(headings))
	right := make([]bool, len(headings))
	for i, h := range headings {
		headings[i], right[i] = strings.CutPrefix(h, ">")
	}
	rows = append([][]string{headings}, rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-columns(cell))
			if right[i] {
				cell, pad = pad+cell, ""
			}
			line.WriteString(cell + pad + "  ")
		}
		a.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// columns returns how wide a text is on a terminal.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.Is(unicode.Mn, r):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
