// Command runspan is the tools for trace files: docs/commands.md.
package main

import (
	"os"

	"github.com/runspan/runspan/internal/cli"
)

func main() { os.Exit(cli.Main()) }
