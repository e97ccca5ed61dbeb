package envoy

// String is the API's spelling.
func (h Health) String() string {
	switch h {
	case Healthy:
		return "HEALTHY"
	case Unhealthy:
		return "UNHEALTHY"
	case Draining:
		return "DRAINING"
	case Timeout:
		return "TIMEOUT"
	case Degraded:
		return "DEGRADED"
	default:
		return "UNKNOWN"
	}
}

// String names a class as Envoy's statistics do.
func (c Class) String() string {
	switch c {
	case ClassDegraded:
		return "degraded"
	case ClassUnhealthy:
		return "unhealthy"
	default:
		return "healthy"
	}
}

// Class is the coarse health (HostImplBase::coarseHealth): a failed check, an ejection or a bad health in the file make an
// endpoint unhealthy, whatever the others say; then DEGRADED counts; all else is healthy, UNKNOWN and undefined numbers
// too.
func (e *Endpoint) Class() Class {
	switch {
	case e.Checks&(FailedActiveCheck|FailedOutlierCheck) != 0,
		e.Health == Unhealthy, e.Health == Timeout, e.Health == Draining:
		return ClassUnhealthy
	case e.Checks&(DegradedActiveCheck|DegradedOutlierDetection) != 0, e.Health == Degraded:
		return ClassDegraded
	default:
		return ClassHealthy
	}
}

// Excluded endpoints leave the denominators of availability and panic (excludeBasedOnHealthFlag): DRAINING, those that
// wait for a first health check, and those that asked for it in a response.
func (e *Endpoint) Excluded() bool {
	return e.Health == Draining || e.Checks&(PendingActiveCheck|ExcludedByImmediateFail) != 0
}

// HostWeight is the weight that counts: unset is 1.
func (e *Endpoint) HostWeight() uint32 { return max(1, e.Weight) }
