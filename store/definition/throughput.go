package definition

import (
	"fmt"

	"github.com/mayflydb/mayfly/store/fault"
)

// DefaultThroughput is the throughput in RU/s of a container that specifies none and whose database shares
// none.
const DefaultThroughput = 400

// The limits and step sizes of the throughput that Cosmos DB accepts, in RU/s.
const (
	minManual     = 400
	manualStep    = 100
	minAutoscale  = 1000
	autoscaleStep = 1000
	maxThroughput = 1_000_000
)

// RangeThroughput is the maximum throughput of one partition range, in RU/s.
const RangeThroughput = 10_000

// Throughput is the throughput of a container or a database, in RU/s. At most one of Manual and Autoscale
// is set. The zero Throughput means unspecified.
type Throughput struct {
	Manual    int `json:"manual,omitempty"`
	Autoscale int `json:"autoscale,omitempty"` // the maximum; the throughput scales from a tenth of it to it
	// Increment is the percentage by which Cosmos DB would raise an autoscale maximum by itself. It is
	// stored for clients and has no effect; nil means not given.
	Increment *int `json:"increment,omitempty"`
	// Level is the name of a performance level (S1, S2 or S3), by which early versions of Cosmos DB set the
	// throughput. It determines Manual; see PerformanceLevel.
	Level string `json:"level,omitempty"`
}

// PerformanceLevel returns the throughput of one of Cosmos DB's original performance levels: S1, S2 or S3.
// ok reports whether name is one of them.
func PerformanceLevel(name string) (t Throughput, ok bool) {
	ru := map[string]int{"S1": 250, "S2": 1000, "S3": 2500}[name]
	return Throughput{Manual: ru, Level: name}, ru > 0
}

// IsZero reports whether no throughput was specified.
func (t Throughput) IsZero() bool { return t == Throughput{} }

// Most returns the throughput; for autoscale its maximum.
func (t Throughput) Most() int { return max(t.Manual, t.Autoscale) }

// Validate checks that Cosmos DB accepts the throughput. The error has CodeBadRequest.
func (t Throughput) Validate() error {
	level, known := PerformanceLevel(t.Level)
	switch {
	case t.Level != "" && (!known || level.Manual != t.Manual || t.Autoscale != 0):
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The performance level '%s' is not one, or another throughput is given with it.",
				t.Level))
	case t.Level != "":
		return nil
	case t.Increment != nil && (t.Autoscale == 0 || *t.Increment < 0):
		return fault.New(fault.CodeBadRequest,
			"An increment of autoscale throughput goes with a maximum, and cannot be negative.")
	case t.Manual != 0 && t.Autoscale != 0:
		return fault.New(fault.CodeBadRequest, "Manual and autoscale throughput cannot be given together.")
	case t.Manual != 0 && !fits(t.Manual, minManual, manualStep):
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(
			"The offer should have valid throughput values between %d and %d inclusive in increments of %d; %d is not one.",
			minManual, maxThroughput, manualStep, t.Manual))
	case t.Autoscale != 0 && t.Autoscale < minAutoscale:
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(
			"Requested throughput %d is less than required minimum throughput %d.", t.Autoscale, minAutoscale))
	case t.Autoscale != 0 && !fits(t.Autoscale, minAutoscale, autoscaleStep):
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(
			"The offer should have valid autoscale max throughput values between %d and %d inclusive in increments of %d; %d is not one.",
			minAutoscale, maxThroughput, autoscaleStep, t.Autoscale))
	}
	return nil
}

func fits(ru, least, step int) bool { return ru >= least && ru <= maxThroughput && ru%step == 0 }

// Ranges returns how many partition ranges a new container with this throughput gets: one up to 10,000
// RU/s; above that, enough that none carries more than 6,000.
func (t Throughput) Ranges() int {
	const each = 6_000
	ru := t.Most()
	if ru <= RangeThroughput {
		return 1
	}
	return (ru + each - 1) / each
}
