//go:build linux

package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestInstall installs, upgrades and uninstalls every example on a real API server, which validates
// strictly; the pods that its controllers would make must be allowed in a namespace of the strictest
// standard. The check of the configuration runs, in the image, before each of them.
func TestInstall(t *testing.T) {
	t.Parallel()
	s := startAPIServer(t)
	n := newNode(t)
	definition, err := os.ReadFile(filepath.Join(harness.Cache(t), "servicemonitors.yaml"))
	require.NoError(t, err, "run `make e2e`")
	s.create(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(definition))

	s.create(t, "/apis/storage.k8s.io/v1/storageclasses", `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/none
allowVolumeExpansion: true
`)

	all := cases(t)
	for i, example := range all {
		t.Run(example, func(t *testing.T) {
			ns := "case-" + example
			s.namespace(t, ns)
			k := s.kubelet(t, n, ns, testSecrets)
			s.makeSecrets(t, ns)

			out, err := s.helm(t, "install", release, chartDir(t), "-n", ns, "--values", valuesOf(t, example), "--timeout", "60s")
			require.NoError(t, err, out)
			require.Contains(t, out, "4317", "the notes")
			require.Equal(t, 1, k.jobsDone())
			s.requirePods(t, ns)
			s.bindClaims(t, ns)

			next := all[(i+1)%len(all)]
			out, err = s.helm(t, "upgrade", release, chartDir(t), "-n", ns, "--values", valuesOf(t, next), "--timeout", "60s")
			require.NoError(t, err, "%s to %s: %s", example, next, out)
			require.Equal(t, 2, k.jobsDone())
			s.requirePods(t, ns)

			out, err = s.helm(t, "rollback", release, "1", "-n", ns, "--timeout", "60s")
			require.NoError(t, err, "%s back to %s: %s", next, example, out)
			require.Equal(t, 3, k.jobsDone())

			s.bindClaims(t, ns)
			out, err = s.helm(t, "upgrade", release, chartDir(t), "-n", ns, "--reuse-values", "--timeout", "60s",
				"--set", "places.persistence.size=3Gi,traces.persistence.size=60Gi")
			require.NoError(t, err, "larger claims: %s", out)

			claims := s.names(t, "/api/v1/namespaces/"+ns+"/persistentvolumeclaims")
			out, err = s.helm(t, "uninstall", release, "-n", ns)
			require.NoError(t, err, out)
			require.Equal(t, claims, s.names(t, "/api/v1/namespaces/"+ns+"/persistentvolumeclaims"), "claims are kept")
			for _, kind := range []string{
				"/api/v1/namespaces/" + ns + "/services", "/api/v1/namespaces/" + ns + "/configmaps",
				"/apis/apps/v1/namespaces/" + ns + "/statefulsets", "/apis/apps/v1/namespaces/" + ns + "/deployments",
				"/apis/batch/v1/namespaces/" + ns + "/jobs", "/apis/networking.k8s.io/v1/namespaces/" + ns + "/ingresses",
				"/apis/networking.k8s.io/v1/namespaces/" + ns + "/networkpolicies",
				"/apis/monitoring.coreos.com/v1/namespaces/" + ns + "/servicemonitors",
			} {
				require.Empty(t, s.names(t, kind), kind)
			}

			out, err = s.helm(t, "install", release, chartDir(t), "-n", ns, "--values", valuesOf(t, example), "--timeout", "60s")
			require.NoError(t, err, "with the claims of the one before: %s", out)
		})
	}
}

// TestBadConfig checks that a configuration that the binary refuses changes nothing in the cluster.
func TestBadConfig(t *testing.T) {
	s := startAPIServer(t)
	n := newNode(t)
	ns := "bad-config"
	s.namespace(t, ns)
	k := s.kubelet(t, n, ns, testSecrets)

	out, err := s.helm(t, "install", release, chartDir(t), "-n", ns, "--timeout", "60s")
	require.NoError(t, err, out)
	statefulSet, configMap := "/apis/apps/v1/namespaces/"+ns+"/statefulsets/"+release, "/api/v1/namespaces/"+ns+"/configmaps/"+release
	before := s.version(t, statefulSet) + s.version(t, configMap)

	values := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(values, []byte("config: {processors: {run_id: {fall_back: drop}}}"), 0o600))
	out, err = s.helm(t, "upgrade", release, chartDir(t), "-n", ns, "--values", values, "--timeout", "60s")
	require.Error(t, err, out)
	require.Contains(t, out, "pre-upgrade")
	require.Contains(t, k.lastLog(), "fall_back")
	require.Equal(t, before, s.version(t, statefulSet)+s.version(t, configMap))

	require.NoError(t, os.WriteFile(values, []byte("config: {processors: {run_id: {fallback: {action: drop}}}}"), 0o600))
	out, err = s.helm(t, "upgrade", release, chartDir(t), "-n", ns, "--values", values, "--timeout", "60s")
	require.NoError(t, err, out+k.lastLog())
	require.NotEqual(t, before, s.version(t, statefulSet)+s.version(t, configMap))
}

