package main

import (
	"context"
	"encoding/json"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// AbandonedCartMailer sends a mail to each customer whose cart has expired. It reads the change feed of the
// container to which expired carts are moved.
type AbandonedCartMailer struct {
	shop  *Shop
	mail  func(ctx context.Context, user string, items []string) error
	since *string // position in the feed; nil: its beginning
}

// NewAbandonedCartMailer returns an AbandonedCartMailer that reads the feed from its beginning. It does not
// repeat mails, because each mailed cart is marked in its document.
func NewAbandonedCartMailer(s *Shop, mail func(ctx context.Context, user string,
	items []string) error) *AbandonedCartMailer {
	return &AbandonedCartMailer{shop: s, mail: mail}
}

// Round sends the mails for all carts that have expired since the last round. If it fails, the next round
// reads the same page of the feed again.
func (m *AbandonedCartMailer) Round(ctx context.Context) error {
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

// one sends the mail for one cart, unless the cart is marked, and then marks it. If the process ends between
// the two steps, the mail is sent twice rather than not at all.
func (m *AbandonedCartMailer) one(ctx context.Context, item []byte) error {
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
