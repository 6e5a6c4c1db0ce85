package tracefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// tailHeadBytes is how much of a first line its fingerprint takes. The ids of the first span must be
// within: they come after the resource's attributes, which can hold a whole command line.
const tailHeadBytes = 64 << 10

// tailFingerprint returns what a file is known by, a hash of its first line, or "" as long as it has
// none. Inodes are no identity: network file systems change and reuse them, and a copy that is moved
// into place has another one.
func tailFingerprint(f io.ReaderAt) (string, error) { return firstLineHash(f, false) }

// firstLineHash is tailFingerprint, but takes zeros for what the file holds where it has settled.
func firstLineHash(f io.ReaderAt, settled bool) (string, error) {
	head := make([]byte, tailHeadBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	if end := bytes.IndexByte(head, '\n'); end >= 0 {
		head = head[:end+1]
	} else if n < tailHeadBytes {
		return "", nil
	}
	// A page that a network file system has not fetched yet reads as zeros. JSON holds none.
	if !settled && bytes.IndexByte(head, 0) >= 0 {
		return "", nil
	}
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:16]), nil
}

// tailChunk is how much is read at a time when only a newline is looked for.
const tailChunk = 256 << 10

// tailFindNewline returns the offset of the first newline in [from, to), -1 when there is none.
func tailFindNewline(f io.ReaderAt, from, to int64) (int64, error) {
	buf := make([]byte, min(tailChunk, max(0, to-from)))
	for at := from; at < to; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i), nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, err
		}
		if n == 0 {
			return -1, nil
		}
		at += int64(n)
	}
	return -1, nil
}
