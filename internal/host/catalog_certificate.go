package host

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
)

// Servers that share their data have one certificate authority, so that clients trust each of them. It is a
// record of the catalog:
//
//	00 · m · 0 · authority   the authority's certificate and key

const authorityName = "authority"

// certAuthorityRecord is the stored form of the certificate authority that the servers share.
type certAuthorityRecord struct {
	PEM string `json:"pem"` // the certificate and its key
}

// ChangeAuthority calls fn with the stored authority, or with nil if there is none. It stores the result of
// fn unless that is nil. fn may run more than once; the last run counts.
func (in *EngineInstance) ChangeAuthority(ctx context.Context, fn func(stored []byte) ([]byte, error)) error {
	run := func(r engine.Reader) (changed []byte, err error) {
		v, err := r.Get(ownKey(0, authorityName))
		if errors.Is(err, engine.ErrNotFound) {
			return fn(nil)
		}
		var rec certAuthorityRecord
		if err == nil {
			err = DecodeRecord(v, &rec)
		}
		if err != nil {
			return nil, err
		}
		return fn([]byte(rec.PEM))
	}
	var changed []byte
	err := in.eng.View(ctx, func(r engine.Reader) (err error) {
		changed, err = run(r)
		return err
	})
	for err == nil && changed != nil {
		if err = in.catalog.Lock(ctx); err != nil {
			return err
		}
		err = in.catalog.Change(ctx, func(t *CatalogTxn) error {
			changed, err := run(t)
			if err != nil || changed == nil {
				return err
			}
			return SetRecord(t, ownKey(0, authorityName), certAuthorityRecord{string(changed)})
		})
		in.catalog.Unlock()
		if !errors.Is(err, ErrCatalogMoved) {
			return err
		}
		err = nil
	}
	return err
}
