package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/mayflytest"
)

// open starts a Mayfly server with a clock that the test can move, and returns a shop on it and the
// server.
func open(t *testing.T, opts ...mayflytest.Option) (*Shop, *mayflytest.Mayfly) {
	t.Helper()
	m := mayflytest.New(t, opts...)
	client, err := connect(m.URL(), m.Key())
	must(t, err)
	shop, err := Open(t.Context(), client)
	must(t, err)
	must(t, KeepAbandoned(t.Context(), m.URL(), m.Key()))
	return shop, m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantItems(t *testing.T, s *Shop, user string, want ...string) {
	t.Helper()
	cart, err := s.Cart(t.Context(), user)
	if err != nil || !slices.Equal(cart.Items, want) {
		t.Fatalf("the cart of %s: %q, %v; want %q", user, cart.Items, err, want)
	}
}

func wantNoCart(t *testing.T, s *Shop, user string) {
	t.Helper()
	if cart, err := s.Cart(t.Context(), user); !errors.Is(err, ErrNoCart) {
		t.Fatalf("%s has a cart: %q, %v", user, cart.Items, err)
	}
}

func TestCartExpiresHourAfterChange(t *testing.T) {
	t.Parallel()
	s, m := open(t)
	must(t, s.Add(t.Context(), "ada", "book"))
	m.Advance(time.Hour - time.Second)
	must(t, s.Add(t.Context(), "ada", "pen"))
	m.Advance(time.Hour - time.Second)
	wantItems(t, s, "ada", "book", "pen")
	m.Advance(time.Second)
	wantNoCart(t, s, "ada")
	must(t, s.Add(t.Context(), "ada", "lamp"))
	wantItems(t, s, "ada", "lamp")
}

func TestOrderDoesNotExpire(t *testing.T) {
	t.Parallel()
	s, m := open(t)
	must(t, s.Add(t.Context(), "ada", "book"))
	order, err := s.Checkout(t.Context(), "ada")
	must(t, err)
	wantNoCart(t, s, "ada")
	m.Advance(10 * 365 * 24 * time.Hour)
	orders, err := s.Orders(t.Context(), "ada")
	if err != nil || !reflect.DeepEqual(orders, []Order{order}) {
		t.Fatalf("%v, %v; want %v", orders, err, order)
	}
}

func TestCheckoutOfExpiredCart(t *testing.T) {
	t.Parallel()
	s, m := open(t)
	must(t, s.Add(t.Context(), "ada", "book"))
	m.Advance(time.Hour)
	if order, err := s.Checkout(t.Context(), "ada"); !errors.Is(err, ErrNoCart) {
		t.Fatalf("%v, %v", order, err)
	}
	if orders, err := s.Orders(t.Context(), "ada"); err != nil || len(orders) > 0 {
		t.Fatalf("%v, %v", orders, err)
	}
}

func TestAbandonedCartsAreMailedOnce(t *testing.T) {
	t.Parallel()
	s, m := open(t, mayflytest.WithRanges(3)) // several ranges, as in a large container
	var mails []string
	mail := func(_ context.Context, user string, items []string) error {
		mails = append(mails, fmt.Sprint(user, items))
		return nil
	}
	mailer := NewAbandonedCartMailer(s, mail)
	want := func(want ...string) {
		t.Helper()
		must(t, mailer.Round(t.Context()))
		slices.Sort(mails)
		if !slices.Equal(mails, want) {
			t.Fatalf("%q; want %q", mails, want)
		}
		mails = nil
	}

	must(t, s.Add(t.Context(), "ada", "book"))
	must(t, s.Add(t.Context(), "bob", "pen"))
	must(t, s.Add(t.Context(), "cyd", "lamp"))
	_, err := s.Checkout(t.Context(), "cyd")
	must(t, err)
	want()
	m.Advance(time.Hour)
	want("ada[book]", "bob[pen]")
	want()
	must(t, s.Add(t.Context(), "ada", "chair"))
	m.Advance(time.Hour)
	want("ada[chair]")
	mailer = NewAbandonedCartMailer(s, mail) // after a restart
	want()
}

// TestThrottledRequestIsRetried checks that the SDK repeats requests that the server throttles.
func TestThrottledRequestIsRetried(t *testing.T) {
	t.Parallel()
	s, m := open(t)
	busy := m.Fail(mayflytest.FaultRule{Fault: mayflytest.Throttled, Count: 2, RetryAfter: time.Millisecond})
	must(t, s.Add(t.Context(), "ada", "book"))
	wantItems(t, s, "ada", "book")
	if busy.Hits() != 2 {
		t.Errorf("%d hits", busy.Hits())
	}
}

func TestOverHTTP(t *testing.T) {
	t.Parallel()
	s, m := open(t)
	h := handler(s)
	ask := func(method, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return w.Code
	}
	steps := []struct {
		method, path string
		after        time.Duration
		want         int
	}{
		{"GET", "/ada/cart", 0, http.StatusNotFound},
		{"POST", "/ada/cart/book", 0, http.StatusNoContent},
		{"GET", "/ada/cart", 59 * time.Minute, http.StatusOK},
		{"GET", "/ada/cart", time.Minute, http.StatusNotFound},
		{"POST", "/ada/cart/pen", 0, http.StatusNoContent},
		{"POST", "/ada/checkout", 59 * time.Minute, http.StatusOK},
		{"POST", "/ada/checkout", 0, http.StatusNotFound},
		{"GET", "/ada/orders", time.Hour, http.StatusOK},
	}
	for _, step := range steps {
		m.Advance(step.after)
		if got := ask(step.method, step.path); got != step.want {
			t.Errorf("%s %s: %d, want %d", step.method, step.path, got, step.want)
		}
	}
}
