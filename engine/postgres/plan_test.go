package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mayflydb/mayfly/engine"
)

// TestPreparedStatementPlans checks that PostgreSQL plans each prepared statement only once for a connection,
// and that the plans read the table of keys by its primary key even if the table is small.
func TestPreparedStatementPlans(t *testing.T) {
	d := newTestSchema(t)
	e := d.open(Options{Writers: 1, Readers: 1})
	defer closing(t, e)
	scope := []byte("a")
	keys := make([][]byte, 2*fewKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "a/%03d", i)
	}
	update := func(fn func(engine.Txn)) {
		t.Helper()
		_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error { fn(tx); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx engine.Txn) {
		tx.NextLSN(scope)
		for _, key := range keys {
			tx.(engine.LikelyAbsentKeySetter).SetFresh(key, key)
		}
	})
	d.exec("ANALYZE "+quote(d.schema)+".mayfly_kv", "ANALYZE "+quote(d.schema)+".mayfly_stamp")
	for range 8 { // by default, the database decides after the fifth execution whether to reuse a plan
		update(func(tx engine.Txn) {
			tx.NextLSN(scope)
			tx.Set(keys[0], nil)
			tx.Delete(keys[1])
			tx.DeleteRange(engine.Range{Start: keys[2], End: keys[3]})
			tx.DeleteRange(engine.Range{Start: []byte("b")})
		})
		if _, _, err := e.Get(ctx, scope, keys[0]); err != nil {
			t.Fatal(err)
		}
		if err := e.View(ctx, func(r engine.Reader) error { return readInAllWays(r, keys) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range []*pgxpool.Pool{e.writers, e.readers} {
		c, err := pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		checkPlans(t, c)
		c.Release()
	}
}

// readInAllWays reads keys with each method of r, so that each reading statement is run.
func readInAllWays(r engine.Reader, keys [][]byte) error {
	if _, err := r.GetMany(keys[:3]); err != nil {
		return err
	}
	if _, err := r.GetMany(keys); err != nil {
		return err
	}
	for _, rg := range []engine.Range{{Start: keys[0]}, engine.Prefix([]byte("a/"))} {
		for _, reverse := range []bool{false, true} {
			it := r.Scan(rg, reverse)
			for it.Next() {
				continue
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		it := r.Scan(rg, false)
		if s, ok := it.(engine.KeySkipper); ok {
			s.Skip(10)
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

// checkPlans checks the statements that the connection c has prepared: PostgreSQL must use a generic plan for
// each, and the plan must read only what the statement needs.
func checkPlans(t *testing.T, c *pgxpool.Conn) {
	t.Helper()
	rows, err := c.Query(ctx, `SELECT name, statement, custom_plans, cardinality(parameter_types)
		FROM pg_prepared_statements WHERE statement ~ 'mayfly_(kv|stamp)'`)
	if err != nil {
		t.Fatal(err)
	}
	type statement struct {
		name, text         string
		custom, parameters int
	}
	var prepared []statement
	for rows.Next() {
		var s statement
		if err := rows.Scan(&s.name, &s.text, &s.custom, &s.parameters); err != nil {
			t.Fatal(err)
		}
		prepared = append(prepared, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(prepared) < 4 {
		t.Errorf("only %d statements: %+v", len(prepared), prepared)
	}
	for _, s := range prepared {
		if s.custom > 0 {
			t.Errorf("%d plans were made for single executions of %s", s.custom, s.text)
		}
		explain := "EXPLAIN EXECUTE " + s.name
		if s.parameters > 0 {
			explain += "(NULL" + strings.Repeat(", NULL", s.parameters-1) + ")"
		}
		lines, err := c.Conn().PgConn().Exec(ctx, explain).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", explain, err)
		}
		var plan []string
		for _, line := range lines[0].Rows {
			plan = append(plan, string(line[0]))
		}
		text := strings.Join(plan, "\n")
		t.Logf("%s\n%s", s.text, text)
		if strings.Contains(text, "Seq Scan on mayfly_kv") || strings.Contains(text,
			"Seq Scan on mayfly_stamp") ||
			strings.Contains(text, "Sort Key: mayfly_kv") {
			t.Errorf("%s reads the whole table:\n%s", s.text, text)
		}
	}
}
