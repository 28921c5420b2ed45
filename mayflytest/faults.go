package mayflytest

// Fault is a FaultRule that Mayfly.Fail has added to a server.
type Fault struct {
	of *Mayfly
	id string
}

// Fail adds a rule: from now on, the requests that clients send to URL fail if the rule selects them. The
// result counts the failures and can end the rule. Calls of the test itself through Store never fail. A rule
// for messages selects no request, since the server has no endpoint for Service Bus. If several rules select
// a request, the first one that was added and is not Latency determines its failure. A rule without Count
// and For holds until the test ends or Fault.End is called. If the rule is invalid, the test ends at once.
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

// Hits returns the number of operations to which the rule has been applied, also after the rule has reached
// its Count or the end of its time.
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
