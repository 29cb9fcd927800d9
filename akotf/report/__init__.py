"""What people and programs read: text and JSON of findings, verdicts, candidates, changes and drift."""
