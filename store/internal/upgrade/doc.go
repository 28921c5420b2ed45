// Package upgrade has the steps that bring documents and definitions of an older format to the next one: see
// host.Upgrade. Each step may be cut off by a crash and run again.
package upgrade
