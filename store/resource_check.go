package store

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// checkResources looks at the records of small resources in one snapshot: each belongs to something that
// exists, has a number of its own that was handed out, and a body that has the id of its key.
func checkResources(r engine.Reader, report func(error) bool) error {
	owners, next, err := resourceOwners(r)
	if err != nil {
		return err
	}
	numbers := make(map[uint32]bool)
	stopped := false
	for k := range record.Kinds {
		facts := &record.Kinds[k]
		err := host.ScanRecords(r, facts.Record, func(key []byte, rec record.Resource) error {
			f, id, err := record.ParseKey(record.ResourceKind(k), key)
			if err != nil || stopped {
				return err
			}
			fault := ""
			switch {
			case !owners[f.OwnerKind()][f.Owner]:
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

// resourceOwners are the numbers of all that can own small resources, by the letter of their records, and the
// first number that has not been handed out.
func resourceOwners(r engine.Reader) (owners map[byte]map[uint32]bool, next uint32, err error) {
	containers, err := knownContainers(r)
	if err != nil {
		return nil, 0, err
	}
	databases, users := make(map[uint32]bool), make(map[uint32]bool)
	owners = map[byte]map[uint32]bool{
		layout.KindDatabase: databases, layout.KindContainer: containers, record.Kinds[KindUser].Record: users,
	}
	next, err = host.NextNumber(r)
	if err == nil {
		err = host.ScanRecords(r, layout.KindDatabase, func(_ []byte, rec record.Database) error {
			databases[rec.Num] = true
			return nil
		})
	}
	if err == nil {
		err = host.ScanRecords(r, record.Kinds[KindUser].Record, func(_ []byte, rec record.Resource) error {
			users[rec.Num] = true
			return nil
		})
	}
	return owners, next, err
}

// knownContainers are the numbers of all containers that the catalog knows.
func knownContainers(r engine.Reader) (known map[uint32]bool, err error) {
	known = make(map[uint32]bool)
	err = host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec record.Container) error {
		known[rec.CID] = true
		return nil
	})
	return known, err
}
