package runindex

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// Page asks for a part of a sorted list.
type Page struct {
	// Sort is the name of a column, with - before it for descending.
	Sort string
	// Limit is how many items there are at most.
	Limit int
	// After is the Next of the page before, "" for the first.
	After string
}

// ErrPage says that Page.After is none that an answer gave.
var ErrPage = errors.New("is not the next of a page")

// order is how a list is sorted: by a number or by a text, and by the text where numbers are equal.
// No two items have the same text.
type order[T any] struct {
	number func(T) int64 // nil: by text
	text   func(T) []byte
	desc   bool
}

func (o *order[T]) compare(a, b T) int {
	if o.number == nil {
		return o.turn(bytes.Compare(o.text(a), o.text(b)))
	}
	if c := cmp.Compare(o.number(a), o.number(b)); c != 0 {
		return o.turn(c)
	}
	return bytes.Compare(o.text(a), o.text(b))
}

func (o *order[T]) turn(c int) int {
	if o.desc {
		return -c
	}
	return c
}

// page returns the items of a page, and what Page.After is for the next; "" where there is none.
func (o *order[T]) page(items []T, p Page) (page []T, next string, err error) {
	if p.After != "" {
		number, text, err := parseAfter(p.After)
		if err != nil {
			return nil, "", err
		}
		items = slices.DeleteFunc(items, func(item T) bool { return !o.isAfter(item, number, text) })
	}
	best := items
	if len(items) > 8*p.Limit {
		best = o.first(items, p.Limit+1)
	} else {
		slices.SortFunc(best, o.compare)
	}
	if len(best) > p.Limit {
		best = best[:p.Limit]
		next = o.after(best[p.Limit-1])
	}
	return best, next, nil
}

// first returns the first n items in order: sorting a million traces for a page of them takes longer.
func (o *order[T]) first(items []T, n int) []T {
	best := make([]T, 0, n+1)
	for _, item := range items {
		if len(best) == n && o.compare(item, best[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, item, o.compare)
		best = slices.Insert(best, at, item)
		best = best[:min(len(best), n)]
	}
	return best
}

func (o *order[T]) isAfter(item T, number int64, text []byte) bool {
	c := 0
	if o.number != nil {
		if c = o.turn(cmp.Compare(o.number(item), number)); c == 0 {
			c = bytes.Compare(o.text(item), text)
		}
	} else {
		c = o.turn(bytes.Compare(o.text(item), text))
	}
	return c > 0
}

// after returns the place behind an item, for Page.After.
func (o *order[T]) after(item T) string {
	var number int64
	if o.number != nil {
		number = o.number(item)
	}
	place := append(binary.AppendVarint(nil, number), o.text(item)...)
	return base64.RawURLEncoding.EncodeToString(place)
}

func parseAfter(after string) (number int64, text []byte, err error) {
	place, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil {
		return 0, nil, ErrPage
	}
	number, n := binary.Varint(place)
	if n <= 0 {
		return 0, nil, ErrPage
	}
	return number, place[n:], nil
}

// column splits Page.Sort.
func (p Page) column() (name string, desc bool) {
	name, desc = strings.CutPrefix(p.Sort, "-")
	return name, desc
}
