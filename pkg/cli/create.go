package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

type createOptions struct {
	writeOptions
	profile
	endpoints       []*author.EndpointSpec
	tables, slices  []string
	hosts, services []string
	slice           author.SliceOptions
	dnsServer       string
	timeout         time.Duration
	drops           []author.DropSetting
	weights         []author.LocalityWeight
	overprovision   uint32
	drop            bool
	allowInvalid    bool
}

func newCreateCmd(env *Env) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make an assignment from endpoints, a table, Kubernetes or DNS",
		Long: `Make an assignment from endpoints named on the command line, from comma or tab separated values, from the EndpointSlices
of a Kubernetes service, or from DNS, and write it in any format, shape and API version. Sources can be combined.

An endpoint is ADDRESS:PORT, [IPv6]:PORT or unix:PATH, followed by ",KEY=VALUE" with the keys
` + strings.Join(author.EndpointKeys(), ", ") + `.
The first line of a table names its columns: ` + strings.Join(author.TableColumns()[:2], ", ") + ` and the same keys.
NAME may be left out with --endpoint-slice: it is then that of the service.

The result is validated first; with findings of severity error nothing is written (exit code 1).`,
		Example: `  edsctl create backend --endpoint 10.0.0.1:80,weight=2,zone=a --endpoint '[2001:db8::1]:80,zone=b,priority=1'
  edsctl create backend --csv endpoints.csv --drop throttle=5 --to-shape bootstrap -o envoy.yaml
  kubectl get endpointslices -l kubernetes.io/service-name=web -o yaml | edsctl create --endpoint-slice - --port http
  edsctl create backend --dns backend.example.com:80
  edsctl create ldap --srv _ldap._tcp.example.com --to-format json`,
		GroupID: groupAuthor,
		Args:    atMostOne("name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runCreate(cmd, env, &o, args) },
	}
	o.writeOptions.bind(cmd, string(eds.ShapeAssignment), string(eds.V3))
	o.profile.bind(cmd, "client", "envoy-version")
	fs := cmd.Flags()
	asIs := func(s string) (string, error) { return s, nil }
	listVar(fs, &o.endpoints, "endpoint", "ADDRESS[,KEY=VALUE]...", "endpoint (repeatable)", author.ParseEndpoint)
	listVar(fs, &o.tables, "csv", "FILE", "comma or tab separated endpoints, - for standard input (repeatable)", asIs)
	listVar(fs, &o.slices, "endpoint-slice", "FILE", "Kubernetes EndpointSlices in YAML or JSON, - for standard input (repeatable)", asIs)
	fs.StringVar(&o.slice.Service, "service", "", "service whose slices to take, NAME or NAMESPACE/NAME")
	fs.StringVar(&o.slice.Port, "port", "", "port of the slices to take, name or number")
	enumVar(cmd, &o.slice.AddressType, "address-type", "", []string{"ipv4", "ipv6", "fqdn", "all"}, "addresses to take of slices and DNS")
	listVar(fs, &o.hosts, "dns", "HOST:PORT", "host whose A and AAAA records to take (repeatable)", func(s string) (string, error) { return s, author.CheckHostPort(s) })
	listVar(fs, &o.services, "srv", "NAME", "name whose SRV records to take (repeatable)", asIs)
	fs.StringVar(&o.dnsServer, "dns-server", "", "name server to ask, HOST:PORT (that of the system when unset)")
	fs.DurationVar(&o.timeout, "timeout", 15*time.Second, "limit for all look-ups together")
	limitFlag(fs, "timeout", "a duration like 15s, more than 0", func() bool { return o.timeout > 0 })
	listVar(fs, &o.drops, "drop", "CATEGORY=PERCENT", "share of requests to drop (repeatable)", author.ParseDrop)
	listVar(fs, &o.weights, "locality-weight", "LOCALITY=WEIGHT", "weight of a locality: ZONE=N, REGION/ZONE/SUB_ZONE=N, ZONE=auto or auto for the number of endpoints (repeatable)", author.ParseLocalityWeight)
	hasCommas(fs, "endpoint")
	fs.Uint32Var(&o.overprovision, "overprovisioning-factor", 0, "percent; Envoy takes 140 when unset")
	fs.BoolVar(&o.drop, "drop-unsupported", false, "leave out what the API version cannot say, and name each loss")
	fs.BoolVar(&o.allowInvalid, "allow-invalid", false, "write the result even if it does not validate")
	noEnv(fs, "endpoint", "csv", "endpoint-slice", "dns", "srv", "drop-unsupported", "allow-invalid")
	return cmd
}

