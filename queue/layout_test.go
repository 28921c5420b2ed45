package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// TestLayout checks the exact keys and message headers in the engine. They are a format on disk and must
// not change.
func TestLayout(t *testing.T) {
	t.Parallel()
	volatile(t)
	w := newTestHost(t, Options{})
	w.queue("q", deduped(time.Minute))
	w.send("q", msg("A", lives(time.Second)), msg("B"), msg("C", due(time.Minute)))
	for _, how := range []SettlementOutcome{Defer, DeadLetter} {
		r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
		list, err := r.TryReceive(w.ctx, 1)
		w.must(err)
		w.settle("q", list[0], SettlementRequest{Outcome: how})
	}
	w.send("q", msg("D"), msg("E", lives(time.Hour)))
	w.queue("s", sessions)
	w.send("s", msg("F", of("x\x00")))
	r := w.receiver(entity.Address{Entity: "s"}, session("x\x00"))
	w.must(r.SetSessionState(w.ctx, []byte("state"), nil))
	want := `
4000000100b0000000000000001
4000000100b0000000000000003
4000000100b0000000000000004
4000000100b0000000000000005
4000000100c 0a0602e601e8a7abfef9620a
4000000100i73410001 0000018bcfe569f40000000000000001
4000000100i73420001 0000018bcfe569f40000000000000002
4000000100i73430001 0000018bcfe569f40000000000000003
4000000100i73440001 0000018bcfe569f40000000000000004
4000000100i73450001 0000018bcfe569f40000000000000005
4000000100j0000018bcfe569f40000000000000001 7341
4000000100j0000018bcfe569f40000000000000002 7342
4000000100j0000018bcfe569f40000000000000003 7343
4000000100j0000018bcfe569f40000000000000004 7344
4000000100j0000018bcfe569f40000000000000005 7345
4000000100m0000000000000001 01010002e8a7abfef962d00f0000260000
4000000100m0000000000000003 01020000e8a7abfef96201a8d1b2fef96200720000
4000000100m0000000000000004 01000000e8a7abfef962010000240000
4000000100m0000000000000005 01000000e8a7abfef96280bab70300002a0000
4000000100r0000000000000004
4000000100r0000000000000005
4000000100t0000018bcfe654540000000000000003
4000000100w0000018bcfe569f40000000000000004
4000000100x0000018bd01c58740000000000000005
4000000101b0000000000000002
4000000101c 04020024e8a7abfef96200
4000000101m0000000000000002 01000000e8a7abfef962010000240000
4000000101r0000000000000002
4000000102c 000000000000
40000001s
4000000200b0000000000000001
4000000200c 0202002ee8a7abfef96200
4000000200h0000000000000001 7800
4000000200m0000000000000001 01000000e8a7abfef9620100002e02780000
4000000200q7800ff00010000000000000001
4000000200w0000018bcfe569f40000000000000001
4000000200z7800ff0001 0000018bcfe569f47374617465
4000000201c 000000000000
4000000202c 000000000000
40000002s
`
	var got []string
	w.must(w.h.Instance().Engine().View(w.ctx, func(r engine.Reader) error {
		it := r.Scan(engine.Range{Start: []byte{0x40}, End: []byte{0x80}}, false)
		for it.Next() {
			key := it.Key()
			if len(key) == layout.StorePrefixLen {
				got = append(got, fmt.Sprintf("%x%s", key[:4], key[4:])) // the engine's
				continue
			}
			line := fmt.Sprintf("%x%c%x", key[:5], key[5], key[6:])
			if key[5] != layout.FamilyBody {
				line += fmt.Sprintf(" %x", it.Value())
			}
			got = append(got, strings.TrimSpace(line))
		}
		return it.Close()
	}))
	if lined(got) != strings.TrimSpace(want) {
		t.Errorf("the keys are\n%s", lined(got))
	}
}
