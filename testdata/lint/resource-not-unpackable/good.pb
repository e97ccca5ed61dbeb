O
Btype.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment	
backend