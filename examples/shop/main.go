// Command shop is a shop whose carts expire: see README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("COSMOS_ENDPOINT"), os.Getenv("COSMOS_KEY")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, endpoint, key string) error {
	client, err := connect(endpoint, key)
	if err != nil {
		return err
	}
	shop, err := Open(ctx, client)
	if err != nil {
		return err
	}
	if err := KeepAbandoned(ctx, endpoint, key); err != nil {
		log.Print(err, ": nobody is reminded of a cart")
	}
	server := &http.Server{Addr: "localhost:8080", Handler: handler(shop), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		remind(ctx, NewAbandonedCartMailer(shop, func(_ context.Context, user string, items []string) error {
			log.Printf("to %s: you have left %q in your cart", user, items) // a real shop sends a mail here
			return nil
		}))
		if err := server.Close(); err != nil {
			log.Print(err)
		}
	}()
	log.Print("the shop is at http://", server.Addr)
	err = server.ListenAndServe()
	if ctx.Err() == nil {
		return err
	}
	<-done
	return nil
}

// connect returns a client for an endpoint with a key.
func connect(endpoint, key string) (*azcosmos.Client, error) {
	credential, err := azcosmos.NewKeyCredential(key)
	if err != nil {
		return nil, err
	}
	return azcosmos.NewClientWithKey(endpoint, credential, nil)
}

// remind calls m.Round every ten seconds until ctx ends, and logs its errors.
func remind(ctx context.Context, m *AbandonedCartMailer) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := m.Round(ctx); err != nil && ctx.Err() == nil {
				log.Print("mailing: ", err)
			}
		}
	}
}

// handler returns the HTTP handler of the shop.
func handler(shop *Shop) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{user}/cart/{item}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, nil, shop.Add(r.Context(), r.PathValue("user"), r.PathValue("item")))
	})
	mux.HandleFunc("GET /{user}/cart", func(w http.ResponseWriter, r *http.Request) {
		cart, err := shop.Cart(r.Context(), r.PathValue("user"))
		answer(w, cart, err)
	})
	mux.HandleFunc("POST /{user}/checkout", func(w http.ResponseWriter, r *http.Request) {
		order, err := shop.Checkout(r.Context(), r.PathValue("user"))
		answer(w, order, err)
	})
	mux.HandleFunc("GET /{user}/orders", func(w http.ResponseWriter, r *http.Request) {
		orders, err := shop.Orders(r.Context(), r.PathValue("user"))
		answer(w, orders, err)
	})
	return mux
}

func answer(w http.ResponseWriter, value any, err error) {
	switch {
	case errors.Is(err, ErrNoCart):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		log.Print(err)
		http.Error(w, "the shop is closed", http.StatusInternalServerError)
	case value == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(value); err != nil {
			log.Print(err)
		}
	}
}
