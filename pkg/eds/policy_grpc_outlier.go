package eds

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// grpcSuccessRate and grpcFailurePercentage have defaults of their own where they are present (outlierdetection/config.go).
type grpcSuccessRate struct{ enforcement uint32 }

// UnmarshalJSON reads the fields with grpc-go's type names.
func (s *grpcSuccessRate) UnmarshalJSON(b []byte) error {
	type successRateEjection struct {
		StdevFactor           uint32 `json:"stdevFactor,omitempty"`
		EnforcementPercentage uint32 `json:"enforcementPercentage,omitempty"`
		MinimumHosts          uint32 `json:"minimumHosts,omitempty"`
		RequestVolume         uint32 `json:"requestVolume,omitempty"`
	}
	c := successRateEjection{EnforcementPercentage: 100}
	err := json.Unmarshal(b, &c)
	s.enforcement = c.EnforcementPercentage
	return err
}

type grpcFailurePercentage struct{ threshold, enforcement uint32 }

// UnmarshalJSON reads the fields with grpc-go's type names.
func (f *grpcFailurePercentage) UnmarshalJSON(b []byte) error {
	type failurePercentageEjection struct {
		Threshold             uint32 `json:"threshold,omitempty"`
		EnforcementPercentage uint32 `json:"enforcementPercentage,omitempty"`
		MinimumHosts          uint32 `json:"minimumHosts,omitempty"`
		RequestVolume         uint32 `json:"requestVolume,omitempty"`
	}
	c := failurePercentageEjection{Threshold: 85}
	err := json.Unmarshal(b, &c)
	f.threshold, f.enforcement = c.Threshold, c.EnforcementPercentage
	return err
}

func parseOutlierDetection(text []byte) *grpcParseError {
	type lbConfig struct {
		Interval                  grpcDuration           `json:"interval,omitempty"`
		BaseEjectionTime          grpcDuration           `json:"baseEjectionTime,omitempty"`
		MaxEjectionTime           grpcDuration           `json:"maxEjectionTime,omitempty"`
		MaxEjectionPercent        uint32                 `json:"maxEjectionPercent,omitempty"`
		SuccessRateEjection       *grpcSuccessRate       `json:"successRateEjection,omitempty"`
		FailurePercentageEjection *grpcFailurePercentage `json:"failurePercentageEjection,omitempty"`
		ChildPolicy               *grpcBalancer          `json:"childPolicy,omitempty"`
	}
	var c lbConfig
	if err := grpcUnmarshal(text, &c, "outlierdetection"); err != nil {
		return err.in("xds: unable to unmarshal LBconfig: %s, error: %s", text)
	}
	const message = "OutlierDetectionLoadBalancingConfig."
	s, f := c.SuccessRateEjection, c.FailurePercentageEjection
	switch {
	case c.Interval < 0:
		return grpcRefused("interval", message+"interval = %v; must be >= 0", time.Duration(c.Interval))
	case c.BaseEjectionTime < 0:
		return grpcRefused("baseEjectionTime", message+"base_ejection_time = %v; must be >= 0", time.Duration(c.BaseEjectionTime))
	case c.MaxEjectionTime < 0:
		return grpcRefused("maxEjectionTime", message+"max_ejection_time = %v; must be >= 0", time.Duration(c.MaxEjectionTime))
	case c.MaxEjectionPercent > 100:
		return grpcRefused("maxEjectionPercent", message+"max_ejection_percent = %v; must be <= 100", c.MaxEjectionPercent)
	case s != nil && s.enforcement > 100:
		return grpcRefused("successRateEjection", message+"SuccessRateEjection.enforcement_percentage = %v; must be <= 100", s.enforcement)
	case f != nil && f.threshold > 100:
		return grpcRefused("failurePercentageEjection", message+"FailurePercentageEjection.threshold = %v; must be <= 100", f.threshold)
	case f != nil && f.enforcement > 100:
		return grpcRefused("failurePercentageEjection", message+"FailurePercentageEjection.enforcement_percentage = %v; must be <= 100", f.enforcement)
	}
	return nil
}

// grpcDuration is Duration of internal/serviceconfig: seconds with decimals and an s.
type grpcDuration time.Duration

// MarshalJSON writes 0, 3, 6 or 9 decimals.
func (d grpcDuration) MarshalJSON() ([]byte, error) {
	ns := int64(d)
	sec, ns := ns/int64(time.Second), ns%int64(time.Second)
	sign := ""
	if sec < 0 || ns < 0 {
		sign, sec, ns = "-", -sec, -ns
	}
	text := fmt.Sprintf("%s%d.%09d", sign, sec, ns)
	text = strings.TrimSuffix(text, "000")
	text = strings.TrimSuffix(text, "000")
	text = strings.TrimSuffix(text, ".000")
	return fmt.Appendf(nil, "\"%ss\"", text), nil
}

// UnmarshalJSON reads a duration with grpc-go's errors.
func (d *grpcDuration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if !strings.HasSuffix(s, "s") {
		return fmt.Errorf("malformed duration %q: missing seconds unit", s)
	}
	s, negative := strings.CutPrefix(s, "-")
	parts := strings.SplitN(s[:len(s)-1], ".", 3)
	if len(parts) > 2 {
		return fmt.Errorf("malformed duration %q: too many decimals", s)
	}
	digits := false
	var sec, ns int64
	var err error
	if parts[0] != "" {
		if sec, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
			return fmt.Errorf("malformed duration %q: %w", s, err)
		}
		if sec > maxDurationSeconds {
			return fmt.Errorf("out of range: %q", s)
		}
		digits = true
	}
	if len(parts) == 2 && parts[1] != "" {
		if len(parts[1]) > 9 {
			return fmt.Errorf("malformed duration %q: too many digits after decimal", s)
		}
		if ns, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
			return fmt.Errorf("malformed duration %q: %w", s, err)
		}
		for i := 9; i > len(parts[1]); i-- {
			ns *= 10
		}
		digits = true
	}
	if !digits {
		return fmt.Errorf("malformed duration %q: contains no numbers", s)
	}
	if negative {
		sec, ns = -sec, -ns
	}
	*d = grpcDuration(saturated(sec, ns))
	return nil
}

// saturated is a time in nanoseconds within what an int64 holds.
func saturated(sec, ns int64) int64 {
	const second = int64(time.Second)
	switch {
	case sec > math.MaxInt64/second || sec == math.MaxInt64/second && ns >= math.MaxInt64%second:
		return math.MaxInt64
	case sec < math.MinInt64/second || sec == math.MinInt64/second && ns <= math.MinInt64%second:
		return math.MinInt64
	}
	return sec*second + ns
}
