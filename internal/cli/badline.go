package cli

import (
	"fmt"

	"github.com/runspan/runspan/internal/tracefile"
)

// badLine is a line that is none of a trace file, and its place.
type badLine struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`   // from 1
	Offset int64  `json:"offset"` // of the line in the file, in bytes
	Bytes  int64  `json:"bytes"`  // of the line with its newline
	Reason string `json:"reason"`
	At     int64  `json:"at"` // where it shows, in bytes from the start of the file
	Detail string `json:"detail,omitempty"`
	Kept   int    `json:"kept,omitempty"` // whole lines that stood in it and were kept

	message string
}

func newBadLine(path string, line *tracefile.ScannedLine) badLine {
	return badLine{
		File: path, Line: line.Number, Offset: line.Offset, Bytes: line.Bytes,
		Reason: line.Bad.Reason, At: line.Bad.At, Detail: line.Bad.Detail,
		message: line.Bad.Error(),
	}
}

// String says where the line is and what is wrong with it.
func (b badLine) String() string {
	text := fmt.Sprintf("%s: line %d, byte %d, %s: %s", visible(b.File), b.Line, b.Offset, plural(b.Bytes, "byte"), visible(b.message))
	if b.At > b.Offset {
		text += fmt.Sprintf(" (byte %d)", b.At)
	}
	if b.Reason == tracefile.BadTooLong {
		text += ": --max-line reads it"
	}
	if b.Kept > 0 {
		text += fmt.Sprintf("; %s in it kept", plural(b.Kept, "whole line"))
	}
	return text
}

// badLines counts bad lines and keeps the first ones.
type badLines struct {
	limit int
	Count int64
	List  []badLine
}

func (b *badLines) add(bad badLine) {
	b.Count++
	if len(b.List) < b.limit || b.limit == 0 {
		b.List = append(b.List, bad)
	}
}

// printLeftOut prints them for the commands that copy whole lines only.
func (b *badLines) printLeftOut(a *app) {
	if b.Count > 0 {
		a.printf("%s left out; `runspan repair` keeps whole lines in them:\n", plural(b.Count, "bad line"))
		b.print(a, "  ")
	}
}

// print prints what was kept, each behind indent.
func (b *badLines) print(a *app, indent string) {
	for _, bad := range b.List {
		a.printf("%s%s\n", indent, bad)
	}
	if more := b.Count - int64(len(b.List)); more > 0 {
		a.printf("%sand %s (--limit 0 lists all)\n", indent, plural(more, "more bad line"))
	}
}
