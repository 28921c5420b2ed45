// Package enginetest is the conformance suite of package engine: tests of the contract that every engine must
// pass.
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage {
//			disk := newDisk()
//			return enginetest.ReopenableStorage{
//				Open: func(t *testing.T) engine.Engine { … open an engine over disk … },
//				Cut:  func(t *testing.T) { … record what a power cut would leave on disk … },
//			}
//		})
//	}
//
// Each test gets its own Storage. It may close the engine and reopen it: then it expects what was durable. It
// may cut the power: then it expects all acknowledged writes. An engine is fully tested only if its Storage
// has a Cut.
package enginetest
