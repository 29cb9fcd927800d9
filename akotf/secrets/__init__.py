"""Secret references to values: resolved last of all, never kept."""
