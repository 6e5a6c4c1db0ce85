package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/runspan/runspan/producer"
)

// The forms of `runspan env`.
const (
	formatShell      = "shell"
	formatRay        = "ray"
	formatKubernetes = "kubernetes"
)

func newEnv(a *app) *cobra.Command {
	var flags producerFlags
	format := formatShell
	cmd := &cobra.Command{
		Use:   "env --endpoint URL [flags]",
		Short: "Print the variables that runspan exec sets, for a collector that runs already",
		Long: `Print the environment by which the OpenTelemetry SDK of a process sends its spans under one run, to a
collector that runs already: where no command can be put before the program. Nothing is started.

The forms: shell has export lines for eval; ray has the JSON of a runtime_env; kubernetes has the env list of
a container. A new run id is made at each call without --run-id: call it once for a run.`,
		Example: `  runspan env --endpoint http://127.0.0.1:4317 --run-id my-run
  runspan env --endpoint http://10.0.0.7:4317 --format ray
  runspan env --endpoint http://otel-collector.tracing.svc:4317 --service-name trainer --run-id my-run --format kubernetes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := flags.Config
			cfg.Enabled, cfg.NoSpans, cfg.Logger = true, true, newPersonLog(a.complain)
			rt, err := producer.Start(cmd.Context(), cfg)
			if err != nil {
				return flagError{err}
			}
			if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
				return errors.New("tracing is off: OTEL_SDK_DISABLED is true; unset it")
			}
			if rt.Mode() == producer.ModeOff {
				return errors.New("--endpoint is missing, and OTEL_EXPORTER_OTLP_ENDPOINT is not set: `runspan exec` starts a collector itself")
			}
			return a.printEnv(rt.Env(), format)
		},
	}
	flags.addTo(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", format, "shell, ray or kubernetes")
	return cmd
}

func (a *app) printEnv(vars map[string]string, format string) error {
	names := slices.Sorted(maps.Keys(vars))
	switch {
	case a.json:
		return a.printJSON(struct {
			Env map[string]string `json:"env"`
		}{vars})
	case format == formatShell:
		for _, name := range names {
			a.printf("export %s='%s'\n", name, strings.ReplaceAll(vars[name], "'", `'\''`))
		}
		return nil
	case format == formatRay:
		return a.printJSON(struct {
			EnvVars map[string]string `json:"env_vars"`
		}{vars})
	case format == formatKubernetes:
		type variable struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		}
		var list struct {
			Env []variable `yaml:"env"`
		}
		for _, name := range names {
			// $(NAME) would be another variable's value.
			list.Env = append(list.Env, variable{name, strings.ReplaceAll(vars[name], "$(", "$$(")})
		}
		text, err := yaml.Marshal(list)
		if err != nil {
			return fmt.Errorf("the env list: %w", err)
		}
		a.printf("%s", text)
		return nil
	}
	return fmt.Errorf("--format %q is none of shell, ray and kubernetes", format)
}
