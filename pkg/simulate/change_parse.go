package simulate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/edsctl/edsctl/pkg/selector"
)

// ParseSetHealth reads SELECTOR=STATUS.
func ParseSetHealth(text string) (Change, error) {
	s, value, err := cutValue(text, "SELECTOR=STATUS")
	if err != nil {
		return Change{}, err
	}
	status, err := selector.ParseHealth(value)
	return Change{Kind: SetHealth, Selector: s, Health: status}, err
}

// ParseSetWeight reads SELECTOR=W.
func ParseSetWeight(text string) (Change, error) {
	s, value, err := cutValue(text, "SELECTOR=WEIGHT")
	if err != nil {
		return Change{}, err
	}
	weight, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return Change{}, fmt.Errorf("weight %q is not a number from 0 to 4294967295", value)
	}
	return Change{Kind: SetWeight, Selector: s, Weight: uint32(weight)}, nil
}

// ParseUnreachable reads SELECTOR.
func ParseUnreachable(text string) (Change, error) {
	s, err := selector.Parse(text)
	return Change{Kind: Unreachable, Selector: s}, err
}

// ParseFail reads SELECTOR, SELECTOR=N or SELECTOR=P%. What follows the last "=" is a number of endpoints only when the
// rest is a selector: priority=0 is a whole selector, priority=0=2 fails two endpoints of priority 0.
func ParseFail(text string) (Change, error) {
	if at := strings.LastIndexByte(text, '='); at > 0 {
		if s, err := selector.Parse(text[:at]); err == nil {
			c := Change{Kind: Fail, Selector: s}
			return c, c.setAmount(text[at+1:])
		}
	}
	s, err := selector.Parse(text)
	return Change{Kind: Fail, Selector: s}, err
}

func (c *Change) setAmount(text string) error {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
		}
		c.Percent = &p
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of endpoints (3) or a percentage (50%%)", text)
	}
	c.Count = &n
	return nil
}

func cutValue(text, form string) (selector.Selector, string, error) {
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return selector.Selector{}, "", fmt.Errorf("must have the form %s", form)
	}
	s, err := selector.Parse(text[:at])
	if err != nil {
		// zone=a lacks the value: say so rather than complain about "zone".
		if _, whole := selector.Parse(text); whole == nil {
			return selector.Selector{}, "", fmt.Errorf("must have the form %s", form)
		}
		return selector.Selector{}, "", err
	}
	return s, text[at+1:], nil
}
