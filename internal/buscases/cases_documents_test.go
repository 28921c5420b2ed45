package buscases

import "github.com/mayflydb/mayfly/queue"

// documentCases returns the cases about the expiry of documents. Some are only listed here, because tests
// of package store run them.
func documentCases() []conformanceTestCase {
	const why = "package store plays it with its reaper, its charges and a large container"
	list := []conformanceTestCase{
		{number: 93, title: "no default and no own time", via: "C", alone: true,
			steps: lasts("", "", 0)},
		{number: 94, title: "no default and an own time", via: "C", alone: true,
			steps: lasts(`,"defaultTtl":null`, own(5), 0)},
		{number: 95, title: "no default and an own never", via: "C", alone: true,
			steps: lasts("", own(-1), 0)},
		{number: 96, title: "never by default", via: "C", alone: true,
			steps: lasts(defaults(-1), "", 0)},
		{number: 97, title: "never by default and by itself", via: "C", alone: true,
			steps: lasts(defaults(-1), own(-1), 0)},
		{number: 98, title: "never by default and five seconds by itself", via: "C", alone: true,
			steps: lasts(defaults(-1), own(5), 5*sec)},
		{number: 99, title: "ten seconds by default", via: "C", alone: true,
			steps: lasts(defaults(10), "", 10*sec)},
		{number: 100, title: "ten seconds by default and never by itself", via: "C", alone: true,
			steps: lasts(defaults(10), own(-1), 0)},
		{number: 101, title: "ten seconds by default and a hundred by itself", via: "C", alone: true,
			steps: lasts(defaults(10), own(100), 100*sec)},
		{number: 102, title: "due now is gone everywhere", via: "C", alone: true,
			steps: func(b *caseFixture) {
				d := newDocumentContainer(b, defaults(10))
				d.add(201, "")
				d.there(10*sec, false)
				d.replace(404, "")
				d.do(404, "DELETE", "/dbs/d/colls/c/docs/1", "")
				d.add(201, "")
			}},
		{number: 103, title: "gone before it is purged"},
		{number: 104, title: "purging costs nothing"},
		{number: 105, title: "a write begins the time anew", via: "C", alone: true,
			steps: func(b *caseFixture) {
				d := newDocumentContainer(b, defaults(10))
				d.add(201, "")
				d.there(8*sec, true)
				d.replace(200, "")
				d.there(9*sec, true)
				d.there(sec, false)
			}},
		{number: 106, title: "an abandon begins no time anew", via: "A", steps: abandonedInTime},
		{number: 107, title: "an own time taken back", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, defaults(10))
			d.add(201, own(100))
			d.there(20*sec, true)
			d.replace(200, "")
			d.there(9*sec, true)
			d.there(sec, false)
		}},
		{number: 108, title: "an own never put in", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, defaults(10))
			d.add(201, "")
			d.replace(200, own(-1))
			d.there(10*year, true)
		}},
		{number: 109, title: "the default taken back", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, defaults(10))
			d.add(201, own(5))
			d.set(200, "")
			d.there(10*year, true)
		}},
		{number: 110, title: "the default put back", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, defaults(-1))
			d.add(201, own(5))
			d.set(200, "")
			d.there(10*sec, true)
			d.set(200, defaults(-1))
			d.there(0, false)
		}},
		{number: 111, title: "defaults that cannot be", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, "")
			for _, bad := range []string{"0", "-2", "1.5"} {
				d.set(400, `,"defaultTtl":`+bad)
			}
		}},
		{number: 112, title: "own times that cannot be", via: "C", alone: true, steps: func(b *caseFixture) {
			d := newDocumentContainer(b, defaults(-1))
			d.add(400, own(0))
			d.add(400, `,"ttl":"5"`)
		}},
		{number: 113, title: "a default changed for a million"},
		{number: 114, title: "no index and a default", via: "C", alone: true, steps: func(b *caseFixture) {
			const none = `,"indexingPolicy":{"indexingMode":"none","automatic":false}`
			d := newDocumentContainer(b, none)
			d.set(400, none+defaults(10))
			d.set(200, defaults(10))
			d.set(400, none+defaults(10))
		}},
		{number: 115, title: "a time inside of the document", via: "C", alone: true,
			steps: lasts(defaults(-1), `,"inner":{"ttl":5}`, 0)},
	}
	for i := range list {
		if list[i].steps == nil {
			list[i].skip = why
		}
	}
	return list
}

func abandonedInTime(b *caseFixture) {
	b.queue("q")
	b.send("q", msg("A", lives(10*sec)))
	b.at(8 * sec)
	b.settle("q", b.locked("q", "A"), queue.Abandon)
	b.at(10 * sec)
	b.expect("q", "")
}
