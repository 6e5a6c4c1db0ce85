//go:build linux

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestHelmTest installs the chart, runs the pod that the API server then has, and lets `helm test` follow a
// span through it: it succeeds, and fails when the collector is gone.
func TestHelmTest(t *testing.T) {
	t.Parallel()
	s := startAPIServer(t)
	for example, jaeger := range map[string]string{"default": "", "jaeger": "runspan-jaeger", "secured": ""} {
		t.Run(example, func(t *testing.T) {
			n, ns := newNode(t), "test-"+example
			host := "otel-collector." + ns + ".svc"
			s.namespace(t, ns)
			secrets, _ := withCertificate(t, host)
			secrets["runspan-tokens"] = map[string]string{"tokens": "token-1\n"}
			k := s.kubelet(t, n, ns, secrets)
			out, err := s.helm(t, "install", release, chartDir(t), "-n", ns, "--values", valuesOf(t, example),
				"--set", "serviceMonitor.enabled=false", "--timeout", "60s")
			require.NoError(t, err, out)

			var set object
			require.True(t, s.get(t, "/apis/apps/v1/namespaces/"+ns+"/statefulsets/"+release, &set))
			d := &deployment{node: n, storage: storage{configs: s.configMaps(t, ns), secrets: secrets, claims: map[string]string{
				"runspan-traces": harness.WorldTempDir(t), "runspan-places": harness.WorldTempDir(t),
			}}}
			set.Kind = "StatefulSet"
			d.objects = objects{set}
			if jaeger != "" {
				n.startJaeger(t, jaeger+"."+ns+".svc")
			}
			c := d.startAt(t, host, "")
			viewer := c.start(t, "viewer", "")
			harness.WaitFor(t, 30*time.Second, "the viewer to be alive", func() error {
				return c.getOK(t.Context(), "http://"+c.address+":18318/api/health")
			})

			out, err = s.helm(t, "test", release, "-n", ns, "--timeout", "90s")
			require.NoError(t, err, out+k.lastLog())
			viewer.Kill()
			out, err = s.helm(t, "test", release, "-n", ns, "--timeout", "90s")
			require.Error(t, err, out+k.lastLog())
			require.Contains(t, k.lastLog(), "viewer")
			c.stop(t)
			out, err = s.helm(t, "test", release, "-n", ns, "--timeout", "90s")
			require.Error(t, err, out+k.lastLog())
			require.Contains(t, k.lastLog(), host)
		})
	}
}
