package grpc

// fractionBits is the number of fraction bits of the unsigned fixed point numbers of A113 (UQ1.31).
const fractionBits = 31

// fixedPoint returns part/sum with 31 fraction bits, truncated.
func fixedPoint(part uint32, sum uint64) uint64 {
	if sum == 0 {
		return 0
	}
	return (uint64(part) << fractionBits) / sum
}

// endpointWeights returns the endpoint weight attribute of A113 (configbuilder.go) of each endpoint of the localities
// of one priority, in their order. Localities without a usable endpoint and endpoints that are not usable count in the
// sums:
//
//	L = (locality weight << 31) / sum of the locality weights
//	E = (endpoint weight << 31) / sum of the endpoint weights of the locality
//	w = (L * E) >> 31, at least 1
//
// Localities of weight 20 and 80 with endpoints of weight 90 and 10 each give 386547056, 42949672, 1546188226 and
// 171798691. Only ring_hash and the shuffle of pick_first use it.
func endpointWeights(localities []*Locality) [][]uint32 {
	var localitySum uint64
	for _, l := range localities {
		localitySum += uint64(l.Weight)
	}
	weights := make([][]uint32, len(localities))
	for i, l := range localities {
		var sum uint64
		for j := range l.Endpoints {
			sum += uint64(l.Endpoints[j].weight())
		}
		share := fixedPoint(l.Weight, localitySum)
		weights[i] = make([]uint32, len(l.Endpoints))
		for j := range l.Endpoints {
			w := (share * fixedPoint(l.Endpoints[j].weight(), sum)) >> fractionBits
			weights[i][j] = uint32(max(w, 1))
		}
	}
	return weights
}

// rawWeights returns the endpoint weight attribute of before A113: locality weight times endpoint weight in uint32, which
// wraps around, where 0 is read as 1. 65536 times 65536 is 1.
func rawWeights(localities []*Locality) [][]uint32 {
	weights := make([][]uint32, len(localities))
	for i, l := range localities {
		weights[i] = make([]uint32, len(l.Endpoints))
		for j := range l.Endpoints {
			weights[i][j] = max(l.Weight*l.Endpoints[j].weight(), 1)
		}
	}
	return weights
}

func (e *Endpoint) weight() uint32 { return max(e.Weight, 1) }
