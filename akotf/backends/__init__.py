"""Where runs run: one file a backend, found by the entry points `akotf.backends`."""
