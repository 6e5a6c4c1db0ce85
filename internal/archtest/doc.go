// Package archtest holds the arrows between the packages of this repository: a test reads every
// import and fails for one that points upwards or sideways.
package archtest
