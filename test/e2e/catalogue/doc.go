// Package catalogue tests what the viewer tells of runs against what simulated runs have sent: through
// the real collector, while it is killed and its files rotate, change and go away.
package catalogue
