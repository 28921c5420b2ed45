package bus

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// TestRequestLogEntries checks that the log of requests contains each link, message, settlement and
// management request, with its outcome.
func TestRequestLogEntries(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.bus.o.Requests = requestlog.New(requestlog.MinMemory)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.sender(0, "q")
	c.transfer(0, 0, message.New([]byte("one")))
	await[*frame.Disposition](c)
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	c.delivered()
	m := c.manage(2, "q")
	m.do(410, "renew-lock", pairs("lock-tokens", wire.UUIDs([]wire.UUID{{1}})))
	w.fault(inject.FaultRule{Fault: inject.LockLost})
	refused(t, c.settles(0, &frame.Accepted{}), condMessageLockLost)
	list, _ := w.bus.o.Requests.Read(0, requestlog.Filter{}).Next()
	var got strings.Builder
	for _, r := range list {
		if r.Method == attachFrame && strings.HasSuffix(r.Entity, managementFrame) { // two at once
			continue
		}
		got.WriteString(strings.Join([]string{r.Method, r.Operation, r.FaultOperation, r.Entity,
			r.Condition, r.Rule}, " "))
		got.WriteByte('\n')
		if r.Protocol != requestlog.AMQP || (r.Status == 200) != (r.Condition == "") || r.Client == "" ||
			r.Began.IsZero() || r.DataTime.IsZero() {
			t.Errorf("%+v", r.Entry)
		}
	}
	want := "attach open sender  q  \ntransfer send send q  \nattach open receiver  q  \ntransfer receive receive q  \n" +
		"management renew-lock renewLock q com.microsoft:message-lock-lost \n" +
		"disposition complete complete q com.microsoft:message-lock-lost f1\n"
	if got.String() != want {
		t.Errorf("%s\nnot\n%s", got.String(), want)
	}
	for _, r := range list[1:4] {
		if r.Method != transferFrame {
			continue
		}
		full := w.bus.o.Requests.Find(r.ID)
		m, err := message.Parse(append(full.RequestBody, full.ResponseBody...))
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := m.Data(); string(body) != "one" {
			t.Errorf("%q", body)
		}
	}
}

// TestRequestLogOmitsToken checks that the log of requests contains an entry for a put-token request, but not
// the token.
func TestRequestLogOmitsToken(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.bus.o.Requests = requestlog.New(requestlog.MinMemory)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	if n := number(t, c.put(0, "amqp://localhost/q", "S3cr3t"), "status-code"); n != 202 {
		t.Fatal(n)
	}
	list, _ := w.bus.o.Requests.Read(0, requestlog.Filter{Text: "put-token"}).Next()
	if len(list) != 1 || list[0].URI != "amqp://localhost/q" || list[0].Status != 202 {
		t.Fatalf("%+v", list)
	}
	if full := w.bus.o.Requests.Find(list[0].ID); len(full.RequestBody)+len(full.ResponseBody) > 0 {
		t.Errorf("%q %q", full.RequestBody, full.ResponseBody)
	}
}
