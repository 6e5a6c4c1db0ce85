//go:build linux

package cluster

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestNetwork is a training job on a network: a driver, workers that send to the Service, workers with the
// sidecar of docs/kubernetes.md, the collector, and a reader that has the volume read-only. A worker of each
// kind is cut off for a while: nothing is lost of what it kept.
func TestNetwork(t *testing.T) {
	t.Parallel() // it waits most of the time
	cut := 5 * time.Second
	if harness.Full() {
		cut = time.Minute
	}
	n := newNode(t)
	d := n.deploy(t, renderExample(t, "sidecar"), nil)
	collector := d.start(t, "")

	driver := n.pod(t, documentedSidecar(t, "127.0.0.1:14317"), d.storage)
	driver.startSidecar(t)
	worker := n.plug(t)
	shy := n.pod(t, documentedSidecar(t, "127.0.0.1:4317"), d.storage) // knows only 127.0.0.1
	sidecar := shy.startSidecar(t)

	// Who reaches whom.
	require.True(t, worker.connects(t.Context(), serviceHost+":4317"))
	require.True(t, worker.connects(t.Context(), serviceHost+":4318"))
	require.True(t, driver.connects(t.Context(), "127.0.0.1:14317"))
	require.False(t, driver.connects(t.Context(), "127.0.0.1:4317"), "the driver's own collector needs this port")
	require.False(t, worker.connects(t.Context(), net.JoinHostPort(driver.address, "14317")), "the driver's loopback is its own")
	require.False(t, worker.connects(t.Context(), "127.0.0.1:4317"))
	require.True(t, shy.connects(t.Context(), "127.0.0.1:4317"))

	direct := worker.sender(t, serviceHost+":4317", nil)
	local := shy.sender(t, "127.0.0.1:4317", nil)
	forwarded := driver.sender(t, "127.0.0.1:14317", nil)
	for _, s := range []*sender{direct, local, forwarded} {
		require.NoError(t, s.send(t.Context(), 10))
	}

	worker.cut(t)
	shy.cut(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var keeping sync.WaitGroup
	begin := time.Now()
	for time.Since(begin) < cut {
		keeping.Go(func() { _ = direct.sendUntil(ctx, 10) }) // the SDK's own queue
		require.NoError(t, local.send(t.Context(), 10), "the sidecar takes it for the Service")
		require.NoError(t, forwarded.send(t.Context(), 10), "the others notice nothing")
		time.Sleep(cut / 50)
	}
	require.Len(t, direct.keys(), 10, "cut off")
	sidecar.Kill() // what it has acknowledged is on the pod's disk
	shy.startSidecar(t)
	worker.mend(t)
	shy.mend(t)
	mended := time.Now()
	keeping.Wait()
	require.NoError(t, ctx.Err())
	t.Logf("%d spans of the worker that was cut off for %s arrived %s after it was back", len(direct.keys())-10, cut, time.Since(mended).Round(100*time.Millisecond))

	file := d.file(t, "/traces/traces.jsonl")
	for _, s := range []*sender{direct, local, forwarded} {
		harness.WaitFor(t, 2*time.Minute, "all spans in the file", func() error { return s.missing(t, file) })
	}
	t.Logf("all that the sidecar had taken was in the file %s after it was back", time.Since(mended).Round(100*time.Millisecond))

	reader := n.pod(t, readerOf(t, d), d.storage)
	code, log := reader.run(t, "check", time.Minute)
	require.Zero(t, code, log)
	code, log = reader.run(t, "write", time.Minute)
	require.NotZero(t, code, log)
	require.Contains(t, log, "read-only file system")
	collector.stop(t)
}

// documentedSidecar returns the pod of docs/kubernetes.md, with its sidecar at an address.
func documentedSidecar(t *testing.T, address string) podSpec {
	t.Helper()
	var pod struct{ Spec podSpec }
	require.NoError(t, yaml.Unmarshal([]byte(documented(t, "runspan-sidecar")), &pod))
	c := pod.Spec.container(t, "runspan-sidecar")
	require.Equal(t, "RUNSPAN_OTLP_GRPC", c.Env[0].Name)
	c.Env[0].Value = address
	return pod.Spec
}

// documented returns the block of YAML in docs/kubernetes.md that a word is in.
func documented(t *testing.T, word string) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "kubernetes.md"))
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		if regexp.MustCompile(regexp.QuoteMeta(word)).MatchString(block[1]) {
			return block[1]
		}
	}
	require.Failf(t, "no such block", "%s", word)
	return ""
}

