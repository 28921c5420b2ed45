package bus

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// look compares the stored messages with the model of the history.
func (p *transactionModelRun) look() {
	before := p.committed()
	p.compare(p.serviceBusUnderTest, before, "")
}

// crash copies the disk as a crash at this moment would leave it, opens queues on the copy, and checks that
// all committed transactions are stored completely, and every other one completely or not at all.
func (p *transactionModelRun) crash() {
	before := p.committed()
	disk := p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: p.r.IntN(101), RNG: p.r})
	w := worldOn(p.t, disk)
	defer func() { p.must(w.h.Close()) }()
	p.compare(w, before, "after a crash: ")
	p.must(w.q.Check(w.ctx, func(err error) bool { p.t.Error(err); return true }))
}

// committed returns the transactions whose commits the server has confirmed.
func (p *transactionModelRun) committed() []*modelTxn {
	var list []*modelTxn
	for _, t := range p.all {
		if t.committed {
			list = append(list, t)
		}
	}
	return list
}

// compare peeks at the messages in the queue and compares them with the model. It fails the test unless each
// transaction has sent and settled either all of its messages or none, and each one in committed all.
// Messages outside of transactions must not be lost. when is the beginning of each error message.
func (p *transactionModelRun) compare(w *serviceBusUnderTest, committed []*modelTxn, when string) {
	there := map[string]int{}
	list, err := w.q.Peek(w.ctx, entity.Address{Entity: "q"}, queue.PeekOptions{Max: 10_000,
		MaxBytes: 1 << 30})
	p.must(err)
	for _, d := range list {
		there[textOf(d.Message)]++
	}
	for text, n := range there {
		if n != 1 {
			p.t.Errorf("%s%s is there %d times", when, text, n)
		}
	}
	for _, t := range p.all {
		sent := 0
		for _, text := range t.sent {
			sent += there[text]
		}
		settled := 0
		for _, text := range t.settled {
			if there[text] == 0 {
				settled++
			}
		}
		whole := sent == len(t.sent) && settled == len(t.settled)
		none := sent == 0 && (settled == 0 || !t.asked || t.spoiled)
		switch {
		case slices.Contains(committed, t) && !whole:
			p.t.Errorf("%s%s is committed, and %d of %d are sent, %d of %d settled", when, t.name, sent, len(
				t.sent),
				settled, len(t.settled))
		case (!t.asked || t.spoiled) && sent > 0:
			p.t.Errorf("%s%s has no commit, and %d of %d are sent", when, t.name, sent, len(t.sent))
		case !whole && !none:
			p.t.Errorf("%s%s is there in part: %d of %d are sent, %d of %d settled", when, t.name, sent, len(
				t.sent),
				settled, len(t.settled))
		}
	}
	for text, answered := range p.plain {
		if answered && there[text] == 0 {
			p.t.Errorf("%s%s was accepted and is not there", when, text)
		}
	}
	// What is gone was completed by somebody who may.
	may := maps.Clone(p.gone)
	for _, t := range p.all {
		for _, text := range t.settled {
			may[text] = may[text] || t.asked && !t.spoiled
		}
	}
	for i := range preloaded {
		if text := fmt.Sprint("p", i); there[text] == 0 && !may[text] {
			p.t.Errorf("%s%s is gone", when, text)
		}
	}
}

// end waits for all outcomes, closes the connections, and compares the stored messages with the model once
// more.
func (p *transactionModelRun) end() {
	for _, k := range p.talkers {
		k.sync()
	}
	p.look()
	for _, k := range p.talkers {
		k.hangUp()
	}
	p.look()
	p.crash()
	p.must(p.q.Check(p.ctx, func(err error) bool { p.t.Error(err); return true }))
	p.must(p.h.Close())
}
