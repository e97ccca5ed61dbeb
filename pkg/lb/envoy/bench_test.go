package envoy

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// largeInput has n endpoints in two priorities of ten localities.
func largeInput(n int, policy Name) Input {
	in := Input{Policy: Policy{Name: policy, LocalityWeighted: true}}
	for g := range 20 {
		group := Group{Priority: uint32(g / 10), Weight: uint32(g + 1), Locality: &Locality{Region: "r", Zone: fmt.Sprint(g % 10)}}
		for i := range n / 20 {
			e := Endpoint{Address: fmt.Sprintf("10.%d.%d.%d:8080", g, i/250, i%250), Weight: uint32(1 + i%7)}
			if i%9 == 0 {
				e.Health = Unhealthy
			}
			group.Endpoints = append(group.Endpoints, e)
		}
		in.Groups = append(in.Groups, group)
	}
	return in
}

func BenchmarkCompute(b *testing.B) {
	for _, policy := range []Name{RoundRobin, Random, RingHash, Maglev} {
		in := largeInput(100_000, policy)
		b.Run(string(policy), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compute(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRun(b *testing.B) {
	for _, policy := range []Name{RoundRobin, LeastRequest, Random, RingHash} {
		m, err := Build(largeInput(1000, policy))
		if err != nil {
			b.Fatal(err)
		}
		p := m.NewPicker(rand.New(rand.NewPCG(1, 1)))
		b.Run(string(policy), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Pick()
			}
		})
	}
}
