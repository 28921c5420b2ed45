package cosmos

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// What a wire answers beside the operations (KindNone) has its own handlers. These are what such a handler
// shares with the operations: how a request leads to a container, and how some answers look.

// Container finds the container that the request's address names, and names it in the answer as the owner of
// what is asked for.
func (s *Service) Container(ctx context.Context, req *Request, out *Answer) (*store.Container, error) {
	c := s.begin(ctx, req, out)
	defer c.end()
	return s.container(c)
}

// Names are the ids of the database and the container that a request is about, empty where there is none. A
// container that is addressed by its rid, and is there, has its ids.
func (s *Service) Names(ctx context.Context, req *Request) (database, container string) {
	if req.Address.ByRID && req.Address.N > 1 {
		var found Answer
		if coll, err := s.Container(ctx, req, &found); err == nil {
			info := coll.Info()
			return info.DatabaseID, info.ID
		}
	}
	return req.Address.Database(), req.Address.Container()
}

// DataTime is the moment of a database's clock, or of the server's where there is no such database. It is the
// zero time where no clock can be moved: then it is real time.
func (s *Service) DataTime(database string) (now time.Time) {
	if !s.db.VirtualClock() {
		return now
	}
	if d, err := s.db.Database(database); err == nil {
		return d.Now()
	}
	return s.db.Now()
}

// Receipt puts into the answer what an operation of the store did and cost.
func (s *Service) Receipt(ctx context.Context, req *Request, out *Answer, r store.Receipt) {
	c := s.begin(ctx, req, out)
	defer c.end()
	c.setReceiptOf(r)
}

// HoldPage waits for the memory of a page before there is one, as Hold does for what there is.
func (s *Service) HoldPage(ctx context.Context, req *Request, out *Answer) error {
	c := s.begin(ctx, req, out)
	defer c.end()
	return c.holdPage()
}

// Hold takes as much of the memory for answers as the answer needs: the context bounds how long it waits.
// What cannot have as much is refused with 429, unless it is the answer to a write.
func (s *Service) Hold(ctx context.Context, req *Request, out *Answer) error {
	if out.Status >= StatusBadRequest {
		return nil
	}
	c := s.begin(ctx, req, out)
	defer c.end()
	return c.holdAnswer()
}
