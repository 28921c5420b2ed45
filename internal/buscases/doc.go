// Package buscases plays the conformance cases of queues and topics: what must happen to messages that
// expire, wait, are locked and settled, and to entities that nobody uses. It consists of tests.
//
//	go test ./internal/buscases -run TestCases/034
//
// # Cases and surfaces
//
// A case is a row of a table: its number, its title, the surfaces beside the engine that it concerns, and its
// steps as code (cases_*_test.go). It runs once on each surface, as TestCases/034-abandoned-late/amqp:
//
//	engine    package queue, called directly
//	amqp      messages by a client of bare frames, over package queue/amqp/bus
//	rest      messages by requests of HTTP, over package queue/rest
//	atom      entities by ATOM entries, over package queue/rest, and messages by the engine
//	documents documents by requests of HTTP, which is another API on the same expiry
//
// What a surface has no words for (REST cannot peek) is done by the engine, which all of them share. Time is
// a clock that the case sets; nothing waits for a real one.
//
// A case that cannot be played here stands in the table all the same, with the reason.
package buscases