// checkSources refuses a command line that asks for nothing, and flags that choose among what is not asked for.
func (o *createOptions) checkSources(flags *pflag.FlagSet) error {
	dns := len(o.hosts)+len(o.services) > 0
	var errs []error
	if len(o.slices) == 0 {
		errs = append(errs, refuseFlags(flags, "chooses among EndpointSlices, but there is no --endpoint-slice", "service", "port"))
	}
	if len(o.slices) == 0 && !dns {
		errs = append(errs, refuseFlags(flags, "chooses among addresses of EndpointSlices and DNS, but there is no --endpoint-slice, --dns or --srv", "address-type"))
	}
	if !dns {
		errs = append(errs, refuseFlags(flags, "is about DNS, but there is no --dns or --srv", "dns-server", "timeout"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(o.endpoints)+len(o.tables)+len(o.slices)+len(o.drops) == 0 && !dns && !flags.Changed("overprovisioning-factor") {
		return withHint(usagef("create: nothing to make an assignment of"), "say where the endpoints are: --endpoint, --csv, --endpoint-slice, --dns or --srv")
	}
	return nil
}

func runCreate(cmd *cobra.Command, env *Env, o *createOptions, args []string) error {
	if err := o.checkSources(cmd.Flags()); err != nil {
		return err
	}
	c := author.Creation{Drops: o.drops, LocalityWeights: o.weights}
	if len(args) > 0 {
		c.Name = args[0]
	}
	if cmd.Flags().Changed("overprovisioning-factor") {
		c.Overprovision = &o.overprovision
	}
	if err := o.gather(cmd, env, &c); err != nil {
		return err
	}
	if c.Name == "" {
		return usageError(withHint(errors.New("create: no name given"), "usage: "+cmd.UseLine()))
	}
	if err := author.CheckText(c.Name); err != nil {
		return usageError(fmt.Errorf("create: name %w", err))
	}
	assignment, err := author.Create(&c)
	if err != nil {
		return usageError(fmt.Errorf("create: %w", err))
	}
	made, err := o.convert(env, assignment)
	if err != nil {
		return err
	}
	if err := o.check(env, made); err != nil {
		return err
	}
	t := author.Target{Format: o.formatOf(eds.YAML), Shape: eds.Shape(o.shape), Version: eds.APIVersion(o.version)}
	data, err := t.Write([]author.Item{{Assignment: made}})
	if err != nil { // the target cannot say it
		return &codeError{exitFindings, fmt.Errorf("create: %w", err)}
	}
	return writeWhole(cmd.Context(), env, o.file, data)
}

// gather collects the endpoints of all sources, in the order of the flags' kinds.
func (o *createOptions) gather(cmd *cobra.Command, env *Env, c *author.Creation) error {
	c.Endpoints = o.endpoints
	for _, name := range o.tables {
		data, err := readNamed(cmd.Context(), env, name)
		if err != nil {
			return err
		}
		found, err := author.ReadTable(strings.NewReader(string(data)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.Endpoints = append(c.Endpoints, found...)
	}
	if err := o.gatherSlices(cmd, env, c); err != nil {
		return err
	}
	return o.gatherDNS(cmd.Context(), c)
}

func (o *createOptions) gatherSlices(cmd *cobra.Command, env *Env, c *author.Creation) error {
	if len(o.slices) == 0 {
		return nil
	}
	var texts []author.SliceText
	for _, name := range o.slices {
		data, err := readNamed(cmd.Context(), env, name)
		if err != nil {
			return err
		}
		texts = append(texts, author.SliceText{Name: name, Data: data})
	}
	found, err := author.ReadSlices(texts, o.slice)
	if err != nil {
		return withHint(err, sliceHint(err)...)
	}
	for _, note := range found.Notes {
		fmt.Fprintf(env.Stderr, "note: %s\n", note)
	}
	if c.Name == "" {
		c.Name = found.Service
	}
	c.Endpoints = append(c.Endpoints, found.Endpoints...)
	return nil
}

// sliceHint names the flag that makes a choice.
func sliceHint(err error) []string {
	var choice *author.ChoiceError
	if !errors.As(err, &choice) {
		return nil
	}
	return []string{fmt.Sprintf("choose one with --%s", choice.What)}
}

func (o *createOptions) gatherDNS(ctx context.Context, c *author.Creation) error {
	if len(o.hosts) == 0 && len(o.services) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	dns := author.NewDNS(o.dnsServer, o.slice.AddressType)
	for _, host := range o.hosts {
		found, err := dns.Hosts(ctx, host)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		c.Endpoints = append(c.Endpoints, found...)
	}
	for _, name := range o.services {
		found, err := dns.Services(ctx, name)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		c.Endpoints = append(c.Endpoints, found...)
	}
	return nil
}

// readNamed reads a file, or standard input for "-".
func readNamed(ctx context.Context, env *Env, name string) ([]byte, error) {
	files, err := input.Find(ctx, []string{name}, input.Options{Stdin: env.Stdin, MaxBytes: input.DefaultMaxBytes})
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder", name)
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%s: names %d files, not one", name, len(files))
	}
	data, err := files[0].Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", files[0].Name, err)
	}
	return data, nil
}
