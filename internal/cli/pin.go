package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// pinReport says which logs are pinned or not, after the work.
type pinReport struct {
	Log    string `json:"log"`
	Pinned bool   `json:"pinned"`
}

func newPin(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pin FILE...",
		Short: "Keep a file, and its segments, from being deleted",
		Long: `Make a marker, FILE` + tracefile.PinSuffix + `, beside a trace file. As long as it is there, neither the retention of the
run_file exporter nor ` + "`runspan prune`" + ` deletes the file or one of its closed segments. Where each run has a
file of its own that pins the run.`,
		Example: `  runspan pin traces/my-run/traces.jsonl`,
		Args:    withArgs(-1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.setPins(args, true) },
	}
}

func newUnpin(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "unpin FILE...",
		Short:   "Take back what pin did",
		Long:    `Remove the marker of ` + "`runspan pin`" + `. It is no error when there is none.`,
		Example: `  runspan unpin traces/my-run/traces.jsonl`,
		Args:    withArgs(-1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.setPins(args, false) },
	}
}

func (a *app) setPins(paths []string, pinned bool) error {
	var reports []pinReport
	for _, path := range paths {
		live, err := setPin(path, pinned)
		if err != nil {
			a.fail(err)
			continue
		}
		reports = append(reports, pinReport{Log: live, Pinned: pinned})
	}
	if len(reports) == 0 {
		return errors.New("nothing was done")
	}
	if a.json {
		return a.printJSON(struct {
			Logs []pinReport `json:"logs"`
		}{reports})
	}
	for _, r := range reports {
		text := "unpinned"
		if r.Pinned {
			text = "pinned"
		}
		a.printf("%s: %s\n", visible(r.Log), text)
	}
	return nil
}

// setPin pins or unpins the log of a file.
func setPin(path string, pinned bool) (live string, err error) {
	live, _ = tracefile.LiveFile(path)
	if !pinned {
		return live, tracefile.Unpin(path)
	}
	// A typing error would pin nothing and say that it did.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return live, err
	case !info.Mode().IsRegular():
		return live, fmt.Errorf("%s is no file: name the trace file in it", path)
	}
	return live, tracefile.Pin(path)
}
