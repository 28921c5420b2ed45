package hosttest

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
)

// Make creates an empty book, that is, a named set of reminders.
func (t *ReminderTenant) Make(ctx context.Context, name string) error {
	m := t.live.Load()
	if err := m.in.Catalog().Lock(ctx); err != nil {
		return err
	}
	defer m.in.Catalog().Unlock()
	var b *reminderCollection
	err := m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) error {
		rec := storedReminderCollection{Number: t.Number()}
		b = &reminderCollection{scope: bookScope(rec.Number)}
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

func (m *openedReminderTenant) book(name string) (*reminderCollection, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.books[name]; b != nil {
		return b, nil
	}
	return nil, ErrNoBook
}

// Add writes a reminder to the book called name. It is due in milliseconds from now. Add returns the
// reminder's number, which is an LSN of the book.
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
func (m *openedReminderTenant) write(t engine.Txn, b *reminderCollection, text string,
	due int64) (id uint64) {
	id = t.NextLSN(b.scope)
	t.Set(b.item(id), append(binary.BigEndian.AppendUint64(nil, uint64(due)), text...))
	if due < host.Never {
		t.Set(host.AppendEntry(b.key('x'), host.DeadlineIndexEntry{At: due, ID: id}), nil)
	}
	return id
}

// Texts returns the texts of those reminders in the book (the collection) called name that are not due
// yet.
func (t *ReminderTenant) Texts(ctx context.Context, name string) ([]string, error) {
	m := t.live.Load()
	now := m.in.Clock().Millis()
	return m.texts(ctx, name, func(due int64) bool { return due > now })
}

// Stored returns all reminders that have not been purged.
func (t *ReminderTenant) Stored(ctx context.Context, name string) ([]string, error) {
	return t.live.Load().texts(ctx, name, func(int64) bool { return true })
}

func (m *openedReminderTenant) texts(ctx context.Context, name string,
	is func(due int64) bool) (list []string, err error) {
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

// sink returns the expiry sink that moves items which have expired elsewhere into a book of reminders.
// There they are reminders that are never due.
func (m *openedReminderTenant) sink(name string) (host.ExpiredItemSink, error) {
	b, err := m.book(name)
	return &reminderExpirySinkTx{m: m, b: b}, err
}

// reminderExpirySinkTx moves expired items into a book, in one transaction: see host.ExpiredItemSinkTx.
type reminderExpirySinkTx struct {
	m *openedReminderTenant
	b *reminderCollection
	t engine.Txn
}

// Enter begins to move expired items into a collection of reminders, and takes the lock that writes share. It
// implements host.ExpiredItemSink.
func (h *reminderExpirySinkTx) Enter(ctx context.Context) (host.ExpiredItemSinkTx, error) {
	return &reminderExpirySinkTx{m: h.m, b: h.b}, h.m.gate.Share(ctx)
}

// Scopes returns the engine scope of the book (a set of reminders) that receives the items: see
// host.ExpiredItemSinkTx.
func (h *reminderExpirySinkTx) Scopes(engine.Reader, []host.ExpiredItem) ([][]byte, error) {
	return [][]byte{h.b.scope}, nil
}

// Begin sets the transaction in which the items are moved: see host.ExpiredItemSinkTx.
func (h *reminderExpirySinkTx) Begin(t engine.Txn) { h.t = t }

// ErrRefused is returned if an expired item with the text "refused" is to be moved to a book, the expiry sink
// of this tenant.
var ErrRefused = errors.New("the book refuses")

// Take stores an expired item as a reminder that is never due: see host.ExpiredItemSinkTx.
func (h *reminderExpirySinkTx) Take(dead host.ExpiredItem) (taken bool, err error) {
	if dead.ID == "refused" {
		return false, ErrRefused
	}
	h.m.write(h.t, h.b, dead.From+"/"+dead.ID, host.Never)
	return true, nil
}

// Finish stores the time of the write: see host.ExpiredItemSinkTx.
func (h *reminderExpirySinkTx) Finish() { h.m.recordTime(h.t, h.b, h.m.in.Clock().Millis()) }

// Leave releases the lock that a transaction holds while it moves expired items to a book (a named set of
// reminders). It implements host.ExpiredItemSinkTx. The parameter, whether the items are stored, is ignored.
func (h *reminderExpirySinkTx) Leave(bool) { h.m.gate.Leave() }
