package buscases

import "github.com/mayflydb/mayfly/queue"

// documentCases are those of documents, which another package keeps.
func documentCases() []row {
	const why = "documents: package store plays it"
	list := []row{
		{number: 93, title: "no default and no own time"},
		{number: 94, title: "no default and an own time"},
		{number: 95, title: "no default and an own never"},
		{number: 96, title: "never by default"},
		{number: 97, title: "never by default and by itself"},
		{number: 98, title: "never by default and five seconds by itself"},
		{number: 99, title: "ten seconds by default"},
		{number: 100, title: "ten seconds by default and never by itself"},
		{number: 101, title: "ten seconds by default and a hundred by itself"},
		{number: 102, title: "due now is gone everywhere"},
		{number: 103, title: "gone before it is purged"},
		{number: 104, title: "purging costs nothing"},
		{number: 105, title: "a write begins the time anew"},
		{number: 106, title: "an abandon begins no time anew", via: "A", steps: abandonedInTime},
		{number: 107, title: "an own time taken back"},
		{number: 108, title: "an own never put in"},
		{number: 109, title: "the default taken back"},
		{number: 110, title: "the default put back"},
		{number: 111, title: "defaults that cannot be"},
		{number: 112, title: "own times that cannot be"},
		{number: 113, title: "a default changed for a million"},
		{number: 114, title: "no index and a default"},
		{number: 115, title: "a time inside of the document"},
	}
	for i := range list {
		if list[i].steps == nil {
			list[i].skip = why
		}
	}
	return list
}

func abandonedInTime(b *bench) {
	b.queue("q")
	b.send("q", msg("A", lives(10*sec)))
	b.at(8 * sec)
	b.settle("q", b.locked("q", "A"), queue.Abandon)
	b.at(10 * sec)
	b.expect("q", "")
}
