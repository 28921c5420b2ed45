package sdktest

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// TestRestarts stops the server, and later kills it. After each restart an existing client must find all
// data unchanged, and its etags and session tokens must still be valid.
func TestRestarts(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "--data", dir)
	client := connect(t, s, "http")
	db := newDatabase(t, client, "db")
	c := newContainer(t, db, azcosmos.ContainerProperties{
		ID: "movies", DefaultTimeToLive: ptr(int32(-1)),
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/genre"}, Version: 2},
	})
	all := movies(t)
	loadMovies(t, c, all)
	was, err := c.Read(t.Context(), nil)
	must(t, err)

	for _, end := range []struct {
		name string
		end  func() error
	}{{"stop", s.Stop}, {"kill", s.Kill}} {
		m := &all[len(end.name)]
		res, err := c.ReplaceItem(t.Context(), m.pk, m.id, m.body, nil)
		must(t, err)
		must(t, end.end())
		must(t, s.Start(t.Context()))
		wantMovies(t, c, all)
		now, err := c.Read(t.Context(), nil)
		must(t, err)
		if was.ETag != now.ETag || was.ContainerProperties.ResourceID != now.ContainerProperties.ResourceID || *now.ContainerProperties.DefaultTimeToLive != -1 {
			t.Errorf("%s: the container was %+v and is %+v", end.name, was.ContainerProperties, now.ContainerProperties)
		}
		read, err := c.ReadItem(t.Context(), m.pk, m.id, &azcosmos.ItemOptions{SessionToken: res.SessionToken})
		must(t, err)
		if read.ETag != res.ETag {
			t.Errorf("%s: etag %s became %s", end.name, res.ETag, read.ETag)
		}
		_, err = c.ReplaceItem(t.Context(), m.pk, m.id, m.body, &azcosmos.ItemOptions{IfMatchEtag: ptr(azcore.ETag(`"old"`))})
		wantStatus(t, err, 412)
		again, err := c.ReplaceItem(t.Context(), m.pk, m.id, m.body, &azcosmos.ItemOptions{IfMatchEtag: &res.ETag})
		must(t, err)
		if again.ETag == res.ETag {
			t.Errorf("%s: a replace kept the etag %s", end.name, res.ETag)
		}
	}
	must(t, s.Stop())
	check(t, dir)
}

// TestMemoryServerRestart checks that a server in memory has no data after a restart, and that a client can
// still use a session token from before it.
func TestMemoryServerRestart(t *testing.T) {
	s := start(t, "--memory")
	client := connect(t, s, "http")
	c := newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
	before := create(t, c, "1", "")
	must(t, s.Stop())
	must(t, s.Start(t.Context()))
	_, err := c.ReadItem(t.Context(), pkA, "1", nil)
	wantStatus(t, err, 404)
	c = newContainer(t, newDatabase(t, client, "db"), azcosmos.ContainerProperties{ID: "c"})
	after := create(t, c, "1", "")
	if after.ETag == before.ETag {
		t.Errorf("the etag %s names two items", after.ETag)
	}
	_, err = c.ReadItem(t.Context(), pkA, "1", &azcosmos.ItemOptions{SessionToken: before.SessionToken})
	must(t, err)
}
