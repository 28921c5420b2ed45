package laboratory

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// ProcessedMessagesResult is the response to a request that moves, settles or deletes messages: how many were
// processed, and which could not be.
type ProcessedMessagesResult struct {
	Messages int              `json:"messages" description:"Number of messages that were processed."`
	Failed   []RefusedMessage `json:"failed,omitempty" description:"Messages that were not processed."`
}

// RefusedMessage is a message that a request could not move, settle or delete, and the reason.
type RefusedMessage struct {
	Number    int64  `json:"sequenceNumber,omitempty"`
	LockToken string `json:"lockToken,omitempty"`
	Message   string `json:"message" description:"Reason of the failure."`
}

// forEach calls do for each of the messages and counts the successful calls. If an error concerns only one
// message, it continues with the next one; any other error ends the request.
func (out *ProcessedMessagesResult) forEach(ctx context.Context, numbers []int64,
	do func(number int64) error) error {
	for _, number := range numbers {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := do(number)
		if err == nil {
			out.Messages++
			continue
		}
		text, ended := refusal(err)
		if ended != nil {
			return ended
		}
		out.Failed = append(out.Failed, RefusedMessage{Number: number, Message: text})
	}
	return nil
}

// refusal returns the text of err if it concerns only one message. If it concerns the whole request, refusal
// returns err as ended.
func refusal(err error) (text string, ended error) {
	switch entity.ErrorCodeOf(err) {
	case entity.CodeMessageNotFound, entity.CodeMessageLockLost, entity.CodeSessionLockLost,
		entity.CodeMessageTooLarge, entity.CodeNotAllowed, entity.CodeArgument:
		return err.Error(), nil
	}
	return "", ofQueues(err)
}

type resubmitMessagesRequest struct {
	EntityPath
	Count int `json:"count,omitempty" minimum:"1" maximum:"1000000" default:"1000000"`

	Number int64 `json:"sequenceNumber,omitempty" minimum:"1" description:"The only dead letter to send."`

	Numbers sequenceNumbers `json:"sequenceNumbers,omitempty" description:"The only dead letters to send."`
	Edited  bool            `json:"edited,omitempty" description:"Send the message in this body instead."`
	MessageToSend
	_ struct{} `body:"optional" takes:"resubmit takes %" additionalProperties:"false"`
}

// resubmit sends dead letters again, to the queue in which they were dead-lettered, or to the topic of their
// subscription. The dead letter is deleted in the transaction that sends the message, so the message is
// neither lost nor duplicated.
func (l *Laboratory) resubmit(ctx context.Context, in *resubmitMessagesRequest) (out ProcessedMessagesResult,
	err error) {
	to := entity.Address{Entity: in.entity.Path}
	if topic, _, ok := to.Subscription(); ok {
		to.Entity = topic
	}
	from := entity.Address{Entity: in.entity.Path, Sub: entity.DeadLetters}
	if in.Edited && in.Number == 0 {
		return out, route.BadRequest("'edited' requires the 'sequenceNumber' of the dead letter.")
	}
	switch {
	case in.Number > 0:
		if err = in.resubmitOne(ctx, from, to, in.Number); err == nil {
			out.Messages = 1
		}
		return out, ofQueues(err)
	case len(in.Numbers) > 0:
		err = out.forEach(ctx, in.Numbers, func(number int64) error {
			return in.resubmitOne(ctx, from, to, number)
		})
		return out, err
	}
	r, err := in.queues.OpenReceiver(ctx, from, queue.ReceiverOptions{Name: "laboratory"})
	if err != nil {
		return out, ofQueues(err)
	}
	defer r.Close()
	for out.Messages < in.Count {
		list, err := r.TryReceive(ctx, min(in.Count-out.Messages, resubmitted))
		if err != nil || len(list) == 0 {
			return out, ofQueues(err)
		}
		if err := in.sendAgain(ctx, from, to, list); err != nil {
			return out, ofQueues(err)
		}
		out.Messages += len(list)
	}
	return out, nil
}

// resubmitted is the maximum number of dead letters that one transaction sends again.
const resubmitted = 20

// resubmitOne sends one dead letter again. If that fails, it releases the lock of the message.
func (in *resubmitMessagesRequest) resubmitOne(ctx context.Context, from, to entity.Address,
	number int64) error {
	d, err := in.queues.ReceiveNumber(ctx, from, number)
	if err != nil {
		return err
	}
	if err = in.sendAgain(ctx, from, to, []queue.Delivery{d}); err != nil {
		return releaseLock(ctx, in.queues, from, d.Token, err)
	}
	return nil
}

// releaseLock releases the lock of a message after a failure, which does not count as a delivery. It returns
// the failure.
func releaseLock(ctx context.Context, queues *queue.Queues, at entity.Address, token message.UUID,
	why error) error {
	// If this fails, the lock lapses at its time.
	_ = queues.Settle(ctx, at, token, queue.SettlementRequest{Outcome: queue.Release}, nil)
	return why
}

// rebuild returns the message to send in place of a dead letter.
func (in *resubmitMessagesRequest) rebuild(dead *message.Message) (*message.Message, error) {
	if in.Edited {
		return in.build(in.queues.Now())
	}
	m := dead.Clone()
	for _, name := range []string{"DeadLetterReason", "DeadLetterErrorDescription"} {
		m.Set(name, wire.AppendNull(nil))
	}
	return m, nil
}

func (in *resubmitMessagesRequest) sendAgain(ctx context.Context, from, to entity.Address,
	list []queue.Delivery) error {
	tx, err := in.queues.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after Commit
	for _, d := range list {
		m, err := in.rebuild(d.Message)
		if err != nil {
			return err
		}
		if err := in.queues.Send(ctx, to, []*message.Message{m}, tx); err != nil {
			return err
		}
		if err := in.queues.Settle(ctx, from, d.Token, queue.SettlementRequest{Outcome: queue.Complete},
			tx); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

type deleteMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	Numbers sequenceNumbers `json:"sequenceNumbers" missing:"The body must have 'sequenceNumbers'."`
	_       struct{}        `takes:"delete takes %" additionalProperties:"false"`
}

// deleteMessages deletes messages by their sequence numbers, each in its own transaction. It skips locked
// messages. Scheduled messages are canceled.
func (l *Laboratory) deleteMessages(ctx context.Context,
	in *deleteMessagesRequest) (out ProcessedMessagesResult,
	err error) {
	at := in.address(in.Entity)
	err = out.forEach(ctx, in.Numbers, func(number int64) error {
		d, err := in.queues.ReceiveNumber(ctx, at, number)
		if entity.ErrorCodeOf(err) == entity.CodeMessageNotFound && !in.DeadLetters {
			return in.queues.CancelScheduled(ctx, at, []int64{number}, nil)
		}
		if err != nil {
			return err
		}
		err = in.queues.Settle(ctx, at, d.Token, queue.SettlementRequest{Outcome: queue.Complete}, nil)
		if err != nil {
			return releaseLock(ctx, in.queues, at, d.Token, err)
		}
		return nil
	})
	return out, err
}

type purgeMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	_ struct{} `body:"optional" takes:"purge takes %" additionalProperties:"false"`
}

func (l *Laboratory) purgeMessages(ctx context.Context,
	in *purgeMessagesRequest) (out ProcessedMessagesResult,
	err error) {
	before := in.queues.Now().Add(time.Millisecond)
	for {
		n, err := in.queues.DeleteMessages(ctx, in.address(in.Entity), before, purgedAtOnce, nil)
		out.Messages += n
		if err != nil || n == 0 {
			return out, ofQueues(err)
		}
	}
}
