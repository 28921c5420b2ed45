package laboratory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

type openReceiverRequest struct {
	EntityPath
	MessageStoreSelector
	Session *string `json:"session,omitempty" description:"Id of the session to lock."`
	Next    bool    `json:"nextSession,omitempty" description:"Lock the next session that is not locked."`
	WaitTimeLimiter
	_ struct{} `body:"optional" takes:"a receiver takes %" additionalProperties:"false"`
}

// nextSessionTime is how long a receiver that requests any session waits for one.
const nextSessionTime = time.Second

const receiverText = `Server-sent events until the client disconnects. "opened": an object with the ` +
	`member "receiver", the id for other requests, and for a session "session" and "lockedUntil". ` +
	`"ended": the receiver has ended; the data is an object with a message. When the stream ends, all ` +
	`locks of the receiver are released, and no delivery is counted. A comment line, which begins with a ` +
	`colon, is sent every 15 seconds.`

// receiverOpenedEvent is the data of the first event of a receiver's stream.
type receiverOpenedEvent struct {
	Receiver string     `json:"receiver"`
	Session  *string    `json:"session,omitempty"`
	Until    *time.Time `json:"lockedUntil,omitempty"`
}

// openReceiver opens the receiver that a request describes.
func (in *openReceiverRequest) openReceiver(ctx context.Context) (*receiverHandle, error) {
	o := queue.ReceiverOptions{Name: "explorer", DropLocks: true}
	if in.Session != nil {
		o.Session = &queue.SessionRequest{ID: *in.Session}
	}
	if in.Next {
		if in.Session != nil {
			return nil, route.BadRequest("A receiver has 'session' or 'nextSession', not both.")
		}
		o.Session = &queue.SessionRequest{Next: true}
		patient, end := in.WaitTimeLimiter.wait(ctx, nextSessionTime)
		defer end()
		ctx = patient
	}
	at := in.address(in.entity.Path)
	r, err := in.queues.OpenReceiver(ctx, at, o)
	if err != nil {
		return nil, ofQueues(err)
	}
	return &receiverHandle{Receiver: r, queues: in.queues, at: at, path: in.entity.Path}, nil
}

// streamReceiver opens a receiver and responds with a stream of its events, until the client disconnects,
// the receiver ends or the server shuts down. Then it closes the receiver.
func (l *Laboratory) streamReceiver(ec echo.Context, in *openReceiverRequest) error {
	ctx := ec.Request().Context()
	r, err := in.openReceiver(ctx)
	if err != nil {
		return err
	}
	id := l.receivers.add(r)
	defer func() {
		l.receivers.remove(id) // before Close releases the locks, for which other receivers may be waiting
		r.Close()
	}()
	w := l.newEventWriter(ec, in.limits)
	if err := w.opened(id, r); err != nil {
		return err
	}
	for w.flush() {
		tick, stop := l.opt.Wall.After(heartbeat)
		select {
		case <-tick:
			w.b = append(w.b, ": open\n\n"...)
		case <-r.Ended():
			stop()
			w.ended(r.Err())
			w.flush()
			return nil
		case <-ctx.Done():
			stop()
			return nil
		case <-l.opt.Draining:
			stop()
			return nil
		}
		stop()
	}
	return nil
}

func (w *sseWriter) opened(id string, r *receiverHandle) error {
	opened := receiverOpenedEvent{Receiver: id}
	if session, until, ok := r.Session(); ok {
		opened.Session, opened.Until = &session, &until
	}
	data, err := json.Marshal(opened)
	w.b = append(append(append(w.b, "event: opened\ndata: "...), data...), "\n\n"...)
	return err
}

func (w *sseWriter) ended(why error) {
	w.b = append(append(w.b, "event: ended\ndata: "...), jsonText(why.Error())...)
	w.b = append(w.b, "\n\n"...)
}

// ReceiverPath is the part of a request that names a receiver in its path.
type ReceiverPath struct {
	Receiver string `path:"receiver" description:"Id of the receiver, from the event opened."`
	receiver *receiverHandle
}

// Find implements route.RequestPartDecoder: it looks up the open receiver that the request's path names.
func (in *ReceiverPath) Find(l *Laboratory, ec echo.Context) (err error) {
	if in.Receiver, err = route.PathParam(ec, "receiver"); err != nil {
		return err
	}
	if in.receiver = l.receivers.find(in.Receiver); in.receiver == nil {
		return route.NotFound("There is no such receiver: a receiver ends with the event stream that " +
			"opened it.")
	}
	return nil
}

type receiveMessagesRequest struct {
	ReceiverPath
	Count   int             `json:"count,omitempty" minimum:"1" maximum:"1000" default:"1" description:"Maximum number of messages."`
	Seconds float64         `json:"seconds,omitempty" minimum:"0" maximum:"600" description:"Seconds to wait for a message."`
	Numbers sequenceNumbers `json:"sequenceNumbers,omitempty" description:"Deferred messages to receive."`
	ResponseMemoryReserver
	WaitTimeLimiter
	_ struct{} `body:"optional" takes:"receive takes %" additionalProperties:"false"`
}

