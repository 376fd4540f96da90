"""The command line: arguments in, settings out. The only place that knows flags."""
