package seed

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/store/fault"
)

// Differences is the refusal of a seed because of what is there another way. Each is a *tree.Error.
type Differences struct{ List []error }

// maxTold is how many differences an error tells one by one.
const maxTold = 20

func (d *Differences) Error() string {
	text := ""
	for i, err := range d.List {
		if i == maxTold {
			return text + fmt.Sprintf("\n%d more differ", len(d.List)-i)
		}
		if i > 0 {
			text += "\n"
		}
		text += err.Error()
	}
	return text
}

// Unwrap implements what errors.Is and errors.As look for.
func (d *Differences) Unwrap() []error { return d.List }

// Check reports why Plant would refuse the seed beside what is there, to keep that as it is: *Differences, or
// a
// *tree.Error. Nothing is written. What only the writing shows it does not know.
func (s *Seed) Check(ctx context.Context, to Target) error {
	if to.Queues == nil && s.HasEntities() {
		return ErrNoQueues
	}
	if err := (&planter{Target: to}).compare(ctx, s); err != nil {
		return err
	}
	return s.differences(ctx, to)
}

// differences compares what the seed defines with what is there, and writes nothing. What is not there yet is
// no difference.
func (s *Seed) differences(ctx context.Context, to Target) error {
	p := &planter{Target: to, looks: true}
	p.backup(s)
	for _, e := range s.entities {
		list, err := e.Differences(ctx, to.Queues)
		if err != nil {
			return err
		}
		p.differs = append(p.differs, list...)
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
	if len(p.differs) == 0 {
		return nil
	}
	return &Differences{p.differs}
}
