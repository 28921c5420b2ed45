package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// Do executes one step and returns the answer.
func (s *testedStore) Do(step HistoryStep) (string, error) {
	s.clock.Set(time.Unix(began, 0).Add(time.Duration(step.At) * time.Millisecond))
	if err := s.turn(); err != nil {
		return "", err
	}
	if step.Between != "" && s.between != nil {
		return s.interrupted(step)
	}
	return s.do(step)
}

func (s *testedStore) do(step HistoryStep) (string, error) {
	switch step.Verb {
	case Create, Upsert, Replace:
		return s.write(step)
	case Delete:
		return s.delete(step)
	case Patch:
		return s.patch(step)
	case Batch:
		return s.batch(step)
	case Read:
		return s.read(step)
	case ReadMany:
		return s.readMany(step)
	case List:
		return s.list(step)
	case Open:
		s.cursors[step.Args[0]] = &listCursorPosition{scope: step}
		return s.page(s.cursors[step.Args[0]], "")
	case Next:
		p := s.cursors[step.Args[0]]
		if p == nil || p.continuation == "" {
			return "no more", nil
		}
		return s.page(p, p.continuation)
	case Clear:
		s.cleared = true
		receipt, err := s.c.DeletePartition(s.op, s.partitionKey(step.Args[0]))
		return answer("cleared", err), s.checkPosition(receipt, err == nil)
	case Default:
		return s.replaceContainer(s.ctx, step.Args[0], s.policy), nil
	case Path:
		return s.count(pathOf(step))
	case Reindex:
		return s.reindex(nextPolicy(step, s.policy))
	case Ask:
		return s.ask(step)
	case Sweep:
		return s.sweep(step)
	case Reopen:
		return "", s.reopen()
	case Split:
		return "", s.split(s.ctx, step.Args[0])
	}
	return "", &StepSyntaxError{step.String(), "the verb is not known here"}
}

// answer returns the text done if err is nil, and the error's code otherwise.
func answer(done string, err error) string {
	if err != nil {
		return fault.ErrorCode(err).String()
	}
	return done
}

// condition returns the value of If-Match or If-None-Match, as a client would send it, for the notation of
// HistoryStep.IfMatch: for "cur" the current etag of the item.
func (s *testedStore) condition(k ItemKey, role string) string {
	const bogus = `"00000000-0000-0000-0000-0000deadbeef"`
	etag, form, _ := strings.Cut(role, "-")
	switch {
	case etag == "cur" && s.last[k][0] != "":
		etag = s.last[k][0]
	case etag == "old" && s.last[k][1] != "":
		etag = s.last[k][1]
	case etag != "" && etag != "*":
		etag = bogus
	}
	switch form {
	case "bare":
		return strings.Trim(etag, `"`)
	case "weak":
		return "W/" + etag
	}
	return etag
}

func (s *testedStore) write(step HistoryStep) (string, error) {
	k := step.Key()
	o := store.WriteOptions{IfMatch: s.condition(k, step.IfMatch),
		IfNoneMatch: s.condition(k, step.IfNoneMatch)}
	var pk definition.PartitionKey
	if !step.NoKey {
		pk = s.partitionKey(k.Partition)
	}
	body := s.config.body(step)
	sent := []byte(body)
	if step.Sys {
		sent = []byte(`{ "_etag" : "mine", "_ts": 1, "_rid":"AAAA", ` + "\n" +
			`"_self":"", "_attachments":null, ` + body[1:])
	}
	var it store.Item
	var receipt store.OperationReceipt
	var err error
	done := "created"
	switch step.Verb {
	case Create:
		it, receipt, err = s.c.Create(s.op, pk, sent, o)
	case Upsert:
		it, receipt, err = s.c.Upsert(s.op, pk, sent, o)
		if !receipt.Inserted {
			done = "replaced"
		}
	case Replace:
		it, receipt, err = s.c.Replace(s.op, pk, k.ID, sent, o)
		done = "replaced"
	}
	if err != nil {
		return answer("", err), s.failed(err)
	}
	return s.wrote(done, step, it, receipt, kept(body))
}

func (s *testedStore) delete(step HistoryStep) (string, error) {
	k := step.Key()
	receipt, err := s.c.Delete(s.op, s.partitionKey(k.Partition), k.ID,
		store.WriteOptions{IfMatch: s.condition(k, step.IfMatch)})
	if err != nil {
		return answer("", err), s.failed(err)
	}
	return "deleted", s.checkPosition(receipt, true)
}

