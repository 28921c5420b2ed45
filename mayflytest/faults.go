package mayflytest

// A Fault is a rule by which operations over HTTP fail.
type Fault struct {
	of *Mayfly
	id string
}

// Fail lets operations over HTTP fail by a rule, behind those that there are: for the code under test, which
// comes as a client. What the test does through Store never fails. Rules that say nothing of their end hold
// until the test ends, or until End. A rule that is none ends the test.
//
//	m.Fail(FaultRule{Fault: Throttled, Share: 0.1, Seed: 7})
//	m.Fail(FaultRule{Fault: Timeout, After: true, Count: 1,
//		Operations: []FaultOperation{CreateItem}})
func (m *Mayfly) Fail(r FaultRule) Fault {
	m.t.Helper()
	s, err := m.server.Faults().Add(r)
	if err != nil {
		m.t.Fatalf("mayflytest: a fault: %v", err)
	}
	return Fault{m, s.ID}
}

// Hits is how many operations have failed by the rule.
func (f Fault) Hits() int {
	for _, s := range f.of.server.Faults().List() {
		if s.ID == f.id {
			return int(s.Hits)
		}
	}
	return 0
}

// End takes the rule back, and with it what it has counted. It may be called more than once.
func (f Fault) End() { f.of.server.Faults().Delete(f.id) }
