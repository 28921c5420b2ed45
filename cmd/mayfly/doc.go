// Command mayfly is a document store whose documents can expire. It uses the wire protocol of Azure Cosmos
// DB for NoSQL.
//
//	mayfly serve       run a server on http(s)://localhost:8081/
//	mayfly check DIR   check that a data folder is consistent, without changing it
//	mayfly databases   list, create and delete the databases of a running server
//	mayfly containers  list, create and delete the containers of a database
//	mayfly shell       run queries and commands interactively, with history and completion
//	mayfly query       run a query on a running server and print its rows
//	mayfly get         print an item of a running server
//	mayfly put         store an item in a running server
//	mayfly import      store the documents of a file in a running server, with the _ts that they have
//	mayfly export      write the items of a running server as JSON lines
//	mayfly clock       show or move the clock of a running server, or of one of its databases
//	mayfly explain     show the plan of a query and the work that it needs
//	mayfly expiry      show when an item expires, and why
//	mayfly forecast    show how many items will expire, and when
//	mayfly dry-run     show what a change of a container's default time to live would do
//	mayfly wait        wait until an item is expired, purged or in the change feed
//	mayfly lint        show which times to live are valid but probably mistakes
//	mayfly reaper      show or control how a running server purges expired items
//	mayfly events      print the expiry events of a container
//	mayfly settings    show or change Mayfly's own settings of a container
//	mayfly lease       keep an item from expiring for a time
//	mayfly snapshot    save the state of a running server, and restore it
//	mayfly reset       restore the state that a running server had after its start
//	mayfly seed        check the files for serve --seed; print their JSON Schema
//	mayfly faults      make operations of a running server fail on demand
//	mayfly requests    show the requests that a running server has received, and its responses
//	mayfly split       split a partition key range of a container
//	mayfly man         write the manual pages
//	mayfly bench       measure the speed, relative to the bare engine and to an empty server
//	mayfly health      check whether a running server is ready
//	mayfly servers     list the running servers that share their data
//	mayfly doctor      find out why a client cannot connect to a server
//	mayfly cert        show or export the certificate of a running server; show how to trust it
//	mayfly version     print the version of this program
//
// Every flag can also be given as an environment variable: --log-level is MAYFLY_LOG_LEVEL. A flag takes
// precedence over its variable, and a variable over the default. An empty variable counts as not set.
//
// With --emulator-variables, which container images set, a server also accepts the variables and arguments of
// Microsoft's emulators; emulator.go has a table of them. They take precedence over defaults, but not over
// Mayfly's own variables.
//
// Every command that prints a result prints it as JSON if --json is set.
//
// # Exit codes
//
//	0  success
//	1  the command failed, check found a violation, or a second signal ended the program early
//	2  wrong usage: an unknown flag, an invalid value, flags that exclude each other
//	3  the server cannot listen on its port, usually because the port is in use
//	4  another process has the data folder open
//	5  the data folder is corrupt, has a damaged log or another format, or is not one of Mayfly's
//	6  the folder cannot be written to, or the disk is full or failing
//
// An error is printed as one line on stderr. The data that clients need to connect are printed on stdout, the
// log on stderr.
//
// # Structure
//
// This package only connects the parts, with one file for each command. The type serveCommandState is the
// command serve. Its method Open first opens the ports, so that a port in use is detected before anything is
// written, and then the engine, the store and the endpoint. Run serves until its context ends, waits for
// running requests, and closes the store and the engine. Tests use the same type on port 0.
package main
