package bus

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// The application properties with the reason and the description of a dead letter.
const (
	propReason      = "DeadLetterReason"
	propDescription = "DeadLetterErrorDescription"
)

// Settle settles deliveries by the states that the client has sent, and returns the outcome of each. It
// implements amqp.MessageSource.
func (n *entityMessageSource) Settle(ctx context.Context, list []amqp.Settlement) []frame.DeliveryState {
	if err := n.r.Err(); entity.ErrorCodeOf(err) == entity.CodeSessionLockLost {
		// first, since SDKs lock the session again after the detach
		n.link.Detach(n.c.asError(err, n.at.String()))
	}
	states := make([]frame.DeliveryState, len(list))
	rules := make([]string, len(list))
	end := n.c.observing("settle", n.at.String(), len(list))
	e := n.c.recording(dispositionFrame, "", n.at.String())
	defer func() {
		end(states)
		n.c.recordEach(e, states, func(i int, one *requestlog.Entry) {
			name, op := settleName(list[i].State)
			one.Operation, one.Rule, one.FaultOperation = name, rules[i], op.String()
		})
	}()
	if len(list) == 1 || n.c.bus.o.Faults.Armed() { // fault rules depend on the order
		for i, s := range list {
			states[i], rules[i] = n.settle(ctx, s)
		}
		return states
	}
	n.settleAll(ctx, list, states)
	return states
}

// settleAll settles messages together, except those that a transaction will settle. It sets the state of
// each.
func (n *entityMessageSource) settleAll(ctx context.Context, list []amqp.Settlement,
	states []frame.DeliveryState) {
	at := make([]int, 0, len(list)) // indexes of those that are settled together
	tokens := make([]message.UUID, 0, len(list))
	wanted := make([]queue.SettlementRequest, 0, len(list))
	for i, s := range list {
		token, ok := tokenOf(s.Tag)
		if _, inTransaction := s.State.(*frame.Transactional); inTransaction || !ok ||
			n.mode == queue.ReceiveAndDelete {
			states[i], _ = n.settle(ctx, s)
			continue
		}
		how, answer, err := settlementOf(s.State)
		if err != nil {
			states[i] = n.rejected(err)
			continue
		}
		states[i] = answer
		at, tokens, wanted = append(at, i), append(tokens, token), append(wanted, how)
	}
	for i, err := range n.c.queues.SettleAll(ctx, n.at, tokens, wanted) {
		if err != nil {
			states[at[i]] = n.rejected(err)
		}
	}
}

// settle settles one message. It returns the client's state if the settlement succeeds, and a rejection
// otherwise. rule is the id of the fault rule that applied; "": none.
func (n *entityMessageSource) settle(ctx context.Context,
	s amqp.Settlement) (told frame.DeliveryState, rule string) {
	token, ok := tokenOf(s.Tag)
	tx, err := n.c.join(s.State, transactionalOperation{link: n.link, at: n.at,
		partition: func() (string, error) { return n.c.queues.LockedPartition(ctx, n.at, token) }})
	if err != nil {
		return n.rejected(err), ""
	}
	state := s.State
	if part, inTransaction := state.(*frame.Transactional); inTransaction {
		state = part.Outcome
	}
	wanted, answer, err := settlementOf(state)
	switch {
	case err != nil:
		return n.rejected(err), ""
	case !ok || n.mode == queue.ReceiveAndDelete:
		return answer, "" // it was settled when it was sent
	}
	settle := func() frame.DeliveryState {
		if err := n.c.queues.Settle(ctx, n.at, token, wanted, tx); err != nil {
			return n.rejected(err)
		}
		return joined(s.State, answer)
	}
	if !n.c.bus.o.Faults.Armed() {
		return settle(), ""
	}
	return n.c.withFaults(settleOperations[wanted.Outcome], n.link, n.at.String(), settle,
		func() { n.loseLock(ctx, token) })
}

// rejected returns the rejection of a settlement. If the server itself has failed, the settlement may have
// happened or may succeed later: rejected then detaches the link, and the client receives no outcome. A
// client treats a delivery whose settlement was rejected as settled: if the Go SDK tries again after such an
// error, it reports success without a request to the server.
func (n *entityMessageSource) rejected(err error) frame.DeliveryState {
	answer := n.c.asError(err, n.at.String())
	if own := (*entity.Error)(nil); errors.As(err, &own) {
		switch own.Code {
		case entity.CodeStorage, entity.CodeCancelled, entity.CodeInternal:
			n.link.Detach(answer)
		}
	}
	return &frame.Rejected{Error: answer}
}

// settlementOf returns the settlement that a state requests, and the state that confirms it.
func settlementOf(state frame.DeliveryState) (s queue.SettlementRequest, answer frame.DeliveryState,
	err error) {
	switch state := state.(type) {
	case *frame.Accepted:
		return queue.SettlementRequest{Outcome: queue.Complete}, state, nil
	case *frame.Modified:
		s.Outcome = queue.Abandon
		if state.UndeliverableHere {
			s.Outcome = queue.Defer
		}
		s.Modify, err = properties(state.Annotations)
		return s, &frame.Modified{DeliveryFailed: state.DeliveryFailed,
			UndeliverableHere: state.UndeliverableHere}, err
	case *frame.Rejected:
		s, err = deadLetter(state.Error)
		return s, &frame.Rejected{}, err
	}
	return queue.SettlementRequest{Outcome: queue.Release}, &frame.Released{}, nil
}

// deadLetter decodes the reason with which a client dead-letters a message.
func deadLetter(e *frame.Error) (s queue.SettlementRequest, err error) {
	s.Outcome = queue.DeadLetter
	switch {
	case e == nil:
		return s, nil
	case e.Condition != condDeadLetter:
		reason := string(e.Condition)
		s.Reason, s.Description = &reason, &e.Description
		return s, nil
	}
	var others wire.Map
	for _, p := range e.Info {
		name, _ := nameOf(p.Key)
		text, isText := p.Value.(string)
		switch {
		case name == propReason && isText:
			s.Reason = &text
		case name == propDescription && isText:
			s.Description = &text
		default:
			others = append(others, p)
		}
	}
	s.Modify, err = properties(others)
	return s, err
}

func nameOf(key any) (name string, ok bool) {
	switch k := key.(type) {
	case string:
		return k, true
	case wire.Symbol:
		return string(k), true
	}
	return "", false
}

// properties converts a map in a client's frame to application properties of a message.
func properties(m wire.Map) (list []message.ApplicationProperty, err error) {
	for _, p := range m {
		name, ok := nameOf(p.Key)
		if !ok {
			return nil, &entity.Error{Code: entity.CodeArgument,
				Message: "The name of a property to modify is no string."}
		}
		value, err := wire.Append(nil, p.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, message.ApplicationProperty{Name: name, Value: value})
	}
	return list, nil
}
