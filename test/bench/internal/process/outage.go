package process

import (
	"fmt"
	"net"
	"strconv"

	"github.com/runspan/runspan/test/bench/internal/contender"
)

// breakDown returns the address of a backend that takes nothing, and what keeps it so, if anything does.
func breakDown(how contender.Outage) (address string, keep net.Listener, err error) {
	switch how {
	case contender.Dead:
		ports, err := freePorts(1)
		if err != nil {
			return "", nil, err
		}
		return "127.0.0.1:" + strconv.Itoa(ports[0]), nil, nil
	case contender.Blackholed:
		// The kernel takes the connections, and nobody reads from them.
		keep, err = net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, fmt.Errorf("listen: %w", err)
		}
		return keep.Addr().String(), keep, nil
	}
	return "", nil, fmt.Errorf("no outage %q", how)
}
