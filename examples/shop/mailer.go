package main

import (
	"context"
	"encoding/json"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Mailer writes to those who have left a cart until its hour was over. It reads the change feed of the
// container that such carts are moved to.
type Mailer struct {
	shop  *Shop
	mail  func(ctx context.Context, user string, items []string) error
	since *string // where the feed goes on; nil: at its beginning
}

// NewMailer makes one that begins at the feed's beginning: whom it has mailed is in the documents.
func NewMailer(s *Shop, mail func(ctx context.Context, user string, items []string) error) *Mailer {
	return &Mailer{shop: s, mail: mail}
}

// Round mails for all carts that have come since the last round. With an error the next round goes on where
// this one has ended.
func (m *Mailer) Round(ctx context.Context) error {
	all := &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	for {
		options := &azcosmos.ChangeFeedOptions{FeedRange: all, Continuation: m.since}
		page, err := m.shop.abandoned.ReadChangeFeed(ctx, options)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := m.one(ctx, item); err != nil {
				return err
			}
		}
		if page.ContinuationToken != "" {
			m.since = &page.ContinuationToken
		}
		if len(page.Items) == 0 {
			return nil
		}
	}
}

// one mails for one cart, unless that was done, and then marks it: rather two mails than none.
func (m *Mailer) one(ctx context.Context, item []byte) error {
	var cart struct {
		Cart
		Mailed bool `json:"mailed"`
	}
	if err := json.Unmarshal(item, &cart); err != nil || cart.Mailed {
		return err
	}
	if err := m.mail(ctx, cart.User, cart.Items); err != nil {
		return err
	}
	var mark azcosmos.PatchOperations
	mark.AppendSet("/mailed", true)
	_, err := m.shop.abandoned.PatchItem(ctx, key(cart.User), cart.ID, mark, nil)
	return err
}