func (s *testedStore) read(step HistoryStep) (string, error) {
	k := step.Key()
	pk := s.partitionKey(k.Partition)
	it, receipt, err := s.c.Read(s.op, pk, k.ID,
		store.ReadOptions{IfNoneMatch: s.condition(k, step.IfNoneMatch)})
	if v := s.etags[s.last[k][0]]; v != nil && err != nil && fault.ErrorCode(err) == fault.CodeNotFound {
		if at, err := s.c.ResolveRID(s.ctx, v.rid); fault.ErrorCode(err) != fault.CodeNotFound {
			return "", fmt.Errorf("the item is not there, but its rid %s leads to %s (%v)", v.rid, at.ID, err)
		}
	}
	if err != nil {
		return answer("", err), s.failed(err)
	}
	v, err := s.lookUp(it)
	if err != nil {
		return "", err
	}
	if len(step.changes()) > 0 {
		// it may have expired since
	} else if at, err := s.c.ResolveRID(s.ctx, it.RID()); err != nil || at.ID != k.ID ||
		at.Partition.String() != pk.String() {
		return "", fmt.Errorf("rid %s leads to %s in %s (%v)", it.RID(), at.ID, at.Partition, err)
	}
	return fmt.Sprintf("e%d r%d ts=%d %s", v.n, s.rids[it.RID()], it.Timestamp()-began,
		it.Body()), s.checkPosition(receipt, false)
}

func (s *testedStore) readMany(step HistoryStep) (string, error) {
	var keys []store.ItemKey
	for _, a := range step.Args {
		k := parseItemKey(a)
		keys = append(keys, store.ItemKey{Partition: s.partitionKey(k.Partition), ID: k.ID})
	}
	items, _, err := s.c.ReadMany(s.op, keys, store.ReadOptions{})
	if err != nil {
		return answer("", err), nil
	}
	return s.labels(items)
}

// labels formats items as [key:etag ...], with etags numbered like those of the model.
func (s *testedStore) labels(items []store.Item) (string, error) {
	words := make([]string, len(items))
	for i, it := range items {
		v, err := s.lookUp(it)
		if err != nil {
			return "", err
		}
		words[i] = v.key.String() + ":e" + strconv.Itoa(v.n)
	}
	return "[" + strings.Join(words, " ") + "]", nil
}

// scope returns the part of the container that a list or query step covers.
func (s *testedStore) scope(step HistoryStep) store.KeyOrRange {
	var scope store.KeyOrRange
	if step.In != "" {
		scope.Partition = s.partitionKey(step.In)
	}
	if step.Range != "" {
		scope.Range = s.rangeID(step.Range)
	}
	return scope
}

// inPartition reports whether the scope is one logical partition.
func (s HistoryStep) inPartition() bool { return s.In != "" && !strings.HasSuffix(s.In, "*") }

// looksAhead reports whether, for the list or query of this step, the store looks for a further item before
// it gives a full page a continuation. This is so for a query with a condition on the property u, and for a
// list of one logical partition. Other lists may end with an empty page.
func (s HistoryStep) looksAhead() bool { return s.U != "" || s.inPartition() }

func (s *testedStore) list(step HistoryStep) (string, error) {
	if step.EPK != "" {
		return s.listHalves(step)
	}
	items, _, err := s.drain(step, s.scope(step), 0, "")
	if err != nil {
		return answer("", err), nil
	}
	return s.labels(items)
}

// listHalves lists the parts of the container on both sides of an effective partition key.
func (s *testedStore) listHalves(step HistoryStep) (string, error) {
	low, _, err1 := s.drain(step, store.KeyOrRange{MaxEPK: step.EPK}, 0, "")
	high, _, err2 := s.drain(step, store.KeyOrRange{MinEPK: step.EPK}, 0, "")
	if err := errors.Join(err1, err2); err != nil {
		return answer("", err), nil
	}
	items := append(low, high...)
	sort.Slice(items, func(i, j int) bool { return s.rids[items[i].RID()] < s.rids[items[j].RID()] })
	return s.labels(items)
}

// page fetches the next page of a list that is read page by page: as many items as p asks for, or all that
// are left.
func (s *testedStore) page(p *listCursorPosition, from string) (string, error) {
	items, next, err := s.drain(p.scope, s.scope(p.scope), p.scope.Page, from)
	if err != nil {
		return answer("", err), nil
	}
	p.continuation = next
	text, err := s.labels(items)
	if next != "" {
		text += " more"
	}
	return text, err
}

