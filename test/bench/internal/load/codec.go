package load

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// raw passes requests that are encoded already, and leaves responses as they came.
type raw struct{}

// Marshal implements encoding.CodecV2 for a []byte.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	body, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("the raw codec sends []byte, not %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(body)}, nil
}

// Unmarshal implements encoding.CodecV2 for a *[]byte.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	body, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("the raw codec receives into *[]byte, not %T", v)
	}
	*body = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2: what goes over the wire is protobuf.
func (raw) Name() string { return "proto" }
