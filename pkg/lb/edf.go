package lb

// EDF is Envoy's earliest-deadline-first scheduler (source/common/upstream/edf_scheduler.h): each entry is due again
// 1/weight after it was picked, and the entry with the earliest deadline is next; equal deadlines are served in the order
// in which they were queued. In the long run entry i has weight_i / sum of the picks.
//
// Worked example: weights 1 and 2 are due at 1 and 0.5. Picks: 1 (0.5, again due at 1, behind entry 0), 0 (1, due at 2),
// 1 (1, due at 1.5), 1 (1.5, due at 2), 0, 1: the sequence 1 0 1, 1 0 1.
type EDF struct {
	heap    []edfEntry
	now     float64
	counter uint64
}

type edfEntry struct {
	deadline float64
	order    uint64
	index    int
}

func (a edfEntry) before(b edfEntry) bool {
	return a.deadline < b.deadline || a.deadline == b.deadline && a.order < b.order
}

// maxEmulatedPicks is EDF's bound on the picks that a seed stands for (edf_scheduler.h).
const maxEmulatedPicks = 429496729

// NewEDF starts a scheduler over entries with positive weights as if picks had been made, which is how Envoy gives each
// worker another start (EdfScheduler::createWithPicks). Picks is taken modulo 429496729.
func NewEDF(weights []float64, picks uint32) *EDF {
	s := &EDF{heap: make([]edfEntry, 0, len(weights)), counter: uint64(len(weights))}
	picks %= maxEmulatedPicks
	sum := 0.0
	for _, w := range weights {
		sum += w + 1e-13 // against loss of precision, as upstream
	}
	done := uint32(0)
	for i, w := range weights {
		w += 1e-13
		floor := uint32(float64(w*float64(picks)) / sum)
		if floor > 0 && float64(floor)/w >= float64(picks)/sum {
			floor--
		}
		done += floor
		if at := float64(floor) / w; at > s.now {
			s.now = at
		}
		s.push(edfEntry{deadline: float64(floor+1) / w, order: uint64(i), index: i})
	}
	for ; done < picks && len(weights) > 0; done++ {
		s.Pick(func(i int) float64 { return weights[i] })
	}
	return s
}

// Pick returns the next entry, or -1 when there is none. weight gives the weight with which the picked entry is queued
// again; it is not asked for the others, so that a change of weight counts from an entry's next pick on.
func (s *EDF) Pick(weight func(index int) float64) int {
	if len(s.heap) == 0 {
		return -1
	}
	top := s.heap[0]
	s.now = top.deadline
	s.heap[0] = edfEntry{deadline: s.now + 1/weight(top.index), order: s.counter, index: top.index}
	s.counter++
	s.down()
	return top.index
}

func (s *EDF) push(e edfEntry) {
	s.heap = append(s.heap, e)
	for i := len(s.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.heap[i].before(s.heap[parent]) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *EDF) down() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.heap); child++ {
			if s.heap[child].before(s.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}

// WeightShares is the long-run share of each entry: its part of the sum. All are 0 when the sum is 0.
func WeightShares(weights []float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	shares := make([]float64, len(weights))
	if sum > 0 {
		for i, w := range weights {
			shares[i] = w / sum
		}
	}
	return shares
}
