package resource

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// Check checks the records of small resources (users, permissions, client encryption keys, scripts) in one
// snapshot: each belongs to an existing owner, has a unique number that was allocated, and has a body with
// the same id as its key. It ends if report returns false.
func Check(r engine.Reader, report func(error) bool) error {
	known, next, err := owners(r)
	if err != nil {
		return err
	}
	numbers := make(map[uint32]bool)
	stopped := false
	for k := range record.Kinds {
		facts := &record.Kinds[k]
		err := host.ScanRecords(r, facts.Record, func(key []byte, rec record.SmallResource) error {
			f, id, err := record.ParseKey(record.ResourceKind(k), key)
			if err != nil || stopped {
				return err
			}
			fault := ""
			switch {
			case !known[f.OwnerKind()][f.Owner]:
				fault = fmt.Sprintf("belongs to %x, which does not exist", f.Owner)
			case rec.Num == 0 || rec.Num >= next || numbers[rec.Num]:
				fault = fmt.Sprintf("has the number %d, which is not its own", rec.Num)
			case jsondoc.Valid(rec.Body, jsondoc.Limits{}) != nil || jsondoc.Get(rec.Body, layout.IDPath).Str() != id:
				fault = "has a body that does not fit"
			}
			numbers[rec.Num] = true
			stopped = fault != "" && !report(fmt.Errorf("the %s %q %s", facts.Word, id, fault))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// owners returns, for checks of the data, the numbers of all databases, containers and users, which can own
// small resources, by the letter of their catalog records. next is the first number that has not been
// allocated.
func owners(r engine.Reader) (known map[byte]map[uint32]bool, next uint32, err error) {
	containers, err := record.KnownContainers(r)
	if err != nil {
		return nil, 0, err
	}
	databases, users := make(map[uint32]bool), make(map[uint32]bool)
	user := record.Kinds[record.KindUser].Record
	known = map[byte]map[uint32]bool{
		layout.KindDatabase: databases, layout.KindContainer: containers, user: users,
	}
	next, err = host.NextNumber(r)
	if err == nil {
		err = host.ScanRecords(r, layout.KindDatabase, func(_ []byte, rec record.Database) error {
			databases[rec.Num] = true
			return nil
		})
	}
	if err == nil {
		err = host.ScanRecords(r, user, func(_ []byte, rec record.SmallResource) error {
			users[rec.Num] = true
			return nil
		})
	}
	return known, next, err
}
