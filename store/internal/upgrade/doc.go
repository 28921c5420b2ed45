// Package upgrade has the steps that bring documents and definitions of an older format to the next one:
// see host.FormatUpgrade. A step that is interrupted by a crash can be run again.
package upgrade
