package lb

import (
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// HashFunction places ring entries. The zero value is XXHash.
type HashFunction uint8

// The hash functions of ring_hash.v3.RingHash; DEFAULT_HASH is XXHash.
const (
	XXHash HashFunction = iota
	Murmur2
)

// String is the API's spelling.
func (f HashFunction) String() string {
	if f == Murmur2 {
		return "MURMUR_HASH_2"
	}
	return "XX_HASH"
}

// Sum hashes text: XXH64 with seed 0, or MurmurHash64A with the seed of libstdc++'s std::hash.
func (f HashFunction) Sum(text []byte) uint64 {
	if f == Murmur2 {
		return murmur64(text, StdMurmurSeed)
	}
	return xxhash.Sum64(text)
}

// StdMurmurSeed is the seed that libstdc++ uses and Envoy too (source/common/common/hash.h).
const StdMurmurSeed = 0xc70f6907

// murmur64 is MurmurHash64A (source/common/common/hash.cc): 8-byte little-endian blocks, then the tail of 1 to 7 bytes
// as one integer. murmur64("foo", StdMurmurSeed) = 9631199822919835226.
func murmur64(text []byte, seed uint64) uint64 {
	const m = 0xc6a4a7935bd1e995
	mix := func(k uint64) uint64 { return k ^ k>>47 }
	h := seed ^ uint64(len(text))*m
	for ; len(text) >= 8; text = text[8:] {
		h ^= mix(binary.LittleEndian.Uint64(text)*m) * m
		h *= m
	}
	if len(text) > 0 {
		var tail [8]byte
		copy(tail[:], text)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * m
	}
	return mix(mix(h) * m)
}

// Sum64 is XXH64 with seed 0: the hash of request texts, whatever the ring's function.
func Sum64(text string) uint64 { return xxhash.Sum64String(text) }

// Sum64Seed is XXH64 with a seed.
func Sum64Seed(text string, seed uint64) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	_, _ = d.WriteString(text) // never fails
	return d.Sum64()
}

// Chain adds the hash of one policy to those before it: rotate left by one, then exclusive or
// (source/common/http/hash_policy.cc, generateHash). The first hash is taken as it is: Chain(0, x) = x.
func Chain(before, hash uint64) uint64 { return bits.RotateLeft64(before, 1) ^ hash }
