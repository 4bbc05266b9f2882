"""Bytes to rows: data sets, folders, manifests and arrays become one uint8 array with labels; no torch here."""
