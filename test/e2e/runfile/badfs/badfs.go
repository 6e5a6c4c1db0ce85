//go:build linux

// Package badfs is a FUSE file system that does wrong, on request, what network file systems and
// full or dying disks do: it is slow, writes half a line, fails to sync, hangs, forgets its handles,
// shows appended pages late and out of order, and loses at a power cut what was not synced.
package badfs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const pageSize = 4096

// Faults says what is wrong. The zero value is a good file system.
type Faults struct {
	// Delay is added to each write and fsync.
	Delay time.Duration
	// WriteHalf makes each write that begins at the end of a file write half of it and fail so.
	WriteHalf syscall.Errno
	// FailSync is what each fsync fails with.
	FailSync syscall.Errno
	// FailTruncate is what each truncation fails with.
	FailTruncate syscall.Errno
	// Hang holds up each write and fsync until it is closed.
	Hang chan struct{}
	// LatePages is how long, at most, a written page is shown as zeros to handles that only read.
	LatePages time.Duration
}

// FS is a mounted bad file system over a folder.
type FS struct {
	server  *fuse.Server
	backing string

	mu     sync.Mutex
	faults Faults
	epoch  int // of handles: older ones are stale
	late   map[lateKey]time.Time
	synced map[string]int64 // size at the last fsync, by path below backing
}

type lateKey struct {
	path string
	page int64
}

// Mount mounts the file system at mountpoint over the folder backing. It needs root and /dev/fuse.
func Mount(backing, mountpoint string) (*FS, error) {
	b := &FS{backing: backing, late: map[lateKey]time.Time{}, synced: map[string]int64{}}
	var st syscall.Stat_t
	if err := syscall.Stat(backing, &st); err != nil {
		return nil, err
	}
	root := &fs.LoopbackRoot{Path: backing, Dev: st.Dev}
	rootNode := &node{LoopbackNode: &fs.LoopbackNode{RootData: root}, b: b}
	root.RootNode = rootNode
	var noTime time.Duration // nothing is cached in the kernel
	server, err := fs.Mount(mountpoint, rootNode, &fs.Options{
		AttrTimeout:  &noTime,
		EntryTimeout: &noTime,
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "badfs", Name: "badfs"},
	})
	if err != nil {
		return nil, fmt.Errorf("mounting badfs: %w", err)
	}
	b.server = server
	return b, nil
}

// Unmount ends it. Every program must have left it.
func (b *FS) Unmount() error {
	b.Set(Faults{})
	return b.server.Unmount()
}

// Set exchanges the faults. What hangs goes on hanging until its channel is closed.
func (b *FS) Set(f Faults) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = f
}

// Stale makes every handle that is open now fail with ESTALE.
func (b *FS) Stale() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
}

// PowerCut cuts every file back to what was synced of it.
func (b *FS) PowerCut() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for path, size := range b.synced {
		if err := os.Truncate(path, size); err != nil {
			return err
		}
	}
	return nil
}

func (b *FS) current() Faults {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}

type node struct {
	*fs.LoopbackNode
	b *FS
}

// WrapChild makes the nodes below bad ones too.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: ops.(*fs.LoopbackNode), b: n.b}
}

var (
	_ fs.NodeWrapChilder = (*node)(nil)
	_ fs.NodeOpener      = (*node)(nil)
	_ fs.NodeCreater     = (*node)(nil)
	_ fs.NodeSetattrer   = (*node)(nil)
	_ fs.NodeGetattrer   = (*node)(nil)
)

func (n *node) path() string { return filepath.Join(n.b.backing, n.Path(n.Root())) }

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return n.b.open(n.path(), flags, 0)
}

func (n *node) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, fh, _, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	if closer, ok := fh.(fs.FileReleaser); ok {
		_ = closer.Release(ctx)
	}
	h, fuseFlags, errno := n.b.open(filepath.Join(n.path(), name), flags&^syscall.O_EXCL, mode)
	return inode, h, fuseFlags, errno
}

// Getattr and Setattr do without the loopback's own handles: these are not.
func (n *node) Getattr(ctx context.Context, fh fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	// For a stat of the path the library hands over any open handle: a stale one must not spoil it.
	if h, ok := fh.(*handle); ok && h.stale() == 0 {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(h.file.Fd()), &st); err != nil {
			return fs.ToErrno(err)
		}
		out.FromStat(&st)
		return 0
	}
	return n.LoopbackNode.Getattr(ctx, nil, out)
}

