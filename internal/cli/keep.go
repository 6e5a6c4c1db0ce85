package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// keepLimits is the flag --keep of `runspan prune`.
type keepLimits struct {
	texts []string
	age   time.Duration // 0: no limit
	bytes int64         // 0: no limit
	runs  int           // 0: no limit

	ageText, bytesText, runsText string
}

var errKeep = errors.New("is no limit: write an age (36h, 14d, 8w), a size (200GiB, 500MB) or a number of runs (20runs)")

// String implements pflag.Value.
func (k *keepLimits) String() string { return strings.Join(k.texts, " ") }

// Type implements pflag.Value.
func (*keepLimits) Type() string { return "limit" }

// Set implements pflag.Value. A second limit of the same kind would leave one of them without effect.
func (k *keepLimits) Set(text string) error {
	unit := strings.TrimLeft(text, "0123456789.")
	number, err := strconv.Atoi(strings.TrimSuffix(text, unit))
	var seen *string
	switch hours := map[string]int{"h": 1, "d": 24, "w": 168}[unit]; {
	case hours > 0 && err == nil && number > 0 && number < 1<<20:
		seen, k.age = &k.ageText, time.Duration(number)*time.Duration(hours)*time.Hour
	case (unit == "runs" || unit == "run") && err == nil && number > 0:
		seen, k.runs = &k.runsText, number
	case strings.HasSuffix(strings.ToUpper(unit), "B"):
		bytes, err := humanize.ParseBytes(text)
		if err != nil || bytes == 0 || bytes > 1<<62 {
			return errKeep
		}
		seen, k.bytes = &k.bytesText, int64(bytes)
	default:
		return errKeep
	}
	if *seen != "" {
		return fmt.Errorf("is a second limit of the kind of %s: give one of each", *seen)
	}
	*seen = text
	k.texts = append(k.texts, text)
	return nil
}

// apply marks the files, sorted by age, that are beyond a limit. It asks once for each of them whether
// it must stay all the same.
func (k *keepLimits) apply(files []*pruneFile, now time.Time, kept func(*pruneFile) (string, error)) error {
	total := int64(0)
	latest := k.latestRuns(files)
	for _, f := range files {
		total += f.Bytes
		switch {
		case k.age > 0 && now.Sub(f.Written) > k.age:
			f.Why = "older than " + k.ageText
		case k.runs > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(f.runs)), func(run string) bool { return latest[run] }):
			f.Why = "none of the last " + k.runsText
			if f.bad {
				f.Kept = keptBadLines
			}
		}
	}
	decide := func(f *pruneFile) (err error) {
		if f.Kept == "" {
			f.Kept, err = kept(f)
		}
		if f.Kept == "" {
			total -= f.Bytes
		}
		return err
	}
	for _, f := range files {
		if f.Why == "" {
			continue
		}
		if err := decide(f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if k.bytes == 0 || total <= k.bytes {
			break
		}
		if f.Why != "" {
			continue
		}
		f.Why = "over " + k.bytesText
		if err := decide(f); err != nil {
			return err
		}
	}
	return nil
}

// latestRuns returns the runs that the limit keeps: those whose last span ended last.
func (k *keepLimits) latestRuns(files []*pruneFile) map[string]bool {
	last := map[string]time.Time{}
	for _, f := range files {
		for run, at := range f.runs {
			if at.After(last[run]) || last[run].IsZero() {
				last[run] = at
			}
		}
	}
	runs := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(last[b].Compare(last[a]), cmp.Compare(a, b))
	})
	latest := map[string]bool{}
	for _, run := range runs[:min(k.runs, len(runs))] {
		latest[run] = true
	}
	return latest
}
