package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkTarget refuses a target that the same command would read the next time: its spans would be there
// twice from then on, without a word.
func checkTarget(into string, paths []string) error {
	target, err := resolved(into)
	if err != nil {
		return fmt.Errorf("--into %w", err)
	}
	for _, path := range paths {
		folders := []string{path}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			// An error of the pattern was reported when it was looked for.
			if folders, err = filepath.Glob(path); err != nil {
				return err
			}
			if ok, _ := filepath.Match(filepath.Clean(path), filepath.Clean(into)); ok {
				return fmt.Errorf("--into %s: %q matches it, so that it would be read the next time: name another place", into, path)
			}
		}
		for _, folder := range folders {
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			source, err := resolved(folder)
			if err != nil {
				return err
			}
			if target == source || isBelow(target, source) {
				return fmt.Errorf("--into %s: is in %s, which is read, so that it would be read the next time: name a place outside", into, folder)
			}
		}
	}
	return nil
}

// resolved returns the place of a path without links, of which the end may be missing.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for missing := ""; ; path = filepath.Dir(path) {
		there, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(there, missing), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return "", err
		}
		missing = filepath.Join(filepath.Base(path), missing)
	}
}