// TestMisspeltFields checks that a field that the API does not have is an error, in every kind of object:
// otherwise the tests above would prove little.
func TestMisspeltFields(t *testing.T) {
	s := startAPIServer(t)
	for file, change := range map[string][2]string{
		"statefulset.yaml":            {"terminationGracePeriodSeconds:", "terminationGracePeriodSecond:"},
		"service.yaml":                {"publishNotReadyAddresses:", "publishNotReadyAddress:"},
		"persistentvolumeclaims.yaml": {"accessModes:", "accessMode:"},
		"networkpolicy.yaml":          {"policyTypes:", "policyType:"},
		"ingress.yaml":                {"ingressClassName:", "ingressClass:"},
		"check-config.yaml":           {"backoffLimit:", "backoffLimits:"},
		"serviceaccount.yaml":         {"automountServiceAccountToken:", "automountServiceAccountTokens:"},
	} {
		t.Run(file, func(t *testing.T) {
			ns := "misspelt-" + strings.TrimSuffix(file, ".yaml")
			s.namespace(t, ns)
			chart := filepath.Join(t.TempDir(), "runspan")
			require.NoError(t, os.CopyFS(chart, os.DirFS(chartDir(t))))
			path := filepath.Join(chart, "templates", file)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), change[0])
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), change[0], change[1])), 0o600))
			args := []string{"install", release, chart, "-n", ns, "--values", valuesOf(t, "secured"), "--set", "serviceMonitor.enabled=false", "--timeout", "5s"}
			if file != "check-config.yaml" {
				args = append(args, "--set", "configCheck.enabled=false")
			}
			out, err := s.helm(t, args...)
			require.Error(t, err)
			require.Contains(t, out, strings.TrimSuffix(change[1], ":"), "the error names the field")
		})
	}
}

// kubelet runs the Jobs and the bare Pods (helm test) of a namespace, in the image, and says in their status
// how they ended.
type kubelet struct {
	node      *node
	namespace string
	secrets   map[string]map[string]string

	mu   sync.Mutex
	jobs int
	log  string
}

func (k *kubelet) jobsDone() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.jobs
}

func (k *kubelet) lastLog() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log
}

