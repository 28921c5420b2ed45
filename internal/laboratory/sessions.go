package laboratory

import "context"

// Sessions are the ids of sessions that have messages, in order.
type Sessions struct {
	Sessions []string `json:"sessions" nullable:"false"`
}

type sessionsRequest struct {
	InEntity
	Skip  int      `json:"skip,omitempty" minimum:"0" maximum:"1000000000" description:"Those that go by first."`
	Count int      `json:"count,omitempty" minimum:"1" maximum:"1000" default:"100"`
	_     struct{} `body:"optional" takes:"sessions takes %" additionalProperties:"false"`
}

func (l *Laboratory) listSessions(ctx context.Context, in *sessionsRequest) (Sessions, error) {
	whole := OfStore{}
	ids, err := in.queues.Sessions(ctx, whole.address(in.Entity), nil, in.Skip, in.Count)
	if err != nil {
		return Sessions{}, ofQueues(err)
	}
	if ids == nil {
		ids = []string{}
	}
	return Sessions{ids}, nil
}
