package metamorphic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// The kinds of batches. A batch is one step of a history, whose first argument is its kind. The other
// arguments are operations as verb:key, or replace:key:id for one that gives the item another id. All
// documents in it use the step's own ttl, u and v.
//
//	at 7 batch atomic create:a@x patch:b@x delete:c@x ttl=5 v=3
const (
	Atomic = "atomic" // all or nothing
	Bulk   = "bulk"   // each operation by itself
	Stop   = "stop"   // each operation by itself, up to the first that fails
)

// operations returns the steps of a batch.
func (s HistoryStep) operations() []HistoryStep {
	list := make([]HistoryStep, 0, len(s.Args)-1)
	for _, a := range s.Args[1:] {
		verb, key, _ := strings.Cut(a, ":")
		key, as, _ := strings.Cut(key, ":")
		list = append(list, HistoryStep{At: s.At, Verb: verb, Args: []string{key}, As: as, TTL: s.TTL,
			Base: s.Base, U: s.U,
			V: s.V})
	}
	return list
}

// refusals lists the answers of failed operations.
var refusals = []string{fault.CodeBadRequest.String(), fault.CodeNotFound.String(),
	fault.CodeConflict.String(),
	fault.CodePreconditionFailed.String(), fault.CodePartitionKeyMismatch.String()}

func (w *ReferenceModel) batch(s HistoryStep) string {
	items, etags, rids := w.copyItems(), w.etags, w.rids
	ops := s.operations()
	answers := make([]string, len(ops))
	for i := range answers {
		answers[i] = fault.CodeFailedDependency.String()
	}
	for i, op := range ops {
		answer := fault.CodePartitionKeyMismatch.String()
		if s.Args[0] != Atomic || op.Key().Partition == ops[0].Key().Partition {
			answer = w.do(op)
		}
		answers[i] = answer
		if !slices.Contains(refusals, answer) || s.Args[0] == Bulk {
			continue
		}
		if s.Args[0] == Atomic {
			w.items, w.etags, w.rids = items, etags, rids
			for j := range i {
				answers[j] = fault.CodeFailedDependency.String()
			}
		}
		break
	}
	return strings.Join(answers, "; ")
}

func (w *ReferenceModel) copyItems() []*modelItem {
	items := make([]*modelItem, len(w.items))
	for i, it := range w.items {
		one := *it
		items[i] = &one
	}
	return items
}

// patch applies a patch to an item of the model: it sets ttl, u and v, as far as the step has them. It
// returns the expected answer.
func (w *ReferenceModel) patch(s HistoryStep) string {
	it := w.find(s.Key())
	if it == nil {
		return fault.CodeNotFound.String()
	}
	own, ok := parseTTL(s.TTL)
	switch {
	case s.IfMatch != "" && !holds(s.IfMatch):
		return fault.CodePreconditionFailed.String()
	case !ok:
		return fault.CodeBadRequest.String()
	case s.TTL == "":
		own = it.own
	}
	if s.U == "" {
		s.U = it.u
	}
	if w.taken(s) {
		return fault.CodeConflict.String()
	}
	w.etags++
	it.etag, it.ts, it.own, it.u = w.etags, w.now, own, s.U
	for _, m := range s.patched() {
		if m.name != "u" || s.U != "" {
			it.body = kept(withMember(it.body, m.name, m.token))
		}
	}
	it.dead = expired(it, w.path, w.def, w.now)
	return fmt.Sprintf("patched e%d r%d ts=%d", it.etag, it.rid, it.ts)
}

// documentMember is a member of a document: its name and its JSON token.
type documentMember struct{ name, token string }

// patched returns the members of the document that the patch of a step sets, each with its value as JSON.
func (s HistoryStep) patched() []documentMember {
	var list []documentMember
	for _, m := range []documentMember{{"ttl", s.TTL}, {"base", s.baseToken()}, {"u", s.U}, {"v", s.V}} {
		if m.token != "" {
			list = append(list, m)
		}
	}
	return list
}

// withMember sets a member of an object. A new member is added at the end.
func withMember(body, name, token string) string {
	if old := gjson.Get(body, name); old.Exists() {
		return body[:old.Index] + token + body[old.Index+len(old.Raw):]
	}
	return body[:len(body)-1] + `,"` + name + `":` + token + "}"
}

// patchOf returns the patch of a step as a client would send it.
func patchOf(s HistoryStep) (*store.Patch, error) {
	var ops []string
	for _, m := range s.patched() {
		ops = append(ops, `{"op":"set","path":"/`+m.name+`","value":`+m.token+`}`)
	}
	p, err := jsondoc.ParsePatch([]byte("[" + strings.Join(ops, ",") + "]"))
	return &store.Patch{Operations: p}, err
}

