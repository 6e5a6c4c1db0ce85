//go:build linux

package cluster

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// object is what the tests need of a Kubernetes object.
type object struct {
	Kind     string
	Metadata struct {
		Name        string
		UID         string
		Annotations map[string]string
	}
	Data map[string]string // of a ConfigMap
	Spec struct {
		podSpec `yaml:",inline"` // of a Pod

		Template struct { // of a StatefulSet, a Deployment, a Job
			Metadata struct{ Annotations map[string]string }
			Spec     podSpec
		}
	}
}

// pod returns the pod that the object is or makes.
func (o *object) pod() podSpec {
	if o.Kind == "Pod" {
		return o.Spec.podSpec
	}
	return o.Spec.Template.Spec
}

type podSpec struct {
	SecurityContext struct {
		RunAsUser  uint32 `yaml:"runAsUser"`
		RunAsGroup uint32 `yaml:"runAsGroup"`
		FSGroup    uint32 `yaml:"fsGroup"`
	} `yaml:"securityContext"`
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	Containers                    []container
	InitContainers                []container `yaml:"initContainers"`
	Volumes                       []volume
}

type container struct {
	Name         string
	Image        string
	Command      []string
	Args         []string
	Env          []environmentVariable
	VolumeMounts []volumeMount `yaml:"volumeMounts"`
	Resources    struct {
		Limits struct{ Memory string }
	}
	SecurityContext struct {
		RunAsUser              uint32 `yaml:"runAsUser"`
		RunAsGroup             uint32 `yaml:"runAsGroup"`
		ReadOnlyRootFilesystem bool   `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
}

type environmentVariable struct {
	Name      string
	Value     string
	ValueFrom struct {
		SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		FieldRef     struct {
			FieldPath string `yaml:"fieldPath"`
		} `yaml:"fieldRef"`
	} `yaml:"valueFrom"`
}

type volumeMount struct {
	Name      string
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly"`
}

type claimSource struct {
	ClaimName string `yaml:"claimName"`
}

type volume struct {
	Name      string
	ConfigMap *struct{ Name string } `yaml:"configMap"`
	Secret    *struct {
		SecretName string                       `yaml:"secretName"`
		Items      []struct{ Key, Path string } `yaml:"items"`
	}
	Claim    *claimSource      `yaml:"persistentVolumeClaim"`
	EmptyDir map[string]string `yaml:"emptyDir"`
}

// container returns a container by its name.
func (p *podSpec) container(t *testing.T, name string) *container {
	t.Helper()
	for _, of := range [][]container{p.InitContainers, p.Containers} {
		for i := range of {
			if of[i].Name == name {
				return &of[i]
			}
		}
	}
	require.Failf(t, "no such container", "%s", name)
	return nil
}

// objects are the objects of a rendering.
type objects []object

func parseObjects(t *testing.T, rendered []byte) objects {
	t.Helper()
	var all objects
	for dec := yaml.NewDecoder(bytes.NewReader(rendered)); ; {
		var o object
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if o.Kind != "" {
			all = append(all, o)
		}
	}
}

// get returns an object by its kind and name.
func (all objects) get(t *testing.T, kind, name string) *object {
	t.Helper()
	if o := all.find(kind, name); o != nil {
		return o
	}
	require.Failf(t, "no such object", "%s %s", kind, name)
	return nil
}

func (all objects) find(kind, name string) *object {
	for i := range all {
		if all[i].Kind == kind && all[i].Metadata.Name == name {
			return &all[i]
		}
	}
	return nil
}
