//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

const (
	serviceHost    = "otel-collector." + namespace + ".svc"
	serviceAddress = "10.96.0.10"
)

// deployment is a rendering of the chart, with the storage that outlives its pods.
type deployment struct {
	node    *node
	objects objects
	storage storage
}

// deploy makes the volumes for a rendering.
func (n *node) deploy(t *testing.T, rendered []byte, secrets map[string]map[string]string) *deployment {
	t.Helper()
	d := &deployment{node: n, objects: parseObjects(t, rendered)}
	d.storage = storage{configs: d.objects, secrets: secrets, claims: map[string]string{}}
	for _, v := range d.collectorSpec(t).Volumes {
		if v.Claim != nil {
			d.storage.claims[v.Claim.ClaimName] = harness.WorldTempDir(t)
		}
	}
	return d
}

func (d *deployment) collectorSpec(t *testing.T) *podSpec {
	t.Helper()
	spec := d.objects.get(t, "StatefulSet", release).pod()
	return &spec
}

// file returns the path on this host of what the pods see under the trace volume's mount path.
func (d *deployment) file(t *testing.T, seen string) string {
	t.Helper()
	spec := d.collectorSpec(t)
	for _, m := range spec.container(t, "collector").VolumeMounts {
		if rel, err := filepath.Rel(m.MountPath, seen); err == nil && filepath.IsLocal(rel) {
			for _, v := range spec.Volumes {
				if v.Name == m.Name && v.Claim != nil {
					return filepath.Join(d.storage.claims[v.Claim.ClaimName], rel)
				}
			}
		}
	}
	require.Failf(t, "not on a volume", "%s", seen)
	return ""
}

// collectorPod is the chart's pod with its collector running and behind the Service's address.
type collectorPod struct {
	*pod
	*harness.Process
}

// start starts the collector of a new pod and waits until its readiness probe succeeds.
func (d *deployment) start(t *testing.T, cgroup string) *collectorPod {
	t.Helper()
	return d.startAt(t, serviceHost, cgroup)
}

func (d *deployment) startAt(t *testing.T, host, cgroup string) *collectorPod {
	t.Helper()
	p := d.node.pod(t, *d.collectorSpec(t), d.storage)
	p.serve(t, host, serviceAddress)
	c := &collectorPod{pod: p, Process: p.start(t, "collector", cgroup)}
	harness.WaitFor(t, 30*time.Second, "the collector to be ready", func() error {
		select {
		case <-c.Ended():
			t.Fatalf("the collector ended with code %d: %s", c.Wait(0), c.Log())
		default:
		}
		return p.getOK(t.Context(), "http://"+p.address+":13133/")
	})
	return c
}

// getOK asks an HTTP server from within the pod's network.
func (p *netns) getOK(ctx context.Context, url string) error {
	resp, err := p.get(ctx, url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}

func (p *netns) get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return p.http().Do(req)
}

// http returns a client in the pod's network that keeps no connections.
func (p *netns) http() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return p.dial(ctx, address) },
	}}
}

// stop ends the pod as a kubelet does, and fails the test when it has to be killed.
func (c *collectorPod) stop(t *testing.T) {
	t.Helper()
	code := c.Stop(time.Duration(c.spec.TerminationGracePeriodSeconds) * time.Second)
	require.Zero(t, code, c.Log())
}
