"""YAML text to typed, validated operator specs with positions."""
