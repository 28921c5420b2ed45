// Package seed brings a server to a state that files describe. Such files are called a seed. They define
// databases, containers with their policies and settings, scripts, users and permissions, queues and
// topics, and documents.
//
//	s, err := seed.Open("seed")                        // a folder, or one file; JSON and YAML
//	report, err := s.Apply(ctx, seed.ApplyTarget{DB: db, Queues: queues})
//
//	model.go                the contents of a file, as structs from which schema.json is generated
//	container_policies.go   the same for the policies of a container
//	read.go                 files and folders, and which file defines what
//	database.go             from the model to what a store accepts, with all checks that need no store
//	container.go            the same for a container and its documents
//	entities.go             queues and topics, in the form that package queue/config reads
//	plant.go                writing to a server: what is missing is created, what differs is changed
//	plant_*.go              containers, scripts and the like, documents
//	differences_error.go    comparing with a server, without a change
//	apart.go                a seed in two parts: its definitions, and where its documents are
//	describe*.go            the opposite direction: the state of a server as the files of a seed
//	folders.go              names of folders for ids
//	rehearse.go             applying a seed to a temporary server in memory
//	schema.go               the JSON Schema of the files
//
// # Effect on existing data
//
// A server can be started with the same seed any number of times. Existing definitions are changed to
// match the seed: throughput, policies and settings, scripts, users, permissions, and entities, member by
// member. A member that the seed does not contain stays unchanged. If nothing differs, nothing is written.
// Documents are treated as data: existing documents stay unchanged, and missing ones are created, even if
// they were deleted or have expired. Objects that the seed does not contain stay unchanged. The partition
// key of a container cannot be changed.
//
// # All or nothing
//
// Open reads and checks all files before anything is written, and Apply compares the seed with the server
// before its first write. Some errors only occur during writing, for example if a limit of the store is
// exceeded. The caller can find them beforehand with DryRun, or let Apply restore the previous state: see
// ApplyTarget.Undo.
//
// Every error in a file is a *tree.ErrorAtFilePosition, with file, line and column.
package seed
