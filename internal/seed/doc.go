// Package seed brings a server to a state that files describe: databases, containers with their policies and
// settings, scripts, users and permissions, queues and topics, and documents.
//
//	s, err := seed.Open("seed")                        // a folder, or one file; JSON and YAML
//	report, err := s.Plant(ctx, seed.Target{DB: db, Queues: queues})
//
//	model.go       what a file may have, as structs, of which schema.json is made
//	policies.go    the same of the policies of a container
//	read.go        files and folders; which file says what
//	database.go    from the model to what a store takes, with all checks that need no store
//	container.go   the same of a container and its documents
//	entities.go    queues and topics, in the words of package queue/config
//	plant.go       into a server: what is missing is made, what differs is changed
//	plant_*.go     containers, scripts and the like, documents
//	differences.go what of it is there another way, for who wants nothing changed
//	apart.go       a seed taken apart: its definitions, and where its documents are
//	describe*.go   the other way: what a server has, as the files of a seed
//	folders.go     names of folders, of ids
//	rehearse.go    into a server of its own, in memory
//	schema.go      the JSON Schema of the files
//
// # What a seed does to what is there
//
// A server can be started with the same seed again and again. What a seed defines follows it: throughput,
// policies and settings, scripts, users, permissions, and entities are brought to what the seed says, member
// by member; what it does not say of them stays. Where nothing differs nothing is written. Documents are
// data: those that are there stay, whatever became of them, and those that are not, or not any more, are made
// anew.
// What a seed does not name stays. A container cannot be given another partition key.
//
// # All or nothing
//
// Open reads and checks all files before anything is written, and Plant compares the seed with what is there
// before its first write. What can only be known by doing it, such as the limits of a store, is found out by
// Rehearse beforehand, or undone by who plants: see Target.Undo.
//
// All errors that a file is to blame for are *tree.Error: file, line and column.
package seed
