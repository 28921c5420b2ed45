package laboratory

import (
	"context"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Sessions holds the sessions that have messages or a state, ordered by id.
type Sessions struct {
	Sessions []string         `json:"sessions" nullable:"false" description:"Ids of the sessions."`
	Details  []MessageSession `json:"details" nullable:"false"`
}

// MessageSession describes a message session of a queue or subscription.
type MessageSession struct {
	ID       string `json:"id"`
	Messages int    `json:"messages" description:"Number of active messages; counting stops at 10,000."`
	SessionState
	Locked bool       `json:"locked"`
	Holder string     `json:"holder,omitempty" description:"Receiver that holds the session lock."`
	Until  *time.Time `json:"lockedUntil,omitempty"`
}

// SessionState is the state of a session, as text or, if it is not valid UTF-8, in base64. Both members
// are empty if the session has no state.
type SessionState struct {
	State       string `json:"state,omitempty"`
	StateBase64 string `json:"stateBase64,omitempty" description:"State in base64, if it is not text."`
}

func sessionStateOf(state []byte) (out SessionState) {
	if utf8.Valid(state) {
		out.State = string(state)
	} else {
		out.StateBase64 = base64.StdEncoding.EncodeToString(state)
	}
	return out
}

type listSessionsRequest struct {
	EntityPath
	Skip  int `json:"skip,omitempty" minimum:"0" maximum:"1000000000" description:"Sessions to skip first."`
	Count int `json:"count,omitempty" minimum:"1" maximum:"1000" default:"100" description:"Maximum number of sessions."`
	ResponseMemoryReserver
	_ struct{} `body:"optional" takes:"sessions takes %" additionalProperties:"false"`
}

func (l *Laboratory) listSessions(ctx context.Context, in *listSessionsRequest) (Sessions, error) {
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return Sessions{}, err
	}
	whole := MessageStoreSelector{}
	list, err := in.queues.InspectSessions(ctx, whole.address(in.Entity), in.Skip, in.Count)
	if err != nil {
		return Sessions{}, ofQueues(err)
	}
	out := Sessions{make([]string, len(list)), make([]MessageSession, len(list))}
	for i, s := range list {
		out.Sessions[i] = s.ID
		out.Details[i] = MessageSession{ID: s.ID, Messages: s.Messages, SessionState: sessionStateOf(s.State),
			Locked: s.Locked, Holder: s.Holder}
		if s.Locked {
			until := s.Until.UTC()
			out.Details[i].Until = &until
		}
	}
	return out, nil
}

type sessionStateRequest struct {
	EntityPath
	Session route.RequiredText `json:"session"`
	SessionState
	_ struct{} `takes:"the state of a session takes %" additionalProperties:"false"`
}

// setSessionState sets the state of a session; an empty state clears it. It uses the open receiver that
// holds the session's lock. If there is none, it locks the session for the duration of the request.
func (l *Laboratory) setSessionState(ctx context.Context, in *sessionStateRequest) (route.NoBody, error) {
	state := []byte(in.State)
	if in.StateBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(in.StateBase64)
		if err != nil || in.State != "" {
			return route.NoBody{}, route.BadRequest("A request has 'state' or 'stateBase64', not both, " +
				"and the latter must be base64.")
		}
		state = raw
	}
	at := entity.Address{Entity: in.entity.Path}
	if held := l.receivers.holding(at, string(in.Session)); held != nil {
		return route.NoBody{}, ofQueues(held.SetSessionState(ctx, state, nil))
	}
	r, err := in.queues.OpenReceiver(ctx, at, queue.ReceiverOptions{Name: "laboratory",
		Session: &queue.SessionRequest{ID: string(in.Session)}})
	if err != nil {
		return route.NoBody{}, ofQueues(err)
	}
	defer r.Close()
	return route.NoBody{}, ofQueues(r.SetSessionState(ctx, state, nil))
}
