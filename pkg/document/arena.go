package document

// record is the stored form of a node. For an alias child is its target, for a block scalar it is how the text is
// indented (see blockIndent); a collection's child is its first item or key.
type record struct {
	start, end uint32
	child      uint32
	next       uint32
	kind       Kind
	style      Style
	raw        bool // the text of the scalar is the bytes between start and end (without the quotes)
}

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// arena holds the records of a document in chunks, so that growing copies nothing. Index 0 is no node.
type arena struct {
	chunks [][]record
	last   uint32
}

// newArena makes an arena with room for about n nodes, at most a chunk.
func newArena(n int) arena {
	return arena{chunks: [][]record{make([]record, 1, min(chunkSize, n+8))}}
}

// The usual length of a text by the number of its nodes, in bytes.
const (
	yamlBytesPerNode = 10
	jsonBytesPerNode = 5
)

func (a *arena) at(i uint32) *record { return &a.chunks[i>>chunkBits][i&(chunkSize-1)] }

// add appends a record and returns its index.
func (a *arena) add(r record) uint32 {
	c := &a.chunks[len(a.chunks)-1]
	if len(*c) == chunkSize {
		a.chunks = append(a.chunks, make([]record, 0, chunkSize))
		c = &a.chunks[len(a.chunks)-1]
	}
	*c = append(*c, r)
	a.last++
	return a.last
}

// properties of a node: what stands before its value.
type properties struct {
	start             uint32 // of the first property
	tag, tagEnd       uint32 // range of the tag as written; empty when there is none
	anchor, anchorEnd uint32 // range of the anchor's name without the &
	resolved          string // the tag after its handle was replaced
}