// drain fetches pages of at most step.Page items until there are want items (0: all items). It checks the
// rules of pages: no page is longer than requested. A full page has a continuation, unless looksAhead is true
// and no item follows. A shorter page without a continuation is the last.
func (s *testedStore) drain(step HistoryStep, scope store.KeyOrRange, want int,
	from string) (items []store.Item,
	next string,
	err error) {
	fetch := s.c.List
	if step.U != "" {
		fetch = func(ctx context.Context, o store.ListOptions) (store.ItemPage, store.OperationReceipt,
			error) {
			u := []store.QueryParameter{{Name: "@u", Value: jsondoc.Of([]byte(step.U))}}
			page, receipt, err := s.c.Query(ctx, store.QueryRequest{Text: "SELECT * FROM c WHERE c.u = @u",
				Parameters: u, ListOptions: o})
			if err != nil {
				return store.ItemPage{}, receipt, err
			}
			items, err := s.itemsOf(page.Rows)
			return store.ItemPage{Items: items, Continuation: page.Continuation}, receipt, err
		}
	}
	for next = from; ; {
		o := store.ListOptions{Scope: scope, MaxItems: step.Page, Continuation: next,
			ByRange: step.Page%2 == 1}
		if want > 0 {
			o.MaxItems = want - len(items)
		}
		page, receipt, err := fetch(s.op, o)
		if err != nil {
			return nil, "", err
		}
		if err := s.checkPosition(receipt, false); err != nil {
			return nil, "", err
		}
		if n := len(page.Items); o.MaxItems > 0 &&
			(n > o.MaxItems || n == o.MaxItems && !step.looksAhead() && page.Continuation == "") {
			return nil, "", fmt.Errorf("a page of at most %d items holds %d, continuation %q", o.MaxItems, n,
				page.Continuation)
		}
		if page.Continuation != "" && page.Continuation == next {
			return nil, "", fmt.Errorf("a page continues at itself: %q", next)
		}
		items, next = append(items, page.Items...), page.Continuation
		if next == "" || want > 0 && len(items) == want {
			return items, next, nil
		}
	}
}

// itemsOf returns the items of the rows of a SELECT *. Each row must equal its item as a read returns it.
func (s *testedStore) itemsOf(rows [][]byte) ([]store.Item, error) {
	var items []store.Item
	for _, row := range rows {
		key, err := s.c.ResolveRID(s.ctx, gjson.GetBytes(row, "_rid").String())
		if err != nil {
			return nil, fmt.Errorf("a query gave a row that cannot be found: %s: %w", row, err)
		}
		it, _, err := s.c.Read(s.ctx, key.Partition, key.ID, store.ReadOptions{})
		if err != nil {
			return nil, fmt.Errorf("a query gave a row that cannot be read: %s: %w", row, err)
		}
		if want := it.AppendJSON(nil); string(want) != string(row) {
			return nil, fmt.Errorf("a query gave %s for %s", row, want)
		}
		items = append(items, it)
	}
	return items, nil
}

// failed returns an error unless err is one of the expected refusals.
func (s *testedStore) failed(err error) error {
	var typed *fault.Error
	if !errors.As(err, &typed) {
		return fmt.Errorf("the error is not typed: %w", err)
	}
	if typed.Code == fault.CodeInternal || typed.Message == "" && typed.Code != fault.CodeNotModified {
		return err
	}
	return nil
}

// rendered checks that the JSON that a client gets for an item has the system properties of this item and no
// others.
func rendered(it store.Item) error {
	text := it.AppendJSON(nil)
	if !gjson.ValidBytes(text) {
		return fmt.Errorf("not JSON: %s", text)
	}
	for name, want := range map[string]string{"id": it.ID(), "_etag": it.ETag(), "_rid": it.RID()} {
		if got := gjson.GetBytes(text, name).String(); got != want {
			return fmt.Errorf("%s is %q, not %q: %s", name, got, want, text)
		}
	}
	if got := gjson.GetBytes(text, "_ts").Int(); got != it.Timestamp() ||
		strings.Count(string(text), `"_ts"`) != 1 {
		return fmt.Errorf("_ts is not %d alone: %s", it.Timestamp(), text)
	}
	return nil
}