// receiveLocked locks messages for a receiver.
func (l *Laboratory) receiveLocked(ctx context.Context, in *receiveMessagesRequest) (Messages, error) {
	r := in.receiver
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return Messages{}, err
	}
	e, err := r.queues.Get(ctx, r.path)
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	var list []queue.Delivery
	switch {
	case len(in.Numbers) > 0:
		list, err = r.queues.ReceiveDeferred(ctx, r.at, in.Numbers, queue.PeekLock, r.Receiver)
	case in.Seconds > 0:
		patient, end := in.WaitTimeLimiter.wait(ctx, time.Duration(min(in.Seconds, 600)*float64(time.Second)))
		defer end()
		list, err = r.Receive(patient, in.Count)
	default:
		list, err = r.TryReceive(ctx, in.Count)
	}
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	out := Messages{make([]Message, len(list))}
	for i := range list {
		out.Messages[i] = messageOf(&list[i], &e, r.at.Sub != entity.Main)
		list[i].Release()
	}
	return out, nil
}

// outcomes maps the names of the ways to settle a message to outcomes.
var outcomes = map[string]queue.SettlementOutcome{"complete": queue.Complete, "abandon": queue.Abandon,
	"defer": queue.Defer, "dead-letter": queue.DeadLetter, "release": queue.Release}

type settleMessagesRequest struct {
	ReceiverPath
	Tokens      stringList `json:"lockTokens" missing:"The body must have 'lockTokens'." description:"Lock tokens of the messages."`
	Outcome     string     `json:"outcome" enum:"complete,abandon,defer,dead-letter,release"`
	Reason      *string    `json:"reason,omitempty" description:"Reason for the outcome dead-letter."`
	Description *string    `json:"description,omitempty" description:"Text for the outcome dead-letter."`
	ApplicationPropertyFields
	_ struct{} `takes:"settle takes %" additionalProperties:"false"`
}

// settleMessages settles messages by their lock tokens, each in its own transaction.
func (l *Laboratory) settleMessages(ctx context.Context,
	in *settleMessagesRequest) (out ProcessedMessagesResult, err error) {
	how, ok := outcomes[in.Outcome]
	if !ok {
		return out, route.BadRequest("'outcome' must be 'complete', 'abandon', 'defer', 'dead-letter' or " +
			"'release'.")
	}
	st := queue.SettlementRequest{Outcome: how, Reason: in.Reason, Description: in.Description}
	if st.Modify, err = in.encoded(); err != nil {
		return out, err
	}
	tokens, err := in.Tokens.tokens()
	if err != nil {
		return out, err
	}
	for i, token := range tokens {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		err := in.receiver.queues.Settle(ctx, in.receiver.at, token, st, nil)
		if err == nil {
			out.Messages++
			continue
		}
		text, ended := refusal(err)
		if ended != nil {
			return out, ended
		}
		out.Failed = append(out.Failed, RefusedMessage{LockToken: in.Tokens[i], Message: text})
	}
	return out, nil
}

// tokens parses the strings in the list as lock tokens, which are UUIDs. If one is not a UUID, it returns a
// 400.
func (list stringList) tokens() ([]message.UUID, error) {
	out := make([]message.UUID, len(list))
	for i, text := range list {
		var ok bool
		if out[i], ok = wire.ParseUUID(text); !ok {
			return nil, route.BadRequest("'" + shortened(text, 64) + "' is not a lock token.")
		}
	}
	return out, nil
}

type renewLocksRequest struct {
	ReceiverPath
	Tokens stringList `json:"lockTokens,omitempty" description:"Locks to renew; not for a session."`
	_      struct{}   `body:"optional" takes:"renew takes %" additionalProperties:"false"`
}

// RenewLocksResult is the response to a request that renews locks.
type RenewLocksResult struct {
	Until time.Time `json:"lockedUntil"`
}

// renewLocks renews the lock of the receiver's session or, if it has no session, the locks of messages. If
// one of these is lost, it fails and renews none.
func (l *Laboratory) renewLocks(ctx context.Context, in *renewLocksRequest) (RenewLocksResult, error) {
	r := in.receiver
	if _, _, ok := r.Session(); ok {
		until, err := r.RenewSession(ctx)
		return RenewLocksResult{until}, ofQueues(err)
	}
	if len(in.Tokens) == 0 {
		return RenewLocksResult{}, route.BadRequest("The body must have 'lockTokens'.")
	}
	tokens, err := in.Tokens.tokens()
	if err != nil {
		return RenewLocksResult{}, err
	}
	until, err := r.queues.RenewLocks(ctx, r.at, tokens)
	if err != nil {
		return RenewLocksResult{}, ofQueues(err)
	}
	return RenewLocksResult{until[0]}, nil
}