// startSidecar starts the sidecar and waits until its startup probe succeeds.
func (p *pod) startSidecar(t *testing.T) *harness.Process {
	t.Helper()
	process := p.start(t, "runspan-sidecar", "")
	harness.WaitFor(t, 30*time.Second, "the sidecar to be ready", func() error {
		return p.getOK(t.Context(), "http://"+p.address+":13134/")
	})
	return process
}

// readerOf returns a pod that has the trace volume read-only.
func readerOf(t *testing.T, d *deployment) podSpec {
	t.Helper()
	var spec podSpec
	require.NoError(t, yaml.Unmarshal([]byte(`
securityContext: {runAsUser: 20000, runAsGroup: 20000}
containers:
  - name: check
    command: [/runspan, check, /traces/traces.jsonl]
    securityContext: &safe {readOnlyRootFilesystem: true}
    volumeMounts: &mounts
      - {name: traces, mountPath: /traces, readOnly: true}
  - name: write
    command: [/runspan, pin, /traces/traces.jsonl]
    securityContext: *safe
    volumeMounts: *mounts
`), &spec))
	for _, v := range d.collectorSpec(t).Volumes {
		if v.Name == "traces" {
			spec.Volumes = append(spec.Volumes, v)
		}
	}
	spec.SecurityContext.FSGroup = d.collectorSpec(t).SecurityContext.FSGroup
	return spec
}

// TestOfficialChart runs the image as the official chart does, with the configuration of docs/kubernetes.md.
func TestOfficialChart(t *testing.T) {
	var values struct {
		Command            struct{ Name string }
		PodSecurityContext struct {
			FSGroup uint32 `yaml:"fsGroup"`
		} `yaml:"podSecurityContext"`
		AlternateConfig yaml.Node `yaml:"alternateConfig"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(documented(t, "alternateConfig")), &values))
	config, err := yaml.Marshal(&values.AlternateConfig)
	require.NoError(t, err)

	var spec podSpec
	require.NoError(t, yaml.Unmarshal([]byte(`
containers:
  - name: opentelemetry-collector
    command: [/`+values.Command.Name+`]
    args: [--config=/conf/relay.yaml]
    env:
      - {name: MY_POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    securityContext: {runAsUser: 10001, runAsGroup: 10001, readOnlyRootFilesystem: true}
    volumeMounts:
      - {name: config, mountPath: /conf}
      - {name: traces, mountPath: /traces}
volumes:
  - {name: config, configMap: {name: relay}}
  - {name: traces, persistentVolumeClaim: {claimName: traces}}
`), &spec))
	spec.SecurityContext.FSGroup = values.PodSecurityContext.FSGroup
	relay := object{Kind: "ConfigMap", Data: map[string]string{"relay.yaml": string(config)}}
	relay.Metadata.Name = "relay"
	n, claim := newNode(t), harness.WorldTempDir(t)
	p := n.pod(t, spec, storage{configs: objects{relay}, claims: map[string]string{"traces": claim}})
	process := p.start(t, "opentelemetry-collector", "")
	harness.WaitFor(t, 30*time.Second, "the collector to be ready", func() error {
		return p.getOK(t.Context(), "http://"+p.address+":13133/")
	})
	s := n.plug(t).sender(t, p.address+":4317", nil)
	require.NoError(t, s.send(t.Context(), 10))
	require.Zero(t, process.Stop(30*time.Second), process.Log())
	s.requireWritten(t, filepath.Join(claim, "traces.jsonl"))
}
