"""What the launcher costs, measured side by side: ratios of one run, never absolute promises."""
