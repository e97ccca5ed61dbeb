package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/selector"
)

// editVerb is one verb of edit.
type editVerb struct {
	name, args, help string
	n                int // of arguments; -1: one or more
	parse            func(o *editOptions, args []string) (author.Verb, error)
}

func (v editVerb) check(args []string) error {
	if len(args) == v.n || v.n < 0 && len(args) > 0 {
		return nil
	}
	return fmt.Errorf("the verb is used as: %s %s", v.name, v.args)
}

// editVerbs are the verbs in the order of the help.
func editVerbs() []editVerb {
	return []editVerb{
		{"add", "HOST:PORT[,weight=W,zone=Z,priority=P,...]...", "add endpoints", -1, parseAdd},
		{"remove", "SELECTOR", "take endpoints out", 1, withSelector(func(o *editOptions, s selector.Selector) author.Verb { return author.Remove(s, o.prune) })},
		{"set-weight", "SELECTOR WEIGHT|none", "give endpoints (--locality: their localities) a load_balancing_weight", 2, parseSetWeight},
		{"scale-weights", "SELECTOR FACTOR", "multiply weights, by 2, 0.5, 150% or 2/3", 2, parseScaleWeights},
		{"set-health", "SELECTOR STATUS|none", "give endpoints a health_status", 2, parseSetHealth},
		{"drain", "SELECTOR", "set-health DRAINING", 1, withSelector(func(_ *editOptions, s selector.Selector) author.Verb { return author.Drain(s) })},
		{"undrain", "SELECTOR", "take out the health_status of endpoints that are DRAINING", 1, withSelector(func(_ *editOptions, s selector.Selector) author.Verb { return author.Undrain(s) })},
		{"move", "SELECTOR PLACE", "move endpoints to another priority or locality", 2, parseMove},
		{"set-drop", "CATEGORY=PERCENT|none...", "change drop_overloads", -1, parseSetDrop},
		{"set-policy", "FIELD=VALUE|none...", "change " + strings.Join(author.PolicyFields(), ", "), -1, parseSetPolicy},
		{"rename", "NAME", "change cluster_name", 1, func(_ *editOptions, args []string) (author.Verb, error) { return author.Rename(args[0]), nil }},
	}
}

func editVerbsHelp() string {
	var b strings.Builder
	b.WriteString("Verbs:\n")
	for _, v := range editVerbs() {
		fmt.Fprintf(&b, "\n  %-13s  %s\n  %-13s    %s", v.name, v.args, "", v.help)
	}
	return b.String()
}

// parseVerb makes the edit of a command line.
func parseVerb(o *editOptions, name string, args []string) (author.Verb, error) {
	for _, v := range editVerbs() {
		if v.name == name {
			verb, err := v.parse(o, args)
			verb.Optional = o.all
			return verb, err
		}
	}
	return author.Verb{}, errors.New("unknown verb") // checked with the arguments
}

func withSelector(verb func(*editOptions, selector.Selector) author.Verb) func(*editOptions, []string) (author.Verb, error) {
	return func(o *editOptions, args []string) (author.Verb, error) {
		s, err := selector.Parse(args[0])
		if err != nil {
			return author.Verb{}, err
		}
		return verb(o, s), nil
	}
}

func parseAdd(_ *editOptions, args []string) (author.Verb, error) {
	var specs []*author.EndpointSpec
	for _, arg := range args {
		spec, err := author.ParseEndpoint(arg)
		if err != nil {
			return author.Verb{}, err
		}
		specs = append(specs, spec)
	}
	return author.Add(specs), nil
}

func parseSetWeight(o *editOptions, args []string) (author.Verb, error) {
	s, err := selector.Parse(args[0])
	if err != nil || args[1] == author.None {
		return author.SetWeight(s, nil, o.locality), err
	}
	n, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil || n == 0 {
		return author.Verb{}, fmt.Errorf("weight %q must be a whole number from 1 to 4294967295, or none", args[1])
	}
	w := uint32(n)
	return author.SetWeight(s, &w, o.locality), nil
}

func parseScaleWeights(o *editOptions, args []string) (author.Verb, error) {
	s, err := selector.Parse(args[0])
	if err != nil {
		return author.Verb{}, err
	}
	number, percent := strings.CutSuffix(args[1], "%")
	factor, ok := new(big.Rat).SetString(number)
	if !ok || factor.Sign() <= 0 || len(number) > 40 || strings.ContainsAny(number, "eEpPxX") {
		return author.Verb{}, fmt.Errorf("factor %q must be a positive number such as 2, 0.5, 150%% or 2/3", args[1])
	}
	if percent {
		factor.Quo(factor, big.NewRat(100, 1))
	}
	return author.ScaleWeights(s, factor, o.locality), nil
}

func parseSetHealth(_ *editOptions, args []string) (author.Verb, error) {
	s, err := selector.Parse(args[0])
	if err != nil || args[1] == author.None {
		return author.SetHealth(s, nil), err
	}
	status, err := selector.ParseHealth(args[1])
	if err != nil {
		return author.Verb{}, err
	}
	return author.SetHealth(s, &status), nil
}

func parseMove(o *editOptions, args []string) (author.Verb, error) {
	s, err := selector.Parse(args[0])
	if err != nil {
		return author.Verb{}, err
	}
	to, err := author.ParsePlace(args[1])
	if err != nil {
		return author.Verb{}, err
	}
	return author.Move(s, to, o.prune), nil
}

func parseSetDrop(_ *editOptions, args []string) (author.Verb, error) {
	var settings []author.DropSetting
	for _, arg := range args {
		s, err := author.ParseDrop(arg)
		if err != nil {
			return author.Verb{}, err
		}
		settings = append(settings, s)
	}
	return author.SetDrop(settings), nil
}

func parseSetPolicy(_ *editOptions, args []string) (author.Verb, error) {
	var settings []author.PolicySetting
	for _, arg := range args {
		s, err := author.ParsePolicySetting(arg)
		if err != nil {
			return author.Verb{}, err
		}
		settings = append(settings, s)
	}
	return author.SetPolicy(settings), nil
}
