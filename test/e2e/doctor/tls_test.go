package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// secured starts a collector with TLS.
func secured(t *testing.T, by keyPair, clientCA string) *harness.Collector {
	t.Helper()
	t.Setenv("DOCTOR_CERT", by.cert)
	t.Setenv("DOCTOR_KEY", by.key)
	t.Setenv("DOCTOR_CLIENT_CA", clientCA)
	return harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "secured.yaml")})
}

func TestTLS(t *testing.T) {
	ca := newCA(t)
	c := secured(t, ca.sign(t, "collector", time.Hour), "")
	for _, tc := range []struct{ protocol, address string }{{"grpc", c.GRPC}, {"http", c.HTTP}} {
		t.Run(tc.protocol, func(t *testing.T) {
			tls := []string{"--protocol", tc.protocol, "--endpoint", "https://" + tc.address}
			requireWell(t, diagnose(t, append(tls, "--ca", ca.cert, "--trace-jsonl", c.TraceFile())...))
			requireWell(t, diagnoseIn(t, []string{"OTEL_EXPORTER_OTLP_CERTIFICATE=" + ca.cert}, nil, tls...))
			requireFinding(t, diagnose(t, tls...), "certificate-authority", 14, "--ca")

			plain := diagnose(t, "--protocol", tc.protocol, "--endpoint", "http://"+tc.address)
			requireFinding(t, plain, "tls-expected", 14, "speaks TLS", "write https://"+tc.address)
		})
	}
	t.Run("wrong port under TLS", func(t *testing.T) {
		r := diagnose(t, "--protocol", "grpc", "--endpoint", "https://"+c.HTTP, "--ca", ca.cert)
		requireFinding(t, r, "grpc-on-http", 15)
		r = diagnose(t, "--protocol", "http", "--endpoint", "https://"+c.GRPC, "--ca", ca.cert)
		requireFinding(t, r, "http-on-grpc", 15)
	})
}

func TestTLSAgainstPlainText(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	for _, tc := range []struct{ protocol, address string }{{"grpc", c.GRPC}, {"http", c.HTTP}} {
		r := diagnose(t, "--protocol", tc.protocol, "--endpoint", "https://"+tc.address)
		requireFinding(t, r, "plain-text", 14, "speaks no TLS", "write http://"+tc.address)
	}
}

// An ingress that sends plain HTTP on to HTTPS.
func TestRedirect(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://collector.example"+r.URL.Path, http.StatusPermanentRedirect)
	}))
	defer server.Close()
	r := diagnose(t, "--protocol", "http", "--endpoint", server.URL)
	requireFinding(t, r, "redirect", 14, "https://collector.example/v1/traces", "write https://collector.example")
}

func TestCertificateOfAnotherName(t *testing.T) {
	ca := newCA(t)
	c := secured(t, ca.sign(t, "collector", time.Hour, "other.example"), "")
	r := diagnose(t, "--endpoint", "https://"+c.GRPC, "--ca", ca.cert)
	requireFinding(t, r, "certificate-name", 14, "other.example")
}

func TestCertificateOutOfDate(t *testing.T) {
	ca := newCA(t)
	c := secured(t, ca.sign(t, "collector", -time.Hour), "")
	r := diagnose(t, "--endpoint", "https://"+c.GRPC, "--ca", ca.cert)
	requireFinding(t, r, "certificate-time", 14, "clock")
}

func TestClientCertificate(t *testing.T) {
	ca := newCA(t)
	c := secured(t, ca.sign(t, "collector", time.Hour), ca.cert)
	client := ca.sign(t, "trainer", time.Hour)
	for _, tc := range []struct{ protocol, address string }{{"grpc", c.GRPC}, {"http", c.HTTP}} {
		args := []string{"--protocol", tc.protocol, "--endpoint", "https://" + tc.address, "--ca", ca.cert}
		requireFinding(t, diagnose(t, args...), "client-certificate", 14, "--cert")
		requireWell(t, diagnose(t, append(args, "--cert", client.cert, "--key", client.key)...))
	}
}

// keyPair are files with a certificate and its key.
type keyPair struct{ cert, key string }

// authority signs certificates.
type authority struct {
	keyPair
	of  *x509.Certificate
	by  *ecdsa.PrivateKey
	dir string
}

func newCA(t *testing.T) *authority {
	t.Helper()
	ca := &authority{dir: t.TempDir()}
	ca.of = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the tests' authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.keyPair = ca.sign(t, "ca", 48*time.Hour)
	return ca
}

// sign makes a certificate of 127.0.0.1, or of other names, that is valid until a time from now.
func (ca *authority) sign(t *testing.T, name string, until time.Duration, names ...string) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	made := ca.of
	if ca.by == nil {
		ca.by = key
	} else {
		made = &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(until), DNSNames: names,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if len(names) == 0 {
			made.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, made, ca.of, key.Public(), ca.by)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	pair := keyPair{cert: filepath.Join(ca.dir, name+".pem"), key: filepath.Join(ca.dir, name+".key")}
	for path, block := range map[string]*pem.Block{
		pair.cert: {Type: "CERTIFICATE", Bytes: der},
		pair.key:  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return pair
}
