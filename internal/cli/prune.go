package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// justWritten is how long a live file without a lock counts as being written: a writer with lock: off
// has none.
const justWritten = 10 * time.Minute

// The reasons for which a file stays although a limit would delete it.
const (
	keptPinned   = "pinned"
	keptWritten  = "being written"
	keptNoTraces = "not a trace file"
	keptLink     = "a link: name the file that it leads to"
	keptBadLines = "has bad lines, so that its runs are not known for certain"
)

// pruneFile is a file that `runspan prune` decides on.
type pruneFile struct {
	File    string    `json:"file"`
	Bytes   int64     `json:"bytes"`
	Written time.Time `json:"written"` // for the last time
	// Why a limit deletes it.
	Why string `json:"why,omitempty"`
	// Kept says why it stays all the same.
	Kept string `json:"kept,omitempty"`

	runs map[string]time.Time // with the end of their last span here; only for a limit by runs
	bad  bool
}

// pruneReport is what `runspan prune` did, or would do.
type pruneReport struct {
	DryRun      bool         `json:"dry_run"`
	Deleted     []*pruneFile `json:"deleted"`
	KeptBack    []*pruneFile `json:"kept_back"`
	DeletedSize int64        `json:"deleted_bytes"`
	Files       int          `json:"files_left"`
	Size        int64        `json:"bytes_left"`
}

func newPrune(a *app) *cobra.Command {
	var keep keepLimits
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune PATH... --keep LIMIT",
		Short: "Delete old files beyond limits of age, size or number of runs",
		Long: `Delete the oldest trace files, whole ones: those of single runs, and closed segments. A limit is an age
since the last write (36h, 14d, 8w), a size of all files together (200GiB, 500MB), or a number of runs,
the latest ones by their spans (20runs, which reads all files). With several limits, what is beyond any of
them is deleted.

Never deleted are files that are pinned (` + "`runspan pin`" + `), the live file of a running collector (its lock
tells; of a folder of runs, those written within a day; without a lock, within ten minutes), files
that hold no traces, and links. Of a file with several hard links the first is deleted, which frees nothing
yet. A reader that has not read a deleted file yet misses its spans.`,
		Example: `  runspan prune traces --keep 14d --keep 200GiB --dry-run
  runspan prune traces --keep 20runs`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.prune(cmd.Context(), args, keep, dryRun)
		},
	}
	cmd.Flags().Var(&keep, "keep", "an age, a size or a number of runs; can be repeated")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "say what would be deleted, and delete nothing")
	a.addMaxLine(cmd)
	return cmd
}

func (a *app) prune(ctx context.Context, paths []string, keep keepLimits, dryRun bool) error {
	if len(keep.texts) == 0 {
		return errors.New("--keep is missing: say what stays, for example --keep 14d or --keep 200GiB")
	}
	logs, err := a.logsOf(paths)
	if err != nil {
		return err
	}
	if a.failed {
		return errors.New("nothing was deleted: a part of the files could not be found")
	}
	files, err := a.pruneFiles(ctx, logs, keep.runs > 0)
	if err != nil {
		return err
	}
	if err := keep.apply(files, time.Now(), func(f *pruneFile) (string, error) { return a.keptBack(ctx, f) }); err != nil {
		return err
	}
	r := pruneReport{DryRun: dryRun, Deleted: []*pruneFile{}, KeptBack: []*pruneFile{}}
	for _, f := range files {
		if f.Why != "" && f.Kept == "" && !dryRun {
			a.deleteFile(f, paths)
		}
		switch {
		case f.Why != "" && f.Kept == "":
			r.Deleted = append(r.Deleted, f)
			r.DeletedSize += f.Bytes
		case f.Why != "":
			r.KeptBack = append(r.KeptBack, f)
			fallthrough
		default:
			r.Files++
			r.Size += f.Bytes
		}
	}
	if a.json {
		return a.printJSON(r)
	}
	a.printPrune(&r)
	return nil
}

// pruneFiles returns the files of logs, the oldest first. With their runs where those are wanted.
func (a *app) pruneFiles(ctx context.Context, logs []traceLog, withRuns bool) ([]*pruneFile, error) {
	var files []*pruneFile
	_, total := filesAndBytes(logs)
	p := a.newProgress("read", total)
	for _, log := range logs {
		for _, path := range log.files {
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			f := &pruneFile{File: path, Bytes: info.Size(), Written: info.ModTime().UTC()}
			if withRuns {
				if err := a.readRuns(ctx, f, p); err != nil {
					return nil, err
				}
			}
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *pruneFile) int {
		return cmp.Or(a.Written.Compare(b.Written), tracefile.CompareFiles(a.File, b.File))
	})
	return files, nil
}

