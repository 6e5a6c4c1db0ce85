//go:build linux

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestFeed runs the pod of every example as it is rendered, in the image, and sends it spans at the
// Service's address: they are in the file, and in a real Jaeger where one is configured.
func TestFeed(t *testing.T) {
	t.Parallel()
	const jaegerHost = "jaeger-collector.observability.svc"
	shared, perRun := "/traces/traces.jsonl", "/traces/runs/%s/traces.jsonl"
	for example, want := range map[string]struct{ file, jaeger string }{
		"default":       {file: shared},
		"jaeger":        {file: shared, jaeger: "runspan-jaeger." + namespace + ".svc"},
		"shared-volume": {file: "/mnt/shared/tracing/traces.jsonl", jaeger: jaegerHost},
		"fanout":        {file: shared, jaeger: jaegerHost},
		"secured":       {file: shared},
		"per-run":       {file: perRun, jaeger: "runspan-jaeger." + namespace + ".svc"},
		"sidecar":       {file: shared},
	} {
		t.Run(example, func(t *testing.T) {
			n := newNode(t)
			secrets, trust := testSecrets, (*tls.Config)(nil)
			if example == "secured" {
				secrets, trust = withCertificate(t, serviceHost)
			}
			d := n.deploy(t, renderExample(t, example), secrets)
			var jaeger *netns
			if want.jaeger != "" {
				jaeger = n.startJaeger(t, want.jaeger)
			}
			c := d.start(t, "")

			s := n.plug(t).sender(t, serviceHost+":4317", trust)
			if example == "secured" {
				require.ErrorContains(t, s.send(t.Context(), 1), "Unauthenticated")
				s.token = "token-2"
			}
			for range 10 {
				require.NoError(t, s.send(t.Context(), 10))
			}
			if jaeger != nil {
				jaeger.requireSpans(t, s.run, 100)
			}
			require.NoError(t, c.getOK(t.Context(), "http://"+c.address+":8888/metrics"))
			c.stop(t)
			file := want.file
			if file == perRun {
				file = fmt.Sprintf(perRun, s.run)
			}
			s.requireWritten(t, d.file(t, file))
		})
	}
}

// startJaeger runs a real Jaeger with the chart's configuration of one in a pod of its own.
func (n *node) startJaeger(t *testing.T, host string) *netns {
	t.Helper()
	program := harness.Tool(t, "jaeger", "8 minutes")
	config := parseObjects(t, renderExample(t, "jaeger")).get(t, "ConfigMap", release+"-jaeger").Data
	dir := t.TempDir()
	writeFiles(t, dir, 0o600, config)
	p := n.plug(t)
	p.serve(t, host, "10.96.0.20")
	harness.Start(t, exec.Command("nsenter", "--net=/run/netns/"+p.name, program, "--config", filepath.Join(dir, "config.yaml")))
	harness.WaitFor(t, 30*time.Second, "Jaeger to be ready", func() error {
		return p.getOK(t.Context(), "http://"+p.address+":16686/api/services")
	})
	return p
}

// requireSpans waits until Jaeger shows n spans of a run.
func (p *netns) requireSpans(t *testing.T, run string, n int) {
	t.Helper()
	query := url.Values{"service": {"worker"}, "tags": {`{"run.id":"` + run + `"}`}, "limit": {"1000"}, "lookback": {"1h"}}
	harness.WaitFor(t, 30*time.Second, "the spans in Jaeger", func() error {
		resp, err := p.get(t.Context(), "http://"+p.address+":16686/api/traces?"+query.Encode())
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var found struct {
			Data []struct{ Spans []struct{ SpanID string } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, trace := range found.Data {
			for _, span := range trace.Spans {
				seen[span.SpanID] = true
			}
		}
		if len(seen) != n {
			return fmt.Errorf("%d of %d spans", len(seen), n)
		}
		return nil
	})
}

// withCertificate returns the test's secrets with a certificate for host, and who trusts it.
func withCertificate(t *testing.T, host string) (map[string]map[string]string, *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	secrets := map[string]map[string]string{
		"runspan-tls": {
			"tls.crt": string(certificate), "ca.crt": string(certificate),
			"tls.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		},
		"runspan-tokens": testSecrets["runspan-tokens"],
	}
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certificate))
	return secrets, &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS13}
}
