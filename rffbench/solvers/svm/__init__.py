"""Support vector machines: on features, and exact with the kernel."""
