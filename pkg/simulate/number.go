package simulate

import "strconv"

// decimal is a share as a reader can check it by hand: up to six decimals, none that are zero at the end.
func decimal(f float64) string {
	return strconv.FormatFloat(float64(int64(f*1e6+0.5))/1e6, 'f', -1, 64)
}