func (n *node) Setattr(ctx context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if errno := n.b.current().FailTruncate; errno != 0 {
			return errno
		}
		if h, ok := fh.(*handle); ok {
			if errno := h.stale(); errno != 0 {
				return errno
			}
		}
		n.b.mu.Lock()
		if old, ok := n.b.synced[n.path()]; ok && old > int64(size) {
			n.b.synced[n.path()] = int64(size)
		}
		n.b.mu.Unlock()
	}
	return n.LoopbackNode.Setattr(ctx, nil, in, out)
}

// handle is an open file.
type handle struct {
	b        *FS
	path     string
	file     *os.File
	epoch    int
	readOnly bool
}

var (
	_ fs.FileReader   = (*handle)(nil)
	_ fs.FileWriter   = (*handle)(nil)
	_ fs.FileFsyncer  = (*handle)(nil)
	_ fs.FileFlusher  = (*handle)(nil)
	_ fs.FileReleaser = (*handle)(nil)
)

func (b *FS) open(path string, flags, mode uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, err := os.OpenFile(path, int(flags)&^syscall.O_APPEND, os.FileMode(mode))
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.synced[path]; !ok {
		if info, err := f.Stat(); err == nil {
			b.synced[path] = info.Size()
		}
	}
	h := &handle{b: b, path: path, file: f, epoch: b.epoch, readOnly: flags&syscall.O_ACCMODE == syscall.O_RDONLY}
	return h, fuse.FOPEN_DIRECT_IO, 0
}

func (h *handle) stale() syscall.Errno {
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if h.epoch != h.b.epoch {
		return syscall.ESTALE
	}
	return 0
}

func (h *handle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if errno := h.stale(); errno != 0 {
		return nil, errno
	}
	n, _ := h.file.ReadAt(dest, off)
	if h.readOnly {
		h.b.hideLate(h.path, dest[:n], off)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// hideLate zeroes what of data lies in pages that are not shown yet.
func (b *FS) hideLate(path string, data []byte, off int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i := range data {
		at := off + int64(i)
		if i > 0 && at%pageSize != 0 {
			continue
		}
		key := lateKey{path, at / pageSize}
		shown, late := b.late[key]
		if late && now.After(shown) {
			delete(b.late, key)
		} else if late {
			clear(data[i:min(len(data), int((key.page+1)*pageSize-off))])
		}
	}
}

func (h *handle) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	faults := h.b.current()
	time.Sleep(faults.Delay)
	if faults.Hang != nil {
		<-faults.Hang
	}
	if errno := h.stale(); errno != 0 {
		return 0, errno
	}
	info, err := h.file.Stat()
	if err != nil {
		return 0, fs.ToErrno(err)
	}
	appended := off == info.Size()
	if faults.WriteHalf != 0 && appended && len(data) > 1 {
		_, _ = h.file.WriteAt(data[:len(data)/2], off)
		return 0, faults.WriteHalf
	}
	if faults.LatePages > 0 && appended {
		h.b.mu.Lock()
		// Only whole new pages: a page that was shown does not go away again.
		for page := (off + pageSize - 1) / pageSize; page*pageSize < off+int64(len(data)); page++ {
			h.b.late[lateKey{h.path, page}] = time.Now().Add(rand.N(faults.LatePages))
		}
		h.b.mu.Unlock()
	}
	n, err := h.file.WriteAt(data, off)
	return uint32(n), fs.ToErrno(err)
}

func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	faults := h.b.current()
	info, err := h.file.Stat()
	if err != nil {
		return fs.ToErrno(err)
	}
	time.Sleep(faults.Delay)
	if faults.Hang != nil {
		<-faults.Hang
	}
	if errno := h.stale(); errno != 0 {
		return errno
	}
	if faults.FailSync != 0 {
		return faults.FailSync
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.synced[h.path] = max(h.b.synced[h.path], info.Size())
	return 0
}

func (h *handle) Flush(context.Context) syscall.Errno { return 0 }

func (h *handle) Release(context.Context) syscall.Errno { return fs.ToErrno(h.file.Close()) }
