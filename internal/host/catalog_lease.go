package host

import (
	"context"
	"slices"

	"github.com/mayflydb/mayfly/engine"
)

// Transactions that write the records of servers and leases.

// write renews this server's record in the transaction t, takes or renews the leases in wanted that no
// other running server has, and gives the leases in given back. It returns the names of the wanted leases
// that the server now has.
func (m *sharedEngineRegistration) write(t engine.Txn, wanted, given []string) (held map[string]bool,
	err error) {
	now := m.now()
	if m.since == 0 {
		m.since = now
	}
	own := leaseRecord{Owner: m.id, Until: now + leaseTime.Microseconds(), Since: m.since,
		ServerInfo: m.in.opts.Server}
	if err := SetRecord(t, leaseKey(leaseServer, m.id), own); err != nil {
		return nil, err
	}
	held = make(map[string]bool)
	for _, name := range wanted {
		key := leaseKey(leaseWork, name)
		rec, found, err := readLease(t, key)
		if err != nil {
			return nil, err
		}
		if found && rec.Owner != m.id && rec.Until > now {
			continue
		}
		if rec.Owner != m.id {
			rec.Since = now
		}
		held[name] = true
		rec.Owner, rec.Until = m.id, own.Until
		if err := SetRecord(t, key, rec); err != nil {
			return nil, err
		}
	}
	return held, m.giveBack(t, given)
}

// giveBack deletes the leases with these names that this server has, so that other servers can take them.
func (m *sharedEngineRegistration) giveBack(t engine.Txn, names []string) error {
	for _, name := range names {
		key := leaseKey(leaseWork, name)
		rec, found, err := readLease(t, key)
		if err != nil {
			return err
		}
		if found && rec.Owner == m.id {
			t.Delete(key)
		}
	}
	return nil
}

// remove deletes the record of this server, and its leases.
func (m *sharedEngineRegistration) remove(ctx context.Context, leases []string) error {
	scopes := [][]byte{serverScope(m.id)}
	if len(leases) > 0 {
		scopes = append(scopes, leaseScope())
	}
	_, err := m.in.eng.Update(ctx, scopes, func(t engine.Txn) error {
		t.Delete(leaseKey(leaseServer, m.id))
		return m.giveBack(t, leases)
	})
	return err
}

// forget deletes the records of servers that ended long ago without removing them. It locks nothing if there
// are none.
func (m *sharedEngineRegistration) forget(ctx context.Context) error {
	var old [][]byte
	find := func(r engine.Reader) error {
		old = nil
		before := m.now() - leaseKept.Microseconds()
		for _, parent := range []uint32{leaseServer, leaseWork} {
			err := scanRecords(r, leaseRecords(parent), func(key []byte, rec leaseRecord) error {
				if rec.Until < before {
					old = append(old, slices.Clone(key))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := m.in.eng.View(ctx, find); err != nil || len(old) == 0 {
		return err
	}
	_, err := m.in.eng.Update(ctx, append(allServerScopes(), leaseScope()), func(t engine.Txn) error {
		if err := find(t); err != nil {
			return err
		}
		for _, key := range old {
			t.Delete(key)
		}
		return nil
	})
	return err
}
