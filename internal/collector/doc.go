// Package collector is a collector of OpenTelemetry for tests: it listens on a loopback port and keeps what
// servers send it.
package collector
