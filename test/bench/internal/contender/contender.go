// Package contender lists what the benchmarks compare. A new contender is one file in
// test/bench/configs and one entry in All.
package contender

import (
	"fmt"
	"slices"
)

// Contender is one way to set up the collector.
type Contender struct {
	// Name in tables, flags and ratios.
	Name string
	// Config is the file in the folder of configs that common.yaml is merged with.
	Config string
	// What it is, in a few words for the docs.
	What string
	// Env are further variables that Config uses, beside those that every contender gets: BENCH_OTLP
	// and BENCH_METRICS_PORT, where it listens, and BENCH_DATA, an empty folder.
	Env map[string]string
	// Backend: needs a second collector to send to, whose address is BENCH_BACKEND. A round is over
	// when the backend has everything.
	Backend bool
	// Outage is what became of the backend: Dead or Blackholed. Its contender is not run to the end.
	Outage Outage
	// Runs is how many runs its spans are of, and Clients how many clients send them; 0: as many as the
	// workload says.
	Runs, Clients int
	// Against names further contenders that it is compared with.
	Against []string
}

// Outage is a backend that takes nothing.
type Outage string

// Dead is a port on which nobody listens, Blackholed one that takes connections and never answers.
const (
	Dead       Outage = "dead"
	Blackholed Outage = "blackholed"
)

// The contenders that others are compared with.
const (
	Nop   = "nop"
	Stock = "stock_equivalent"
	Write = "run_file_write" // the product without a reading pipeline
)

var write = runFile(Write, "write", "`run_id` and `run_file`, `durability: write`")

// All contenders, in the order in which they are printed.
var All = []Contender{
	{Name: Nop, Config: "nop.yaml", What: "receive and throw away"},
	{Name: "run_id", Config: "run_id.yaml", What: "`run_id`, then throw away"},
	{Name: "file", Config: "file.yaml", What: "stock `file`"},
	{Name: Stock, Config: "stock_equivalent.yaml", What: "stock `transform` + `groupbyattrs` + `file`"},
	write,
	runFile("run_file_sync", "sync", "the same, `durability: sync`"),
	runs("run_file_1000_runs", "run_file.yaml", "", "`run_id` and `run_file`, 1,000 runs in one file"),
	runs("run_file_1000_files", "run_file_runs.yaml", "run_file_1000_runs", "the same 1,000 runs in 1,000 files"),
	fanout("fanout_memory", "fanout_memory.yaml", "none", "stock `file`, and a backend through a memory queue"),
	fanout("fanout_memory_gzip", "fanout_memory.yaml", "gzip", "the same, with gzip (the default)"),
	fanout("fanout_disk", "fanout_disk.yaml", "none", "stock `file`, and a backend through a queue on disk (`file_storage`)"),
	fanout("fanout_disk_gzip", "fanout_disk.yaml", "gzip", "the same, with gzip (the default)"),
	{
		Name: "product", Config: "product.yaml", Backend: true, Against: []string{Write, "fanout_disk"},
		What: "`run_id` and `run_file`, and a backend that reads from the file",
	},
}

// Delivery are those that show whether a backend delays clients.
var Delivery = []Contender{
	write,
	{
		Name: "product", Config: "product.yaml", Backend: true, Against: []string{Write},
		What: "the same, and a backend that reads from the file",
	},
	outage("product_dead", Dead, "the same, with nobody at the backend's port"),
	outage("product_blackholed", Blackholed, "the same, with a backend that takes connections and never answers"),
}

// Sync are those that show what `durability: sync` costs where many clients share an fsync.
var Sync = []Contender{
	write,
	{
		Name: "run_file_sync", Config: "run_file.yaml", Env: map[string]string{"BENCH_DURABILITY": "sync"},
		Against: []string{Write, "run_file_sync_alone"}, What: "the same, `durability: sync`",
	},
	{
		Name: "run_file_sync_alone", Config: "run_file.yaml", Env: map[string]string{"BENCH_DURABILITY": "sync"},
		Clients: 1, Against: []string{Write}, What: "the same with one client, so that each request has an fsync of its own",
	},
}

func outage(name string, what Outage, words string) Contender {
	return Contender{Name: name, Config: "product.yaml", Outage: what, Against: []string{Write}, What: words}
}

func runFile(name, durability, what string) Contender {
	return Contender{
		Name: name, Config: "run_file.yaml", What: what,
		Env: map[string]string{"BENCH_DURABILITY": durability},
	}
}

func runs(name, config, against, what string) Contender {
	return Contender{
		Name: name, Config: config, What: what, Runs: 1000, Against: list(against),
		Env: map[string]string{"BENCH_DURABILITY": "write"},
	}
}

func fanout(name, config, compression, what string) Contender {
	return Contender{
		Name: name, Config: config, What: what, Backend: true,
		Env: map[string]string{"BENCH_COMPRESSION": compression},
	}
}

func list(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// Find returns the named contenders in the order of All, all of them for no names. An unknown name
// is an error that lists the known ones.
func Find(names []string) ([]Contender, error) {
	if len(names) == 0 {
		return All, nil
	}
	var known []string
	var found []Contender
	for _, c := range All {
		known = append(known, c.Name)
		if slices.Contains(names, c.Name) {
			found = append(found, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no contender %q: choose from %v", name, known)
		}
	}
	return found, nil
}
