// Package enginetest is the conformance suite of package engine: tests of the contract that every engine must
// pass.
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
// Each test gets its own data. It may close the engine and reopen it: then it expects what was durable. It
// may cut the power: then it expects all acknowledged writes. An engine is fully tested only if its Data has
// a Cut.
package enginetest
