package seed

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/store/fault"
)

// DifferencesError is the error for a seed that is refused because existing definitions differ from it. Each
// element of List is a *tree.ErrorAtFilePosition.
type DifferencesError struct{ List []error }

// maxListed is the maximum number of differences in the text of an error.
const maxListed = 20

func (d *DifferencesError) Error() string {
	text := ""
	for i, err := range d.List {
		if i == maxListed {
			return text + fmt.Sprintf("\n%d more differ", len(d.List)-i)
		}
		if i > 0 {
			text += "\n"
		}
		text += err.Error()
	}
	return text
}

// Unwrap returns the differences, for errors.Is and errors.As.
func (d *DifferencesError) Unwrap() []error { return d.List }

// Check returns the error with which Apply would refuse the seed if ApplyTarget.Keep is set: a
// *DifferencesError or a *tree.ErrorAtFilePosition. It returns nil if there is none. Nothing is written.
// Errors that only occur during writing are not found.
func (s *Seed) Check(ctx context.Context, to ApplyTarget) error {
	if to.Queues == nil && s.HasEntities() {
		return ErrNoQueues
	}
	if err := (&seedApplier{ApplyTarget: to}).compare(ctx, s); err != nil {
		return err
	}
	return s.differences(ctx, to)
}

// differences compares the definitions of the seed with those of the target, and writes nothing. A
// definition that the target does not have is not a difference.
func (s *Seed) differences(ctx context.Context, to ApplyTarget) error {
	p := &seedApplier{ApplyTarget: to, dryRun: true}
	p.backup(s)
	for _, e := range s.entities {
		list, err := e.Differences(ctx, to.Queues)
		if err != nil {
			return err
		}
		p.differences = append(p.differences, list...)
	}
	for _, d := range s.databases {
		in, err := p.DB.Database(d.id)
		if fault.ErrorCode(err) == fault.CodeNotFound {
			continue
		}
		if err == nil {
			err = p.throughput(ctx, &d.throughput, in.RID(), "the database '"+d.id+"'")
		}
		if err != nil {
			return d.place.Wrap("", err)
		}
		for _, step := range p.steps() {
			if err := step(ctx, d, in); err != nil {
				return err
			}
		}
	}
	if len(p.differences) == 0 {
		return nil
	}
	return &DifferencesError{p.differences}
}
