package buscases

import "github.com/mayflydb/mayfly/queue"

type peer struct{}

func (*peer) hangUp()             {}
func (*peer) completeUnheard(got) {}
func (*peer) credit(string) int   { return 0 }

func connectAMQP(b *bench)      { b.Skip("later") }
func settledTransfers(b *bench) {}
func smallFrames(b *bench)      {}

var _ = queue.Queue
