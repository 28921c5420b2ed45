package enginetest

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// testSettle checks that everything that was read is durable when Settle returns, and that Settle does not
// wait for running transactions.
func testSettle(t *testing.T, s *testedEngine) {
	if err := s.Settle(ctx, []byte("unused"), 0); err != nil {
		t.Error(err)
	}
	s.next("a")
	var shown uint64
	_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
		shown = tx.NextLSN([]byte("a"))
		tx.Set([]byte("a/shown"), []byte("x"))
		tx.Relax()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	running, end, ended := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		_, err := s.Update(ctx, keys("a"), func(tx engine.Txn) error {
			tx.NextLSN([]byte("a"))
			tx.Set([]byte("a/late"), []byte("x"))
			close(running)
			<-end
			return nil
		})
		ended <- err
	}()
	<-running
	if err := s.Settle(ctx, []byte("a"), shown); err != nil {
		t.Error(err)
	}
	if h := s.Horizon([]byte("a")); h != shown {
		t.Errorf("the horizon is %d after %d was settled", h, shown)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if h := s.Horizon([]byte("a")); h != shown+1 {
		t.Errorf("the horizon is %d after %d was acknowledged", h, shown+1)
	}
}
