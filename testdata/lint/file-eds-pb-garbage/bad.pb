resources: []
