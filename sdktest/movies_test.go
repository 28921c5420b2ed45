package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// movie is one document of the data set testdata/movies.json, with its id and partition key.
type movie struct {
	id   string
	pk   azcosmos.PartitionKey
	body []byte
}

// movies reads the data set. Each document gets an id from its position in the file, and a member "genre",
// which is its "Major Genre" and the partition key. It is null for about one document in twelve.
func movies(t *testing.T) []movie {
	t.Helper()
	raw, err := os.ReadFile("testdata/movies.json")
	must(t, err)
	var docs []json.RawMessage
	must(t, json.Unmarshal(raw, &docs))
	all := make([]movie, len(docs))
	for i, d := range docs {
		var m struct {
			Genre *string `json:"Major Genre"`
		}
		must(t, json.Unmarshal(d, &m))
		all[i].id = fmt.Sprintf("movie-%04d", i)
		genre := "null"
		all[i].pk = azcosmos.NullPartitionKey
		if m.Genre != nil {
			all[i].pk = azcosmos.NewPartitionKeyString(*m.Genre)
			quoted, err := json.Marshal(*m.Genre)
			must(t, err)
			genre = string(quoted)
		}
		head := fmt.Sprintf(`{"id":%q,"genre":%s,`, all[i].id, genre)
		all[i].body = append([]byte(head), bytes.TrimLeft(d, " \n\r\t{")...)
	}
	return all
}

// loadMovies creates every movie.
func loadMovies(t *testing.T, c *azcosmos.ContainerClient, all []movie) {
	t.Helper()
	must(t, inParallel(t.Context(), len(all), 16, func(ctx context.Context, i int) error {
		_, err := c.CreateItem(ctx, all[i].pk, all[i].body, nil)
		return err
	}))
}

// wantMovies reads every movie by its id and partition key, and compares it with the document that was
// sent.
func wantMovies(t *testing.T, c *azcosmos.ContainerClient, all []movie) {
	t.Helper()
	got := make([][]byte, len(all))
	must(t, inParallel(t.Context(), len(all), 16, func(ctx context.Context, i int) error {
		res, err := c.ReadItem(ctx, all[i].pk, all[i].id, nil)
		got[i] = res.Value
		return err
	}))
	for i := range all {
		wantSame(t, got[i], all[i].body)
	}
}

func TestMovies(t *testing.T) {
	s := start(t, "--memory")
	all := movies(t)
	if len(all) != 3201 {
		t.Fatalf("%d documents", len(all))
	}
	eachScheme(t, s, func(t *testing.T, client *azcosmos.Client, name string) {
		db := newDatabase(t, client, name)
		c := newContainer(t, db, azcosmos.ContainerProperties{
			ID: "movies", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/genre"}, Version: 2},
		})
		loadMovies(t, c, all)
		wantMovies(t, c, all)
		t.Run("listed", func(t *testing.T) { listMovies(t, c, all) })
		t.Run("by genre", func(t *testing.T) { queryGenre(t, c, all) })
		t.Run("by title", func(t *testing.T) { queryTitle(t, c) })
	})
}

// listMovies queries the whole container with several page sizes, and checks that each document is
// returned once.
func listMovies(t *testing.T, c *azcosmos.ContainerClient, all []movie) {
	for _, size := range []int32{-1, 100, 1000} {
		items, pages := queryAll(t, c, "SELECT * FROM c", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{PageSizeHint: size})
		if len(items) != len(all) {
			t.Fatalf("page size %d: %d documents in pages %v, want %d", size, len(items), pages, len(all))
		}
		seen := map[string][]byte{}
		for _, raw := range items {
			id, _ := decode(t, raw)["id"].(string)
			seen[id] = raw
		}
		for _, m := range all {
			wantSame(t, seen[m.id], m.body)
		}
	}
}

// queryGenre queries two partition keys, one of which is null, and checks that exactly the documents of
// that genre are returned.
func queryGenre(t *testing.T, c *azcosmos.ContainerClient, all []movie) {
	for genre, pk := range map[string]azcosmos.PartitionKey{"Western": azcosmos.NewPartitionKeyString("Western"), "": azcosmos.NullPartitionKey} {
		want := 0
		for _, m := range all {
			if g, _ := decode(t, m.body)["genre"].(string); g == genre {
				want++
			}
		}
		items, _ := queryAll(t, c, "SELECT * FROM c", pk, &azcosmos.QueryOptions{PageSizeHint: 10})
		if len(items) != want {
			t.Errorf("genre %q: %d documents, want %d", genre, len(items), want)
		}
		for _, raw := range items {
			if g, _ := decode(t, raw)["genre"].(string); g != genre {
				t.Errorf("genre %q: got one of %q", genre, g)
			}
		}
	}
}

func queryTitle(t *testing.T, c *azcosmos.ContainerClient) {
	o := &azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@title", Value: "The Matrix"}}}
	items, _ := queryAll(t, c, "SELECT * FROM c WHERE c.Title = @title", azcosmos.NewPartitionKey(), o)
	if len(items) != 1 || decode(t, items[0])["Director"] != "Andy Wachowski" {
		t.Errorf("got %s", items)
	}
}
