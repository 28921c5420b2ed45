package host

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// What dies can pass on to an heir: an archive, a queue of dead letters, a queue that it is forwarded to. It
// leaves the dying side and arrives with the heir in one transaction, so that it is in one place at any
// moment, whatever crashes, and arrives once.
//
// The dying side runs the transaction, which is its purge:
//
//	leave := enter both sides, in the order of their tenants   // see Bequest.First
//	scopes := its own, and Inheritance.Scopes
//	Update(scopes): Begin; for each of the dead: Take, then delete; Finish
//	Inheritance.Leave
//
// Locks. Both sides hold what keeps their own data still, shared. Whoever holds more than one tenant takes
// them in the order that Open was given, as does a move of a clock, which holds them alone: so no two can
// wait for each other. That the order goes by tenants and not by who dies lets data die in both directions.

// Dead is something that has died, as its heir gets it.
type Dead struct {
	From string    // what it lay in, for its heir to tell: "shop/carts"
	ID   string    // its name there
	Body []byte    // lives until Take returns
	Died time.Time // by the clock of what it lay in
}

// Heir receives what has died elsewhere.
type Heir interface {
	// Enter takes the heir's locks, shared, until Inheritance.Leave. Its error is that of ctx, or says that
	// the heir is gone or takes nothing now: then nothing is purged either.
	Enter(ctx context.Context) (Inheritance, error)
}

// Inheritance is an heir's part in one purge.
type Inheritance interface {
	// Scopes are those that the arrival of the dead writes to, as far as can be told by r before the
	// transaction.
	Scopes(r engine.Reader, dead []Dead) ([][]byte, error)
	// Begin begins the part in a transaction over these scopes, or begins it anew.
	Begin(t engine.Txn)
	// Take makes of one of the dead what arrives. It takes nothing where that needs a scope which the
	// transaction does not have: the rest is then for another one, which asks for the scopes anew. An error
	// ends the transaction.
	Take(dead Dead) (taken bool, err error)
	// Finish ends the part: nothing more arrives in this transaction.
	Finish()
	// Leave gives the locks back; committed tells that what was taken is there. It comes once.
	Leave(committed bool)
}

// FindHeir finds an heir of one kind by its name. It fails where there is none.
type FindHeir func(name string) (Heir, error)

// Bequest is what the dying side knows of its heir.
type Bequest struct {
	Heir
	// First tells that the heir's locks come before those of the dying side: Enter is called before that
	// takes its own, else after.
	First bool
}

// heirs are the kinds of heirs that residents have.
type heirs map[string]kindOfHeir

type kindOfHeir struct {
	tenant int
	find   FindHeir
}

// add takes over the kinds of a resident.
func (h heirs) add(tenant int, kinds map[string]FindHeir) error {
	for kind, find := range kinds {
		if _, taken := h[kind]; taken {
			return fmt.Errorf("host: two tenants have heirs of the kind %q", kind)
		}
		h[kind] = kindOfHeir{tenant, find}
	}
	return nil
}

// NoHeirError says that no tenant has heirs of a kind.
type NoHeirError struct{ Kind string }

func (e *NoHeirError) Error() string {
	return fmt.Sprintf("host: there are no heirs of the kind %q", e.Kind)
}

// Heir finds the heir for what dies with a tenant, which is named as in its Claim. It fails with a
// *NoHeirError, and with the error of the one who has the heirs.
func (in *Instance) Heir(dying, kind, name string) (Bequest, error) {
	k, ok := in.heirs[kind]
	if !ok {
		return Bequest{}, &NoHeirError{kind}
	}
	h, err := k.find(name)
	return Bequest{h, k.tenant < in.places[dying]}, err
}
