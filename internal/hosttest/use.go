package hosttest

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
)

// Make creates a book.
func (t *ReminderTenant) Make(ctx context.Context, name string) error {
	m := t.live.Load()
	if err := m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer m.in.Catalog().Unlock()
	var b *book
	err := m.in.Catalog().Change(ctx, func(t *host.CatalogChange) error {
		rec := bookRecord{Number: t.Number()}
		b = &book{scope: bookScope(rec.Number)}
		key := append(host.AppendCatalogHead(nil, 'n', 0), name...)
		return host.SetRecord(t, append(key, 0, 1), rec)
	})
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.books[name] = b
	}
	return err
}

func (m *openTenant) book(name string) (*book, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.books[name]; b != nil {
		return b, nil
	}
	return nil, ErrNoBook
}

// Add writes a reminder that is due after in milliseconds, and returns its number, which is an LSN of its
// book.
func (t *ReminderTenant) Add(ctx context.Context, name, text string, in int64) (id uint64, err error) {
	m := t.live.Load()
	b, err := m.book(name)
	if err != nil {
		return 0, err
	}
	if err := m.gate.Share(ctx); err != nil {
		return 0, err
	}
	defer m.gate.Leave()
	var due int64
	_, err = m.in.Engine().Update(ctx, [][]byte{b.scope}, func(t engine.Txn) error {
		now := m.in.Clock().Millis()
		due = now + in
		id = m.write(t, b, text, due)
		m.recordTime(t, b, now)
		return nil
	})
	if b.pass.IsPast(due) {
		b.rescan.Store(true)
	}
	return id, err
}

// write writes a reminder that is due at the millisecond due. With host.Never it is never due.
func (m *openTenant) write(t engine.Txn, b *book, text string, due int64) (id uint64) {
	id = t.NextLSN(b.scope)
	t.Set(b.item(id), append(binary.BigEndian.AppendUint64(nil, uint64(due)), text...))
	if due < host.Never {
		t.Set(host.AppendEntry(b.key('x'), host.DeadlineEntry{At: due, ID: id}), nil)
	}
	return id
}

// Texts returns the reminders of a book that are not due yet.
func (t *ReminderTenant) Texts(ctx context.Context, name string) ([]string, error) {
	m := t.live.Load()
	now := m.in.Clock().Millis()
	return m.texts(ctx, name, func(due int64) bool { return due > now })
}

// Stored returns all reminders that have not been purged.
func (t *ReminderTenant) Stored(ctx context.Context, name string) ([]string, error) {
	return t.live.Load().texts(ctx, name, func(int64) bool { return true })
}

func (m *openTenant) texts(ctx context.Context, name string, is func(due int64) bool) (list []string,
	err error) {
	b, err := m.book(name)
	if err != nil {
		return nil, err
	}
	err = m.in.Engine().View(ctx, func(r engine.Reader) error {
		it := r.Scan(engine.Prefix(b.key('d')), false)
		for it.Next() {
			if is(int64(binary.BigEndian.Uint64(it.Value()))) {
				list = append(list, string(it.Value()[8:]))
			}
		}
		return it.Close()
	})
	return list, err
}

// sink returns a book as an expiry sink: it stores items that have expired elsewhere as reminders that are
// never due.
func (m *openTenant) sink(name string) (host.ExpirySink, error) {
	b, err := m.book(name)
	return &sinkTx{m: m, b: b}, err
}

// sinkTx moves expired items into a book, in one transaction: see host.SinkTx.
type sinkTx struct {
	m *openTenant
	b *book
	t engine.Txn
}

// Enter begins to move items into the book: see host.ExpirySink.
func (h *sinkTx) Enter(ctx context.Context) (host.SinkTx, error) {
	return &sinkTx{m: h.m, b: h.b}, h.m.gate.Share(ctx)
}

// Scopes returns the book's scope: see host.SinkTx.
func (h *sinkTx) Scopes(engine.Reader, []host.ExpiredItem) ([][]byte, error) {
	return [][]byte{h.b.scope}, nil
}

// Begin sets the transaction in which the items are moved: see host.SinkTx.
func (h *sinkTx) Begin(t engine.Txn) { h.t = t }

// ErrRefused is the error of a book for an item with the text "refused".
var ErrRefused = errors.New("the book refuses")

// Take stores an expired item as a reminder that is never due: see host.SinkTx.
func (h *sinkTx) Take(dead host.ExpiredItem) (taken bool, err error) {
	if dead.ID == "refused" {
		return false, ErrRefused
	}
	h.m.write(h.t, h.b, dead.From+"/"+dead.ID, host.Never)
	return true, nil
}

// Finish stores the time of the write: see host.SinkTx.
func (h *sinkTx) Finish() { h.m.recordTime(h.t, h.b, h.m.in.Clock().Millis()) }

// Leave ends the use of the book: see host.SinkTx.
func (h *sinkTx) Leave(bool) { h.m.gate.Leave() }
