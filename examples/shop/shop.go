package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Where the shop's documents lie. A customer's cart and orders are in one partition, so that a checkout is
// one transaction. What has no ttl of its own there lives for an hour: the carts.
const (
	database  = "shop"
	customers = "customers"
	abandoned = "abandoned"
	cartID    = "cart"
)

const (
	cartSeconds  = int32(60 * 60)
	keepSeconds  = int32(30 * 24 * 60 * 60) // of abandoned carts
	neverExpires = -1
)

// ErrNoCart says that a customer has no cart, or none any more.
var ErrNoCart = errors.New("there is no cart")

// Cart is what a customer may buy. Each change starts its hour anew.
type Cart struct {
	ID    string   `json:"id"`
	User  string   `json:"user"`
	Items []string `json:"items"`
}

// Order is what a customer has bought. It lives for ever.
type Order struct {
	ID    string   `json:"id"`
	User  string   `json:"user"`
	Items []string `json:"items"`
	TTL   int      `json:"ttl"`
}

// Shop keeps carts and orders.
type Shop struct {
	customers, abandoned *azcosmos.ContainerClient
}

// Open finds the shop's containers, and makes those that are missing.
func Open(ctx context.Context, client *azcosmos.Client) (*Shop, error) {
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: database}, nil)
	if err != nil && statusOf(err) != http.StatusConflict {
		return nil, err
	}
	db, err := client.NewDatabase(database)
	if err != nil {
		return nil, err
	}
	s := &Shop{}
	if s.customers, err = container(ctx, db, customers, cartSeconds); err != nil {
		return nil, err
	}
	s.abandoned, err = container(ctx, db, abandoned, keepSeconds)
	return s, err
}

func container(ctx context.Context, db *azcosmos.DatabaseClient, id string, seconds int32) (
	*azcosmos.ContainerClient, error) {
	_, err := db.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     id,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/user"}, Version: 2},
		DefaultTimeToLive:      &seconds,
	}, nil)
	if err != nil && statusOf(err) != http.StatusConflict {
		return nil, err
	}
	return db.NewContainer(id)
}

// Add puts an item into the customer's cart.
func (s *Shop) Add(ctx context.Context, user, item string) error {
	var more azcosmos.PatchOperations
	more.AppendAdd("/items/-", item)
	for {
		_, err := s.customers.PatchItem(ctx, key(user), cartID, more, nil)
		if statusOf(err) != http.StatusNotFound {
			return err
		}
		first, err := json.Marshal(Cart{ID: cartID, User: user, Items: []string{item}})
		if err != nil {
			return err
		}
		_, err = s.customers.CreateItem(ctx, key(user), first, nil)
		if statusOf(err) != http.StatusConflict { // else somebody else has begun it meanwhile
			return err
		}
	}
}

// Cart is the customer's cart. ErrNoCart: there is none.
func (s *Shop) Cart(ctx context.Context, user string) (Cart, error) {
	cart, _, err := s.cart(ctx, user)
	return cart, err
}

func (s *Shop) cart(ctx context.Context, user string) (cart Cart, etag azcore.ETag, err error) {
	res, err := s.customers.ReadItem(ctx, key(user), cartID, nil)
	if statusOf(err) == http.StatusNotFound {
		return Cart{}, "", ErrNoCart
	}
	if err != nil {
		return Cart{}, "", err
	}
	return cart, res.ETag, json.Unmarshal(res.Value, &cart)
}

// Checkout makes an order of the customer's cart, and ends the cart, in one transaction. ErrNoCart: there is
// none, or its hour has ended before the order was there.
func (s *Shop) Checkout(ctx context.Context, user string) (Order, error) {
	for {
		cart, etag, err := s.cart(ctx, user)
		if err != nil {
			return Order{}, err
		}
		order := Order{ID: "order-" + rand.Text(), User: user, Items: cart.Items, TTL: neverExpires}
		raw, err := json.Marshal(order)
		if err != nil {
			return Order{}, err
		}
		batch := s.customers.NewTransactionalBatch(key(user))
		batch.DeleteItem(cartID, &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &etag})
		batch.CreateItem(raw, nil)
		res, err := s.customers.ExecuteTransactionalBatch(ctx, batch, nil)
		switch {
		case err != nil:
			return Order{}, err
		case res.Success:
			return order, nil
		}
		switch status := res.OperationResults[0].StatusCode; status {
		case http.StatusPreconditionFailed: // the cart has changed: again, with what is in it now
		case http.StatusNotFound:
			return Order{}, ErrNoCart
		default:
			return Order{}, fmt.Errorf("checkout of %s: status %d", user, status)
		}
	}
}

// Orders are all orders of the customer.
func (s *Shop) Orders(ctx context.Context, user string) ([]Order, error) {
	var orders []Order
	pages := s.customers.NewQueryItemsPager("SELECT * FROM c WHERE c.ttl = -1", key(user), nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			var o Order
			if err := json.Unmarshal(item, &o); err != nil {
				return nil, err
			}
			orders = append(orders, o)
		}
	}
	return orders, nil
}

func key(user string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(user) }

// statusOf is the HTTP status that an error of the SDK tells; 0 for another one, and for none.
func statusOf(err error) int {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