func (s *apiServer) kubelet(t *testing.T, n *node, ns string, secrets map[string]map[string]string) *kubelet {
	t.Helper()
	k := &kubelet{node: n, namespace: ns, secrets: secrets}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		seen := map[string]bool{}
		for ctx.Err() == nil {
			for _, kind := range []string{"/apis/batch/v1/namespaces/" + ns + "/jobs", "/api/v1/namespaces/" + ns + "/pods"} {
				var list struct{ Items []object }
				if !s.get(t, kind, &list) {
					continue
				}
				for _, o := range list.Items {
					// The pods that requirePods makes are only looked at.
					if seen[o.Metadata.UID] || o.Metadata.Annotations["helm.sh/hook"] == "" {
						continue
					}
					seen[o.Metadata.UID] = true
					s.runToEnd(t, k, kind, &o)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return k
}

// runToEnd runs the pod of a Job or a Pod and patches its status.
func (s *apiServer) runToEnd(t *testing.T, k *kubelet, path string, o *object) {
	t.Helper()
	isJob := strings.HasSuffix(path, "/jobs")
	o.Kind = "Pod"
	if isJob {
		o.Kind = "Job"
	}
	spec := o.pod()
	p := k.node.pod(t, spec, storage{secrets: k.secrets, configs: s.configMaps(t, k.namespace)})
	code, log := p.run(t, spec.Containers[0].Name, time.Minute)
	k.mu.Lock()
	if isJob {
		k.jobs++
	}
	k.log = log
	k.mu.Unlock()

	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, reason string) map[string]string {
		return map[string]string{"type": kind, "status": "True", "reason": reason, "lastProbeTime": now, "lastTransitionTime": now}
	}
	var status map[string]any
	switch {
	case isJob && code == 0:
		status = map[string]any{"startTime": now, "succeeded": 1, "completionTime": now, "conditions": []any{
			condition("SuccessCriteriaMet", "CompletionsReached"), condition("Complete", "CompletionsReached"),
		}}
	case isJob:
		status = map[string]any{"startTime": now, "failed": 1, "conditions": []any{
			condition("FailureTarget", "BackoffLimitExceeded"), condition("Failed", "BackoffLimitExceeded"),
		}}
	case code == 0:
		status = map[string]any{"phase": "Succeeded"}
	default:
		status = map[string]any{"phase": "Failed"}
	}
	_, err := s.do(http.MethodPatch, path+"/"+o.Metadata.Name+"/status",
		"application/merge-patch+json", mustJSON(t, map[string]any{"status": status}))
	assert.NoError(t, err)
}

// configMaps returns those of a namespace.
func (s *apiServer) configMaps(t *testing.T, ns string) objects {
	t.Helper()
	var list struct{ Items []object }
	require.True(t, s.get(t, "/api/v1/namespaces/"+ns+"/configmaps", &list))
	for i := range list.Items {
		list.Items[i].Kind = "ConfigMap"
	}
	return list.Items
}

// names returns the names of the objects at a path of the API.
func (s *apiServer) names(t *testing.T, path string) []string {
	t.Helper()
	var list struct{ Items []object }
	require.True(t, s.get(t, path, &list), path)
	names := []string{}
	for _, o := range list.Items {
		names = append(names, o.Metadata.Name)
	}
	return names
}

// version changes with every change of an object.
func (s *apiServer) version(t *testing.T, path string) string {
	t.Helper()
	var o struct {
		Metadata struct {
			ResourceVersion string `yaml:"resourceVersion"`
		}
	}
	require.True(t, s.get(t, path, &o), path)
	return o.Metadata.ResourceVersion
}

// requirePods makes the pods that the controllers of the API's StatefulSets and Deployments would make,
// and removes them again.
func (s *apiServer) requirePods(t *testing.T, ns string) {
	t.Helper()
	made := 0
	for _, kind := range []string{"statefulsets", "deployments"} {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct{ Template map[string]any }
			}
		}
		require.True(t, s.get(t, "/apis/apps/v1/namespaces/"+ns+"/"+kind, &list))
		for _, item := range list.Items {
			pod := item.Spec.Template
			pod["apiVersion"], pod["kind"] = "v1", "Pod"
			metadata, _ := pod["metadata"].(map[string]any)
			metadata["name"] = item.Metadata.Name + "-0"
			_, err := s.do(http.MethodPost, "/api/v1/namespaces/"+ns+"/pods", "application/json", mustJSON(t, pod))
			require.NoError(t, err)
			_, err = s.do(http.MethodDelete, "/api/v1/namespaces/"+ns+"/pods/"+item.Metadata.Name+"-0", "application/json",
				[]byte(`{"gracePeriodSeconds": 0}`))
			require.NoError(t, err)
			made++
		}
	}
	require.NotZero(t, made)
}

// bindClaims does what a provisioner does: it gives each claim a volume.
func (s *apiServer) bindClaims(t *testing.T, ns string) {
	t.Helper()
	path := "/api/v1/namespaces/" + ns + "/persistentvolumeclaims"
	for _, name := range s.names(t, path) {
		_, err := s.do(http.MethodPatch, path+"/"+name, "application/merge-patch+json", []byte(`{"spec": {"volumeName": "volume-`+name+`"}}`))
		require.NoError(t, err)
		_, err = s.do(http.MethodPatch, path+"/"+name+"/status", "application/merge-patch+json", []byte(`{"status": {"phase": "Bound"}}`))
		require.NoError(t, err)
	}
}

// testSecrets are those that the examples name.
var testSecrets = map[string]map[string]string{
	"runspan-tokens": {"tokens": "token-1\ntoken-2\n"},
	"runspan-tls":    {"tls.crt": "", "tls.key": "", "ca.crt": ""},
	"backend":        {"token": "token-3"},
}

func (s *apiServer) makeSecrets(t *testing.T, ns string) {
	t.Helper()
	for name, values := range testSecrets {
		data := map[string]string{}
		for key, value := range values {
			data[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
		encoded, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": name}, "data": data})
		require.NoError(t, err)
		_, err = s.do(http.MethodPost, "/api/v1/namespaces/"+ns+"/secrets", "application/json", encoded)
		require.NoError(t, err)
	}
}
