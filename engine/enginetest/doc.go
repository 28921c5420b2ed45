// Package enginetest is the conformance suite of package engine: what the contract promises, as tests that
// every engine runs.
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, func(t *testing.T) enginetest.Data {
//			disk := newDisk()
//			return enginetest.Data{
//				Open: func(t *testing.T) engine.Engine { … open an engine over what the last cut has left of disk … },
//				Cut:  func(t *testing.T) { … note what is left of disk if the power fails now … },
//			}
//		})
//	}
//
// Each test gets data of its own. It may close the engine and open it again, and then finds what was durable.
// It may cut the power, and then finds all that was acknowledged. An engine is not proven before it has run
// on data that can be cut.
package enginetest