func (s *testedStore) patch(step HistoryStep) (string, error) {
	k := step.Key()
	p, err := patchOf(step)
	if err != nil {
		return "", err
	}
	it, receipt, err := s.c.Patch(s.op, s.partitionKey(k.Partition), k.ID, *p,
		store.WriteOptions{IfMatch: s.condition(k, step.IfMatch)})
	if err != nil {
		return answer("", err), s.failed(err)
	}
	return s.wrote("patched", step, it, receipt, string(it.Body()))
}

// wrote checks and records a successful write, and returns its answer as text, beginning with done. body is
// the document that the store must have afterwards.
func (s *testedStore) wrote(done string, step HistoryStep, it store.Item, receipt store.OperationReceipt,
	body string) (string, error) {
	if err := s.record(step.Document(), it, receipt, body); err != nil {
		return "", err
	}
	s.recordETag(step, it)
	return fmt.Sprintf("%s e%d r%d ts=%d", done, s.etags[it.ETag()].n, s.rids[it.RID()],
		it.Timestamp()-began), nil
}

// recordETag records the etag of a written item. If the step changed the id, the etags of the old id are
// forgotten.
func (s *testedStore) recordETag(step HistoryStep, it store.Item) {
	if step.Document() != step.Key() {
		delete(s.last, step.Key())
	}
	s.last[step.Document()] = [2]string{it.ETag(), s.last[step.Document()][0]}
}

var operationKinds = map[string]store.ItemOperationKind{Create: store.OperationCreate,
	Upsert: store.OperationUpsert, Replace: store.OperationReplace,
	Delete: store.OperationDelete, Read: store.OperationRead, Patch: store.OperationPatch}

func (s *testedStore) batch(step HistoryStep) (string, error) {
	steps := step.operations()
	ops := make([]store.ItemOperation, len(steps))
	for i, sub := range steps {
		k := sub.Key()
		ops[i] = store.ItemOperation{Kind: operationKinds[sub.Verb], ID: k.ID,
			Partition: s.partitionKey(k.Partition), Body: []byte(s.config.body(sub))}
		if sub.Verb == Patch {
			var err error
			if ops[i].Patch, err = patchOf(sub); err != nil {
				return "", err
			}
		}
	}
	o := store.BatchOptions{Atomic: step.Args[0] == Atomic, ContinueOnError: step.Args[0] == Bulk}
	out, receipt, err := s.c.Batch(s.op, ops[0].Partition, ops, o)
	if err != nil {
		return "", err
	}
	if err := s.batched(step.Args[0], steps, out, receipt); err != nil {
		return "", err
	}
	answers := make([]string, len(steps))
	for i, sub := range steps {
		r := out.Results[i]
		receipt.Range, receipt.LSN = "", r.Item.LSN() // the current ranges were checked above
		if answers[i], err = s.result(sub, r, receipt); err != nil {
			return "", err
		}
	}
	return strings.Join(answers, "; "), nil
}

// batched checks the LSNs in the result of a batch of the kind how. Items that an atomic batch has written
// must have the LSN of its receipt. In a batch that continues after failures, the items of each range must
// have one LSN in common.
func (s *testedStore) batched(how string, steps []HistoryStep, out store.BatchResult,
	receipt store.OperationReceipt) error {
	written, deleted := map[int][]store.Item{}, false
	for i, r := range out.Results {
		switch at := s.RangeOf(steps[i].Key().Partition); {
		case r.Err != nil || steps[i].Verb == Read:
		case steps[i].Verb == Delete:
			deleted = true
		default:
			written[at] = append(written[at], r.Item)
		}
	}
	if how == Stop || how == Bulk {
		clear(s.exact)
	}
	if how == Stop {
		return nil
	}
	for _, items := range written {
		if lsn, err := together(items); err != nil || how == Atomic && lsn != receipt.LSN {
			return errors.Join(err, fmt.Errorf("a batch at LSN %d, its receipt says %d", lsn, receipt.LSN))
		}
	}
	if how == Atomic {
		return s.checkPosition(receipt, deleted || len(written) > 0)
	}
	return nil
}

// result formats the result of one operation of a batch as the model does.
func (s *testedStore) result(sub HistoryStep, r store.ItemOperationResult,
	receipt store.OperationReceipt) (string, error) {
	switch {
	case r.Err != nil:
		return answer("", r.Err), s.failed(r.Err)
	case sub.Verb == Delete:
		return "deleted", nil
	case sub.Verb == Read:
		v, err := s.lookUp(r.Item)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("e%d r%d ts=%d %s", v.n, s.rids[r.Item.RID()], r.Item.Timestamp()-began,
			r.Item.Body()), nil
	case sub.Verb == Patch:
		return s.wrote("patched", sub, r.Item, receipt, string(r.Item.Body()))
	case sub.Verb == Create || r.Inserted:
		return s.wrote("created", sub, r.Item, receipt, string(r.Item.Body()))
	}
	return s.wrote("replaced", sub, r.Item, receipt, string(r.Item.Body()))
}
