// Package cluster holds the end-to-end tests of what runs in a Kubernetes cluster: the chart, against a
// real API server; the image's content, as the chart runs it; and pods that meet over a network. There
// is no kubelet: pods.go does, with Linux's own means, what a kubelet and a container runtime do for the
// pods that the chart asks for.
package cluster
