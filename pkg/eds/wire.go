package eds

// Wire decodes an assignment that a management server sent: the bytes in an Any, of the API version that its type URL
// tells. The shape says which variant of response it came in, and resp what else was in that. Source and origin are those
// of the loader. Bytes that are no assignment give an absent resource with the problem, as with Load.
func (l *Loader) Wire(body []byte, v APIVersion, s Shape, resp *Response) *Resource {
	r := &reader{Loader: l, file: &File{}}
	r.addBytes(body, placement{shape: s, version: v, response: resp})
	return r.file.Resources[0]
}
