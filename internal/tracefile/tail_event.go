package tracefile

// TailEventKind says what happened to a file that a Tail reads.
type TailEventKind int

// What can happen. Each event is meant for one log line and one counter.
const (
	// TailFileFound: reading begins at Offset of a file that was not read before. Bytes is its size.
	TailFileFound TailEventKind = iota
	// TailFileResumed: reading goes on at Offset, the saved place. Bytes is the file's size.
	TailFileResumed
	// TailPlaceDamaged: the place cannot be understood (Err); TailFileFound follows.
	TailPlaceDamaged
	// TailPlaceForeign: the place is of another file or reader (Err); TailFileFound follows.
	TailPlaceForeign
	// TailPlaceUnreadable: the place cannot be read (Err); TailFileFound follows.
	TailPlaceUnreadable
	// TailPlaceUnwritable: a place cannot be saved (Err). It is tried again every second; the event
	// comes once until TailPlaceWritable.
	TailPlaceUnwritable
	// TailPlaceWritable: places can be saved again.
	TailPlaceWritable
	// TailLineTooLong: a line of Bytes at Offset was stepped over.
	TailLineTooLong
	// TailTruncated: the file ends before what was read; reading goes on at Offset, its last line
	// end. Bytes is how much was cut off.
	TailTruncated
	// TailRewritten: what was read is not what the file holds now; it is read from its beginning.
	TailRewritten
	// TailVanished: the file is gone; Bytes of it were not read.
	TailVanished
	// TailUnreadable: the file cannot be read (Err). The event comes once until it can be.
	TailUnreadable
)

// TailEvent is one thing that happened.
type TailEvent struct {
	Kind   TailEventKind
	Path   string
	Offset int64 // bytes from the beginning of the file
	Bytes  int64
	Err    error
}
