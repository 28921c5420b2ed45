package mayflytest

// Fault is an active FaultRule.
type Fault struct {
	of *Mayfly
	id string
}

// Fail adds a rule by which requests to the server fail: the operations that clients send to URL. Calls of
// the test itself through Store never fail. Rules for messages are accepted but select no request, since the
// server has no endpoint for Service Bus. Rules that were added earlier are tried first. A rule that sets no
// end holds until the test ends or Fault.End is called. An invalid rule fails the test at once.
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

// Hits returns to how many operations the rule has been applied. It keeps its value when the rule ends by
// itself.
func (f Fault) Hits() int {
	for _, s := range f.of.server.Faults().List() {
		if s.ID == f.id {
			return int(s.Hits)
		}
	}
	return 0
}

// End removes the rule. Hits returns 0 afterwards. It may be called more than once.
func (f Fault) End() { f.of.server.Faults().Delete(f.id) }
