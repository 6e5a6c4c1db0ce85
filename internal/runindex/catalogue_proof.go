package runindex

import (
	"errors"
	"io"
	"slices"

	"github.com/zeebo/xxh3"
)

// proof is by what a file is known to hold what was read of it: checksums of its last bytes and of some
// blocks spread over it. Its first line is its fingerprint.
type proof struct {
	// Tail is the checksum of the last proofBytes, or of all there are, before the offset At.
	At   int64  `json:"at"`
	Tail uint64 `json:"tail"`
	// Blocks are the checksums of proofBytes at each multiple of Stride.
	Stride int64    `json:"stride"`
	Blocks []uint64 `json:"blocks"`
}

const (
	proofBytes = 4 << 10
	// mostBlocks bounds the blocks: beyond it, every second one goes. Reading them takes some
	// milliseconds, of a file of any size.
	mostBlocks = 128
)

// clone returns one that can be extended while the other is read.
func (p *proof) clone() proof {
	cloned := *p
	cloned.Blocks = slices.Clone(p.Blocks)
	return cloned
}

// extend makes it the proof of a file that was read up to an offset.
func (p *proof) extend(file io.ReaderAt, to int64) error {
	if p.Stride == 0 {
		p.Stride = 1 << 20
	}
	for {
		at := p.Stride * int64(len(p.Blocks))
		if at+proofBytes > to {
			break
		}
		sum, err := blockSum(file, at, proofBytes)
		if err != nil {
			return err
		}
		if p.Blocks = append(p.Blocks, sum); len(p.Blocks) > mostBlocks {
			left := p.Blocks[:0]
			for i := 0; i < len(p.Blocks); i += 2 {
				left = append(left, p.Blocks[i])
			}
			p.Blocks, p.Stride = left, 2*p.Stride
		}
	}
	tail, err := tailSum(file, to)
	p.At, p.Tail = to, tail
	return err
}

// tailHolds reports whether the file still has the last bytes that were read.
func (p *proof) tailHolds(file io.ReaderAt) (bool, error) {
	if p.At == 0 {
		return true, nil
	}
	tail, err := tailSum(file, p.At)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return tail == p.Tail, err
}

// holds reports whether the file still has all that is compared.
func (p *proof) holds(file io.ReaderAt) (bool, error) {
	if ok, err := p.tailHolds(file); !ok || err != nil {
		return false, err
	}
	for i, want := range p.Blocks {
		sum, err := blockSum(file, p.Stride*int64(i), proofBytes)
		if errors.Is(err, io.EOF) || err == nil && sum != want {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func tailSum(file io.ReaderAt, to int64) (uint64, error) {
	size := min(proofBytes, to)
	return blockSum(file, to-size, size)
}

func blockSum(file io.ReaderAt, at, size int64) (uint64, error) {
	block := make([]byte, size)
	n, err := file.ReadAt(block, at)
	if int64(n) == size {
		err = nil
	}
	return xxh3.Hash(block), err
}
