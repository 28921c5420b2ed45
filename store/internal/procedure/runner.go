package procedure

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// ScriptRunner runs the scripts of one container.
type ScriptRunner struct {
	Programs   *script.ScriptCache
	Heavy      *work.HeavyWorkQueue
	Wall       ttl.Clock
	Time       time.Duration // time limit of a run; 0 is script.DefaultTime
	Now        func() time.Time
	Elapsed    func() func() time.Duration // starts to measure real time; the result reads it
	Violations *LimitViolationCounters
	Resources  func(record.ResourceKind) resource.ChildResources
}

// Env returns what scripts need from the server: the time of the container's clock, and time limits measured
// by a clock that cannot be set.
func (x *ScriptRunner) Env() script.TimeAndRandomSource {
	after := ttl.SystemClock{}.After
	return script.TimeAndRandomSource{Now: x.Now, Random: rand.Float64, After: after, Elapsed: x.Elapsed()}
}

// Host returns the container as the scripts of one transaction see it; key is the partition key in which they
// work.
func (x *ScriptRunner) Host(t ScriptTransaction, key definition.PartitionKey) *ScriptHost {
	return &ScriptHost{run: x, t: t, key: key}
}

// Procedure returns the stored procedure with an id: a built-in one or one of the container.
func (x *ScriptRunner) Procedure(id string) (resource.UserOrScriptResource, error) {
	if source, ok := script.SystemProcedure(id); ok {
		body := jsondoc.StringValue(source).AppendJSON([]byte(`{"body":`))
		return resource.UserOrScriptResource{ID: id, RID: id, Body: append(body, '}')}, nil
	}
	return x.Resources(record.KindStoredProcedure).Read(id)
}

// Ready compiles a script. It fails with CodeForbidden if the script is blocked because it has exceeded
// its limits several times.
func (x *ScriptRunner) Ready(res *resource.UserOrScriptResource) error {
	if err := x.Violations.admit(scriptVersionOf(res), "resource"); err != nil {
		return err
	}
	return classify.ToFault(x.Programs.Prepare(res.ID, scriptText(*res)))
}

// Run runs one script in a JavaScript runtime of its own. res is the resource that contains the script: Run
// copies its id and its source to p. The caller sets the other fields of p.
func (h *ScriptHost) Run(ctx context.Context, res *resource.UserOrScriptResource,
	p script.ProcedureOrTriggerCall) (out script.ProcedureOrTriggerResult,
	err error) {
	p.ID, p.Source = res.ID, scriptText(*res)
	x := h.run
	var took time.Duration
	defer func() { x.Violations.note(scriptVersionOf(res), took, x.Time, err) }()
	leave, err := x.Heavy.Script()
	if err != nil {
		return script.ProcedureOrTriggerResult{}, err
	}
	defer leave()
	runtime, err := x.Programs.Open(ctx, x.Env(), script.Limits{Time: x.Time})
	if err != nil {
		return script.ProcedureOrTriggerResult{}, err
	}
	defer runtime.Close()
	elapsed := x.Elapsed()
	x.Heavy.RunScript(x.Wall, func() { out, err = runtime.Run(p, h) })
	took = elapsed()
	return out, err
}
