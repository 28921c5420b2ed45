package store

import (
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/lint"
	"github.com/mayflydb/mayfly/store/internal/transaction"
)

// lintItem applies the lint rules to the ttl and the vectors of an item that has just been written.
func (c *Container) lintItem(st *container.State,
	p *transaction.PreparedOperation) definition.BrokenLintRules {
	item := &p.Item.DecodedItem
	found := lint.Life(st.Policy().Default, item, &st.LifeRules.Basis, st.Vectors)
	if found != 0 {
		c.noteLint(found, &lint.LastViolatingWrite{Key: ItemKey{Partition: c.def.Extract(item.Body),
			ID: item.ID},
			TTL: item.Head.Life.Own, At: item.Head.Life.TS})
	}
	return found
}

// Refused counts a document that is refused because its ttl is null. The rule is logged once only: a client
// that writes null for "no value" does so in all of its documents, and all are refused.
func (c *containerCallbacksAdapter) Refused(id string, body, token []byte) {
	if string(token) == "null" {
		of := (*Container)(c)
		of.noteLint(definition.LintNull,
			&lint.LastViolatingWrite{Key: ItemKey{Partition: c.def.Extract(body), ID: id}, At: of.moment()})
	}
}

// noteLint counts found, the lint rules that a write has broken, and logs them. last describes the write.
func (c *Container) noteLint(found definition.BrokenLintRules, last *lint.LastViolatingWrite) {
	c.lints.Note(found, last, func(rule definition.BrokenLintRules, times uint64) {
		c.ds.opts.Logger.Warn(rule.Text(), "rule", rule.String(), "times", times, "database", c.d.ID(),
			"container", c.name, "id", last.Key.ID, "ttl", int64(last.TTL))
	})
}

// lintDefault logs a warning if the default time to live is unusual.
func (c *Container) lintDefault() {
	spec := c.state.Load().Spec
	if found := spec.Lint(); found != 0 {
		c.ds.opts.Logger.Warn(found.Text(), "rule", found.String(), "database", c.d.ID(), "container", c.name,
			"defaultTtl", int64(spec.DefaultTTL))
	}
}

// LintCounts returns for each lint rule how often writes to the container have broken it since Open.
func (c *Container) LintCounts() []LintCount { return c.lints.Counts() }
