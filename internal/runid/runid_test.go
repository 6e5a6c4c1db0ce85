package runid

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		id   string
		want error
	}{
		{"as XTuner makes it", "20261201-101500-4711-0a1b2c3d", nil},
		{"slashes and dots", "team/a/../b", nil},
		{"spaces inside", "my run 7", nil},
		{"Chinese", "训练-七", nil},
		{"longest", strings.Repeat("x", MaxBytes), nil},
		{"one byte too long", strings.Repeat("x", MaxBytes+1), ErrTooLong},
		{"too long by bytes, not by runes", strings.Repeat("训", MaxBytes/3+1), ErrTooLong},
		{"empty", "", ErrBlank},
		{"spaces only", "   ", ErrBlank},
		{"ideographic spaces only", "\u3000\u3000", ErrBlank},
		{"tab only", "\t", ErrControl},
		{"newline", "a\nb", ErrControl},
		{"NUL", "a\x00b", ErrControl},
		{"delete", "a\x7f", ErrControl},
		{"C1 control", "a\u0085b", ErrControl},
		{"newline after a letter that is not ASCII", "训\n", ErrControl},
		{"invalid UTF-8", "run\xff", ErrInvalidUTF8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Check(tc.id); got != tc.want { //nolint:errorlint // Check returns these values themselves
				t.Fatalf("Check(%q) = %v, want %v", tc.id, got, tc.want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	at := time.Date(2026, 12, 1, 9, 5, 7, 0, time.UTC)
	form := regexp.MustCompile(`^20261201-090507-` + strconv.Itoa(os.Getpid()) + `-[0-9a-f]{8}$`)
	first, second := New(at), New(at)
	if !form.MatchString(first) || Check(first) != nil {
		t.Errorf("New() = %q", first)
	}
	if first == second {
		t.Errorf("New() = %q twice", first)
	}
}
