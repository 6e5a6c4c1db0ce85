package tracefile

import (
	"bytes"
	"encoding/json"
)

// lineStart is how the lines of every known writer begin. Quotes within a text are escaped, so that
// these bytes cannot be a part of one: where they stand, an object begins.
var lineStart = []byte(`{"resourceSpans"`)

// Salvage returns the whole lines in the bytes of a bad one, without newlines, as parts of data: those
// that stand on one line because the newline between them was lost, that are glued behind a line which
// a crash tore, or that have something behind them. What is torn is not among them.
func Salvage(data []byte) [][]byte {
	var whole [][]byte
	var d Decoder
	for from := bytes.Index(data, lineStart); from >= 0; {
		piece := data[from:]
		next := bytes.Index(piece[1:], lineStart)
		if next >= 0 {
			piece = piece[:1+next]
		}
		var object json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(piece))
		if dec.Decode(&object) == nil {
			object = piece[:dec.InputOffset()]
			if _, _, bad := scanDecode(&d, object); bad == nil {
				whole = append(whole, object)
			}
		}
		if next < 0 {
			break
		}
		from += 1 + next
	}
	return whole
}
