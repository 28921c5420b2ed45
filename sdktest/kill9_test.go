package sdktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const (
	killRounds  = 20
	killWriters = 32
)

// documentVersion is a version of a document: value is 0 if the document does not exist, and etag is empty
// until the write has been acknowledged.
type documentVersion struct {
	value int
	etag  azcore.ETag
}

// modelDocument is what a writer knows about one of its documents: the last acknowledged version, and the
// version that an operation without a response may have written.
type modelDocument struct {
	id      string
	acked   documentVersion
	pending *documentVersion // what an operation would have made of it whose answer never came
}

// documentWriter is a client that writes only its own documents, one operation at a time, so that it knows in
// which state each must be.
type documentWriter struct {
	name  string
	pk    azcosmos.PartitionKey
	rng   *rand.Rand
	docs  []*modelDocument
	value int
}

func (w *documentWriter) body(id string, value int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"pk":%q,"value":%d,"filler":"%0200d"}`, id, w.name, value, value)
}

// step makes one random write. After an error it is unknown whether the write took effect.
func (w *documentWriter) step(ctx context.Context, c *azcosmos.ContainerClient) error {
	var d *modelDocument
	if len(w.docs) == 0 || w.rng.IntN(3) == 0 {
		d = &modelDocument{id: fmt.Sprintf("%s-%d", w.name, len(w.docs))}
		w.docs = append(w.docs, d)
	} else {
		d = w.docs[w.rng.IntN(len(w.docs))]
	}
	w.value++
	next := documentVersion{value: w.value}
	match := &azcosmos.ItemOptions{IfMatchEtag: &d.acked.etag}
	var do func() (azcosmos.ItemResponse, error)
	switch kind := w.rng.IntN(4); {
	case d.acked.value == 0 && kind < 3:
		do = func() (azcosmos.ItemResponse, error) { return c.CreateItem(ctx, w.pk, w.body(d.id, w.value), nil) }
	case d.acked.value == 0 || kind == 0:
		do = func() (azcosmos.ItemResponse, error) { return c.UpsertItem(ctx, w.pk, w.body(d.id, w.value), nil) }
	case kind == 1:
		next.value = 0
		do = func() (azcosmos.ItemResponse, error) { return c.DeleteItem(ctx, w.pk, d.id, match) }
	default:
		do = func() (azcosmos.ItemResponse, error) {
			return c.ReplaceItem(ctx, w.pk, d.id, w.body(d.id, w.value), match)
		}
	}
	d.pending = &next
	res, err := do()
	if err != nil {
		return err
	}
	if next.value != 0 {
		next.etag = res.ETag
	}
	d.acked, d.pending = next, nil
	return nil
}

// settle compares a document with the version that the server has after a crash. This must be the last
// acknowledged version, or that of an operation without a response, which then becomes the acknowledged
// one.
func (d *modelDocument) settle(has documentVersion) error {
	pending := d.pending
	d.pending = nil
	switch {
	case has == d.acked:
		return nil
	case pending != nil && has.value == pending.value:
		d.acked = has
		return nil
	}
	return fmt.Errorf("%s: the server has %+v, acknowledged was %+v, under way %+v", d.id, has, d.acked, pending)
}

// TestKill9 repeatedly kills the server while clients write. After each restart all acknowledged writes
// must be there with their etags, the data folder must be consistent, and there must be nothing that no
// client wrote.
func TestKill9(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "--data", dir)
	client := connect(t, s, "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{
		ID: "c", UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/value"}}}},
	})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	writers := make([]*documentWriter, killWriters)
	for i := range writers {
		name := fmt.Sprintf("w%02d", i)
		writers[i] = &documentWriter{name: name, pk: azcosmos.NewPartitionKeyString(name), rng: rand.New(rand.NewPCG(seed, uint64(i)))}
	}
	total := int64(0)
	for round := range killRounds {
		acks := writeAndKill(t, s, c, writers, int64(20+rand.N(400)))
		total += acks
		check(t, dir)
		must(t, s.Start(t.Context()))
		state := readState(t, c)
		for _, w := range writers {
			for _, d := range w.docs {
				if err := d.settle(state[d.id]); err != nil {
					t.Errorf("round %d: %v", round+1, err)
				}
				delete(state, d.id)
			}
		}
		if len(state) > 0 {
			t.Errorf("round %d: nobody wrote %v", round+1, state)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d writes acknowledged in %d rounds, none lost", total, killRounds)
	must(t, s.Stop())
	check(t, dir)
}

// writeAndKill lets the writers work, kills the server after the given number of acknowledged writes, and
// returns how many writes were acknowledged.
func writeAndKill(t *testing.T, s *Server, c *azcosmos.ContainerClient, writers []*documentWriter,
	after int64) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context()) // the SDK would go on trying for seconds
	defer cancel()
	var acks atomic.Int64
	var killed sync.Once
	var killErr error
	var all sync.WaitGroup
	for _, w := range writers {
		all.Go(func() {
			for {
				if err := w.step(ctx, c); err != nil {
					if status(err) > 0 {
						t.Errorf("%s: %v", w.name, err) // the server answered: that is not the crash
					}
					return
				}
				if acks.Add(1) >= after {
					killed.Do(func() {
						killErr = s.Kill()
						cancel()
					})
				}
			}
		})
	}
	all.Wait()
	must(t, killErr)
	if s.Running() {
		t.Fatal("the writers ended before the server did")
	}
	return acks.Load()
}

// readState queries all documents of a container, and returns their versions by id.
func readState(t *testing.T, c *azcosmos.ContainerClient) map[string]documentVersion {
	t.Helper()
	items, _ := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: 1000})
	state := map[string]documentVersion{}
	for _, raw := range items {
		m := decode(t, raw)
		var v documentVersion
		if _, err := fmt.Sscan(fmt.Sprint(m["value"]), &v.value); err != nil {
			t.Fatal(err)
		}
		v.etag = azcore.ETag(m["_etag"].(string))
		state[m["id"].(string)] = v
	}
	return state
}
