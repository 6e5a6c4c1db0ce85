package runindex

import (
	"encoding/binary"
	"fmt"
	"os"
)

// The form of a bbolt file, as far as checkPages needs it: version 2, which has not changed since 2014.
const (
	pageHeader    = 16 // id u64, flags u16, count u16, overflow u32
	pageElement   = 16 // of a branch: pos u32, keySize u32, page u64; of a leaf: flags, pos, keySize, valueSize u32
	pageBranch    = 0x01
	pageLeaf      = 0x02
	pageFreelist  = 0x10
	leafBucket    = 0x01
	metaSize      = 64 // magic, version, pageSize, flags u32, root, sequence, freelist, pages, tx, checksum u64
	metaMagic     = 0xED0CDAED
	noFreelist    = ^uint64(0)
	bucketHeader  = 16 // root, sequence u64
	mostTreeDepth = 32
)

// pages walks through the pages of a bbolt file.
type pages struct {
	file *os.File
	size uint64 // of a page
	all  uint64 // that are in use
	seen map[uint64]bool
}

// checkPages reports whether bbolt can read a file. bbolt itself believes every page: of a damaged one it
// follows a branch to itself until the stack is full, which ends the process, or takes a page that is in
// use for a free one. A checksum of what is in the pages says the rest.
func checkPages(path string) error {
	file, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err // bbolt makes a new one of an empty file
	}
	p := pages{file: file, seen: map[uint64]bool{0: true, 1: true}}
	root, freelist, err := p.meta()
	if err != nil {
		return err
	}
	if p.all*p.size > uint64(info.Size()) {
		return fmt.Errorf("%w: %d pages of %d bytes in %d bytes", errCacheDamaged, p.all, p.size, info.Size())
	}
	if err := p.tree(root, 0); err != nil {
		return err
	}
	if freelist == noFreelist {
		return nil
	}
	return p.freelist(freelist)
}

// meta reads the newer one of the two pages that say where everything is.
func (p *pages) meta() (root, freelist uint64, err error) {
	var newest uint64
	found := false
	at := int64(0)
	for range 2 {
		head := make([]byte, pageHeader+metaSize)
		if _, err := p.file.ReadAt(head, at); err != nil {
			return 0, 0, fmt.Errorf("%w: %w", errCacheDamaged, err)
		}
		m := head[pageHeader:]
		u32 := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(m[at:])) }
		u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(m[at:]) }
		size := u32(8)
		if u32(0) == metaMagic && size >= 512 && size <= 1<<20 {
			if !found || u64(48) > newest {
				found, newest = true, u64(48)
				p.size, root, freelist, p.all = size, u64(16), u64(32), u64(40)
			}
			at = int64(size)
			continue
		}
		at = int64(os.Getpagesize())
	}
	if !found || p.all > 1<<40 {
		return 0, 0, fmt.Errorf("%w: it is no bbolt file", errCacheDamaged)
	}
	return root, freelist, nil
}

// page reads a page, which must be in one place of the tree only.
func (p *pages) page(id uint64) ([]byte, error) {
	bad := func(what string) ([]byte, error) { return nil, fmt.Errorf("%w: page %d %s", errCacheDamaged, id, what) }
	if id >= p.all {
		return bad("is behind the end")
	}
	head := make([]byte, pageHeader)
	if _, err := p.file.ReadAt(head, int64(id*p.size)); err != nil {
		return nil, fmt.Errorf("%w: %w", errCacheDamaged, err)
	}
	overflow := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || id+overflow >= p.all {
		return bad("is another one")
	}
	for i := id; i <= id+overflow; i++ {
		if p.seen[i] {
			return bad("is in two places")
		}
		p.seen[i] = true
	}
	data := make([]byte, (1+overflow)*p.size)
	if _, err := p.file.ReadAt(data, int64(id*p.size)); err != nil {
		return nil, fmt.Errorf("%w: %w", errCacheDamaged, err)
	}
	return data, nil
}

func (p *pages) tree(id uint64, depth int) error {
	data, err := p.page(id)
	if err != nil {
		return err
	}
	if depth > mostTreeDepth {
		return fmt.Errorf("%w: page %d is too deep", errCacheDamaged, id)
	}
	flags, count := binary.NativeEndian.Uint16(data[8:]), int(binary.NativeEndian.Uint16(data[10:]))
	if flags != pageLeaf && (flags != pageBranch || count == 0) {
		return fmt.Errorf("%w: page %d is of no kind", errCacheDamaged, id)
	}
	for i := range count {
		at := pageHeader + i*pageElement
		if at+pageElement > len(data) {
			return fmt.Errorf("%w: page %d has too many elements", errCacheDamaged, id)
		}
		u32 := func(j int) uint64 { return uint64(binary.NativeEndian.Uint32(data[at+j:])) }
		if flags == pageBranch {
			if uint64(at)+u32(0)+u32(4) > uint64(len(data)) {
				return fmt.Errorf("%w: page %d has a key behind its end", errCacheDamaged, id)
			}
			if err := p.tree(binary.NativeEndian.Uint64(data[at+8:]), depth+1); err != nil {
				return err
			}
			continue
		}
		begin, end := uint64(at)+u32(4)+u32(8), uint64(at)+u32(4)+u32(8)+u32(12)
		if end > uint64(len(data)) {
			return fmt.Errorf("%w: page %d has a value behind its end", errCacheDamaged, id)
		}
		if u32(0)&leafBucket == 0 {
			continue
		}
		if end-begin < bucketHeader {
			return fmt.Errorf("%w: page %d has half a bucket", errCacheDamaged, id)
		}
		root := binary.NativeEndian.Uint64(data[begin:])
		if root == 0 { // a small bucket stands here; there is none of ours but an empty one
			if end-begin != bucketHeader+pageHeader || binary.NativeEndian.Uint16(data[begin+bucketHeader+10:]) != 0 ||
				binary.NativeEndian.Uint16(data[begin+bucketHeader+8:]) != pageLeaf {
				return fmt.Errorf("%w: page %d has a bucket that is not ours", errCacheDamaged, id)
			}
			continue
		}
		if err := p.tree(root, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// freelist checks that no page of the tree is said to be free.
func (p *pages) freelist(id uint64) error {
	data, err := p.page(id)
	if err != nil {
		return err
	}
	count, at := uint64(binary.NativeEndian.Uint16(data[10:])), pageHeader
	if count == 0xFFFF {
		count, at = binary.NativeEndian.Uint64(data[at:]), at+8
	}
	if binary.NativeEndian.Uint16(data[8:]) != pageFreelist || count > uint64(len(data)-at)/8 {
		return fmt.Errorf("%w: page %d is no list of free pages", errCacheDamaged, id)
	}
	for range count {
		free := binary.NativeEndian.Uint64(data[at:])
		if p.seen[free] || free >= p.all {
			return fmt.Errorf("%w: page %d is free and is not", errCacheDamaged, free)
		}
		p.seen[free] = true
		at += 8
	}
	return nil
}
