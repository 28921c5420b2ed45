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

// The names of the shop's database, of its containers, and of the document of a cart. A customer's cart and
// orders are in one partition, so that a checkout is one transaction. A cart has no ttl of its own: it
// expires after the container's default, cartSeconds.
const (
	database  = "shop"
	customers = "customers"
	abandoned = "abandoned"
	cartID    = "cart"
)

const (
	cartSeconds  = int32(60 * 60)
	keepSeconds  = int32(30 * 24 * 60 * 60) // for abandoned carts
	neverExpires = -1
)

// ErrNoCart is returned if a customer has no cart, or if it has expired.
var ErrNoCart = errors.New("there is no cart")

// Cart holds the items that a customer has chosen but not bought yet. It expires an hour after its last
// change.
type Cart struct {
	ID    string   `json:"id"`
	User  string   `json:"user"`
	Items []string `json:"items"`
}

// Order is what a customer has bought. It never expires.
type Order struct {
	ID    string   `json:"id"`
	User  string   `json:"user"`
	Items []string `json:"items"`
	TTL   int      `json:"ttl"`
}

// Shop stores carts and orders in two containers of Cosmos DB.
type Shop struct {
	customers, abandoned *azcosmos.ContainerClient
}

// Open returns a shop that stores its data in the account of client. It creates the database and the
// containers if they do not exist.
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
		if statusOf(err) != http.StatusConflict { // otherwise another request has created the cart
			return err
		}
	}
}

// Cart returns the customer's cart. It fails with ErrNoCart if there is none.
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

// Checkout creates an order from the customer's cart and deletes the cart, in one transaction. It fails with
// ErrNoCart if there is no cart, or if the cart expires before the transaction.
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
		case http.StatusPreconditionFailed: // the cart has changed: try again with its current items
		case http.StatusNotFound:
			return Order{}, ErrNoCart
		default:
			return Order{}, fmt.Errorf("checkout of %s: status %d", user, status)
		}
	}
}

// Orders returns all orders of the customer.
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

// statusOf returns the HTTP status in an error of the SDK, or 0 for nil and for other errors.
func statusOf(err error) int {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
