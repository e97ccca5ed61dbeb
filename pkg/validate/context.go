package validate

import (
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/lint"
)

// Context is what the checks see of a resource under options, for callers that run checks of their own (lint.Update).
func Context(r *eds.Resource, o Options) *lint.Context { return newContext(r, o) }
