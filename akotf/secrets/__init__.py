"""Secret references to values: resolved last of all, kept in memory only, and out of what leaves akotf."""
