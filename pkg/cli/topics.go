package cli

const selectorsHelp = `A selector picks endpoints of an assignment:

  all                            every endpoint
  priority=0                     those of a priority (0 is the highest)
  region=r  zone=z  sub_zone=s   those of a locality
  address=192.0.2.0/24           by address: a CIDR, an IP, IP:port, or what stands in the address as written
  hostname=h                     by the endpoint's hostname
  health=DEGRADED                by health_status, in any case
  metadata.envoy.lb.version=v1   by metadata: namespace, key, value

Several joined with "," must all hold: "zone=a,health=HEALTHY". Double quotes keep a comma: 'hostname="a,b"'.
A selector that matches nothing is an error that names near values.`

const assertionsHelp = `An assertion is a CEL expression (cel.dev) over one result of simulate; a false one makes the exit code 1 and shows the
values in it. Its variables are the fields of the result in the JSON output, and there is one function more:

  share("SELECTOR")   the sum of the shares of the endpoints that a selector picks ('edsctl help selectors')

Shares are fractions of all requests: dropped + unavailable + the shares of all endpoints = 1.

  share("zone=a") <= 0.5                          no more than half of the traffic goes to zone a
  endpoints.all(e, e.share < 0.2)                 no endpoint gets 20 % or more
  dropped == 0.0 && unavailable == 0.0            every request gets an endpoint
  priorities[0].load.healthy == 100               everything stays in the highest priority
  !priorities.exists(p, p.panic)                  no priority is in panic
  verdict == "accept"                             the client takes the assignment`
