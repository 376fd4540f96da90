import sys

from .tfrun import main

sys.exit(main())
