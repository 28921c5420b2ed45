// Package endurance has two tests that run a server for a long time. TestEndurance writes, reads, sends and
// receives while operations fail and the server is killed repeatedly, and compares each response with a
// model. TestGrowth measures how the time and memory of the server grow with its data.
//
//	go test -tags long -v -timeout 2h -run TestEndurance . -duration 1h -kill 1m
//	go test -tags long -v -timeout 4h -run TestGrowth . -documents 1000000,10000000
//
// The variable MAYFLY_BIN has the path of the binary to test; if it is not set, the binary is built.
package endurance
