// Package buscases runs the conformance cases of queues and topics: what must happen to messages that
// expire, wait, are locked and settled, and to entities that are idle. It consists of tests.
//
//	go test ./internal/buscases -run TestCases/034
//
// # Cases and surfaces
//
// A case is a row of a table: its number, its title, the surfaces (interfaces for clients) on which it runs
// besides the engine, and its steps as code (cases_*_test.go). It runs once on each surface, as in
// TestCases/034-abandoned-late/amqp:
//
//	engine    package queue, called directly
//	amqp      messages by a client of bare frames, over package queue/amqp/bus
//	rest      messages by requests of HTTP, over package queue/rest
//	atom      entities by ATOM entries, over package queue/rest, and messages by the engine
//	documents documents by requests of HTTP, which is another API on the same expiry
//
// Steps that a surface does not support (REST cannot peek) are made by calling the engine, which all
// surfaces share. The case sets the clock; nothing waits for real time.
//
// A case that cannot be run here is in the table as well, with the reason.
package buscases
