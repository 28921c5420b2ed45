// Package emulator runs the emulator tests of the official Azure SDK for Go, unmodified, against Mayfly. The
// server listens on the emulator's ports with the emulator's key, and the environment variables of the tests
// say that the emulator is available.
//
//	go test -v ./...
//
// expected-pass.txt lists the tests that must pass. expected-fail.txt lists the others, each with the reason
// why it fails. Together they must contain every emulator test of the SDK's version in go.mod.
//
// The package is a separate module because the SDK's tests have dependencies that the SDK itself does not
// have. "go mod tidy" would remove them. For a new version of the SDK run "go get -t
// github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos@VERSION".
package emulator
