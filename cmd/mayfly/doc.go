// Command mayfly is a document store whose documents can expire. It uses the wire protocol of Azure Cosmos
// DB for NoSQL.
//
//	mayfly serve       answer on http(s)://localhost:8081/
//	mayfly check DIR   prove that a data folder is consistent, without changing it
//	mayfly databases   list, create and delete the databases of a running server
//	mayfly containers  list, create and delete the containers of one
//	mayfly shell       ask a running server query after query, with history and completion
//	mayfly query       ask a running server a query and print its rows
//	mayfly get         print an item of a running server
//	mayfly put         store an item in a running server
//	mayfly import      store the documents of a file in a running server, with their age
//	mayfly export      write the items of a running server as JSON lines
//	mayfly clock       show or move the clock of a running server, or of one of its databases
//	mayfly explain     ask a running server how it answers a query
//	mayfly expiry      ask a running server when an item expires, and why
//	mayfly forecast    ask a running server what is going to expire
//	mayfly dry-run     ask a running server what a change of a default time to live would do
//	mayfly wait        wait until an item is expired, purged or in the change feed
//	mayfly lint        ask a running server which times to live are probably not what was meant
//	mayfly reaper      show or control how a running server purges what has expired
//	mayfly events      print what has expired in a container of a running server
//	mayfly settings    show or change Mayfly's own settings of a container
//	mayfly lease       keep an item from expiring for a time
//	mayfly snapshot    keep states of a running server, and go back to them
//	mayfly reset       put a running server back to what it had from its start
//	mayfly seed        check what serve --seed reads; its JSON Schema
//	mayfly faults      let operations of a running server fail on demand
//	mayfly requests    show what clients of a running server sent, and what came back
//	mayfly split       ask a running server to split a partition key range
//	mayfly man         write the manual pages
//	mayfly bench       measure against the raw engine and an empty server
//	mayfly health      ask a running server whether it is ready
//	mayfly servers     list the running servers that share their data
//	mayfly doctor      find out why a client cannot connect
//	mayfly cert        show or export the certificate of a running server, and tell how to trust it
//	mayfly version     tell what this binary is
//
// Every flag can also be given as an environment variable: --log-level is MAYFLY_LOG_LEVEL. A flag wins over
// its variable, a variable over the default. An empty variable counts as not given.
//
// In an image --emulator-variables lets a server take the variables and arguments of the official emulators,
// too; emulator.go has them as a table. They rank between a variable and the default.
//
// Every command that prints a result prints it as JSON with --json.
//
// # Exit codes
//
//	0  all went well
//	1  the command failed, check found something wrong, or a second signal cut the end short
//	2  it was called wrongly: an unknown flag, a bad value, flags that exclude each other
//	3  the port cannot be listened on, most often because it is in use
//	4  another process has the data folder open
//	5  the data folder is corrupt, a log in it damaged, has another format, or is not one of Mayfly's
//	6  the folder cannot be written to, or the disk is full or failing
//
// An error is one line on stderr. What a user needs to connect goes to stdout, the log to stderr.
//
// # Wiring
//
// This package only connects the parts, with one file per command. The struct serve is the whole product.
// Open opens the ports first, so that a port in use is found before anything is written, and then the engine,
// the store and the endpoint. Run serves until its context ends. Close drains the requests, then closes the
// store, and with it the engine. Tests use the same struct on port 0.
package main
