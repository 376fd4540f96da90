"""What both ends of a link use. It travels: only the standard library of Python 3.8."""
