package grpc

// million is the denominator of all drops inside gRPC.
const million = 1_000_000

// PerMillion converts a drop percentage: min(numerator * 10^6 / denominator, 10^6) in 64 bits (clusterimpl.go,
// dropRequestsPerMillion). 5/100 is 50000; 150/100 is capped to 1000000; 1/3 does not exist on the wire.
// A denominator of 0 is read as 100.
func PerMillion(numerator, denominator uint32) uint32 {
	if denominator == 0 {
		denominator = 100
	}
	return uint32(min(uint64(numerator)*million/uint64(denominator), million))
}

// DropShare is what one category takes.
type DropShare struct {
	Category   string
	PerMillion uint32
	Share      float64 // of all requests that ask the dropper
}

// Drops composes the categories in document order: each draws on its own from what the earlier ones let through
// (picker.go, newDropper). 60 % then 50 % is 0.6 and 0.2, and 0.2 pass. It returns the share of each and what passes.
func Drops(drops []Drop) (shares []DropShare, pass float64) {
	pass = 1
	for _, d := range drops {
		perMillion := PerMillion(d.Numerator, d.Denominator)
		p := float64(perMillion) / million
		shares = append(shares, DropShare{Category: d.Category, PerMillion: perMillion, Share: pass * p})
		pass *= 1 - p
	}
	return shares, pass
}
