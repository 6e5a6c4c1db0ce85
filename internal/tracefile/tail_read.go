package tracefile

import (
	"errors"
	"io"
	"os"
	"time"
)

var errTailAnotherFile = errors.New("another file is at this path now")

// readBatch hands out the next whole lines of a file, nil when it has none now. Each time the file
// is opened anew and known again by its first line: it may have been rotated or replaced since the
// look, no handle keeps deleted files on the disk, and an open is what makes a network file system
// show its newest bytes.
func (t *Tail) readBatch(f *tailFile) *TailBatch {
	file, err := os.Open(f.path) // the path changes in this goroutine only
	if err != nil {
		t.block(f, err)
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := t.verify(f, file)
	if err != nil {
		t.block(f, err)
		return nil
	}
	size := info.Size()
	if size <= f.lookFrom {
		t.block(f, nil) // shorter than it was: the next look says what became of it
		return nil
	}
	batch := &TailBatch{Path: f.path, tail: t, file: f}
	end := batch.takeRecent(info)
	if end == 0 {
		if end, err = batch.cut(file, size); err != nil {
			t.block(f, err)
			return nil
		}
	}
	t.tellUnreadable("read ", f.path, nil)
	if end == 0 {
		t.mu.Lock()
		f.lookFrom = size
		if f.size < size {
			f.size = size
		}
		t.mu.Unlock()
		return nil
	}
	t.mu.Lock()
	batch.Start, batch.End = f.read, end
	batch.place = f.handOut(end)
	t.mu.Unlock()
	if batch.Data == nil && batch.Traces == nil {
		t.set.OnEvent(TailEvent{Kind: TailLineTooLong, Path: f.path, Offset: batch.Start, Bytes: batch.End - batch.Start})
		batch.Delivered()
		return nil
	}
	return batch
}

// block keeps a file from being read before the next look, and has the look know it anew.
func (t *Tail) block(f *tailFile, err error) {
	delete(t.looks, f.path)
	t.mu.Lock()
	f.blocked = true
	t.mu.Unlock()
	if err != nil && !errors.Is(err, errTailAnotherFile) && !errors.Is(err, os.ErrNotExist) {
		t.tellUnreadable("read ", f.path, err)
	}
}

// verify returns the state of an opened file after it has proved to be the one that was read so far.
func (t *Tail) verify(f *tailFile, file *os.File) (os.FileInfo, error) {
	fingerprint, err := tailFingerprint(file)
	if err != nil {
		return nil, err
	}
	if fingerprint != f.fingerprint {
		return nil, errTailAnotherFile
	}
	info, err := file.Stat()
	if err != nil || f.read == 0 || info.Size() <= f.read {
		return info, err
	}
	var before [1]byte
	if _, err := file.ReadAt(before[:], f.read-1); err != nil {
		return nil, err
	}
	if before[0] == '\n' {
		f.tornSince = time.Time{}
		return info, nil
	}
	// The first line is the same and the rest is not: somebody has written the file anew. Or it is
	// a page that the file system does not have yet.
	if f.tornSince.IsZero() {
		f.tornSince = time.Now()
	}
	if time.Since(f.tornSince) < t.set.SettleTime {
		return nil, errTailAnotherFile
	}
	read := f.read
	t.mu.Lock()
	f.restart(0)
	t.mu.Unlock()
	t.set.OnEvent(TailEvent{Kind: TailRewritten, Path: f.path, Offset: read, Bytes: info.Size()})
	return info, nil
}

// cut reads whole lines from where reading is, and returns the offset after them; 0 when there is
// none. A line longer than MaxLineBytes is found to its end but not kept: Data stays nil.
func (b *TailBatch) cut(file io.ReaderAt, size int64) (end int64, err error) {
	buffer := b.tail.takeBuffer()
	b.Data, end, err = cutLines(file, b.file.read, b.file.lookFrom, size, *buffer, b.tail.set.MaxLineBytes)
	if len(b.Data) > 0 && &b.Data[0] == &(*buffer)[0] {
		b.buffer = buffer
	} else {
		b.tail.buffers.Put(buffer)
	}
	return end, err
}

func (t *Tail) takeBuffer() *[]byte {
	if buffer, ok := t.buffers.Get().(*[]byte); ok {
		return buffer
	}
	buffer := make([]byte, t.set.MaxBatchBytes)
	return &buffer
}
