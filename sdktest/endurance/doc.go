// Package endurance has tests that run a server for a long time. TestEndurance writes, reads, sends,
// receives, takes snapshots, restores them and follows a change feed while operations fail and the server is
// killed repeatedly, and compares each response with a model. TestGrowth measures how the time and memory of
// the server grow with the number of documents, and TestGrowthOfShapes with the number of partitions,
// containers, queues and messages, and with the size of documents.
//
//	go test -tags long -v -timeout 2h -run TestEndurance . -duration 1h -kill 1m
//	go test -tags long -v -timeout 4h -run 'TestGrowth$' . -documents 1000000,10000000
//	go test -tags long -v -timeout 1h -run TestGrowthOfShapes . -scale 1
//
// The variable MAYFLY_BIN has the path of the binary to test; if it is not set, the binary is built.
package endurance
