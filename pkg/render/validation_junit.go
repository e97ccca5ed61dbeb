package render

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/diag"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string         `xml:"name,attr"`
	ClassName string         `xml:"classname,attr"`
	File      string         `xml:"file,attr"`
	Line      int            `xml:"line,attr,omitempty"`
	Failures  []junitFailure `xml:"failure"`
	SystemOut string         `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// validationJUnit writes a test suite a file and a test case an assignment. Errors are its failures; weaker findings
// stand in its output.
func validationJUnit(w io.Writer, v *Validation, _ Options) error {
	doc := junitSuites{Name: "edsctl validate"}
	at := map[string]int{} // suite of a file
	suite := func(file string) *junitSuite {
		i, ok := at[file]
		if !ok {
			i = len(doc.Suites)
			at[file] = i
			doc.Suites = append(doc.Suites, junitSuite{Name: file})
		}
		return &doc.Suites[i]
	}
	byResource := make([][]*diag.Finding, len(v.Resources))
	var files []string // with findings about no resource
	ofFile := map[string][]*diag.Finding{}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.ResourceIndex >= 0 {
			byResource[f.ResourceIndex] = append(byResource[f.ResourceIndex], f)
			continue
		}
		if ofFile[f.File] == nil {
			files = append(files, f.File)
		}
		ofFile[f.File] = append(ofFile[f.File], f)
	}
	for i := range v.Resources {
		r := &v.Resources[i]
		name := r.Name
		if name == "" {
			name = "(no assignment)"
		}
		suite(r.File).add(junitCase{Name: name, ClassName: r.File, File: r.File, Line: r.Start.Line}, byResource[i])
	}
	for _, file := range files {
		suite(file).add(junitCase{Name: "(file)", ClassName: file, File: file}, ofFile[file])
	}
	for i := range doc.Suites {
		doc.Tests += doc.Suites[i].Tests
		doc.Failures += doc.Suites[i].Failures
	}
	return writeXML(w, doc)
}

func (s *junitSuite) add(c junitCase, findings []*diag.Finding) {
	var rest []string
	for _, f := range findings {
		if f.Severity == diag.Error {
			c.Failures = append(c.Failures, junitFailure{
				Message: xmlText(f.Message), Type: f.Rule,
				Text: xmlText(place(f.File, f.Span.Start) + "\n" + details(f)),
			})
			continue
		}
		rest = append(rest, fmt.Sprintf("%s: %v: %s [%s]", place(f.File, f.Span.Start), f.Severity, details(f), f.Rule))
	}
	c.SystemOut = xmlText(strings.Join(rest, "\n"))
	s.Cases = append(s.Cases, c)
	s.Tests++
	if len(c.Failures) > 0 {
		s.Failures++
	}
}

// xmlText replaces what XML 1.0 cannot hold.
func xmlText(s string) string { return printable(strings.ToValidUTF8(s, "\uFFFD")) }

func writeXML(w io.Writer, doc any) error {
	out := bufio.NewWriter(w)
	out.WriteString(xml.Header)
	enc := xml.NewEncoder(out)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	out.WriteString("\n")
	return out.Flush()
}
