package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runspan/runspan/internal/tracefile"
)

// traceLog is a trace file and its closed segments.
type traceLog struct {
	live  string   // the path of the live file, which may not be among the files
	files []string // in the order in which they were written
	bytes int64    // of all files
}

// logsOf returns the logs that paths name. What cannot be read is complained about; it is an error
// when nothing is left.
func (a *app) logsOf(paths []string) ([]traceLog, error) {
	var files []string
	for _, path := range paths {
		found, err := a.filesOf(path)
		if err != nil {
			a.fail(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no trace file to read")
	}
	slices.SortFunc(files, tracefile.CompareFiles)
	files = slices.Compact(files)
	var logs []traceLog
	for _, file := range files {
		live, _ := tracefile.LiveFile(file)
		if len(logs) == 0 || logs[len(logs)-1].live != live {
			logs = append(logs, traceLog{live: live})
		}
		log := &logs[len(logs)-1]
		log.files = append(log.files, file)
		if info, err := os.Stat(file); err == nil {
			log.bytes += info.Size()
		}
	}
	return logs, nil
}

// filesOf returns the files that one argument names: itself, those of a folder, those of a pattern.
func (a *app) filesOf(path string) ([]string, error) {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return a.filesIn(path)
	case err == nil:
		return []string{filepath.Clean(path)}, nil
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, `*?[`):
		return nil, err
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	var files []string
	for _, match := range matches {
		// What a pattern matches is a file or a folder, not a pattern itself.
		if info, err := os.Stat(match); err != nil {
			a.fail(err)
		} else if info.IsDir() {
			in, err := a.filesIn(match)
			if err != nil {
				a.fail(err)
			}
			files = append(files, in...)
		} else {
			files = append(files, match)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %q", path)
	}
	return files, nil
}

// filesIn returns the *.jsonl files in a folder and below, without hidden ones.
func (a *app) filesIn(folder string) ([]string, error) {
	var files []string
	root := os.DirFS(folder) // follows a link that folder may be
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			a.fail(fmt.Errorf("%s: %w", filepath.Join(folder, name), err))
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && filepath.Ext(name) == ".jsonl":
			files = append(files, filepath.Join(folder, name))
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no trace file (*.jsonl) in it or below: name the file itself if it is called otherwise", folder)
	}
	return files, err
}

func filesAndBytes(logs []traceLog) (files int, bytes int64) {
	for _, log := range logs {
		files += len(log.files)
		bytes += log.bytes
	}
	return files, bytes
}

// scan reads a file as far as it is now and calls each for every line.
func (a *app) scan(ctx context.Context, path string, p *progress, each func(*tracefile.ScannedLine) error) (tracefile.ScanSummary, error) {
	var sum tracefile.ScanSummary
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return sum, err
	}
	if !info.Mode().IsRegular() {
		return sum, fmt.Errorf("%s is no regular file: write it to one first", path)
	}
	opts := tracefile.ScanOptions{MaxLineBytes: int64(a.maxLine)}
	sum, err = tracefile.Scan(ctx, f, info.Size(), opts, func(line *tracefile.ScannedLine) error {
		p.at(path, line.Offset)
		return each(line)
	})
	p.fileDone(info.Size())
	p.clear()
	if err != nil {
		return sum, fmt.Errorf("%s: %w", path, err)
	}
	return sum, nil
}
