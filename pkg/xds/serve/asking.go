package serve

import (
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// asking is what a client asks for of one type over state of the world, where every request repeats all names and the
// last nonce: only beside the request before does it tell whether it answers a response or asks for something else.
type asking struct {
	names    []string // of the last request
	nonce    string   // of the newest response
	version  string   // of the newest response
	answered string   // the nonce that was last accepted or refused
}

// asks returns what is known of a type, and whether it was asked for before.
func (st *stream) asks(url string) (a *asking, known bool) {
	a, known = st.asking[url]
	if !known {
		a = &asking{}
		st.asking[url] = a
	}
	return a, known
}

// sotwEvents tells what a request of state of the world says: an answer to a response, other names, or both.
func (st *stream) sotwEvents(req *discoveryv3.DiscoveryRequest) []Event {
	url, nonce := req.GetTypeUrl(), req.GetResponseNonce()
	a, known := st.asks(url)
	names := slices.Clone(req.GetResourceNames())
	added, dropped := difference(names, a.names), difference(a.names, names)
	a.names = names
	var out []Event
	switch {
	case req.GetErrorDetail() != nil:
		out = append(out, Event{Kind: Nacked, TypeURL: url, Names: names, Message: req.GetErrorDetail().GetMessage()})
	case nonce == "" || nonce == a.answered:
	case a.nonce == "": // that of another stream: there was no response to accept on this one
	case nonce == a.nonce && req.GetVersionInfo() != a.version: // asks for other names before it has judged the response
	default:
		out = append(out, Event{Kind: Acked, TypeURL: url, Names: names, Version: req.GetVersionInfo()})
	}
	if len(out) > 0 {
		a.answered = nonce
	}
	switch {
	case len(added)+len(dropped) > 0:
		out = append(out, Event{Kind: Subscribed, TypeURL: url, Names: added, Removed: dropped})
	case len(out) == 0 && (!known || nonce == ""):
		out = append(out, Event{Kind: Subscribed, TypeURL: url, Names: names})
	}
	return out
}

// deltaEvents tells what a delta request says, which may answer a response and change the subscription at once.
func deltaEvents(req *discoveryv3.DeltaDiscoveryRequest) []Event {
	url := req.GetTypeUrl()
	added, dropped := slices.Clone(req.GetResourceNamesSubscribe()), slices.Clone(req.GetResourceNamesUnsubscribe())
	var out []Event
	switch {
	case req.GetErrorDetail() != nil:
		out = append(out, Event{Kind: Nacked, TypeURL: url, Message: req.GetErrorDetail().GetMessage()})
	case req.GetResponseNonce() != "":
		out = append(out, Event{Kind: Acked, TypeURL: url})
	}
	if len(out) == 0 || len(added)+len(dropped) > 0 {
		out = append(out, Event{Kind: Subscribed, TypeURL: url, Names: added, Removed: dropped})
	}
	return out
}

// difference is what is in one list and not in another. Requests of big clients repeat thousands of names.
func difference(list, other []string) []string {
	if slices.Equal(list, other) {
		return nil
	}
	in := make(map[string]bool, len(other))
	for _, name := range other {
		in[name] = true
	}
	var out []string
	for _, name := range list {
		if !in[name] {
			out = append(out, name)
			in[name] = true
		}
	}
	return out
}
