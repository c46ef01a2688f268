"""A real Kubernetes cluster, its programs and its images, for the end-to-end tests."""
