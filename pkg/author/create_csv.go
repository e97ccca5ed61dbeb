package author

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// ReadTable reads endpoints from comma or tab separated values. The first line names the columns: "address" (with or
// without a port), "port", and the keys of an endpoint spec; cells that are empty say nothing. Lines that begin with #
// are comments. Tabs separate when the first line has one. Errors name the line and the column.
func ReadTable(r io.Reader) ([]*EndpointSpec, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(data), string(utf8BOM))
	in := csv.NewReader(strings.NewReader(text))
	in.Comment = '#'
	in.TrimLeadingSpace = true
	if strings.Contains(headerLine(text), "\t") {
		in.Comma, in.LazyQuotes, in.TrimLeadingSpace = '\t', true, false
	}
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the table is empty: its first line must name the columns")
	}
	if err != nil {
		return nil, tableError(err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	var out []*EndpointSpec
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, tableError(err)
		}
		spec, column, err := rowSpec(header, row)
		if err != nil {
			line, _ := in.FieldPos(max(column, 0))
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, spec)
	}
}

// headerLine is the first line that is no comment.
func headerLine(text string) string {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}

// tableError says what is wrong with a table in the words of this program.
func tableError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		return fmt.Errorf("line %d: the number of cells is not that of the first line", parse.Line)
	}
	return fmt.Errorf("line %d: %w", parse.Line, parse.Err)
}

// TableColumns are the names that the columns of a table may have.
func TableColumns() []string { return append([]string{"address", "port"}, EndpointKeys()...) }

func checkHeader(header []string) error {
	seen := map[string]bool{}
	for _, name := range header {
		if seen[name] {
			return fmt.Errorf("column %q occurs twice", name)
		}
		seen[name] = true
		if !slices.Contains(TableColumns(), name) && !strings.HasPrefix(name, "metadata.") {
			return fmt.Errorf("unknown column %q: must be one of %s", name, strings.Join(TableColumns(), ", "))
		}
	}
	if !seen["address"] {
		return errors.New("no column is called \"address\"")
	}
	return nil
}

// rowSpec makes an endpoint of a row; column is that of the error.
func rowSpec(header, row []string) (spec *EndpointSpec, column int, err error) {
	for i, cell := range row {
		if err := CheckText(cell); err != nil {
			return nil, i, fmt.Errorf("column %q: %w", header[i], err)
		}
	}
	at := slices.Index(header, "address")
	address := strings.TrimSpace(row[at])
	if i := slices.Index(header, "port"); i >= 0 && strings.TrimSpace(row[i]) != "" && !strings.HasPrefix(address, "unix:") {
		address = net.JoinHostPort(strings.Trim(address, "[]"), strings.TrimSpace(row[i]))
	}
	a, err := parseAddress(address)
	if err != nil {
		return nil, at, err
	}
	endpoint := &endpointv3.Endpoint{Address: a}
	spec = &EndpointSpec{Endpoint: &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: endpoint}}}
	for i, name := range header {
		value := strings.TrimSpace(row[i])
		if name == "address" || name == "port" || value == "" {
			continue
		}
		if err := spec.set(name, value, endpoint); err != nil {
			return nil, i, err
		}
	}
	return spec, 0, nil
}
