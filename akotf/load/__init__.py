"""Stage load: an environment folder, its template and its AkôFlow files to the desired state."""
