//go:build !long && !race

package metatest

// How much Check does: always the same histories, so that a change which passed once passes again. CI draws
// other ones for each run, so that what one run does not come to another one does.
const (
	histories = 160
	stepsEach = 60
	modesEach = 3
)

// How much the test of queries alone does: for each number of ranges so many sets of documents, and so many
// queries each.
const (
	QueryDatasets = 120
	QueriesEach   = 50
)

// defaultSeed is where random tests begin unless the environment says where.
func defaultSeed() uint64 { return 1 }
