// Package enginetest is the conformance suite of package engine: what the contract promises, as tests that every engine
// runs.
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, func(t *testing.T) enginetest.Opener {
//			dir := t.TempDir()
//			return func(t *testing.T) engine.Engine { … open dir … }
//		})
//	}
//
// Each test gets data of its own. It may close the engine and open it again, and then finds what was durable.
package enginetest