// readRuns finds the runs of a file, and when each was seen last.
func (a *app) readRuns(ctx context.Context, f *pruneFile, p *progress) error {
	runs := map[string]*runEntry{}
	_, err := a.scan(ctx, f.File, p, func(line *tracefile.ScannedLine) error {
		if line.Bad != nil {
			f.bad = true
			return nil
		}
		addRuns(runs, f.File, line.Traces)
		return nil
	})
	f.runs = map[string]time.Time{}
	for _, r := range runs {
		f.runs[r.Run] = r.Last
	}
	return err
}

// keptBack says why a file must stay, "" when it may go.
func (a *app) keptBack(ctx context.Context, f *pruneFile) (string, error) {
	// Its removal would free nothing, and the pin and the lock are beside the file.
	if name, err := os.Lstat(f.File); err != nil || name.Mode().Type() == fs.ModeSymlink {
		return keptLink, err
	}
	pinned, err := tracefile.Pinned(f.File)
	if err != nil {
		return "", fmt.Errorf("asking whether %s is pinned: %w", f.File, err)
	}
	if pinned {
		return keptPinned, nil
	}
	if _, closed := tracefile.LiveFile(f.File); !closed {
		who, err := tracefile.Writer(f.File)
		switch {
		case err != nil:
			return "", err
		case who != "":
			return keptWritten + ": " + visible(who), nil
		case time.Since(f.Written) < justWritten:
			return fmt.Sprintf("%s: less than %d minutes ago", keptWritten, justWritten/time.Minute), nil
		}
	}
	traces, err := a.holdsTraces(ctx, f.File)
	if err == nil && !traces {
		return keptNoTraces, nil
	}
	return "", err
}

// holdsTraces reports whether one of the first lines of a file is one of a trace file. Data of another
// kind are in *.jsonl files too.
func (a *app) holdsTraces(ctx context.Context, path string) (bool, error) {
	const look = 10
	enough := errors.New("enough")
	traces := false
	_, err := a.scan(ctx, path, &progress{}, func(line *tracefile.ScannedLine) error {
		if traces = line.Bad == nil; traces || line.Number == look {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return traces, err
}

// deleteFile deletes a file that has not changed since it was looked at, and the folders of its run
// when they are empty then.
func (a *app) deleteFile(f *pruneFile, paths []string) {
	info, err := os.Stat(f.File)
	if err == nil && (info.Size() != f.Bytes || !info.ModTime().Equal(f.Written)) {
		f.Kept = keptWritten
		return
	}
	remove := os.Remove
	if _, closed := tracefile.LiveFile(f.File); !closed {
		remove = tracefile.RemoveLive
	}
	switch err := remove(f.File); {
	case errors.Is(err, tracefile.ErrLocked):
		f.Kept = keptWritten
		return
	case err != nil:
		a.fail(err)
		f.Kept = "could not be deleted"
		return
	}
	// The folders that are empty now; others stay.
	below := func(folder string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return isBelow(folder, path) })
	}
	for folder := filepath.Dir(f.File); below(folder) && os.Remove(folder) == nil; {
		folder = filepath.Dir(folder)
	}
}

// isBelow reports whether a folder is below another one, and not that one.
func isBelow(folder, above string) bool {
	rel, err := filepath.Rel(above, folder)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func (a *app) printPrune(r *pruneReport) {
	verb := "deleted"
	if r.DryRun {
		verb = "would delete"
	}
	for _, f := range r.Deleted {
		a.printf("%s %s  %s  written %s: %s\n", verb, visible(f.File), size(f.Bytes), stamp(f.Written), f.Why)
	}
	for _, f := range r.KeptBack {
		a.printf("kept %s  %s  written %s: %s\n", visible(f.File), size(f.Bytes), stamp(f.Written), f.Kept)
	}
	a.printf("%s %s, %s; %s, %s left\n", verb, plural(len(r.Deleted), "file"), size(r.DeletedSize), plural(r.Files, "file"), size(r.Size))
}
