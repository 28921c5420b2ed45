package bus

import (
	"net/http"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
)

// holder returns the receiver of this connection that holds a session's lock, or nil if there is none. It
// prefers the link that the request names in associated-link-name.
func (r *managementRequest) holder(session *string) *queue.Receiver {
	name, _ := wire.Text(r.m.Get("associated-link-name"))
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	var found *queue.Receiver
	for l, n := range r.c.sessions {
		id, _, ok := n.r.Session()
		if !ok || !strings.EqualFold(n.at.String(), r.at.String()) || session != nil && id != *session {
			continue
		}
		if l.Name() == name {
			return n.r
		}
		if session != nil {
			found = n.r
		}
	}
	return found
}

// held returns the receiver of this connection that holds the lock of the session named in the request. It
// fails with CodeSessionLockLost if there is none.
func (r *managementRequest) held() (*queue.Receiver, error) {
	session, err := r.mustText("session-id")
	if err != nil {
		return nil, err
	}
	if holder := r.holder(&session); holder != nil {
		return holder, nil
	}
	return nil, &entity.Error{Code: entity.CodeSessionLockLost, Entity: r.at.String(),
		Message: "The lock of the session '" + session + "' is not held by this connection."}
}

func (r *managementRequest) renewSession() (managementResponse, error) {
	holder, err := r.held()
	if err != nil {
		return managementResponse{}, err
	}
	id, _, _ := holder.Session()
	// A fault that loses the session lock closes the receiver, which ends its link.
	done, err := r.withFaults(inject.RenewLock, holder.Close, func() (managementResponse, error) {
		until, err := holder.RenewSession(r.ctx)
		return managementResponse{body: wire.Map{{Key: "expiration", Value: timestamp(until)}}}, err
	})
	if entity.ErrorCodeOf(err) == entity.CodeMessageLockLost {
		err = sessionLost(id, r.at.String())
	}
	return done, err
}

func (r *managementRequest) sessionState() (managementResponse, error) {
	holder, err := r.held()
	if err != nil {
		return managementResponse{}, err
	}
	state, err := holder.SessionState(r.ctx)
	var value any
	if state != nil {
		value = state
	}
	return managementResponse{body: wire.Map{{Key: "session-state", Value: value}}}, err
}

func (r *managementRequest) setSessionState() (managementResponse, error) {
	holder, err := r.held()
	if err != nil {
		return managementResponse{}, err
	}
	v, _ := r.body.Get("session-state")
	state, ok := v.([]byte)
	if !ok && v != nil {
		return managementResponse{}, r.argument("'session-state' is no binary.")
	}
	tx, err := r.join(false, noPartition)
	if err != nil {
		return managementResponse{}, err
	}
	return managementResponse{}, holder.SetSessionState(r.ctx, state, tx)
}

// allSessionsTime is the end of the year 9999 in milliseconds. As the last-updated-time it selects all
// sessions that have messages or a state.
const allSessionsTime = 253402300799000

func (r *managementRequest) sessions() (managementResponse, error) {
	since, err := r.integer("last-updated-time", allSessionsTime)
	if err != nil {
		return managementResponse{}, err
	}
	skip, err := r.integer("skip", 0)
	if err != nil {
		return managementResponse{}, err
	}
	top, err := r.integer("top", 100)
	if err != nil {
		return managementResponse{}, err
	}
	var changed *time.Time
	if since < allSessionsTime {
		t := time.UnixMilli(since)
		changed = &t
	}
	ids, err := r.c.queues.Sessions(r.ctx, r.at, changed, int(max(skip, 0)), int(min(max(top, 0), 1000)))
	if err != nil {
		return managementResponse{}, err
	}
	if len(ids) == 0 {
		return managementResponse{status: http.StatusNoContent}, nil
	}
	return managementResponse{body: wire.Map{{Key: "skip", Value: int32(int(skip) + len(ids))},
		{Key: "sessions-ids", Value: wire.Strings(ids)}}}, nil
}
