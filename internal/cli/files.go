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
	"syscall"

	"github.com/runspan/runspan/internal/tracefile"
)

// traceLog is a trace file and its closed segments.
type traceLog struct {
	live  string   // the path of the live file, which may not be among the files
	files []string // in the order in which they were written
	bytes int64    // of all files
}

// foundFile is a file that an argument names.
type foundFile struct {
	path  string
	id    tracefile.FileID
	known bool // the id
	bytes int64
	link  bool // the path is a symbolic link
	again bool // another path leads to the same file
}

// logsOf returns the logs that paths name. What cannot be read is complained about; it is an error
// when nothing is left.
func (a *app) logsOf(paths []string) ([]traceLog, error) {
	var files []foundFile
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
	slices.SortFunc(files, func(a, b foundFile) int { return tracefile.CompareFiles(a.path, b.path) })
	var logs []traceLog
	for _, file := range once(files) {
		live, _ := tracefile.LiveFile(file.path)
		if len(logs) == 0 || logs[len(logs)-1].live != live {
			logs = append(logs, traceLog{live: live})
		}
		log := &logs[len(logs)-1]
		log.files = append(log.files, file.path)
		log.bytes += file.bytes
	}
	return logs, nil
}

// once leaves one path to each file: the first that is no link, else the first.
func once(files []foundFile) []foundFile {
	seen := map[tracefile.FileID]bool{}
	for _, links := range []bool{false, true} {
		for i := range files {
			if f := &files[i]; f.link == links && f.known {
				f.again = seen[f.id]
				seen[f.id] = true
			}
		}
	}
	return slices.DeleteFunc(files, func(f foundFile) bool { return f.again })
}

// filesOf returns the files that one argument names: itself, those of a folder, those of a pattern.
func (a *app) filesOf(path string) ([]foundFile, error) {
	files, err := a.filesAt(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, `*?[`) {
		return files, err
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	for _, match := range matches {
		// What a pattern matches is a file or a folder, not a pattern itself.
		in, err := a.filesAt(match)
		if err != nil {
			a.fail(err)
		}
		files = append(files, in...)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("no file matches %q", path)
	}
	return files, nil
}

// filesAt returns the file at a path, or those of the folder there. Nothing is opened before it is
// known to be a regular file: the open of a FIFO waits for a writer.
func (a *app) filesAt(path string) ([]foundFile, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return a.filesIn(path)
	case !info.Mode().IsRegular():
		return nil, errNotRegular(path)
	}
	file := newFoundFile(filepath.Clean(path), info)
	name, err := os.Lstat(path)
	file.link = err == nil && name.Mode().Type() == fs.ModeSymlink
	return []foundFile{file}, nil
}

// filesIn returns the *.jsonl files in a folder and below, without hidden ones and links.
func (a *app) filesIn(folder string) ([]foundFile, error) {
	var files []foundFile
	links := 0
	root := os.DirFS(folder) // follows a link that folder may be
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(folder, name)
		switch {
		case err != nil:
			a.fail(fmt.Errorf("%s: %w", path, err))
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir() || filepath.Ext(name) != ".jsonl":
		case entry.Type() == fs.ModeSymlink:
			links++
		case !entry.Type().IsRegular():
			a.complain(fmt.Errorf("%s is no regular file: passed over", path))
		default:
			info, err := entry.Info()
			if err != nil {
				a.fail(err)
				return nil
			}
			files = append(files, newFoundFile(path, info))
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		remedy := "name the file itself if it is called otherwise"
		if links > 0 {
			remedy = plural(links, "link") + " in it passed over: name the files that they lead to"
		}
		err = fmt.Errorf("%s: no trace file (*.jsonl) in it or below: %s", folder, remedy)
	}
	return files, err
}

func newFoundFile(path string, info fs.FileInfo) foundFile {
	id, known := tracefile.FileIDOf(info)
	return foundFile{path: path, id: id, known: known, bytes: info.Size()}
}

func errNotRegular(path string) error {
	return fmt.Errorf("%s is no regular file: write it to one first", path)
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
	// A FIFO may have come to the path meanwhile: the open does not wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return sum, err
	}
	if !info.Mode().IsRegular() {
		return sum, errNotRegular(path)
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
