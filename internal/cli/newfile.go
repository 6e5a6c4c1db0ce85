package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// Readers of trace files are other users; the umask can take the right away.
	fileMode   = 0o644
	folderMode = 0o755

	// partialSuffix is added to the name of a file until it is whole.
	partialSuffix = ".partial"
)

// lineFile is a file that lines are added to.
type lineFile struct {
	*bufio.Writer
	file *os.File
}

// openLines opens a file to add lines to, and makes it and its folder where they are missing.
func openLines(path string) (*lineFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return nil, err
	}
	return &lineFile{Writer: bufio.NewWriterSize(f, 64<<10), file: f}, nil
}

// writeLine writes a line and its newline.
func (f *lineFile) writeLine(line []byte) error {
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.WriteByte('\n')
}

func (f *lineFile) close() error { return errors.Join(f.Flush(), f.file.Close()) }

// newFile is a file that is being made. Until commit it has another name, so that nobody takes a part
// of it for the whole.
type newFile struct {
	lineFile
	path string
}

// createNew begins the file at path, which must not be there; remedy says what to do if it is.
func createNew(path, remedy string) (*newFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s is there already: %s", path, remedy)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	partial := path + partialSuffix
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already: another runspan is at work, or was killed: remove it then", partial)
	}
	if err != nil {
		return nil, err
	}
	return &newFile{lineFile: lineFile{Writer: bufio.NewWriterSize(f, 1<<20), file: f}, path: path}, nil
}

// commit brings the file to the disk and gives it its name.
func (f *newFile) commit() error {
	if err := errors.Join(f.Flush(), f.file.Sync(), f.file.Close()); err != nil {
		return errors.Join(err, os.Remove(f.file.Name()))
	}
	// A hard link, unlike a rename, does not replace what came to the path meanwhile.
	err := os.Link(f.file.Name(), f.path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(f.file.Name(), f.path) // a file system without hard links
		if err == nil {
			return syncFolder(f.path)
		}
	}
	return errors.Join(err, os.Remove(f.file.Name()), syncFolder(f.path))
}

// abandon removes what was written.
func (f *newFile) abandon() {
	_ = f.file.Close() // it is removed
	_ = os.Remove(f.file.Name())
}

// syncFile brings a file to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder brings the name of a file to the disk, where the file system can.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems cannot, and then there is nothing to wait for
	return d.Close()
}
