// Package collector is an OpenTelemetry collector for tests: it listens on a loopback port and stores what
// servers send.
package collector
