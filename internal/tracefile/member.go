package tracefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// member is what an Appender of one of many files has instead of its own. A nil member is that of
// a file alone.
type member struct {
	window *window
	root   string // the folder of all of them
	key    string // how the root is claimed
	// left is how the file was left when it was last closed, and is again when it is closed.
	left fileState
	// together: Files brings the lines to the disk, also those that unsynced has of the time before
	// the file was opened, and is given when it is closed.
	together bool
	unsynced unsyncedFile
}

func (m *member) syncedByFiles() bool { return m != nil && m.together }

// takeUnsynced leaves the last sync to Files, and lines that are in doubt.
func (m *member) takeUnsynced(a *Appender) bool {
	if !m.syncedByFiles() {
		return false
	}
	a.syncMu.Lock()
	defer a.syncMu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	m.unsynced = unsyncedFile{lines: a.unsynced, folders: a.folders, doubt: a.broken != nil && len(a.unsynced) > 0}
	a.unsynced, a.folders = nil, nil // a sync that has begun may still have its mark
	return true
}

// fileState is by what a file that was closed is known not to have changed.
type fileState struct {
	id  fileID
	end int64
}

func (m *member) sharedWindow() *window {
	if m == nil {
		return nil
	}
	return m.window
}

func (m *member) claimKey(path string) string {
	if m == nil {
		return claimKey(path)
	}
	if rel, err := filepath.Rel(m.root, path); err == nil {
		return filepath.Join(m.key, rel)
	}
	return path
}

// leftAs reports whether there is nothing to repair in a file: it is new, or as this process left it.
// Among thousands of files some are opened again each second, and a repair has an fsync.
func (m *member) leftAs(info os.FileInfo) bool {
	if m == nil {
		return false
	}
	id, ok := fileIDOf(info)
	return info.Size() == 0 && len(m.unsynced.lines) == 0 || ok && m.left == fileState{id, info.Size()}
}

// leave notes how the file is left, if it is in order.
func (m *member) leave(a *Appender) {
	if m == nil {
		return
	}
	m.left = fileState{}
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	if id, ok := fileIDOf(a.info); ok && broken == nil {
		m.left = fileState{id, a.end}
	}
}

// leftAlone reports whether the file of a run was deleted or renamed and nothing is to be written to
// it: it comes back with the next line only. Whoever removes a run wants it removed.
func (a *Appender) leftAlone() bool {
	return a.opts.member != nil && a.file == nil && a.gone && len(a.rescue) == 0
}

// makeMemberFolder makes the folders between the root and the file, and the root where that is wanted.
func (a *Appender) makeMemberFolder() error {
	root := a.opts.member.root
	if !a.opts.CreateDirectory {
		if err := makeFolder(a.fs, root, false); err != nil {
			return err
		}
	}
	folder := filepath.Dir(a.opts.Path)
	var made []string
	for missing := folder; len(missing) > len(root); missing = filepath.Dir(missing) {
		if _, err := a.fs.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, filepath.Dir(missing))
	}
	if err := a.fs.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	a.newIn(made...)
	return nil
}
