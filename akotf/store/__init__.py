"""Where akotf keeps what must last: the journal, objects by digest, and leases."""
