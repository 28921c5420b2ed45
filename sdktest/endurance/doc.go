// Package endurance has two programs that run a server for long: one writes, reads, sends and receives while
// operations fail and the process is killed again and again, and compares each answer with a model; the other
// measures how the server's time and memory grow with its data.
//
//	go test -tags long -v -timeout 2h -run TestEndurance . -duration 1h -kill 1m
//	go test -tags long -v -timeout 4h -run TestGrowth . -documents 1000000,10000000
//
// MAYFLY_BIN names the binary; without it the binary is built.
package endurance
