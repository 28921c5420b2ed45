// Package emulator runs the emulator tests of the official Azure SDK for Go against Mayfly, as they are: the
// server listens on the emulator's ports with the emulator's key, and the tests are told that it is the
// emulator.
//
//	go test -v ./...
//
// expected-pass.txt lists the tests that must pass, expected-fail.txt the others, each with the reason why it
// must not. Together they must name every emulator test of the SDK's version in go.mod.
//
// It is a module of its own because the SDK's tests have dependencies of their own. "go mod tidy" would drop
// them; after a new version of the SDK run "go get -t
// github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos@VERSION".
package emulator
