package buscases

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rest"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// restClient is a client of the REST API. It calls the HTTP handler in memory, without a connection.
type restClient struct {
	b       *caseFixture
	handler http.Handler
	token   string
}

// statusError is a response with an error status.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprint(e.status, " ", e.body) }

func newHTTPClient(b *caseFixture) *restClient {
	return &restClient{b: b, handler: rest.New(rest.Options{Queues: b.q,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict})}),
		token: access.Sign(access.EmulatorKey(), "sb://localhost/", ttl.SystemClock{}.Now().Add(time.Hour))}
}

func connectREST(b *caseFixture) {
	b.web = newHTTPClient(b)
	b.messages, b.bulk = b.web, b.web
}

// do sends a request and returns the response, or a statusError. headers are pairs of a name and a value.
func (w *restClient) do(method, path, body string, headers ...string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequestWithContext(w.b.ctx, method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", w.token)
	for i := 0; i < len(headers); i += 2 {
		r.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	res := httptest.NewRecorder()
	w.handler.ServeHTTP(res, r)
	for name, value := range res.Header() { // as a client reads them
		if canonical := http.CanonicalHeaderKey(name); canonical != name {
			delete(res.Header(), name)
			res.Header()[canonical] = value
		}
	}
	if res.Code >= 300 {
		return nil, &statusError{res.Code, res.Body.String()}
	}
	return res, nil
}

// refused reports whether err is the response that the service sends for an error code. It compares HTTP
// statuses, so it does not distinguish error codes that have the same status.
func (*restClient) refused(err error, code entity.ErrorCode) bool {
	e, ok := err.(*statusError)
	if !ok {
		return entity.ErrorCodeOf(err) == code // of what the engine does instead
	}
	switch code {
	case entity.CodeEntityNotFound:
		return e.status == http.StatusGone
	case entity.CodeEntityDisabled, entity.CodeMessageTooLarge, entity.CodeQuotaExceeded:
		return e.status == http.StatusForbidden
	case entity.CodeMessageLockLost, entity.CodeMessageNotFound:
		return e.status == http.StatusNotFound
	case entity.CodeUnauthorized:
		return e.status == http.StatusUnauthorized
	}
	return e.status == http.StatusBadRequest
}

// brokerProperties is the content of the HTTP header BrokerProperties: the properties that the service
// manages, such as the lock token.
type brokerProperties struct {
	MessageId               string   `json:",omitempty"`
	SessionId               string   `json:",omitempty"`
	TimeToLive              *float64 `json:",omitempty"`
	ScheduledEnqueueTimeUtc string   `json:",omitempty"`

	SequenceNumber, EnqueuedSequenceNumber int64  `json:",omitempty"`
	DeliveryCount                          int    `json:",omitempty"`
	EnqueuedTimeUtc, LockedUntilUtc        string `json:",omitempty"`
	LockToken, DeadLetterSource            string `json:",omitempty"`
}

func brokerOf(m *message.Message) (p brokerProperties) {
	p.MessageId = m.Text(message.MessageID)
	p.SessionId, _ = m.SessionID()
	if own := m.OwnTTL(); own != message.Absent {
		seconds := float64(own) / 1000
		p.TimeToLive = &seconds
	}
	if at := m.Scheduled(); at != message.Absent {
		p.ScheduledEnqueueTimeUtc = time.UnixMilli(at).UTC().Format(http.TimeFormat)
	}
	return p
}

func (w *restClient) send(address string, list ...*message.Message) error {
	for _, m := range list {
		broker, err := json.Marshal(brokerOf(m))
		if err != nil {
			return err
		}
		headers := []string{"BrokerProperties", string(broker)}
		for _, p := range m.Application {
			text, _ := wire.Text(p.Value)
			headers = append(headers, p.Name, `"`+text+`"`)
		}
		data, _ := m.Data()
		if _, err := w.do("POST", "/"+address+"/messages", string(data), headers...); err != nil {
			return err
		}
	}
	return nil
}

func (w *restClient) batch(address string, list ...*message.Message) error {
	type entry struct {
		Body             string
		BrokerProperties brokerProperties
	}
	var all []entry
	for _, m := range list {
		data, _ := m.Data()
		all = append(all, entry{string(data), brokerOf(m)})
	}
	body, err := json.Marshal(all)
	if err != nil {
		return err
	}
	_, err = w.do("POST", "/"+address+"/messages", string(body), "Content-Type",
		"application/vnd.microsoft.servicebus.json")
	return err
}

func (w *restClient) receive(address string, mode queue.ReceiveMode, most int) (list []receivedMessage,
	err error) {
	method := "POST"
	if mode == queue.ReceiveAndDelete {
		method = "DELETE"
	}
	for len(list) < most {
		res, err := w.do(method, "/"+address+"/messages/head?timeout=0", "")
		if err != nil {
			return nil, err
		}
		if res.Code == http.StatusNoContent {
			break
		}
		list = append(list, w.read(res))
	}
	return list, nil
}

// read decodes the message in a response.
func (w *restClient) read(res *httptest.ResponseRecorder) receivedMessage {
	var p brokerProperties
	w.b.must(json.Unmarshal([]byte(res.Header().Get("BrokerProperties")), &p))
	m := receivedMessage{text: res.Body.String(), id: p.MessageId, number: p.SequenceNumber,
		count:    p.DeliveryCount - 1,
		original: p.EnqueuedSequenceNumber, session: p.SessionId, died: p.DeadLetterSource,
		values:    map[string]string{},
		reference: strings.TrimPrefix(res.Header().Get("Location"), "http://localhost")}
	m.enqueued, _ = http.ParseTime(p.EnqueuedTimeUtc)
	m.until, _ = http.ParseTime(p.LockedUntilUtc)
	if p.TimeToLive != nil {
		m.ttl = time.Duration(*p.TimeToLive * float64(time.Second))
		m.expires = m.enqueued.Add(m.ttl)
	}
	if id, err := uuid.Parse(p.LockToken); err == nil {
		m.token = message.UUID(id)
	}
	for name, value := range res.Header() {
		m.set(name, strings.Trim(strings.Join(value, ","), `"`))
	}
	return m
}

func (w *restClient) settle(address string, m receivedMessage, s queue.SettlementRequest) error {
	method := map[queue.SettlementOutcome]string{queue.Complete: "DELETE", queue.Abandon: "PUT"}[s.Outcome]
	if method == "" { // REST has no word for it
		return (&goAPIClient{w.b}).settle(address, m, s)
	}
	_, err := w.do(method, w.place(address, m), "")
	return err
}

// place returns the URL path of the message's lock in the REST API, by which the message is settled or its
// lock renewed. If the message has no lock, no lock exists at that path.
func (w *restClient) place(address string, m receivedMessage) string {
	if place, _ := m.reference.(string); place != "" {
		return place
	}
	return fmt.Sprintf("/%s/messages/%d/%s", address, m.number, uuid.UUID(m.token))
}

func (w *restClient) renew(address string, m receivedMessage) (until time.Time, err error) {
	_, err = w.do("POST", w.place(address, m), "")
	return until, err
}

// signatures is a case: it sends a message with valid, expired and wrongly signed tokens.
func signatures(b *caseFixture) {
	b.queue("q")
	now := ttl.SystemClock{}.Now()
	good := access.Sign(access.EmulatorKey(), "http://localhost/q", now.Add(time.Hour))
	wrong := access.EmulatorKey()
	wrong.Text = base64.StdEncoding.EncodeToString([]byte("wrong"))
	for _, c := range []struct {
		token string
		ok    bool
	}{{good, true}, {signedIn("http%3a%2f%2flocalhost%2fq", now), true},
		{signedIn("http%3A%2F%2Flocalhost%2Fq", now), true},
		{access.Sign(access.EmulatorKey(), "http://localhost/q", now.Add(-time.Hour)), false},
		{access.Sign(wrong, "http://localhost/q", now.Add(time.Hour)), false}} {
		b.web.token = c.token
		err := b.web.send("q", msg("A"))
		if c.ok {
			b.must(err)
		} else {
			b.refuses(err, entity.CodeUnauthorized)
		}
	}
}

// signedIn returns a shared access signature that signs resource as it is written, so that its percent
// escapes can have upper-case or lower-case digits.
func signedIn(resource string, now time.Time) string {
	k := access.EmulatorKey()
	expiry := fmt.Sprint(now.Add(time.Hour).Unix())
	mac := hmac.New(sha256.New, []byte(k.Text))
	fmt.Fprintf(mac, "%s\n%s", resource, expiry)
	return "SharedAccessSignature sr=" + resource + "&sig=" +
		url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil))) + "&se=" + expiry + "&skn=" + k.Name
}
