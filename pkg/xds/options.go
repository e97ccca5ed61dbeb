package xds

import (
	"math/rand/v2"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/edsctl/edsctl/pkg/diag"
)

// Transport is the way messages travel.
type Transport string

// The transports (product.md, fetch).
const (
	SotW  Transport = "sotw"
	Delta Transport = "delta"
	Unary Transport = "unary"
	REST  Transport = "rest"
)

// Transports are the values of --transport.
var Transports = []Transport{SotW, Delta, Unary, REST}

// Service is the discovery service that is asked.
type Service string

// The services. ServiceAuto begins with EDS when names are given and with ADS when they come from CDS, and goes to the
// other one when the server answers Unimplemented.
const (
	ServiceAuto Service = "auto"
	ServiceADS  Service = "ads"
	ServiceEDS  Service = "eds"
)

// Services are the values of --service.
var Services = []Service{ServiceAuto, ServiceADS, ServiceEDS}

// AckMode says which responses are refused.
type AckMode string

// The modes of acknowledgement. AckAlways accepts everything, since some servers answer a NACK at once and for ever;
// AckValid refuses what the chosen client refuses, with its message; AckNever answers nothing.
const (
	AckAlways AckMode = "always"
	AckValid  AckMode = "valid"
	AckNever  AckMode = "never"
)

// AckModes are the values of --ack.
var AckModes = []AckMode{AckAlways, AckValid, AckNever}

// DefaultRefreshDelay is the time between two polls.
const DefaultRefreshDelay = time.Second

// Options of Watch. The zero value of a field means what its comment says.
type Options struct {
	Dial      Dial
	Transport Transport // SotW
	Service   Service   // ServiceAuto

	TransportVersion Version // V3: method names and the shape of the node
	ResourceVersion  Version // V3: type URLs

	Node *corev3.Node // sent with every request, or with the first one of a stream when NodeOnce is set
	// NodeOnce sends the node with the first message of each stream only, as gRPC always does and Envoy does with
	// set_node_on_first_message_only.
	NodeOnce bool

	Ack    AckMode     // AckAlways
	Client diag.Client // diag.Envoy: whose rules and error code a NACK follows

	// EnvoyVersion is the minor version of Envoy whose reading of messages is followed; 0: the newest known.
	EnvoyVersion int

	// StaticClusters are the names of the bootstrap's clusters: Envoy ignores one of that name in CDS.
	StaticClusters []string

	// Reconnect keeps going when a stream ends: with a backoff as Envoy's. Otherwise Watch returns a *StreamError.
	Reconnect bool
	// FetchTimeout is how long a cluster waits for its first assignment before it counts as answered (Envoy's
	// initial_fetch_timeout, of clusters that do not set it): 15 s.
	FetchTimeout time.Duration
	// RefreshDelay between two REST polls, to which a random part of the same size is added; also between two unary
	// calls: 1 s.
	RefreshDelay time.Duration
	// RequestTimeout of one REST poll or unary call: 5 s.
	RequestTimeout time.Duration

	// Now and Rand are the clock and the jitter; nil: the system's.
	Now  func() time.Time
	Rand *rand.Rand
}

func (o Options) withDefaults() Options {
	def := func(v *Version) {
		if *v == "" {
			*v = V3
		}
	}
	def(&o.TransportVersion)
	def(&o.ResourceVersion)
	if o.Transport == "" {
		o.Transport = SotW
	}
	if o.Service == "" {
		o.Service = ServiceAuto
	}
	if o.Ack == "" {
		o.Ack = AckAlways
	}
	if o.FetchTimeout == 0 {
		o.FetchTimeout = 15 * time.Second
	}
	if o.RefreshDelay <= 0 {
		o.RefreshDelay = DefaultRefreshDelay
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if o.Node == nil {
		o.Node = &corev3.Node{}
	}
	return o
}
