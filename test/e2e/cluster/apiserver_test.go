//go:build linux

package cluster

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/runspan/runspan/test/e2e/harness"
)

// apiServer is a real kube-apiserver with an etcd behind it: no controllers, no kubelet.
type apiServer struct {
	url        string
	client     *http.Client
	kubeconfig string
}

const apiToken = "end-to-end"

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	program := harness.Tool(t, "kube-apiserver", "8 minutes")
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		harness.Missing(t, "etcd", "install Debian's etcd-server")
	}
	dir := t.TempDir()
	ports := harness.FreePorts(t, 3)
	// Everything in it goes with the test: no fsync, of which the start alone makes hundreds.
	harness.Start(t, exec.Command(etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", "http://"+ports[0], "--advertise-client-urls", "http://"+ports[0],
		"--listen-peer-urls", "http://"+ports[1], "--initial-advertise-peer-urls", "http://"+ports[1],
		"--initial-cluster", "default=http://"+ports[1], "--log-level", "error", "--logger", "zap"))

	tokens := filepath.Join(dir, "tokens.csv")
	require.NoError(t, os.WriteFile(tokens, []byte(apiToken+",admin,admin,system:masters\n"), 0o600))
	key := signingKey(t, dir)
	certificates := filepath.Join(dir, "certificates")
	_, port, _ := bytes.Cut([]byte(ports[2]), []byte(":"))
	server := harness.Start(t, exec.Command(program,
		"--etcd-servers", "http://"+ports[0],
		"--bind-address", "127.0.0.1", "--secure-port", string(port), "--cert-dir", certificates,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-signing-key-file", key, "--service-account-key-file", key,
		"--service-cluster-ip-range", "10.96.0.0/16", "--v", "0"))

	s := &apiServer{url: "https://" + ports[2], client: &http.Client{Timeout: 30 * time.Second}}
	t.Cleanup(s.client.CloseIdleConnections)
	harness.WaitFor(t, time.Minute, "the API server to be ready", func() error {
		select {
		case <-server.Ended():
			t.Fatalf("the API server ended with code %d", server.Wait(0))
		default:
		}
		return s.trust(filepath.Join(certificates, "apiserver.crt"))
	})
	s.kubeconfig = filepath.Join(dir, "kubeconfig")
	s.writeKubeconfig(t, filepath.Join(certificates, "apiserver.crt"))
	return s
}

// trust takes the certificate that the server made for itself, and asks it whether it is ready.
func (s *apiServer) trust(certificate string) error {
	data, err := os.ReadFile(certificate)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data)
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	_, err = s.do(http.MethodGet, "/readyz", "", nil)
	return err
}

func (s *apiServer) writeKubeconfig(t *testing.T, certificate string) {
	t.Helper()
	type named = map[string]any
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []named{{"name": "test", "cluster": named{"server": s.url, "certificate-authority": certificate}}},
		"users":    []named{{"name": "test", "user": named{"token": apiToken}}},
		"contexts": []named{{"name": "test", "context": named{"cluster": "test", "user": "test"}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.kubeconfig, data, 0o600))
}

func signingKey(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	path := filepath.Join(dir, "service-accounts.key")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	return path
}

// do sends a request, as strictly validated as helm's are, and returns the body of the answer.
func (s *apiServer) do(method, path, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	req.Header.Set("Content-Type", contentType)
	if method != http.MethodGet {
		req.URL.RawQuery = "fieldValidation=Strict"
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return answer, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, nil
}

// get decodes an object, and reports whether it is there.
func (s *apiServer) get(t *testing.T, path string, into any) bool {
	t.Helper()
	body, err := s.do(http.MethodGet, path, "", nil)
	if err != nil {
		require.Contains(t, err.Error(), "404")
		return false
	}
	require.NoError(t, yaml.Unmarshal(body, into)) // JSON is YAML
	return true
}

// create makes an object of YAML text.
func (s *apiServer) create(t *testing.T, path, text string) {
	t.Helper()
	_, err := s.do(http.MethodPost, path, "application/yaml", []byte(text))
	require.NoError(t, err)
}

// namespace makes a namespace in which only pods of the strictest standard may be, with what the
// controllers would put into it.
func (s *apiServer) namespace(t *testing.T, name string) {
	t.Helper()
	s.create(t, "/api/v1/namespaces",
		"{apiVersion: v1, kind: Namespace, metadata: {name: "+name+", labels: {pod-security.kubernetes.io/enforce: restricted}}}")
	s.create(t, "/api/v1/namespaces/"+name+"/serviceaccounts", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
}

// helm runs helm against this server.
func (s *apiServer) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, complaint, err := helm(t, append(args, "--kubeconfig", s.kubeconfig)...)
	return out + complaint, err
}

// mustJSON is for objects that the tests make themselves.
func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
