package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// TestKeys compares all stored keys and values of containers, after creates, replaces and deletes, with a
// golden file, because they are a format on disk.
func TestKeys(t *testing.T) {
	testdisk.Pebble(t, "the golden file has its ceilings")
	t.Parallel()
	datatest.Walk(t, "testdata/keys", func(t *testing.T, d *datatest.TestFileCommand) string {
		clock := ttl.NewManual(time.Unix(1_000_000, 0))
		e, err := testdisk.New(t).Open(t.Context())
		if err != nil {
			d.Fatalf("%v", err)
		}
		db, err := Open(t.Context(), e,
			Options{Clock: clock, ManualReaper: true, Ranges: int(d.Int("ranges", 1))})
		if err != nil {
			d.Fatalf("%v", err)
		}
		defer db.Close()
		database, err := db.CreateDatabase(t.Context(), "d", definition.Throughput{})
		if err != nil {
			d.Fatalf("%v", err)
		}
		var c *Container
		for _, line := range d.Lines() {
			verb, rest, _ := strings.Cut(line, " ")
			if c, err = keyStep(t, database, c, clock, verb, rest); err != nil {
				d.Fatalf("%s: %v", line, err)
			}
		}
		var out strings.Builder
		err = e.View(t.Context(), func(r engine.Reader) error { return printKeys(&out, r, c) })
		if err != nil {
			d.Fatalf("%v", err)
		}
		return out.String()
	})
}

// keyStep performs one line of a test case: verb is the operation and rest its argument, such as a
// document, from which the id and the partition key are taken. It returns the container after this step.
func keyStep(t *testing.T, d *Database, c *Container, clock *ttl.VirtualClock,
	verb, rest string) (*Container, error) {
	var err error
	switch verb {
	case "container":
		spec, _, perr := definition.ParseContainerSpec([]byte(rest), true)
		if perr != nil {
			return nil, perr
		}
		return d.CreateContainer(t.Context(), spec, definition.Throughput{})
	case "wait": // a second, or as long as is said
		d := time.Second
		if rest != "" {
			if d, err = time.ParseDuration(rest); err != nil {
				return nil, err
			}
		}
		clock.Advance(d)
	case "sweep":
		_, err = c.ds.in.SweepNow(t.Context())
	case "put":
		_, _, err = c.Upsert(t.Context(), definition.PartitionKey{}, []byte(rest), WriteOptions{})
	case "delete":
		body := []byte(rest)
		_, err = c.Delete(t.Context(), c.def.Extract(body), jsondoc.Get(body, layout.IDPath).Str(),
			WriteOptions{})
	case "lease": // for a minute
		body := []byte(rest)
		_, err = c.Lease(t.Context(), c.def.Extract(body), jsondoc.Get(body, layout.IDPath).Str(), 60)
	case "idle": // the container is deleted when it has been for so long
		_, err = c.ChangeSettings(t.Context(), func(s *definition.ContainerSettings) error {
			s.AutoDeleteOnIdle = definition.MinIdle
			return nil
		})
	case "drop":
		_, err = c.DeletePartition(t.Context(), c.def.Extract([]byte(rest)))
	default:
		err = fmt.Errorf("unknown step %q", verb)
	}
	return c, err
}

// printKeys prints each key of a container as its parts in hexadecimal, and its value.
func printKeys(out *strings.Builder, r engine.Reader, c *Container) error {
	it := r.Scan(layout.ContainerRange(c.cid), false)
	for it.Next() {
		k := it.Key()
		fmt.Fprintf(out, "%x", k[:layout.CIDLen])
		k = k[layout.CIDLen:]
		if k[0] < 0x10 {
			fmt.Fprintf(out, " %x", k[:2])
			k = k[2:]
		}
		fmt.Fprintf(out, " %c", k[0])
		family := k[0]
		for k = k[1:]; len(k) > layout.RIDLen &&
			(family == layout.FamilyWritten || family == layout.FamilyDeadline); k = k[layout.RIDLen:] {
			fmt.Fprintf(out, " %x", k[:layout.RIDLen])
		}
		fmt.Fprintf(out, " %x", k)
		v := it.Value()
		if family == layout.FamilyItem {
			_, body, err := layout.DecodeItem(v)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, " = %x %s", v[:len(v)-len(body)], body)
		} else if family == 'M' { // the store that it names has a random number
			fmt.Fprintf(out, " = ... %x", v[4:])
		} else if len(v) > 0 {
			fmt.Fprintf(out, " = %x", v)
		}
		out.WriteByte('\n')
	}
	return it.Close()
}
