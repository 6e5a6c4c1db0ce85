package container

import "testing"

func TestKindByTheEnvironment(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"KUBERNETES_SERVICE_HOST", "pod"},
		{"container", "container"},
	} {
		got := Kind(func(name string) string {
			if name == tc.name {
				return "x"
			}
			return ""
		})
		if got != tc.want {
			t.Errorf("with %s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
