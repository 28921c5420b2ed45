package cosmos

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// This file exports functions for the handlers of a wire's own paths (KindNone): they locate a container and
// fill in parts of a response, as the operations of this package do.

// Container returns the container that the request's address names, and sets it as the owner in the
// response.
func (s *Service) Container(ctx context.Context, req *Request, out *Response) (*store.Container, error) {
	c := s.begin(ctx, req, out)
	defer c.end()
	return s.container(c)
}

// Names returns the ids of the database and the container of a request, each empty if the request has none.
// For a container addressed by rid that exists, it returns the ids that the rids stand for.
func (s *Service) Names(ctx context.Context, req *Request) (database, container string) {
	if req.Address.ByRID && req.Address.N > 1 {
		var found Response
		if coll, err := s.Container(ctx, req, &found); err == nil {
			info := coll.Info()
			return info.DatabaseID, info.ID
		}
	}
	return req.Address.Database(), req.Address.Container()
}

// DataTime returns the current time of a database's clock, or of the server's clock if there is no such
// database. If clocks are not virtual, it returns the zero time: the time of the data is then real time.
func (s *Service) DataTime(database string) (now time.Time) {
	if !s.db.VirtualClock() {
		return now
	}
	if d, err := s.db.Database(database); err == nil {
		return d.Now()
	}
	return s.db.Now()
}

// Receipt sets, from the receipt of a store operation, the partition range, the LSN and the charge in the
// response.
func (s *Service) Receipt(ctx context.Context, req *Request, out *Response, r store.OperationReceipt) {
	c := s.begin(ctx, req, out)
	defer c.end()
	c.setReceiptOf(r)
}

// HoldPage reserves the memory that a page may need, before the page is made. It waits for the memory, and
// fails with 429 when ctx ends or answerWait has passed.
func (s *Service) HoldPage(ctx context.Context, req *Request, out *Response) error {
	c := s.begin(ctx, req, out)
	defer c.end()
	return c.holdPage()
}

// Hold reserves memory for the finished response. For a read it waits for the memory, and fails with 429
// when ctx ends or answerWait has passed. For a write it neither waits nor fails. It does nothing for an
// error response.
func (s *Service) Hold(ctx context.Context, req *Request, out *Response) error {
	if out.Status >= StatusBadRequest {
		return nil
	}
	c := s.begin(ctx, req, out)
	defer c.end()
	return c.holdAnswer()
}
